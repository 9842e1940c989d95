# shellcheck shell=bash
# Sourced by tests that need a real sshd which acts as a guest: sets $dir (removed
# at the end, with what start_sshd started), GUEST_USER and the keys.
#
# As root it goes into a mount namespace whose /etc/passwd has one more user, so
# that sshd separates privileges as it does in a guest; else it logs in as who
# runs the test.
if [ "$(id -u)" = 0 ] && [ -z "${GUEST_TEST_INSIDE:-}" ]; then
	GUEST_TEST_INSIDE=1 exec unshare -m --propagation private -- \
		bash "$PWD/tests/integration/${0##*/}" "$@"
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
		# of two lines about the same, sshd takes the first
		printf '%s\n' "$@" "Port $port" 'ListenAddress 127.0.0.1' \
			"AuthorizedKeysFile $dir/authorized" 'UsePAM no' \
			'PasswordAuthentication no' 'StrictModes no' \
			"PidFile none" 'LogLevel DEBUG1' 'MaxStartups 100' \
			'Subsystem sftp internal-sftp' > "$dir/$name.conf"
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

