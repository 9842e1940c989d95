#!/bin/bash
# The desktop's tools as an agent has them: boxery-mcp, the real handlers and
# transport, a real sshd for a guest and an Xvnc for its desktop.
set -eu
cd "$(dirname "$0")/../.."
mode=${MODE:-release}
make -s all build/release/tools/xstate
make -s MODE="$mode" "build/$mode/tools/guest_service"

# shellcheck source=tests/integration/sshd.sh
. tests/integration/sshd.sh

start_sshd main "HostKey $dir/host"
for ((n = 57; n < 1000; n++)); do
	[ -e "/tmp/.X$n-lock" ] || [ -e "/tmp/.X11-unix/X$n" ] || break
done
export DISPLAY=:$n XAUTHORITY=$dir/xauth
xauth -q add ":$n" . "$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')" \
	2> /dev/null
chmod 644 "$XAUTHORITY"
Xvnc ":$n" -auth "$XAUTHORITY" -geometry 1920x1080 -depth 24 -nolisten tcp \
	-rfbport -1 -rfbunixpath "$dir/rfb" -SecurityTypes None \
	> "$dir/xvnc.log" 2>&1 &
pids+=("$!")
# killed, as all is here at the end, it leaves these behind
trap 'finish; rm -f "/tmp/.X$n-lock" "/tmp/.X11-unix/X$n"' EXIT
for _ in $(seq 100); do
	build/release/tools/xstate > /dev/null 2>&1 && break
	sleep 0.1
done
mkdir -m 700 "$dir/boxery"
export GUEST_PORT=$port BOXERY_HOME=$dir/boxery
export GUEST_DISPLAY=$n GUEST_XAUTHORITY=$XAUTHORITY
"build/$mode/tools/guest_service" "$BOXERY_HOME" 2> "$dir/service.log" &
service=$!
pids+=("$service")
for _ in $(seq 100); do
	[ -S "$BOXERY_HOME/run/host.sock" ] && break
	sleep 0.1
done
for part in desktop_ops mcp_library; do
	/usr/bin/python3 "tests/integration/$part.py" "$PWD/build/release" || {
		cat "$dir/service.log"
		exit 1
	}
done
# shellcheck source=tests/integration/npm.sh
. tests/integration/npm.sh
npm_setup
(cd "$npm_root" && timeout 120 "$node" view.mjs \
	"$OLDPWD/build/release/bin/boxery-mcp" \
	"$OLDPWD/build/release/tools/xstate" blink 40 40 60 60 10 1)
kill "$service"
wait "$service" || {
	cat "$dir/service.log"
	exit 1
}
