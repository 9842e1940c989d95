#!/bin/bash
# boxery-mcp over stdio: the raw protocol, then the clients that people use.
set -eu
cd "$(dirname "$0")/../.."
top=$PWD
bin=$top/build/release/bin
mcp=$bin/boxery-mcp
# shellcheck source=tests/integration/npm.sh
. tests/integration/npm.sh

home=$(mktemp -d /tmp/boxery-mcp-XXXXXX)
finish() {
	local pid
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

mkdir "$home/raw"
python3 tests/integration/mcp_raw.py "$bin" "$home/raw"
ok "raw protocol"

npm_setup
inspector=$npm_root/node_modules/@modelcontextprotocol/inspector
inspect() {
	local era=$1
	shift
	"$node" "$inspector/clients/launcher/build/index.js" --cli "$@" \
		--protocol-era "$era" -- "$mcp" --home "$home"
}
for era in legacy modern auto; do
	inspect "$era" --method tools/list --strict > "$home/list.json"
	grep -q '"vm_screenshot"' "$home/list.json"
	inspect "$era" --method tools/call --tool-name vm_wait \
		--tool-arg seconds=0 > "$home/call.json"
	grep -q '"content"' "$home/call.json"
	inspect "$era" --method resources/list > "$home/resources.json"
	grep -q '"ui://boxery/view"' "$home/resources.json"
	inspect "$era" --method resources/templates/list |
		grep -q 'vm/{vm}/console'
	inspect "$era" --method resources/read --uri ui://boxery/view |
		grep -q "default-src 'none'"
	inspect "$era" --method prompts/get --prompt-name look-into \
		--prompt-args vm=demo | grep -q 'Find out what is wrong'
	inspect "$era" --method tools/call --tool-name vm_view --app-info |
		grep -q 'ui://boxery/view'
	ok "inspector $era"
done
for sdk in sdk_v1 sdk_v2; do
	(cd "$npm_root" && timeout 120 "$node" "$sdk.mjs" "$mcp" "$home")
	ok "$sdk"
done
echo "$passed passed, 0 failed"
