#!/bin/bash
# guest.c against a real sshd on 127.0.0.1, and against a server that lies.
#
# As root it goes into a mount namespace whose /etc/passwd has one more user, so
# that sshd separates privileges as it does in a guest; else it logs in as who
# runs the test.
set -eu
cd "$(dirname "$0")/../.."
mode=${MODE:-release}
tools=$PWD/build/$mode/tools
make -s MODE="$mode" "build/$mode/tools/guest_"{drive,files,siege,sockets}

if [ "$(id -u)" = 0 ] && [ -z "${GUEST_TEST_INSIDE:-}" ]; then
	GUEST_TEST_INSIDE=1 exec unshare -m --propagation private -- \
		"$0" "$@"
fi
dir=$(mktemp -d /tmp/boxery-guest-XXXXXX)
chmod 755 "$dir"
pids=()
# A server and what it forked, stopped or not.
kill_tree() {
	local pid
	for pid in $(ps -o pid= --ppid "$1"); do
		kill_tree "$pid"
	done
	kill -KILL "$1" 2> /dev/null || true
}
finish() {
	local pid
	for pid in "${pids[@]}"; do
		kill_tree "$pid"
		wait "$pid" 2> /dev/null || true
	done
	rm -rf "$dir"
}
trap finish EXIT

GUEST_USER=$(id -un)
mkdir "$dir/home"
if [ "$(id -u)" = 0 ]; then
	GUEST_USER=boxtest
	mkdir -p /run/sshd
	sed "/^boxtest:/d" /etc/passwd > "$dir/passwd"
	echo "boxtest:x:64321:64321::$dir/home:/bin/sh" >> "$dir/passwd"
	chown 64321:64321 "$dir/home"
	mount --bind "$dir/passwd" /etc/passwd
fi
for key in host other client stranger; do
	ssh-keygen -q -t ed25519 -N '' -C '' -f "$dir/$key"
done
ssh-keygen -q -t ecdsa -N '' -C '' -f "$dir/ecdsa"
cp "$dir/client.pub" "$dir/authorized"
chmod 644 "$dir/authorized"
export GUEST_USER GUEST_KEY=$dir/client GUEST_HOST_KEY=$dir/host.pub

# start_sshd NAME LINE…: on a free port, which it leaves in $port; its log is
# $dir/NAME.log, its pid $server
start_sshd() {
	local name=$1 try
	shift
	for try in 1 2 3 4 5 6 7 8 9 10; do
		port=$((20000 + RANDOM % 12000))
		printf '%s\n' "Port $port" 'ListenAddress 127.0.0.1' \
			"AuthorizedKeysFile $dir/authorized" 'UsePAM no' \
			'PasswordAuthentication no' 'StrictModes no' \
			"PidFile none" 'LogLevel DEBUG1' 'MaxStartups 100' \
			'Subsystem sftp internal-sftp' "$@" > "$dir/$name.conf"
		/usr/sbin/sshd -D -f "$dir/$name.conf" -E "$dir/$name.log" \
			> /dev/null 2>&1 &
		server=$!
		for _ in $(seq 50); do
			grep -q 'Server listening' "$dir/$name.log" \
				2> /dev/null && break
			sleep 0.1
		done
		if grep -q 'Server listening' "$dir/$name.log"; then
			pids+=("$server")
			return 0
		fi
		wait "$server" || true
		: > "$dir/$name.log"
	done
	echo "no sshd after $try tries: $(cat "$dir/$name.log")" >&2
	return 1
}

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
grep -q "userauth-request for user $GUEST_USER" "$dir/main.log"
drive wrong-client "$dir/stranger"

# a server that is stopped before it says anything
start_sshd asleep "HostKey $dir/host"
kill -STOP "$server"
GUEST_PORT=$port drive silent

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
