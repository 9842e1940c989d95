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
python3 -W ignore::DeprecationWarning tests/integration/mcp_http.py "$bin" "$home/raw"
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
kill "$server"
wait "$server"
server=

# MCP's own suite, over fixtures
suite=$npm_root/node_modules/@modelcontextprotocol/conformance/dist/index.js
mkfifo "$home/stdin"
build/release/test/mcp-conformance --http 0 < "$home/stdin" > "$home/url" &
server=$!
exec 8> "$home/stdin"
for _ in $(seq 100); do
	[ ! -s "$home/url" ] || break
	sleep 0.05
done
# All that a revision requires, which are so many scenarios, and those that the
# suite runs beside them, but for extensions that a server need not have.
conform() {
	local revision=$1 count=$2 unscored
	"$node" "$suite" server --url "$(cat "$home/url")" \
		--requirements "$revision" > "$home/conformance" 2>&1 || {
		sed -n '/=== SUMMARY/,$p' "$home/conformance"
		exit 1
	}
	unscored=$(sed -n 's/^Not scored for .*: \([0-9]*\) scenario.*/\1/p' \
		"$home/conformance")
	[ "$(grep -c '^[✓✗] [a-z]' "$home/conformance")" = \
		"$((count + unscored))" ]
	if grep '^  ✗ ' "$home/conformance" | grep -v '(extension)$'; then
		exit 1
	fi
	ok "conformance $revision: $count/$count"
}
conform 2025-11-25 30
conform 2026-07-28 37
exec 8>&-
wait "$server"
server=
echo "$passed passed, 0 failed"
