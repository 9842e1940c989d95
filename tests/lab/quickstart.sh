#!/bin/bash
# The whole quickstart, twice, inside the lab: the VM part cannot reach any real
# network there. Checks what a newcomer would: the pictures are there, the
# word in the last one is the one that was written (read by OCR), and the second
# run is quick.
set -eu
cd "$(dirname "$0")/../.."
top=$PWD

# Outside the lab (it has no network) the image was built by `quickstart image`;
# a service that runs out here would answer for the one inside.
if [ -z "${BOXERY_IN_LAB:-}" ]; then
	build/release/bin/boxery service stop > /dev/null 2>&1 || true
	exec tests/lab/run env BOXERY_IN_LAB=1 "$top/tests/lab/quickstart.sh"
fi

rm -f demo-before.png demo-after.png
build/release/bin/boxery rm --force demo > /dev/null 2>&1 || true
out=$(mktemp)
trap 'rm -f "$out"' EXIT

begin=$SECONDS
./quickstart 2>&1 | tee "$out"
[ "${PIPESTATUS[0]}" = 0 ]
first=$((SECONDS - begin))

word=$(sed -n 's/.*the word \([A-Z]*\) came back.*/\1/p' "$out")
[ -n "$word" ] || { echo "FAIL: no word in the output"; exit 1; }
for f in demo-before.png demo-after.png; do
	[ "$(head -c 8 "$f" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ] ||
		{ echo "FAIL: $f is no PNG"; exit 1; }
done
cmp -s demo-before.png demo-after.png &&
	{ echo "FAIL: both pictures are the same"; exit 1; }

read_word() {
	convert demo-after.png -colorspace Gray "$@" png:- |
		tesseract - - --psm 6 2> /dev/null |
		tr -d ' '
}
found=
for args in "-resize 200%" "-negate -resize 200%" "-resize 300% -threshold 50%" \
	"-negate -resize 300% -threshold 50%"; do
	# shellcheck disable=SC2086 # options of convert
	read_word $args | grep -qiF "$word" &&
		{ found=1; break; }
done
[ -n "$found" ] || {
	echo "FAIL: tesseract does not find $word in demo-after.png:"
	read_word -resize 200%
	exit 1
}
echo "tesseract reads $word in demo-after.png"

begin=$SECONDS
./quickstart > "$out" 2>&1 || { cat "$out"; exit 1; }
second=$((SECONDS - begin))
echo "first run $first s, second run $second s"
