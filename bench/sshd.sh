# shellcheck shell=bash disable=SC2034 # what is set here is for who sources it
# Sourced by benches against a local sshd: starts one on 127.0.0.1 and sets
# $dir, $port and the variables of tests/tools/guest_tool.h; ends it on exit. A
# shell below the first level (SHLVL) reads no ~/.bashrc, whose time is no figure
# of ours.
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/.."
make -s all tools > /dev/null
tools=$PWD/build/release/tools
dir=$(mktemp -d /tmp/boxery-bench-XXXXXX)
sshd=
bench_clean() {
	[ -z "$sshd" ] || kill "$sshd" 2> /dev/null || true
	rm -rf "$dir"
}
trap bench_clean EXIT
for key in host client; do
	ssh-keygen -q -t ed25519 -N '' -C '' -f "$dir/$key"
done
cp "$dir/client.pub" "$dir/authorized"
mkdir -p /run/sshd
port=$((21000 + RANDOM % 10000))
printf '%s\n' "Port $port" 'ListenAddress 127.0.0.1' "HostKey $dir/host" \
	"AuthorizedKeysFile $dir/authorized" 'UsePAM no' 'StrictModes no' \
	'PermitRootLogin prohibit-password' 'PasswordAuthentication no' \
	'PidFile none' 'Subsystem sftp internal-sftp' \
	'SetEnv SHLVL=1' > "$dir/sshd.conf"
/usr/sbin/sshd -D -f "$dir/sshd.conf" -E "$dir/sshd.log" &
sshd=$!
echo "[127.0.0.1]:$port $(cat "$dir/host.pub")" > "$dir/known_hosts"
ssh_options=(-F none -i "$dir/client" -o "UserKnownHostsFile=$dir/known_hosts"
	-o StrictHostKeyChecking=yes -o ControlPath="$dir/control"
	-o Ciphers=aes128-gcm@openssh.com)
export GUEST_PORT=$port GUEST_USER GUEST_KEY=$dir/client
export GUEST_HOST_KEY=$dir/host.pub
GUEST_USER=$(id -un)
for _ in $(seq 50); do
	(exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null && break
	sleep 0.1
done
now_us() { echo $(($(date +%s%N) / 1000)); }
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }
