# A guest of plain QEMU for the image tests: seed, boot, ssh. Sourced.
# shellcheck shell=bash
#
# vm_begin makes the work folder; vm_end (also on any exit) ends QEMU by its
# pid and removes it. Everything listens on the loopback only.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
dir='' port='' qemu=''
# A /dev/kvm that opens may still run no guest (nested machines), so
# software emulation unless told otherwise.
accel=${BOXERY_TEST_ACCEL:-tcg}

failures=0
say() { printf '%s\n' "$*"; }
ok() { printf 'ok    %s\n' "$*"; }
fail() {
	printf 'FAIL  %s\n' "$*"
	failures=$((failures + 1))
}
# check NAME COMMAND…: the command's status is the verdict.
check() {
	local name=$1
	shift
	if "$@"; then ok "$name"; else fail "$name"; fi
}
# same NAME WANTED GOT
same() {
	if [ "$2" = "$3" ]; then
		ok "$1"
	else
		fail "$1: wanted '$2', got '$3'"
	fi
}

vm_begin() {
	dir=$(mktemp -d /tmp/boxery-image-test-XXXXXX)
	trap vm_end EXIT
	trap 'exit 130' INT TERM
	port=$(python3 -c 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	ssh-keygen -q -t ed25519 -N '' -C test -f "$dir/key"
	cp /usr/share/OVMF/OVMF_VARS_4M.fd "$dir/vars.fd"
}

vm_kill() {
	[ -n "$qemu" ] || return 0
	kill "$qemu" 2>/dev/null
	wait "$qemu" 2>/dev/null
	qemu=''
}

vm_end() {
	local status=$?
	vm_kill
	[ -n "$dir" ] && rm -rf "$dir"
	exit "$status"
}

# fill TEMPLATE: as the host service does it. Further lines of a value get
# the indentation of the line that names it.
fill() {
	python3 - "$1" "$dir" "$name" "$instance" <<'P'
import sys
template, folder, name, instance = sys.argv[1:]
read = lambda f: open(folder + '/' + f).read().rstrip('\n')
values = {'@HOSTNAME@': name, '@INSTANCE_ID@': instance,
          '@HOST_KEY@': read('boxery/ssh_host_ed25519_key'),
          '@HOST_KEY_PUB@': read('boxery/ssh_host_ed25519_key.pub'),
          '@AUTHORIZED_KEY@': read('boxery/authorized_keys')}
for line in open(template):
    indent = line[:len(line) - len(line.lstrip())]
    for key, value in values.items():
        line = line.replace(key, value.replace('\n', '\n' + indent))
    sys.stdout.write(line)
P
}

# vm_seed NAME: a new identity, as a NoCloud disk with our folder in it.
vm_seed() {
	name=$1
	instance=$(cat /proc/sys/kernel/random/uuid)
	rm -rf "$dir/boxery" "$dir/seed.img"
	mkdir "$dir/boxery"
	ssh-keygen -q -t ed25519 -N '' -C "$name" \
		-f "$dir/boxery/ssh_host_ed25519_key"
	echo "$name" >"$dir/boxery/hostname"
	echo "$instance" >"$dir/boxery/instance-id"
	cp "$dir/key.pub" "$dir/boxery/authorized_keys"
	fill "$top/guest/seed/user-data" >"$dir/user-data"
	fill "$top/guest/seed/meta-data" >"$dir/meta-data"
	truncate -s 1M "$dir/seed.img"
	mformat -i "$dir/seed.img" -v CIDATA -T 2048 -h 16 -s 32 ::
	mcopy -s -i "$dir/seed.img" "$dir/boxery" "$dir/user-data" \
		"$dir/meta-data" ::
	printf '[127.0.0.1]:%s %s\n' "$port" \
		"$(cut -d ' ' -f 1,2 "$dir/boxery/ssh_host_ed25519_key.pub")" \
		>"$dir/known_hosts"
}

# vm_disk IMAGE SIZE
vm_disk() {
	rm -f "$dir/disk.qcow2"
	qemu-img create -q -f qcow2 -F qcow2 -b "$(realpath "$1")" \
		"$dir/disk.qcow2" "$2"
}

# vm_boot: with $dir/seed.img, where there is one.
vm_boot() {
	local seed=() cpu=max
	[ "$accel" = kvm ] && cpu=host
	if [ -f "$dir/seed.img" ]; then
		seed=(-device "virtio-blk-pci,drive=seed" -drive
			"if=none,id=seed,file=$dir/seed.img,format=raw,readonly=on")
	fi
	: >"$dir/serial.log"
	booted=$EPOCHREALTIME
	qemu-system-x86_64 -machine q35 -accel "$accel" -cpu "$cpu" -smp 2 \
		-m 2048 -display none -nodefaults -no-reboot \
		-drive if=pflash,format=raw,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.fd \
		-drive "if=pflash,format=raw,file=$dir/vars.fd" \
		-device virtio-blk-pci,drive=disk,bootindex=1 \
		-drive "if=none,id=disk,file=$dir/disk.qcow2,format=qcow2,cache=unsafe" \
		"${seed[@]}" \
		-netdev "user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:$port-:22" \
		-device virtio-net-pci,netdev=net,romfile= \
		-device virtio-serial-pci \
		-chardev "socket,id=ga,path=$dir/ga.sock,server=on,wait=off" \
		-device virtserialport,chardev=ga,name=org.qemu.guest_agent.0 \
		-device virtio-rng-pci -serial "file:$dir/serial.log" \
		2>"$dir/qemu.log" &
	qemu=$!
}

since_boot() {
	awk -v a="$booted" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }'
}

# guest COMMAND: over ssh with the pinned key and nothing of the caller's.
guest() {
	ssh -F none -i "$dir/key" -p "$port" -o IdentitiesOnly=yes \
		-o BatchMode=yes -o StrictHostKeyChecking=yes \
		-o UserKnownHostsFile="$dir/known_hosts" -o LogLevel=ERROR \
		-o ConnectTimeout=60 "${guest_user:-agent}@127.0.0.1" "$@"
}

# wait_for SECONDS COMMAND…
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.3
	done
}

# vm_off: as a person would, and by force after 90 s.
vm_off() {
	local i
	guest sudo systemctl "${1:-poweroff}" 2>/dev/null
	for i in $(seq 300); do
		kill -0 "$qemu" 2>/dev/null || break
		[ "$i" -lt 300 ] || vm_kill
		sleep 0.3
	done
	wait "$qemu" 2>/dev/null
	qemu=''
}

# vm_reboot: QEMU exits at a reset (-no-reboot) and is started again, so that
# a new boot cannot be mistaken for the old one.
vm_reboot() {
	vm_off reboot
	vm_boot
	wait_for 300 guest true
}
