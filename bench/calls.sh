#!/bin/bash
# A call to the service beside a bare ping-pong over a unix socket; the start
# of the service, and its memory.
set -eu
cd "$(dirname "$0")/.."
bin=$PWD/build/release/bin
work=$(mktemp -d /tmp/boxery-calls.XXXXXX)
export BOXERY_HOME=$work/home
clean() {
	"$bin/boxery" service stop -q > /dev/null 2>&1 || true
	rm -rf "$work"
}
trap clean EXIT
now_us() { echo $(($(date +%s%N) / 1000)); }
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

for _ in $(seq 11); do
	"$bin/boxery" service stop -q > /dev/null
	start=$(now_us)
	"$bin/boxery" wait --seconds 0 -q > /dev/null
	echo $(($(now_us) - start)) >> "$work/start"
	start=$(now_us)
	"$bin/boxery" wait --seconds 0 -q > /dev/null
	echo $(($(now_us) - start)) >> "$work/warm"
done
read -r call ping < <(build/release/tools/call_bench 5000)
printf 'call to the service  %s us  bare ping-pong %s us  ratio %s\n' \
	"$call" "$ping" "$(awk -v a="$call" -v b="$ping" 'BEGIN { printf "%.1f", a / b }')"
printf 'boxery wait 0        %d us with the service running, %d us when it has to start it\n' \
	"$(median < "$work/warm")" "$(median < "$work/start")"
"$bin/boxery" service status --json |
	sed 's/.*"memory_bytes":\([0-9]*\).*/service memory       \1 bytes resident after that/'
