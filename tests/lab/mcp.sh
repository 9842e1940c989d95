#!/bin/bash
# MCP against a real VM, in the lab: tests/lab/run tests/lab/mcp.sh
set -eu
cd "$(dirname "$0")/../.."
bin=$PWD/build/release/bin
if [ -z "${BOXERY_LAB:-}" ]; then
	exec tests/lab/run "$0"
fi

# the newest desktop image of this host
image=${BOXERY_TEST_IMAGE:-}
if [ -z "$image" ]; then
	for f in /var/cache/boxery-*/data/images/*desktop*.qcow2 \
		/var/lib/boxery/*/images/*desktop*.qcow2; do
		[ -f "$f.json" ] || continue
		[ -z "$image" ] || [ "$f" -nt "$image" ] || continue
		image=$f
	done
fi
[ -n "$image" ] || {
	echo "no guest image: ./quickstart image, or set BOXERY_TEST_IMAGE" >&2
	exit 1
}

BOXERY_HOME=$(mktemp -d /tmp/boxery-mcp-lab-XXXXXX)
export BOXERY_HOME
finish() {
	"$bin/boxery" service stop > /dev/null 2>&1 || true
	rm -rf "$BOXERY_HOME"
}
trap finish EXIT
chmod 711 "$BOXERY_HOME"
"$bin/boxery" init
cp "$image.json" "$BOXERY_HOME/data/images/base-test.qcow2.json"
ln -s "$image" "$BOXERY_HOME/data/images/base-test.qcow2"
python3 tests/lab/mcp_vm.py "$bin" agent1
