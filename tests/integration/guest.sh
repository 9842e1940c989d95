#!/bin/bash
# guest.c against a real sshd on 127.0.0.1, and against a server that lies.
set -eu
cd "$(dirname "$0")/../.."
mode=${MODE:-release}
tools=$PWD/build/$mode/tools
make -s MODE="$mode" "build/$mode/tools/guest_"{drive,files,siege,sockets}

# shellcheck source=tests/integration/sshd.sh
. tests/integration/sshd.sh

passed=0
drive() {
	run guest_drive "$@"
}
run() {
	local begun=$SECONDS tool=$1
	shift
	timeout 120 "$tools/$tool" "$@" || {
		echo "FAIL  $tool $* ($?)" >&2
		exit 1
	}
	printf 'ok    %s (%d s)\n' "${tool#guest_} $1" $((SECONDS - begun))
	passed=$((passed + 1))
}

start_sshd main "HostKey $dir/host"
export GUEST_PORT=$port
for scenario in exits streams words flood endless slow-reader parallel warm idle \
	lost stopped moved ending background; do
	drive $scenario
done
run guest_sockets "$dir/echo.sock"
run guest_files "$dir/home"

# keys are exchanged anew every 2 MiB: nothing may be lost or stall
start_sshd rekey "HostKey $dir/host" 'RekeyLimit 2M'
for scenario in streams flood slow-reader; do
	GUEST_PORT=$port drive $scenario
done
GUEST_PORT=$port run guest_sockets "$dir/echo-rekey.sock"
[ "$(grep -c 'rekeying in progress\|SSH2_MSG_KEXINIT received' \
	"$dir/rekey.log")" -gt 20 ] || {
	echo 'FAIL  the keys were not exchanged anew' >&2
	exit 1
}

# D13: what is not the pinned host gets nothing, not even a user's name
nothing_was_sent() {
	grep -q 'Connection from 127.0.0.1' "$dir/$1.log" || return 1
	! grep -qi "userauth\|$GUEST_USER\|publickey" "$dir/$1.log"
}
start_sshd strange "HostKey $dir/other"
GUEST_PORT=$port drive wrong-host "$dir/host.pub"
nothing_was_sent strange
start_sshd ecdsa "HostKey $dir/ecdsa"
GUEST_PORT=$port drive wrong-host "$dir/host.pub"
nothing_was_sent ecdsa
# D20: only what is asked for its key, and then not a byte beyond the exchange
# (RFC 4253: KEXINIT, ECDH_INIT, NEWKEYS), not even a farewell
only_keys_were_exchanged() {
	sed -n 's/.*receive packet: type \([0-9]*\).*/\1/p' "$dir/$1.log" |
		sort -nu | tr '\n' ' '
}
start_sshd asked "HostKey $dir/host" 'LogLevel DEBUG3'
GUEST_PORT=$port drive probe "$dir/host.pub"
nothing_was_sent asked
[ "$(only_keys_were_exchanged asked)" = '20 21 30 ' ] || {
	echo "FAIL  sent: $(only_keys_were_exchanged asked)" >&2
	exit 1
}
start_sshd asked-ecdsa "HostKey $dir/ecdsa"
GUEST_PORT=$port drive probe refused
nothing_was_sent asked-ecdsa
GUEST_PORT=9 drive probe closed
grep -q "userauth-request for user $GUEST_USER" "$dir/main.log"
drive wrong-client "$dir/stranger"

# a server that is stopped before it says anything
start_sshd asleep "HostKey $dir/host"
kill -STOP "$server"
GUEST_PORT=$port drive silent
GUEST_PORT=$port drive probe silent

# M17: servers with the right key that lie, stall and flood
for mode in $("$tools/guest_siege"); do
	rm -f "$dir/port"
	/usr/bin/python3 tests/integration/hostile_sshd.py "$dir/host" \
		"$dir/port" "$mode" > "$dir/hostile.log" 2>&1 &
	pids+=($!)
	for _ in $(seq 100); do
		[ -s "$dir/port" ] && break
		sleep 0.1
	done
	GUEST_PORT=$(cat "$dir/port") run guest_siege "$mode"
	kill -KILL "${pids[-1]}"
	wait "${pids[-1]}" 2> /dev/null || true
done

echo "$passed passed, 0 failed"
