#!/bin/bash
# boxery-mcp over HTTP beside npm's server-everything.
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=tests/integration/npm.sh
. tests/integration/npm.sh
make -s build/release/test/mcp-conformance
npm_setup
exec python3 bench/mcp_http.py "$PWD/build/release/bin" \
	"$PWD/build/release/test/mcp-conformance" "$node" "$npm_root"
