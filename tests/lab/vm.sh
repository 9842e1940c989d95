#!/bin/bash
# The life of real machines, as an ordinary user in group libvirt: made, used,
# stopped, crashed, started, removed; services that are killed in between;
# disks that are full. Guests are emulated where there is no KVM.
#
#   tests/lab/vm.sh            (enters the lab by itself)
if [ -z "${BOXERY_LAB:-}" ]; then
	exec "$(dirname "$0")/run" "$0" "$@"
fi
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"

home=$(mktemp -d /tmp/boxery-vm-XXXXXX)
chmod 711 "$home"
trap 'umount -l "$home/small" 2>/dev/null; rm -rf "$home"' EXIT

# ---- the host ----
lab_home "$home/h"
# installed, as make install lays it out: its program is replaced below
mkdir -p "$home/usr/bin" "$home/usr/share/boxery"
cp "$bin"/* "$home/usr/bin"
cp -R "$top/guest" "$home/usr/share/boxery/"
PATH=$home/usr/bin:$PATH
said=$(ask init)
[[ $said == *'"needs_root"'*'sudo install -d -m 2710 -o'* ]] || bad "init: $said"
group=$(getent group libvirt-qemu | cut -d: -f1)
install -d -m 2710 -o "$lab_uid" -g "$group" "$BOXERY_HOME/data" \
	"$BOXERY_HOME/data/images" "$BOXERY_HOME/data/vms"
must 'init' ask init
must 'the packet filter can be read' lab_netread
before=$(virsh net-dumpxml default)
check 'init again' ask init
expect 'the network stays the same' "$before" "$(virsh net-dumpxml default)"
refuse not_found 'no guest image: run boxery build-base' ask vm_new '{"vm":"demo"}'
lab_image
report=$(ask doctor)
[[ $report == *'"ok":false'* ]] && bad "doctor: $report"

# ---- names ----
long=$(printf 'a%.0s' $(seq 64))
for name in A -a a- a.b 'a b' '' a/b "$long" '../x'; do
	refuse invalid 'VM name' ask vm_new "{\"vm\":\"$name\"}"
done

# ---- creates that fail leave nothing ----
head -c 3000 /dev/urandom >"$home/garbage"
refuse invalid 'multiple of 512' ask --stdin vm_new \
	'{"vm":"demo","image":"garbage"}' <"$home/garbage"
qemu-img create -q -f qcow2 "$home/b.qcow2" 8M
qemu-img create -q -f qcow2 -b "$home/b.qcow2" -F qcow2 "$home/over.qcow2"
refuse invalid 'names a backing file' ask --stdin vm_new \
	'{"vm":"demo","image":"over.qcow2"}' <"$home/over.qcow2"
refuse invalid 'at least as large as the image' ask vm_new \
	'{"vm":"demo","disk":1073741824}'
refuse invalid 'one of small' ask vm_new '{"vm":"demo","shape":"huge"}'
# a KVM that is not there: QEMU ends at once
if ! grep -qwE 'vmx|svm' /proc/cpuinfo; then
	echo BOXERY_ACCEL=kvm >"$BOXERY_HOME/config/host.env"
	refuse '' 'starting demo: libvirt' ask vm_new '{"vm":"demo"}'
fi
echo BOXERY_ACCEL=yes >"$BOXERY_HOME/config/host.env"
refuse invalid 'BOXERY_ACCEL must be kvm or tcg' ask vm_new '{"vm":"demo"}'
rm "$BOXERY_HOME/config/host.env"
expect_nothing demo lease

# ---- a service that dies while it makes or removes a machine ----
make_and_kill() {
	local pid client what=$1
	shift
	ask vm_new '{"vm":"cut"}' >/dev/null 2>&1 &
	client=$!
	wait_for 60 "cut gets as far as $what" "$@" || return
	pid=$(service_pid)
	kill -9 "$pid"
	wait "$client" 2>/dev/null
}
# shellcheck disable=SC2317 # called by wait_for
domain_there() { virsh -q list --all --name | grep -q -- -cut$; }
make_and_kill 'its row' state_is cut creating
expect 'killed while making' broken "$(state_of cut)"
refuse state 'boxery rm cut' ask vm_start '{"vm":"cut"}'
check 'rm cleans it' ask vm_rm '{"vm":"cut"}'
expect_nothing cut lease
for delay in 0 0.05 0.15; do
	make_and_kill 'its boot' domain_there
	expect 'killed while booting' broken "$(state_of cut)"
	pid=$(service_pid)
	ask vm_rm '{"vm":"cut"}' >/dev/null 2>&1 &
	sleep $delay
	kill -9 "$pid"
	wait $! 2>/dev/null
	say "killed $delay s into rm: $(state_of cut)"
	case $(state_of cut) in
	broken | removing) check 'rm finishes' ask vm_rm '{"vm":"cut"}' ;;
	'') ;;
	*) bad "cut is $(state_of cut)" ;;
	esac
	expect_nothing cut lease
done

# ---- making it is ended by force ----
for how in 'vm_stop stopped "state":"removed"' 'vm_rm removed "removed":true'; do
	read -r op word result <<<"$how"
	ask vm_new '{"vm":"cut"}' >"$home/new" 2>&1 &
	makes=$!
	wait_for 60 'its boot' domain_there
	refuse busy 'being created' ask vm_stop '{"vm":"cut"}'
	# a person's: no agent may make an end of it
	refuse busy 'being created' agent vm_stop '{"vm":"cut","force":true}'
	[[ $(ask "$op" '{"vm":"cut","force":true}') == *"$result"* ]] ||
		bad "$op of a machine that is being made"
	wait $makes && bad 'vm_new went well'
	[[ $(cat "$home/new") == *"state: cut was $word meanwhile"* ]] ||
		bad "vm_new says: $(cat "$home/new")"
	expect_nothing cut lease
done

# ---- a machine, by an agent ----
t=$SECONDS
must 'vm_new' agent vm_new '{"vm":"demo"}'
say "new to ready: $((SECONDS - t)) s"
info=$(ask vm_info '{"vm":"demo"}')
expect 'state' running "$(field "$info" state)"
expect 'owner' "agent:$lab_uid:robot" "$(field "$info" owner)"
address=$(field "$info" address)
pin=$(field "$info" host_key)
console=$(field "$info" console)
check 'the owner reads its console' as_user test -s "$console"
expect 'the pin is on file' "$pin" "$(cat "$BOXERY_HOME/config/host-keys/demo")"
refuse exists 'named demo exists' ask vm_new '{"vm":"demo"}'
[[ $(ask vm_list) == *'"name":"demo","state":"running"'* ]] || bad 'ls'

# D09: it presents one key, the host's
shown=$(ssh-keyscan -T 30 "$address" 2>/dev/null | cut -d' ' -f2- | sort -u)
expect 'keys that sshd presents' "${pin% *}" "$shown"

# D01, D11, D12: OpenSSH, with our configuration alone
in_guest() { as_user ssh -F "$BOXERY_HOME/config/ssh_config" demo "$@" </dev/null; }
expect 'ssh, user' agent "$(in_guest id -un)"
expect 'ssh, no agent' '' \
	"$(SSH_AUTH_SOCK=/tmp/x in_guest printenv SSH_AUTH_SOCK)"
# A14
expect 'no swap' '' "$(in_guest 'tail -n +2 /proc/swaps')"
expect 'hostname' demo "$(in_guest hostname)"
# A15
# shellcheck disable=SC2016 # the guest's shell expands it
expect 'no core dumps' '0 |/bin/false' \
	"$(in_guest 'echo "$(ulimit -c) $(cat /proc/sys/kernel/core_pattern)"')"
# G06: the password lies in memory, for its user alone
vnc=/run/user/1000/boxery-vnc
expect 'VNC password file' '600 agent tmpfs' \
	"$(in_guest "echo \$(stat -c '%a %U' $vnc/passwd) \$(stat -f -c %T $vnc)")"
# G05: eight letters and digits; TigerVNC keeps them under a key that all know
password=$(in_guest cat $vnc/passwd | openssl enc -d -des-ecb -nopad \
	-K e84ad660c4721ae0 -provider legacy -provider default)
[[ $password =~ ^[A-Za-z0-9]{8}$ ]] || bad 'the VNC password is not 8 of A-Za-z0-9'

# D18: no pin, no connection
mv "$BOXERY_HOME/config/host-keys/demo" "$home/pin"
said=$(in_guest true 2>&1) && bad 'ssh without a pin'
[[ $said == *'Host key verification failed'* ]] || bad "no pin: $said"
# D13: another's key in its place
as_user ssh-keygen -q -t ed25519 -N '' -f "$home/h/other"
cp "$home/h/other.pub" "$BOXERY_HOME/config/host-keys/demo"
chown "$lab_uid" "$BOXERY_HOME/config/host-keys/demo"
said=$(in_guest true 2>&1) && bad 'ssh with a wrong pin'
[[ $said == *'Host key verification failed'* ]] || bad "wrong pin: $said"
# the service reads pins when it first connects
kill -9 "$(service_pid)"
expect 'it outlives the service' running "$(state_of demo)"
refuse denied 'Host key verification failed' ask vm_start '{"vm":"demo"}'
# D02, D03: nor does a command or the desktop of an agent get anywhere
refuse denied 'Host key verification failed' \
	ask vm_run '{"vm":"demo","argv":["true"]}'
refuse denied 'Host key verification failed' \
	agent vm_run '{"vm":"demo","command":"true"}'
refuse denied 'Host key verification failed' agent vm_screenshot '{"vm":"demo"}'
cp "$home/pin" "$BOXERY_HOME/config/host-keys/demo"
chown "$lab_uid" "$BOXERY_HOME/config/host-keys/demo"
kill -9 "$(service_pid)"
check 'start of a running machine' ask vm_start '{"vm":"demo"}'

# ---- agents' limits ----
echo 'agent_vms=1' >"$BOXERY_HOME/config/config"
refuse limit 'agents own 1 VMs and may own 1' agent vm_new '{"vm":"more"}'
expect_nothing more
refuse state 'vm_stop it first' agent vm_rm '{"vm":"demo"}'
refuse state 'boxery stop demo first' ask vm_rm '{"vm":"demo"}'

# ---- libvirtd restarts, the guest's program dies, the network is gone ----
# shellcheck disable=SC2317 # called by wait_for
libvirtd_gone() { ! kill -0 "$libvirtd"; }
libvirtd=$(cat /run/libvirtd.pid)
kill "$libvirtd"
wait_for 20 'libvirtd ends' libvirtd_gone
said=$(as_user boxery ls 2>"$home/err")
expect 'ls without libvirt' 10 $?
[[ $said =~ demo\ +unknown ]] || bad "ls without libvirt: $said"
[[ $(cat "$home/err") == *'sudo systemctl start libvirtd'* ]] ||
	bad "ls without libvirt says: $(cat "$home/err")"
refuse unavailable 'sudo systemctl start libvirtd' ask vm_info '{"vm":"demo"}'
libvirtd --daemon
wait_for 60 'libvirtd answers' virsh -q list
expect 'after its restart' running "$(state_of demo)"
# what waits for an answer when the guest dies is told why none comes, soon
# (a stopped X server keeps the screenshot waiting)
ends_early() {
	local t=$SECONDS said=$home/$1
	wait "$2" && bad "$1 did not fail: $(cat "$said")"
	[ $((SECONDS - t)) -le 15 ] || bad "$1 took $((SECONDS - t)) s to fail"
	[[ $(cat "$said") == *"$3"*'ended early'* ]] || bad "$1: $(cat "$said")"
	say "$1 ended after $((SECONDS - t)) s: $(tail -n 1 "$said")"
}
in_guest 'truncate -s 32G big; sudo pkill -STOP Xtigervnc'
ask vm_run '{"vm":"demo","argv":["sleep","600"]}' >"$home/run" 2>&1 &
runs=$!
agent vm_run '{"vm":"demo","command":"echo x; sleep 600"}' >"$home/agent" 2>&1 &
agents=$!
as_user boxery cp demo:big "local:$BOXERY_HOME/big" >"$home/cp" 2>&1 &
copies=$!
agent vm_screenshot '{"vm":"demo"}' >"$home/shot" 2>&1 &
shoots=$!
sleep 5
qemu=$(pgrep -f "guest=boxery-.*-demo,")
kill -9 "$qemu"
ends_early run $runs 'demo has crashed: boxery start demo'
ends_early agent $agents 'demo has crashed: boxery start demo'
[[ $(cat "$home/agent") == *'kept in run:'* ]] || bad 'where is the output?'
ends_early cp $copies 'demo has crashed: boxery start demo'
ends_early shot $shoots 'demo has crashed: boxery start demo'
rm -f "$BOXERY_HOME"/big* "$BOXERY_HOME"/.big*
wait_for 20 'the crash shows' state_is demo crashed
[[ $(ask vm_list) == *'"name":"demo","state":"crashed"'* ]] || bad 'ls, crashed'
refuse state 'demo has crashed: boxery start demo' ask vm_wait '{"vm":"demo"}'
virsh -q net-destroy default && virsh -q net-undefine default
# an upgrade under a running service: ssh's configuration still names a program
cp "$bin/boxery-host" "$home/usr/bin/new"
mv "$home/usr/bin/new" "$home/usr/bin/boxery-host"
t=$SECONDS
check 'start after the crash' agent vm_start '{"vm":"demo"}'
say "start to ready: $((SECONDS - t)) s"
# D15: the VM's own key, whatever it went through
expect 'the key stays' "$pin" "$(field "$(ask vm_info '{"vm":"demo"}')" host_key)"
expect 'ssh again' agent "$(in_guest id -un)"

# ---- the desktop is not there, for now or at all ----
in_guest sudo systemctl stop boxery-vnc
refuse state 'is not up yet' ask vm_screenshot '{"vm":"demo"}'
[[ $(ask vm_wait '{"vm":"demo","seconds":3}') == *'"ready":false'* ]] ||
	bad 'ready without a desktop'
set_desktop() {
	python3 -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db:
	db.execute("UPDATE vm SET desktop = ?", (sys.argv[2],))' \
		"$BOXERY_HOME/state/boxery.db" "$1"
}
set_desktop 0
refuse state 'demo has no desktop' ask vm_key '{"vm":"demo","keys":"a"}'
set_desktop 1
in_guest sudo systemctl start boxery-vnc
wait_for 60 'the desktop comes back' ask vm_screenshot '{"vm":"demo"}'

# ---- off, and removed ----
t=$SECONDS
check 'stop' agent vm_stop '{"vm":"demo"}'
say "stopped in $((SECONDS - t)) s"
expect 'state' off "$(state_of demo)"
check 'stop again' agent vm_stop '{"vm":"demo"}'
said=$(as_user timeout --preserve-status -s INT 4 boxery start demo 2>&1)
expect 'a start that is interrupted' 130 $?
[[ $said == *'left as it is (boxery stop --force demo)'* ]] || bad "start: $said"
expect 'only waits no longer' running "$(state_of demo)"
ask vm_start '{"vm":"demo"}' >"$home/start" 2>&1 &
starts=$!
sleep 2
refuse busy 'busy with starting' ask vm_stop '{"vm":"demo"}'
t=$SECONDS
check 'a start is ended by force' ask vm_stop '{"vm":"demo","force":true}'
wait $starts && bad 'vm_start went well'
[ $((SECONDS - t)) -le 10 ] || bad "that took $((SECONDS - t)) s"
[[ $(cat "$home/start") == *'state: demo was stopped meanwhile (boxery stop --force'* ]] ||
	bad "vm_start says: $(cat "$home/start")"
expect 'state' off "$(state_of demo)"
check 'rm by an agent' agent vm_rm '{"vm":"demo"}'
expect_nothing demo lease
refuse not_found 'no VM is named demo' ask vm_info '{"vm":"demo"}'
refuse not_found 'no VM is named demo' agent vm_rm '{"vm":"demo"}'
ask service_stop >/dev/null

# ---- a full disk ----
mkdir "$home/small"
mount -t tmpfs -o size=600m,mode=711 tmpfs "$home/small"
lab_home "$home/small"
install -d -m 2710 -o "$lab_uid" -g "$group" "$BOXERY_HOME/data" \
	"$BOXERY_HOME/data/images" "$BOXERY_HOME/data/vms"
BOXERY_TEST_IMAGE=$home/h/data/images/test.qcow2 lab_image
must 'init' ask init
refuse nospace 'MiB free and a new VM needs 1024 MiB' ask vm_new '{"vm":"demo"}'
expect_nothing demo
mount -o remount,size=1200m "$home/small"
must 'vm_new' ask vm_new '{"vm":"demo"}'
refuse denied 'made by a person' agent vm_rm '{"vm":"demo"}'
in_guest 'nohup head -c 2G /dev/zero >big 2>/dev/null </dev/null &'
wait_for 120 'the disk fills' state_is demo disk-full
refuse state 'is stopped because the host' ask vm_screenshot '{"vm":"demo"}'
mount -o remount,size=3g "$home/small"
check 'goes on once there is room' ask vm_start '{"vm":"demo"}'
expect 'state' running "$(state_of demo)"
refuse state 'boxery rm --force demo' ask vm_rm '{"vm":"demo"}'
# its kernel dies: the machine says so, and nobody works with it any more
in_guest 'sudo sh -c "sleep 1; echo c >/proc/sysrq-trigger" >/dev/null 2>&1 &'
wait_for 60 'the panic shows' state_is demo crashed
check 'rm of a crashed machine' ask vm_rm '{"vm":"demo"}'
expect_nothing demo lease
lab_end
