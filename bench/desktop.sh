#!/bin/bash
# The desktop's tools through boxery-mcp, with a local sshd for a guest and an
# Xvnc of 1920x1080 for its desktop, beside what people use today, run in the
# same guest over OpenSSH's ControlMaster; each peer after ours, in turns.
# shellcheck source=bench/sshd.sh
. "$(dirname "$0")/sshd.sh"

for ((n = 57; n < 100; n++)); do
	[ -e "/tmp/.X$n-lock" ] || [ -e "/tmp/.X11-unix/X$n" ] || break
done
export DISPLAY=:$n XAUTHORITY=$dir/xauth BOXERY_HOME=$dir/boxery
export GUEST_DISPLAY=$n GUEST_XAUTHORITY=$XAUTHORITY
xauth -q add ":$n" . "$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')" \
	2> /dev/null
pids=()
desktop_clean() {
	local p
	ssh "${ssh_options[@]}" -O exit -p "$port" "$GUEST_USER@127.0.0.1" \
		2> /dev/null || true
	for p in "${pids[@]}"; do kill "$p" 2> /dev/null || true; done
	wait "${pids[@]}" 2> /dev/null || true
	bench_clean
}
trap desktop_clean EXIT
Xvnc ":$n" -auth "$XAUTHORITY" -geometry 1920x1080 -depth 24 -nolisten tcp \
	-rfbport -1 -rfbunixpath "$dir/rfb" -SecurityTypes None \
	> "$dir/xvnc.log" 2>&1 &
pids+=("$!")
for _ in $(seq 100); do
	"$tools/xstate" > /dev/null 2>&1 && break
	sleep 0.1
done
openbox > /dev/null 2>&1 &
pids+=("$!")
mkdir -m 700 "$BOXERY_HOME"
"$tools/guest_service" "$BOXERY_HOME" 2> "$dir/service.log" &
service=$!
pids+=("$service")
for _ in $(seq 100); do
	[ -S "$BOXERY_HOME/run/host.sock" ] && break
	sleep 0.1
done
ssh "${ssh_options[@]}" -M -N -f -p "$port" "$GUEST_USER@127.0.0.1"
python3 bench/desktop.py "$PWD/build/release" "$service" \
	ssh "${ssh_options[@]}" -p "$port" "$GUEST_USER@127.0.0.1"
"$tools/mirror_drive" "/tmp/.X11-unix/X$n" "$XAUTHORITY" "$n" many 20 |
	sed 's/^/memory               /; s/$/  (aim ≤ 1.3)/'
