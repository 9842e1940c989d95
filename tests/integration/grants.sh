#!/bin/bash
# What a VM is granted: asked for, confirmed, brought into a guest, used there
# and taken back. The real handlers and transport, a real sshd for a guest, a
# real ssh agent, and a terminal for the person.
set -eu
cd "$(dirname "$0")/../.."
mode=${MODE:-release}
make -s all build/release/tools/ask
make -s MODE="$mode" "build/$mode/tools/grant_service"

# shellcheck source=tests/integration/sshd.sh
. tests/integration/sshd.sh

# the guest's memory, and its shells as guest/layers/base has them
cp guest/layers/base/files/usr/lib/boxery/granted "$dir/granted"
if [ "$(id -u)" = 0 ]; then
	mkdir -p /run/user
	mount -t tmpfs tmpfs /run/user
	mkdir -m 700 /run/user/64321
	chown 64321:64321 /run/user/64321
	{
		echo ". $dir/granted"
		cat /etc/bash.bashrc
	} > "$dir/bashrc"
	mount --bind "$dir/bashrc" /etc/bash.bashrc
fi
start_sshd main "HostKey $dir/host"
guest_port=$port
export GUEST_SSHD=$server
# where the guest signs in with the person's key
cp "$dir/other.pub" "$dir/authorized-elsewhere"
start_sshd elsewhere "HostKey $dir/stranger" \
	"AuthorizedKeysFile $dir/authorized-elsewhere"
export GUEST_PORT=$guest_port ELSEWHERE_PORT=$port
export BOXERY_HOME=$dir/boxery HOME=$dir/person
mkdir -m 700 "$BOXERY_HOME" "$HOME"
/usr/bin/python3 tests/integration/grants.py "$PWD/build/release" \
	"$PWD/build/$mode/tools/grant_service" "$dir" "$@" || {
	tail -n 40 "$dir/service.log"
	exit 1
}
