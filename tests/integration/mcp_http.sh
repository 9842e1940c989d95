#!/bin/bash
# boxery-mcp over HTTP: the raw protocol, then the clients that people use.
set -eu
cd "$(dirname "$0")/../.."
top=$PWD
bin=$top/build/release/bin
# shellcheck source=tests/integration/npm.sh
. tests/integration/npm.sh

home=$(mktemp -d /tmp/boxery-mcp-http-XXXXXX)
server=
finish() {
	local pid
	[ -z "$server" ] || kill "$server" 2> /dev/null || true
	pid=$(cat "$home/state/host.lock" 2> /dev/null || true)
	[ -z "$pid" ] || kill "$pid" 2> /dev/null || true
	rm -rf "$home"
}
trap finish EXIT

passed=0
ok() {
	echo "ok    $1"
	passed=$((passed + 1))
}

ulimit -n 8192
mkdir "$home/raw"
python3 tests/integration/mcp_http.py "$bin" "$home/raw"
ok "raw protocol"

npm_setup
(cd / && exec "$bin/boxery-mcp" --home "$home" --http 0 2> "$home/said") &
server=$!
for _ in $(seq 100); do
	url=$(sed -n 's/^boxery-mcp: serving //p' "$home/said")
	[ -z "$url" ] || break
	sleep 0.05
done
token=$home/config/mcp-client-token

for client in http_v1 http_v2; do
	(cd "$npm_root" && timeout 120 "$node" "$client.mjs" "$url" "$token")
	ok "$client"
done

inspector=$npm_root/node_modules/@modelcontextprotocol/inspector
inspect() {
	local era=$1
	shift
	"$node" "$inspector/clients/launcher/build/index.js" --cli "$url" \
		--transport http --header "Authorization: Bearer $(cat "$token")" \
		--protocol-era "$era" "$@"
}
for era in legacy modern auto; do
	inspect "$era" --method tools/list --strict > "$home/list.json"
	grep -q '"vm_screenshot"' "$home/list.json"
	inspect "$era" --method tools/call --tool-name vm_wait \
		--tool-arg seconds=0 > "$home/call.json"
	grep -q '"content"' "$home/call.json"
	ok "inspector $era"
done
kill "$server"
wait "$server"
server=
echo "$passed passed, 0 failed"
