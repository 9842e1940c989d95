#!/bin/bash
# vm_run, vm_read, vm_write and vm_edit: the real handlers and transport, a real
# sshd for a guest, asked as an agent and by the command line.
set -eu
cd "$(dirname "$0")/../.."
mode=${MODE:-release}
make -s all build/release/tools/ask
make -s MODE="$mode" "build/$mode/tools/guest_service"

# shellcheck source=tests/integration/sshd.sh
. tests/integration/sshd.sh

start_sshd main "HostKey $dir/host"
mkdir -m 700 "$dir/boxery"
export GUEST_PORT=$port BOXERY_HOME=$dir/boxery
"build/$mode/tools/guest_service" "$BOXERY_HOME" 2> "$dir/service.log" &
service=$!
pids+=("$service")
for _ in $(seq 100); do
	[ -S "$BOXERY_HOME/run/host.sock" ] && break
	sleep 0.1
done
/usr/bin/python3 tests/integration/guest_ops.py "$PWD/build/release" \
	"$dir/home" || {
	cat "$dir/service.log"
	exit 1
}
kill "$service"
wait "$service" || {
	cat "$dir/service.log"
	exit 1
}
