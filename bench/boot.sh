#!/bin/bash
# `boxery new` to ready, beside the same image booted by plain qemu until ssh
# answers; pairs, interleaved. Runs inside the lab.
set -eu
cd "$(dirname "$0")/.."
bin=$PWD/build/release/bin
pairs=${PAIRS:-3}
if [ -z "${BOXERY_IN_LAB:-}" ]; then
	"$bin/boxery" service stop > /dev/null 2>&1 || true
	exec tests/lab/run env BOXERY_IN_LAB=1 "$PWD/bench/boot.sh"
fi

work=$(mktemp -d)
qemu=
clean() {
	[ -z "$qemu" ] || kill "$qemu" 2> /dev/null || true
	"$bin/boxery" rm --force bench-peer > /dev/null 2>&1 || true
	"$bin/boxery" rm --force bench-new > /dev/null 2>&1 || true
	rm -rf "$work"
}
trap clean EXIT
now_ms() { echo $(($(date +%s%N) / 1000000)); }

"$bin/boxery" init > /dev/null
accel=tcg
"$bin/boxery" --json doctor | grep -q '"accel[a-z]*".*kvm' && accel=kvm
# a machine of boxery's lends its seed and keys to the peer
"$bin/boxery" -q new bench-peer > /dev/null
"$bin/boxery" -q stop --force bench-peer > /dev/null
data=$BOXERY_HOME/data
image=$(find "$data/images" -name 'base-desktop-*.qcow2' | sort | tail -n 1)
seed=$(find "$data/vms" -name 'bench-peer*seed*' | head -n 1)
key=$(find "$BOXERY_HOME/config" -path '*keys*' -name bench-peer | grep -v host-keys | head -n 1)
[ -f "$image" ] && [ -f "$seed" ] && [ -f "$key" ]

boot_plain() {
	local start i
	qemu-img create -q -f qcow2 -b "$image" -F qcow2 "$work/disk.qcow2" 16G
	start=$(now_ms)
	qemu-system-x86_64 -machine "q35,accel=$accel" -cpu max -smp 2 -m 2048 \
		-display none -nodefaults \
		-drive if=pflash,format=raw,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.fd \
		-device virtio-blk-pci,drive=d0,bootindex=1 \
		-drive "if=none,id=d0,file=$work/disk.qcow2,format=qcow2" \
		-device virtio-blk-pci,drive=d1 \
		-drive "if=none,id=d1,file=$seed,format=raw,readonly=on" \
		-netdev user,id=n0,restrict=on,hostfwd=tcp:127.0.0.1:2299-:22 \
		-device virtio-net-pci,netdev=n0,romfile= \
		-device virtio-rng-pci -serial "file:$work/serial.log" &
	qemu=$!
	for i in $(seq 600); do
		if ssh -F none -i "$key" -p 2299 -o ConnectTimeout=60 \
			-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
			-o LogLevel=ERROR agent@127.0.0.1 \
			"until test -e /run/user/1000/boxery-vnc/desktop-up; do sleep 0.2; done" \
			2> /dev/null; then
			echo $(($(now_ms) - start))
			break
		fi
		[ "$i" -lt 600 ]
		sleep 0.2
	done
	kill "$qemu"
	wait "$qemu" 2> /dev/null || true
	qemu=
	rm -f "$work/disk.qcow2"
}

boot_boxery() {
	local start
	start=$(now_ms)
	"$bin/boxery" -q new bench-new > /dev/null
	echo $(($(now_ms) - start))
	"$bin/boxery" -q rm --force bench-new > /dev/null
}

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
: > "$work/ours"
: > "$work/peer"
for _ in $(seq "$pairs"); do
	boot_plain >> "$work/peer"
	boot_boxery >> "$work/ours"
done
ours=$(median < "$work/ours")
peer=$(median < "$work/peer")
printf 'boot to desktop (%s)  boxery new %d ms  plain qemu %d ms  ratio %s  (aim ≤ 1.15; %s pairs: %s / %s)\n' \
	"$accel" "$ours" "$peer" \
	"$(awk -v a="$ours" -v b="$peer" 'BEGIN { printf "%.2f", a / b }')" \
	"$pairs" "$(paste -sd, "$work/ours")" "$(paste -sd, "$work/peer")"
