#!/bin/bash
# The command line against a stand-in for the service: what a person sees, and
# what a script gets as exit status.
set -eu
cd "$(dirname "$0")/../.."

bin=${BIN:-build/release}
boxery=$PWD/$bin/bin/boxery
tmp=$(mktemp -d /tmp/boxery-cli.XXXXXX)
export BOXERY_HOME=$tmp/home
pid=

fail() {
	echo "FAILED: $*" >&2
	cat "$tmp/out" "$tmp/err" >&2 2> /dev/null || true
	exit 1
}
step() { echo "-- $*"; }
clean_up() {
	[ -z "$pid" ] || kill "$pid" 2> /dev/null || true
	rm -rf "$tmp"
}
trap clean_up EXIT
# status WORDS…: run boxery, output to out and err, its status to $rc
status() {
	rc=0
	"$boxery" "$@" > "$tmp/out" 2> "$tmp/err" || rc=$?
}
expect() {
	local want=$1
	shift
	[ "$rc" = "$want" ] || fail "$*: status $rc, not $want"
}
# On a terminal of its own; out has what it shows.
on_tty() {
	rc=0
	script -qec "$*" /dev/null > "$tmp/out" 2> "$tmp/err" < /dev/null || rc=$?
}

mkdir -p "$BOXERY_HOME"
"$bin/tools/stand_in" "$BOXERY_HOME" > "$tmp/stand_in" &
pid=$!
for _ in $(seq 100); do [ -S "$BOXERY_HOME/run/host.sock" ] && break; sleep 0.05; done

step "bad words are refused before anything is asked"
status; expect 2 "no command"
grep -q 'usage: boxery' "$tmp/out" || fail "no usage"
status strat; expect 2 "unknown command"
grep -q 'did you mean "start"' "$tmp/err" || fail "no suggestion"
status new A; expect 2 "bad name"
grep -q 'at most 63' "$tmp/err" || fail "no rule"
status new a --cpus 0; expect 2 "cpus"
status --client 'a b' ls; expect 2 "client's name"
status start; expect 2 "no VM named"
grep -q 'start: VM: is required: .*(boxery help start)' "$tmp/err" ||
	fail "not in a person's words"
status new a --memory 1; expect 2 "memory"
grep -q -e '--memory: must be 256M to 1T' "$tmp/err" || fail "no sizes"
status new a --image "$tmp"; expect 2 "a folder as image"
grep -q "$tmp: is no regular file" "$tmp/err" || fail "which file"
status service; expect 2 "half a command"
grep -q 'boxery service status|stop|restart' "$tmp/err" || fail "no second word"
status help completion; expect 0 "help of help's own"
status help; expect 0 help
status --version; expect 0 version
status new --help; expect 0 "new --help"

step "tables, records and JSON"
status ls; expect 0 ls
head -1 "$tmp/out" | grep -q '^NAME  *STATE' || fail "no table"
[ "$("$boxery" ls --json | python3 -c 'import json,sys
print(len(json.load(sys.stdin)["rows"]))')" = 2 ] || fail "no JSON"
[ "$("$boxery" completion vms | tr '\n' ' ')" = 'demo other ' ] || fail "names"
status wait --vm other; expect 8 "wait in vain"
status doctor; expect 1 "doctor with something wrong"

step "run gives the command's streams and its status"
[ "$(echo hello | "$boxery" run demo cat)" = hello ] || fail "cat"
status run demo -- say out err; expect 0 say
[ "$(cat "$tmp/out" "$tmp/err")" = outerr ] || fail "streams"
status run demo exit 7; expect 7 "exit 7"
status run demo exit 255; expect 255 "exit 255"
status run demo kill KILL; expect 137 "SIGKILL"
status run demo kill TERM; expect 143 "SIGTERM"
head -c 3000000 /dev/urandom > "$tmp/bytes"
"$boxery" run demo cat < "$tmp/bytes" > "$tmp/back"
cmp "$tmp/back" "$tmp/bytes" || fail "bytes"
"$boxery" run demo cat < "$tmp" > /dev/null 2> "$tmp/err" && fail "a folder as stdin"
grep -q 'reading the input' "$tmp/err" || fail "what was wrong with stdin"

step "a reader that leaves ends it"
"$boxery" run demo yes 2> "$tmp/err" | head -1 > "$tmp/out"
[ "$(cat "$tmp/out")" = y ] || fail "head"
[ ! -s "$tmp/err" ] || fail "words about a pipe that nobody reads"

step "images go to a file or a pipe, never to a terminal"
status screenshot demo -o "$tmp/x.png"; expect 0 "-o"
grep -qa PNG "$tmp/x.png" || fail "no image"
"$boxery" screenshot demo | grep -qa PNG || fail "no image on stdout"
on_tty "$boxery" screenshot demo; expect 2 "image to a terminal"
status screenshot demo -o "$tmp/none/x.png"; [ "$rc" != 0 ] || fail "no folder"

step "progress: lines into a log, one line on a terminal, none when quiet"
status new steps; expect 0 new
grep -q 'booting.*[0-9]%' "$tmp/err" || fail "no progress"
grep -q $'\033' "$tmp/err" && fail "a guest's escape reached the log"
status new steps -q; [ ! -s "$tmp/err" ] || fail "not quiet"
on_tty "$boxery" new steps; expect 0 "new on a terminal"
grep -qaF $'\r\033[K' "$tmp/out" || fail "no meter"
grep -qaF $'\033[2J' "$tmp/out" && fail "a guest's escape reached the terminal"

step "Ctrl-C cancels and waits for the undoing; twice leaves at once"
"$boxery" new slow > "$tmp/out" 2> "$tmp/err" & job=$!
sleep 0.5; kill -INT $job
rc=0; wait $job || rc=$?
expect 130 "Ctrl-C"
grep -q 'undone slow' "$tmp/stand_in" || fail "nothing undone"
"$boxery" new slow > "$tmp/out" 2> "$tmp/err" & job=$!
sleep 0.5; kill -STOP "$pid"; kill -INT $job; sleep 0.3; kill -INT $job
rc=0; wait $job || rc=$?
kill -CONT "$pid"
expect 130 "twice Ctrl-C"

step "ssh of a VM that is off says so"
status ssh demo; expect 7 "ssh"
grep -q 'demo is off (boxery start demo)' "$tmp/err" || fail "ssh"

step "output that cannot be written is an error"
rc=0; "$boxery" ls > /dev/full 2> "$tmp/err" || rc=$?
[ "$rc" != 0 ] || fail "/dev/full"

echo "cli: ok"
