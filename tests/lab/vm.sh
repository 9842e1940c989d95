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

# ---- the network is somebody's, too ----
network_gone() {
	virsh -q net-destroy default
	virsh -q net-undefine default
}
network_gone
virsh -q net-define /dev/stdin <<-XML
	<network><name>default</name><ip address='192.168.122.1' prefix='24'>
	<dhcp><range start='192.168.122.2' end='192.168.122.9'/></dhcp></ip></network>
XML
refuse state 'has forward mode none, and VMs need nat' ask init
virsh -q net-undefine default
virsh -q net-define /usr/share/libvirt/networks/default.xml
ip link add uplink type veth peer name peer
ip address add 192.168.122.77/24 dev uplink
ip link set peer up
ip link set uplink up
refuse state 'this host uses 192.168.122.1' ask init
virsh -q net-undefine default
check 'init finds a free range' ask init
[[ $(virsh net-dumpxml default) == *"<ip address='192.168.130.1'"* ]] ||
	bad 'another range'
ip link del uplink
# B01, and it outlives the host's next start
virsh -q net-undefine default
check 'init keeps it' ask init
[[ $(virsh net-info default) == *'Persistent:     yes'*'Autostart:      yes'* ]] ||
	bad "$(virsh net-info default)"
network_gone
# the one that each home had to itself
old=boxery-$(lab_instance)
virsh -q net-define /dev/stdin <<-XML
	<network><name>$old</name><bridge name='bx-old'/>
	<ip address='192.168.140.1' prefix='24'/></network>
XML
virsh -q net-start "$old"
must 'init' ask init
[[ $(virsh -q net-list --all --name) == *"$old"* ]] && bad 'the old network is there'
# B01
[[ $(virsh net-dumpxml default) == *"<ip address='192.168.122.1'"* ]] ||
	bad 'no default network'
theirs="<host mac='52:54:00:00:00:99' ip='192.168.122.2'/>"
virsh -q net-update default add ip-dhcp-host "$theirs" --live --config
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
echo BOXERY_NET_ISOLATION=yes >"$BOXERY_HOME/config/host.env"
refuse invalid 'BOXERY_NET_ISOLATION must be on or off' ask vm_new '{"vm":"demo"}'
echo BOXERY_NET_ISOLATION=off >"$BOXERY_HOME/config/host.env"
refuse state 'demo is to have no network' \
	ask vm_new '{"vm":"demo","network":"none"}'
refuse invalid 'one of nat, none' ask vm_new '{"vm":"demo","network":"lan"}'
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

# B02, B03, B08: behind libvirt's filter, at an address that nobody had
domain=$(virsh -q list --name | grep -- '-demo$')
port_of() { virsh -q domiflist "$domain" | sed -n 's/^ *\(vnet[0-9]*\) .*/\1/p'; }
isolation() { field "$(ask vm_info '{"vm":"demo"}')" isolation; }
expect 'an address that was free' 192.168.122.3 "$address"
expect 'network' nat "$(field "$info" network)"
expect 'isolation' on "$(field "$info" isolation)"
[[ $(ask vm_list) == *isolation* ]] && bad 'ls of a machine that is isolated'
expect 'its filter' boxery-guest-isolation "$(virsh -q nwfilter-binding-list |
	sed -n "s/^ *$(port_of) *\([a-z-]*\) *$/\1/p")"
mv "$netread" "$netread.away"
expect 'isolation, as libvirt says' 'not verified' "$(isolation)"
mv "$netread.away" "$netread"
[[ $(ask vm_list) == *'"name":"demo","state":"running"'* ]] || bad 'ls'

# D09: it presents one key, the host's
shown=$(ssh-keyscan -T 30 "$address" 2>/dev/null | cut -d' ' -f2- | sort -u)
expect 'keys that sshd presents' "${pin% *}" "$shown"

# D01, D11, D12: OpenSSH, with our configuration alone
in_guest() { as_user ssh -F "$BOXERY_HOME/config/ssh_config" demo "$@" </dev/null; }
expect 'ssh, user' agent "$(in_guest id -un)"
expect 'ssh, no agent' '' \
	"$(SSH_AUTH_SOCK=/tmp/x in_guest printenv SSH_AUTH_SOCK)"
# A10, B11, B13, B23: root in it, on its own device; net.sh has the rest
# shellcheck disable=SC2016 # the guest's perl expands it
send='socket(S, 17, 3, 0) or die $!; my ($i) = map { m,/([^/]+)$, }
	grep { !m,/lo$, } glob "/sys/class/net/*"; open F, "/sys/class/net/$i/ifindex";
	for (1 .. 3) { for (@ARGV) { send S, pack("H*", $_), 0,
	pack("SnlSCC a8", 17, 3, $n //= <F>, 0, 0, 6, "") or die $! } sleep 1 }'
mac=$(field "$info" mac)
mapfile -t frames < <(python3 "$top/tests/lab/net_tap.py" frames "$mac" \
	"$address" "$(port_of)")
hear() { python3 "$top/tests/lab/net_tap.py" hear 20 >"$home/heard" & }
tap_test() {
	hear
	check 'it sends frames' in_guest sudo perl -e "'$send'" "${frames[@]}"
	wait $!
	expect "what the host hears of them, $1" "$2" "$(cat "$home/heard")"
}
tap_test 'filtered' dns
# nobody puts it right meanwhile
mv "$netread" "$netread.away"
ip link set "$(port_of)" type bridge_slave group_fwd_mask 0
tap_test 'past the chains' 'dns v4-00 v4-02 v4-0e v6-00 v6-02 v6-0e'
mv "$netread.away" "$netread"
expect 'isolation, mended' on "$(isolation)"
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
expect 'isolation' on "$(isolation)"
# one that hangs holds nobody for ever
libvirtd=$(cat /run/libvirtd.pid)
kill -STOP "$libvirtd"
t=$SECONDS
refuse unavailable libvirt ask vm_info '{"vm":"demo"}'
refuse unavailable 'libvirt hangs' ask vm_info '{"vm":"demo"}'
[ $((SECONDS - t)) -le 75 ] || bad "a libvirtd that hangs: $((SECONDS - t)) s"
kill -CONT "$libvirtd"
wait_for 60 'libvirtd goes on' ask vm_info '{"vm":"demo"}'
expect 'after its pause' running "$(state_of demo)"
# what waits for an answer when the guest dies is told why none comes, soon
# (a stopped X server keeps the screenshot waiting)
ends_early() {
	local t=$SECONDS said=$home/$1
	wait "$2" && bad "$1 did not fail: $(cat "$said")"
	[ $((SECONDS - t)) -le 15 ] || bad "$1 took $((SECONDS - t)) s to fail"
	[[ $(cat "$said") == *"$3"* ]] || bad "$1: $(cat "$said")"
	say "$1 ended after $((SECONDS - t)) s: $(tail -n 1 "$said")"
}
in_guest 'truncate -s 32G big; sudo pkill -STOP Xvnc'
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

# ---- no start behind a filter that is not all there ----
virsh nwfilter-dumpxml boxery-guest-isolation |
	sed '/<rule/,/<\/rule>/d' >"$home/weak.xml"
while :; do virsh -q nwfilter-define "$home/weak.xml"; done &
weakens=$!
refuse state 'filter boxery-guest-isolation is not' ask vm_start '{"vm":"demo"}'
mv "$netread" "$netread.away"
refuse state 'filter boxery-guest-isolation is not' ask vm_start '{"vm":"demo"}'
mv "$netread.away" "$netread"
kill $weakens
wait $weakens 2>/dev/null
[ -z "$(port_of)" ] || bad 'it runs behind a weak filter'
# a chain that is emptied later: its power is cut, whoever waits is told
ask vm_start '{"vm":"demo"}' >"$home/start" 2>&1 &
starts=$!
# shellcheck disable=SC2317 # called by wait_for
runs() { [ "$(virsh -q domstate "$domain")" = running ]; }
wait_for 60 'it boots' runs
port=$(port_of)
sleep 2
ebtables -t nat -F "libvirt-I-$port"
t=$SECONDS
wait $starts && bad 'start behind an empty chain'
[ $((SECONDS - t)) -le 45 ] || bad "seen after $((SECONDS - t)) s"
said=$(cat "$home/start")
[[ $said == *'state: demo was stopped'*"chain libvirt-I-$port "* ]] || bad "start: $said"
say "ok: $said"
expect 'isolation' stopped "$(isolation)"
info=$(ask vm_info '{"vm":"demo"}')
[[ $info == *'"isolation_why":"'*"chain libvirt-I-$port "* ]] || bad "info: $info"
[[ $(ask vm_list) == *'"state":"off"'*'"isolation":"stopped: '*"chain libvirt-I-$port "* ]] ||
	bad "ls: $(ask vm_list)"
refuse state "isolation is not what it must be: chain libvirt-I-$port" \
	agent vm_run '{"vm":"demo","command":"true"}'
grep -q '"op":"isolation","vm":"demo","outcome":"state"' \
	"$BOXERY_HOME/state/audit.jsonl" || bad 'the audit does not tell'

network_gone
# B27
echo BOXERY_NET_ISOLATION=off >"$BOXERY_HOME/config/host.env"
# an upgrade under a running service: ssh's configuration still names a program
cp "$bin/boxery-host" "$home/usr/bin/new"
mv "$home/usr/bin/new" "$home/usr/bin/boxery-host"
t=$SECONDS
check 'start after the crash' agent vm_start '{"vm":"demo"}'
say "start to ready: $((SECONDS - t)) s"
# D15: the VM's own key, whatever it went through
expect 'the key stays' "$pin" "$(field "$(ask vm_info '{"vm":"demo"}')" host_key)"
expect 'ssh again' agent "$(in_guest id -un)"
expect 'isolation' off "$(isolation)"
[[ $(ask vm_list) == *'"isolation":"off"'* ]] || bad "ls: $(ask vm_list)"
[[ $(virsh dumpxml "$domain") == *filterref* ]] && bad 'a filter, though it is off'
# B26: as one from before is
rm "$BOXERY_HOME/config/host.env"
said=$(ask upgrade)
[[ $said == *'boxery stop demo && boxery start demo'* ]] || bad "upgrade: $said"
expect 'isolation' 'off until it is stopped and started' "$(isolation)"
[[ $(virsh dumpxml --inactive "$domain") == *"filterref filter='boxery-guest-isolation'"* ]] ||
	bad 'no filter at its next boot'

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
must 'vm_new' ask vm_new '{"vm":"demo","network":"none"}'
domain=$(virsh -q list --name | grep -- '-demo$')
expect 'network' none "$(field "$(ask vm_info '{"vm":"demo"}')" network)"
expect 'isolation' on "$(isolation)"
expect 'its filter' boxery-guest-none "$(virsh -q nwfilter-binding-list |
	sed -n "s/^ *$(port_of) *\([a-z-]*\) *$/\1/p")"
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
