#!/bin/bash
# The service as a process: started by whoever comes first, one at a time,
# killed, stopped, restarted, lied to. Needs no VM and no libvirt.
set -eu
cd "$(dirname "$0")/../.."

bin=${BIN:-build/release/bin}
boxery=$PWD/$bin/boxery
host=$PWD/$bin/boxery-host
tmp=$(mktemp -d /tmp/boxery-service.XXXXXX)
chmod 755 "$tmp"
export BOXERY_HOME=$tmp/home
socket=$BOXERY_HOME/run/host.sock

fail() {
	echo "FAILED: $*" >&2
	cat "$BOXERY_HOME/state/host.log" >&2 2> /dev/null || true
	exit 1
}
step() { echo "-- $*"; }
pid_of() { "$boxery" service status --json | jq_pid; }
jq_pid() { sed -n 's/.*"pid":\([0-9]*\).*/\1/p'; }
# Every boxery-host of this home, by its environment.
hosts() {
	local p
	for p in /proc/[0-9]*; do
		[ "$(readlink "$p/exe" 2> /dev/null)" = "$host" ] || continue
		tr '\0' '\n' < "$p/environ" 2> /dev/null |
			grep -qx "BOXERY_HOME=$BOXERY_HOME" && echo "${p#/proc/}"
	done
	true
}
clean_up() {
	"$boxery" service stop -q > /dev/null 2>&1 || true
	for p in $(hosts); do kill -9 "$p"; done
	rm -rf "$tmp"
}
trap clean_up EXIT
# any user's python, not one that lives in somebody's home
python=/usr/bin/python3
[ -x "$python" ] || python=python3
raw() { "$python" tests/integration/rawclient.py "$socket" "$@"; }

step "status never starts it, and says so by its exit status"
rc=0; "$boxery" service status > "$tmp/out" || rc=$?
[ $rc = 3 ] || fail "status of no service: $rc"
grep -q 'running *no' "$tmp/out" || fail "status"
[ ! -e "$socket" ] || fail "status started a service"

step "twenty clients at once start one service"
for i in $(seq 20); do
	"$boxery" wait --seconds 0.2 --client "c$i" > "$tmp/race.$i" 2>&1 &
	racers[i]=$!
done
for i in $(seq 20); do
	wait "${racers[$i]}" || fail "client $i: $(cat "$tmp/race.$i")"
done
[ "$(hosts | wc -l)" = 1 ] || fail "services: $(hosts | wc -l)"
first=$(pid_of)

step "it is in a session of its own, in /, with nothing of its client's"
sid_of() { ps -o sid= -p "$1" | tr -d ' '; }
[ "$(sid_of "$first")" != "$(sid_of $$)" ] || fail "session"
[ "$(readlink "/proc/$first/cwd")" = / ] || fail "cwd"
[ "$(stat -c %a "$socket")" = 600 ] || fail "mode of the socket"
[ "$(stat -c %a "$BOXERY_HOME/state")" = 700 ] || fail "mode of state"

step "a client's environment stays with the client"
"$boxery" service stop -q > /dev/null
SECRET_API_KEY=hunter2 "$boxery" service restart -q > /dev/null
p=$(pid_of)
tr '\0' '\n' < "/proc/$p/environ" > "$tmp/env"
grep -q hunter2 "$tmp/env" && fail "the service has its client's keys"
while IFS='=' read -r name _; do
	case $name in
	PATH | HOME | LANG | USER | BOXERY_HOME) ;;
	*) fail "the service got $name" ;;
	esac
done < "$tmp/env"
[ "$(hosts)" = "$p" ] || fail "a restart left another behind"

step "kill -9, and the next call starts it again over the stale socket"
kill -9 "$p"
[ -S "$socket" ] || fail "no stale socket to test with"
"$boxery" wait --seconds 0 > /dev/null || fail "call after kill -9"
[ "$(pid_of)" != "$p" ] || fail "pid"

step "a call that is cut off says so, and what its exit status is"
"$boxery" wait --seconds 40 > "$tmp/out" 2>&1 &
waiter=$!
sleep 0.5
kill -9 "$(pid_of)"
rc=0; wait $waiter || rc=$?
[ $rc = 10 ] || fail "cut off: $rc"
grep -q 'the service ended' "$tmp/out" || fail "cut off: $(cat "$tmp/out")"

step "a second service refuses to run beside the first"
"$boxery" service restart -q > /dev/null
p=$(pid_of)
rc=0; "$host" serve > "$tmp/out" 2>&1 || rc=$?
[ $rc = 6 ] || fail "second service: $rc"
grep -q "runs already (pid $p)" "$tmp/out" || fail "$(cat "$tmp/out")"
[ "$(pid_of)" = "$p" ] || fail "the first one suffered"

step "what its starter had open is not kept open"
"$boxery" service stop -q > /dev/null
( exec 9> "$tmp/held" 0<&-; "$host" serve --background )
p=$(pid_of)
for fd in /proc/"$p"/fd/*; do
	[ "$(readlink "$fd")" != "$tmp/held" ] || fail "$fd is the starter's"
done
[ "$(readlink /proc/"$p"/fd/0)" = /dev/null ] || fail "no standard input"

step "another user is refused, even past the file's mode"
chmod 711 "$BOXERY_HOME" "$BOXERY_HOME/run"; chmod 666 "$socket"
if [ "$(id -u)" = 0 ]; then
	cp tests/integration/rawclient.py "$tmp/rawclient.py"
	setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$python" "$tmp/rawclient.py" "$socket" hello > "$tmp/out"
	grep -q 'belongs to uid 0, not to uid 65534' "$tmp/out" ||
		fail "foreign uid: $(cat "$tmp/out")"
fi
chmod 600 "$socket"; chmod 700 "$BOXERY_HOME" "$BOXERY_HOME/run"

step "garbage, oversize, silence and half a frame disturb nobody"
raw silent 30 > /dev/null & slow[0]=$!
raw half 30 > /dev/null 2>&1 & slow[1]=$!
raw drip 30 > /dev/null 2>&1 & slow[2]=$!
for kind in garbage oversize; do
	raw "$kind" > "$tmp/out"
	grep -q protocol "$tmp/out" || grep -q limit "$tmp/out" ||
		fail "$kind: $(cat "$tmp/out")"
done
start=$(date +%s%N)
for _ in $(seq 20); do
	"$boxery" wait --seconds 0 -q > /dev/null || fail "beside slow clients"
done
took=$((($(date +%s%N) - start) / 20000000))
echo "   a command beside them: $took ms"
[ "$took" -lt 1000 ] || fail "slow clients slow others"
[ "$(pid_of)" = "$p" ] || fail "the service fell"

step "a client of another version is told what to do"
raw version > "$tmp/out"
grep -q 'boxery service restart' "$tmp/out" || fail "$(cat "$tmp/out")"

step "a client that never says hello is dropped after 10 s"
wait "${slow[0]}" || fail "silent client"
kill "${slow[1]}" "${slow[2]}" 2> /dev/null || true

step "a client that dies in a call takes its call along"
"$boxery" wait --seconds 40 > /dev/null 2>&1 &
waiter=$!
sleep 0.5
kill -9 $waiter
wait $waiter 2> /dev/null || true
for _ in $(seq 50); do
	"$boxery" service status --json | grep -q '"calls":1,' && break
	sleep 0.1
done
"$boxery" service status --json | grep -q '"calls":1,' ||
	fail "the call of a dead client goes on"

step "Ctrl-C cancels"
"$boxery" wait --seconds 40 > "$tmp/out" 2>&1 &
waiter=$!
sleep 0.5
kill -INT $waiter
rc=0; wait $waiter || rc=$?
[ $rc = 130 ] || fail "interrupted: $rc"
grep -q cancelled "$tmp/out" || fail "$(cat "$tmp/out")"

step "rpc joins a client elsewhere, and starts the service for it"
"$boxery" service stop -q > /dev/null
raw hello-frame | "$host" rpc > "$tmp/out"
grep -qa '"program"' "$tmp/out" || fail "rpc: $(cat "$tmp/out")"

step "a service of another version is replaced by a restart"
"$boxery" service stop -q > /dev/null
raw old-service 2> /dev/null & old=$!
for _ in $(seq 100); do [ -S "$socket" ] && break; sleep 0.05; done
rc=0; "$boxery" wait --seconds 0 > "$tmp/out" 2>&1 || rc=$?
[ $rc = 7 ] || fail "call to another version: $rc"
grep -q 'run boxery service restart' "$tmp/out" || fail "$(cat "$tmp/out")"
"$boxery" service restart -q > "$tmp/out" || fail "restart: $(cat "$tmp/out")"
wait $old 2> /dev/null || true
"$boxery" wait --seconds 0 > /dev/null || fail "call after the restart"

step "stop, SIGTERM and SIGINT end it and leave no socket"
"$boxery" service stop > "$tmp/out"
grep -q 'was_running *yes' "$tmp/out" || fail "$(cat "$tmp/out")"
[ ! -e "$socket" ] || fail "the socket stayed"
[ -z "$(hosts)" ] || fail "the process stayed"
"$boxery" service stop > "$tmp/out" || fail "stopping twice"
for sig in TERM INT; do
	"$boxery" wait --seconds 0 > /dev/null
	p=$(pid_of)
	kill -$sig "$p"
	for _ in $(seq 50); do kill -0 "$p" 2> /dev/null || break; sleep 0.1; done
	kill -0 "$p" 2> /dev/null && fail "SIG$sig"
	[ ! -e "$socket" ] || fail "the socket stayed after SIG$sig"
done

step "a stop is waited for by the next start"
"$boxery" wait --seconds 40 > /dev/null 2>&1 &
waiter=$!
sleep 0.3
kill -TERM "$(pid_of)"
# who connected before the stop and calls after it is told to try again
"$boxery" wait --seconds 0 > /dev/null 2> "$tmp/err" || {
	grep -q 'is stopping: try again' "$tmp/err" &&
		"$boxery" wait --seconds 0 > /dev/null
} || fail "start during a stop: $(cat "$tmp/err")"
wait $waiter || true
[ "$(hosts | wc -l)" = 1 ] || fail "services: $(hosts | wc -l)"

step "a home that vanishes takes its service along"
p=$(pid_of)
mv "$BOXERY_HOME" "$tmp/gone"
for _ in $(seq 200); do kill -0 "$p" 2> /dev/null || break; sleep 0.1; done
kill -0 "$p" 2> /dev/null && { kill -9 "$p"; fail "it serves a home that is gone"; }
mv "$tmp/gone" "$BOXERY_HOME"

step "a service that cannot start says why"
"$boxery" service stop -q > /dev/null
rm -f "$BOXERY_HOME/state/boxery.db"*
mkdir "$BOXERY_HOME/state/boxery.db"
rc=0; "$boxery" wait --seconds 0 > "$tmp/out" 2>&1 || rc=$?
[ $rc = 10 ] || fail "no database: $rc"
grep -q 'did not start' "$tmp/out" || fail "$(cat "$tmp/out")"
rmdir "$BOXERY_HOME/state/boxery.db"
rm -f "$socket"

step "names of VMs are completed without starting anything"
[ -z "$("$boxery" completion vms)" ] || fail "completion"
[ ! -e "$socket" ] || fail "completion started a service"

step "bash completes commands, families, options and choices"
export boxery
bash --norc > "$tmp/out" <<'END'
eval "$("$boxery" completion bash)"
try() {
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	_boxery
	echo "$*: ${COMPREPLY[*]}"
}
try boxery sc
try boxery service st
try boxery scroll demo ''
try boxery --home /tmp new --mem
END
cat > "$tmp/want" <<'END'
boxery sc: screenshot scroll
boxery service st: status stop
boxery scroll demo : up down left right
boxery --home /tmp new --mem: --memory
END
diff "$tmp/want" "$tmp/out" || fail "completion"

step "the audit names no values"
grep -q '"op":"vm_wait"' "$BOXERY_HOME/state/audit.jsonl" || fail "audit"
grep -q '"client":"[0-9]*:c7"' "$BOXERY_HOME/state/audit.jsonl" || fail "audit"
grep -q 'seconds' "$BOXERY_HOME/state/audit.jsonl" && fail "values in the audit"

echo "service: ok"
