#!/bin/bash
# An agent asks for a grant and its client puts the question to its person: every
# way to do that, over stdio and HTTP, byte for byte and by the SDKs that clients
# are made of. The service, the grants and the guest are real: an sshd, and no
# hypervisor.
set -eu
cd "$(dirname "$0")/../.."
mode=${MODE:-release}
make -s MODE="$mode" all "build/$mode/tools/grant_service"

# shellcheck source=tests/integration/sshd.sh
. tests/integration/sshd.sh
# shellcheck source=tests/integration/npm.sh
. tests/integration/npm.sh

npm_setup
if [ "$(id -u)" = 0 ]; then
	mkdir -p /run/user
	mount -t tmpfs tmpfs /run/user
	mkdir -m 700 /run/user/64321
	chown 64321:64321 /run/user/64321
fi
start_sshd main "HostKey $dir/host"
export GUEST_PORT=$port BOXERY_HOME=$dir/boxery HOME=$dir/person
mkdir -m 700 "$BOXERY_HOME" "$HOME"
/usr/bin/python3 -W ignore::DeprecationWarning tests/integration/elicit.py \
	"$PWD/build/$mode/bin" "$PWD/build/$mode/tools/grant_service" \
	"$dir" "$@" || {
	tail -n 20 "$dir/service.log"
	exit 1
}
