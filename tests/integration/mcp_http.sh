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
conform() {
	local revision=$1 name
	shift
	"$node" "$suite" server --url "$(cat "$home/url")" \
		--requirements "$revision" > "$home/conformance" 2>&1 || true
	for name in "$@"; do
		grep -q "^✓ $name: [1-9][0-9]* passed, 0 failed" \
			"$home/conformance" || {
			grep "$name" "$home/conformance"
			exit 1
		}
	done
	ok "conformance $revision: $# scenarios"
}
both=(tools-list tools-call-simple-text tools-call-image tools-call-audio
	tools-call-embedded-resource tools-call-mixed-content tools-call-error
	tools-call-with-progress server-sse-multiple-streams
	dns-rebinding-protection json-schema-2020-12 completion-complete
	resources-list resources-read-text resources-read-binary
	resources-templates-read prompts-list prompts-get-simple
	prompts-get-with-args prompts-get-embedded-resource
	prompts-get-with-image)
conform 2025-11-25 "${both[@]}" server-initialize ping \
	server-session-lifecycle server-sse-polling logging-set-level \
	tools-call-with-logging resources-subscribe resources-unsubscribe \
	tools-call-sampling tools-call-elicitation \
	elicitation-sep1034-defaults elicitation-sep1330-enums
conform 2026-07-28 "${both[@]}" sep-2164-resource-not-found caching \
	server-stateless input-required-result-basic-elicitation \
	input-required-result-basic-sampling \
	input-required-result-basic-list-roots \
	input-required-result-request-state \
	input-required-result-multiple-input-requests \
	input-required-result-multi-round \
	input-required-result-missing-input-response \
	input-required-result-non-tool-request \
	input-required-result-result-type \
	input-required-result-tampered-state \
	input-required-result-capability-check \
	input-required-result-unsupported-methods \
	input-required-result-ignore-extra-params \
	input-required-result-validate-input http-header-validation \
	http-custom-header-server-validation
exec 8>&-
wait "$server"
server=
echo "$passed passed, 0 failed"
