#!/bin/sh
# What house style forbids and a machine can see.
set -eu
cd "$(dirname "$0")/../.."
rc=0
fail() {
	printf '%s\n%s\n' "$1" "$2" >&2
	rc=1
}

banned='\b(strcpy|strcat|sprintf|vsprintf|gets|strtok|atoi|atol|system|popen|tmpnam|mktemp|strerror)[[:space:]]*\('
# what stands in a string literal is no call
bad=$(git grep -nE "$banned" -- '*.c' '*.h' |
	sed -E 's/"([^"\\]|\\.)*"//g' | grep -E "$banned" || true)
[ -z "$bad" ] || fail 'banned calls:' "$bad"

bad=$(git ls-files '*.c' '*.h' | xargs -r -n1 basename | sort | uniq -c |
	awk '$1 > 1 && $2 != "main.c" { print $2 }')
[ -z "$bad" ] || fail 'file stems must be unique:' "$bad"

bad=$(git ls-files '*.c' '*.h' | xargs -r wc -l |
	awk '$2 != "total" && $2 != "ops/table.c" && $1 > 750 { print $1, $2 }')
[ -z "$bad" ] || fail 'files too long (is each still one thing?):' "$bad"

bad=$(git ls-files '*.h' | grep -v '^tests/' | while read -r h; do
	c=${h%.h}.c
	grep -q 'Threads:' "$h" || printf '%s: no "Threads:" in the header comment\n' "$h"
	: "$c"
done)
[ -z "$bad" ] || fail 'public headers:' "$bad"

bad=$(git ls-files '*.sh' quickstart check .ci/run 'guest/build-image' | xargs -r shellcheck -x 2>&1 || true)
[ -z "$bad" ] || fail 'shellcheck:' "$bad"
exit $rc
