#!/bin/bash
# Host keys: an impostor that took over a machine's address and gets nothing,
# pins that are lost and learnt again, guest agents that are silent or lie. And
# what the machine's own process on the host may do.
#
#   tests/lab/pin.sh           (enters the lab by itself)
if [ -z "${BOXERY_LAB:-}" ]; then
	exec "$(dirname "$0")/run" --cgroups "$0" "$@"
fi
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"

home=$(mktemp -d /tmp/boxery-pin-XXXXXX)
chmod 711 "$home"
trap 'rm -rf "$home"' EXIT

lab_home "$home/h"
group=$(getent group libvirt-qemu | cut -d: -f1)
install -d -m 2710 -o "$lab_uid" -g "$group" "$BOXERY_HOME/data" \
	"$BOXERY_HOME/data/images" "$BOXERY_HOME/data/vms"
must 'the packet filter can be read' lab_netread
must 'init' ask init
lab_image
must 'vm_new' ask vm_new '{"vm":"demo"}'
info=$(ask vm_info '{"vm":"demo"}')
address=$(field "$info" address)
own=$(field "$info" host_key)
domain=$(virsh -q list --name | grep -- -demo$)
mac=$(field "$info" mac)
bridge=$(virsh -q dumpxml "$domain" | sed -n "s/.*bridge='\([^']*\)'.*/\1/p" |
	head -n 1)
pin=$BOXERY_HOME/config/host-keys/demo
finger_of() { ssh-keygen -lf "$1" | cut -d' ' -f2; }
right=$(finger_of "$pin")
expect 'isolation' on "$(field "$info" isolation)"

in_guest() {
	as_user ssh -F "$BOXERY_HOME/config/ssh_config" demo "$@" </dev/null
}
boxery() { as_user "$bin/boxery" --quiet "$@" </dev/null; }

# ---- the machine's process ----
# what QEMU's own monitor and the kernel say, not what we asked libvirt for
qemu=$(pgrep -f "guest=$domain,")
status() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$qemu/status"; }
expect 'QEMU: user' libvirt-qemu "$(ps -o user:20= -p "$qemu" | tr -d ' ')"
for set in CapInh CapPrm CapEff CapAmb; do
	expect "QEMU: $set" 0000000000000000 "$(status $set)"
done
expect 'QEMU: no new privileges' 1 "$(status NoNewPrivs)"
expect 'QEMU: a seccomp filter' 2 "$(status Seccomp)"
expect 'QEMU: no core dump' '0' "$(sed -n \
	's/^Max core file size *\([^ ]*\) .*/\1/p' "/proc/$qemu/limits")"
# 2 GiB, an eighth more, and what QEMU needs; as the kernel has it
group=$(sed -n 's/^[0-9]*:memory:\(.*\)/\1/p' "/proc/$qemu/cgroup")
expect 'QEMU: its memory is limited' $(((2048 + 256 + 1536) << 20)) \
	"$(cat "/sys/fs/cgroup/memory${group}/memory.limit_in_bytes" 2>/dev/null ||
		cat "/sys/fs/cgroup/$(sed -n 's/^0:://p' "/proc/$qemu/cgroup")/memory.max")"
# no way to it but libvirt's: it listens nowhere, and its console is a pipe
expect 'QEMU: TCP and UDP sockets' '' \
	"$(ss -Htuanp | grep "pid=$qemu," || true)"
open=$(find "/proc/$qemu/fd" -lname '*console*' -o -lname '/dev/kvm' \
	-o -lname '/dev/vhost*')
if [ -e /dev/kvm ] && grep -qwE 'vmx|svm' /proc/cpuinfo; then
	say 'QEMU: it has /dev/kvm and what belongs to that'
else
	expect 'QEMU: console file, KVM and vhost devices' '' "$open"
fi
# what a guest can drive: virtio, a serial line, and what the board has
allowed='^(virtio-(rng|blk|serial|net)-(pci|device)|virtserialport|isa-serial|pvpanic|pcie-root-port|q35-pcihost|mch|ICH9-(LPC|SMB)|ich9-ahci|smbus-eeprom|ioapic|kvm-ioapic|kvmclock|kvmvapic|port92|i8042|isa-(pcspk|pit|i8259)|kvm-(pit|i8259)|mc146818rtc|i8257|fw_cfg_io|cfi\.pflash01|ps2-(mouse|kbd))$'
expect 'QEMU: other devices' '' "$(virsh -q qemu-monitor-command "$domain" \
	--hmp info qtree | sed -n 's/^ *dev: \([^,]*\),.*/\1/p' | sort -u |
	grep -Ev "$allowed")"

# ---- what else on the host reads a guest's bytes ----
# dnsmasq: an ordinary user that may send DHCP answers
dns=$(pgrep -o -u nobody dnsmasq)
[ -n "$dns" ] || bad 'dnsmasq runs as somebody else'
caps=$(sed -n 's/^CapEff:[[:space:]]*//p' "/proc/$dns/status")
# NET_BIND_SERVICE, NET_ADMIN, NET_RAW
expect 'dnsmasq: capabilities beyond its own' 0 $((0x$caps & ~0x3400))
# the service: its person, and nothing that person has not
service=$(service_pid)
expect 'the service: user' "$lab_uid" "$(stat -c %u "/proc/$service")"
expect 'the service: capabilities' 0000000000000000 \
	"$(sed -n 's/^CapEff:[[:space:]]*//p' "/proc/$service/status")"
expect 'the service: no core dump' 0 "$(sed -n \
	's/^Max core file size *\([^ ]*\) .*/\1/p' "/proc/$service/limits")"
expect 'the service: listens' "u_str $BOXERY_HOME/run/host.sock" \
	"$(ss -Hlntuxp | awk -v p="pid=$service," 'index($0, p) { print $1, $5 }')"
# a guest that writes to its console without end: 2 MiB, and three older parts
t=$SECONDS
in_guest 'yes 0123456789012345678901234567890123456789012345678901234567890 |
	head -c 3M | sudo tee /dev/ttyS0 >/dev/null'
say "3 MiB on the console took $((SECONDS - t)) s"
expect 'console: an older part' "$BOXERY_HOME/data/vms/demo.console.log.0" \
	"$(find "$BOXERY_HOME/data/vms" -name 'demo.console.log.0' -size +1900k)"
expect 'console: parts that are longer' '' \
	"$(find "$BOXERY_HOME/data/vms" -name 'demo.console*' -size +2100k)"

# ---- an impostor: somebody else on the bridge who has taken the address ----
# its own sshd would let anybody in, and writes down each packet it gets
mkdir -p /run/sshd "$home/impostor"
for key in ed25519 rsa; do
	ssh-keygen -q -t $key -N '' -C '' -f "$home/impostor/$key"
done
cat >"$home/impostor/conf" <<-CONF
	ListenAddress 0.0.0.0
	HostKey $home/impostor/ed25519
	HostKey $home/impostor/rsa
	AuthorizedKeysCommand /bin/cat $BOXERY_HOME/config/keys/demo.pub
	AuthorizedKeysCommandUser root
	PermitRootLogin yes
	StrictModes no
	UsePAM no
	PidFile none
	MaxStartups 100
	LogLevel DEBUG3
CONF
ip netns add impostor
ip link add imp0 type veth peer name eth0 netns impostor
ip link set imp0 master "$bridge" up
ip netns exec impostor sh -c "ip link set lo up; ip link set eth0 up;
	ip addr add $address/24 dev eth0"
log=$home/impostor/log
ip netns exec impostor /usr/sbin/sshd -D -f "$home/impostor/conf" -E "$log" &
impostor=$!
wait_for 20 'the impostor listens' grep -q 'Server listening' "$log"
false_key=$(finger_of "$home/impostor/ed25519.pub")

take_over() {
	virsh -q domif-setlink "$domain" "$mac" down
	ip link set imp0 up
	ip neigh flush dev "$bridge"
	wait_for 30 'the impostor answers' heard_of
}
give_back() {
	ip link set imp0 down
	virsh -q domif-setlink "$domain" "$mac" up
	ip neigh flush dev "$bridge"
	wait_for 60 'the machine answers' in_guest true
}
# shellcheck disable=SC2317 # called by wait_for
heard_of() { : </dev/tcp/"$address"/22; }

met() { grep -c 'Connection from' "$log"; }
# The packets that it got: KEXINIT, ECDH_INIT and NEWKEYS are the key exchange
# (RFC 4253); a login would be 5 and 50, a farewell 1, a channel 90.
beyond() {
	sed -n 's/.*receive packet: type \([0-9]*\).*/\1/p' "$log" |
		grep -Evx '20|21|30' | sort -nu | paste -sd' '
	grep -iE 'userauth|Accepted|session opened' "$log" | head -n 3
}
# meets TEXT COMMAND…: the command fails for the key, after it met the impostor
meets() {
	local what=$1 before said
	shift
	before=$(met)
	if said=$("$@" 2>&1); then
		bad "$what: the impostor was taken for the machine: $said"
	elif [[ $said != *'Host key verification failed'* ]]; then
		bad "$what: $said"
	elif [ "$(met)" -le "$before" ]; then
		bad "$what: it did not even meet the impostor"
	else
		say "ok: $what"
	fi
	expect "$what: got beyond the key exchange" '' "$(beyond)"
}

say "the token" >"$home/h/file"
chown "$lab_uid" "$home/h/file"
# warm sessions to the machine break first; what they had in flight is nobody's
ask vm_screenshot '{"vm":"demo"}' >/dev/null
check 'a command before' ask vm_run '{"vm":"demo","argv":["true"]}'
take_over
ask vm_run '{"vm":"demo","argv":["true"]}' >/dev/null 2>&1 &&
	bad 'a command reached the impostor'
ask vm_screenshot '{"vm":"demo"}' >/dev/null 2>&1 &&
	bad 'a picture of the impostor'
expect 'what warm sessions gave away' '' "$(beyond)"
ask service_stop >/dev/null
# D01, D13
meets 'ssh' boxery ssh demo true
meets 'ssh with our configuration' in_guest true
# D02
meets 'run' boxery run demo -- true
meets 'cp into it' boxery cp "local:$home/h/file" demo:file
meets 'cp out of it' boxery cp demo:file "local:$home/h/other"
# D03
meets 'vm_run' agent vm_run '{"vm":"demo","command":"true"}'
meets 'vm_write' agent vm_write '{"vm":"demo","path":"f","content":"secret"}'
meets 'vm_read' agent vm_read '{"vm":"demo","path":"f"}'
meets 'vm_screenshot' agent vm_screenshot '{"vm":"demo"}'
meets 'vm_type' agent vm_type '{"vm":"demo","text":"secret"}'
meets 'vm_key' agent vm_key '{"vm":"demo","keys":"a"}'
meets 'start' ask vm_start '{"vm":"demo"}'
meets 'vm_wait' agent vm_wait '{"vm":"demo"}'
# D19: pin does not ask the network
before=$(met)
said=$(ask vm_pin '{"vm":"demo"}')
[[ $said == *"\"fingerprint\":\"$right\""*'"changed":false'* ]] ||
	bad "pin beside an impostor: $said"
expect 'pin beside an impostor: connections to it' "$before" "$(met)"
# D18, D21: nor does start of a machine without a pin
rm "$pin"
meets 'start without a pin' ask vm_start '{"vm":"demo"}'
expect 'start pinned the machine' "$right" "$(finger_of "$pin")"
# D20: with --from-guest it is what a person was told it is
said=$(boxery pin demo --from-guest 2>&1)
[[ $said == *'trust on first use: whoever answers'*"$false_key"*"in place of $right"* ]] ||
	bad "pin --from-guest: $said"
expect 'pin --from-guest gave away' '' "$(beyond)"
check 'pin again' boxery pin demo
expect 'the machine is pinned again' "$right" "$(finger_of "$pin")"
# who does not look at the key is let in, and the log shows it: else all of the
# above would prove nothing
check 'the impostor lets in who does not look' ssh -F /dev/null -n \
	-i "$BOXERY_HOME/config/keys/demo" -o StrictHostKeyChecking=no \
	-o UserKnownHostsFile=/dev/null "root@$address" true
[[ $(beyond) == '1 5 50 '*' 90 '* ]] || bad "its log does not show a login: $(beyond)"
give_back
kill "$impostor"
ip netns del impostor

# ---- a pin that is lost ----
check 'a session' ask vm_run '{"vm":"demo","argv":["true"]}'
rm "$pin"
# the service reads pins when it first connects
ask service_stop >/dev/null
no_pin='boxery pin demo --from-guest trusts what answers'
# D18
said=$(in_guest true 2>&1) && bad 'ssh without a pin'
[[ $said == *'Host key verification failed'* ]] || bad "ssh, no pin: $said"
refuse denied "$no_pin" ask vm_run '{"vm":"demo","argv":["true"]}'
refuse denied "$no_pin" agent vm_run '{"vm":"demo","command":"true"}'
refuse denied "$no_pin" agent vm_write '{"vm":"demo","path":"f","content":"x"}'
refuse denied "$no_pin" agent vm_screenshot '{"vm":"demo"}'
refuse denied "$no_pin" agent vm_wait '{"vm":"demo"}'
said=$(boxery cp "local:$home/h/file" demo:file 2>&1) && bad 'cp without a pin'
[[ $said == *"Host key verification failed"* ]] || bad "cp, no pin: $said"
# no agent, scoped or not, sees pin
refuse denied 'not open to agents' agent vm_pin '{"vm":"demo"}'
refuse denied 'not open to agents' agent vm_pin \
	'{"vm":"demo","from_guest":true}'
expect 'no pin yet' no "$([ -e "$pin" ] && echo yes || echo no)"
# D19
said=$(boxery pin demo)
expect 'pin' "demo is pinned to $right (there was no pin)" "$said"
expect 'the pin' "${own% *}" "$(cut -d' ' -f1,2 "$pin")"
expect 'its owner and mode' "$lab_uid 600" "$(stat -c '%u %a' "$pin")"
check 'run again' ask vm_run '{"vm":"demo","argv":["true"]}'
# D20
rm "$pin"
said=$(boxery pin --from-guest demo 2>"$home/caution")
expect 'pin --from-guest' "demo is pinned to $right (there was no pin)" "$said"
grep -q 'trust on first use' "$home/caution" || bad 'it does not say what it is'
check 'run again' ask vm_run '{"vm":"demo","argv":["true"]}'
# a wrong pin is replaced by a person who asks for that, and by nobody else
cp "$home/impostor/ed25519.pub" "$pin"
chown "$lab_uid" "$pin"
ask service_stop >/dev/null
refuse denied 'not the one that demo was made with' ask vm_start '{"vm":"demo"}'
expect 'start left the pin alone' "$false_key" "$(finger_of "$pin")"
said=$(boxery pin demo)
expect 'pin' "demo is pinned to $right (in place of $false_key)" "$said"
# one that is no key is not "no pin" either
echo 'ssh-ed25519 AAAA' >"$pin"
ask service_stop >/dev/null
refuse denied 'not the base64 of an ed25519 key' ask vm_start '{"vm":"demo"}'
check 'pin' boxery pin demo

# ---- a guest whose key is another, under a service that is connected ----
in_guest 'sudo rm /etc/ssh/ssh_host_ed25519_key*;
	sudo ssh-keygen -q -t ed25519 -N "" -f /etc/ssh/ssh_host_ed25519_key;
	sudo systemctl restart ssh'
said=$(boxery pin demo)
[[ $said == *"in place of $right"* ]] || bad "pin of a new key: $said"
check 'run, by the new key' ask vm_run '{"vm":"demo","argv":["true"]}'
check 'ssh, by the new key' in_guest true
check 'a picture, by the new key' ask vm_screenshot '{"vm":"demo"}'

# ---- agents of guests: silent, refusing, lying ----
key=/etc/ssh/ssh_host_ed25519_key.pub
pinned=$(cat "$pin")
in_guest "sudo cp $key /root/key.pub"
# lies CODE PATTERN COMMAND: after that command in the guest, pin says so
lies() {
	in_guest "$3"
	refuse "$1" "$2" ask vm_pin '{"vm":"demo"}'
}
lies invalid 'not an ssh-ed25519 key' "echo hello | sudo tee $key >/dev/null"
lies invalid 'not an ssh-ed25519 key' "sudo truncate -s 0 $key"
lies protocol 'not a text file' "head -c 100 /dev/zero | sudo tee $key >/dev/null"
lies limit 'more than 1024 bytes' "yes | head -c 5000 | sudo tee $key >/dev/null"
lies state 'refuses: "' "sudo rm $key; sudo mkdir $key"
lies state 'refuses: "' "sudo rmdir $key"
in_guest "sudo cp /root/key.pub $key"
check 'pin again' ask vm_pin '{"vm":"demo"}'
# it hangs
in_guest 'sudo pkill -STOP -x qemu-ga'
t=$SECONDS
refuse unavailable 'boxery pin demo --from-guest takes' ask vm_pin '{"vm":"demo"}'
say "a hanging agent is given up after $((SECONDS - t)) s"
[ $((SECONDS - t)) -le 30 ] || bad 'that is too long'
check 'the rest goes on meanwhile' ask vm_run '{"vm":"demo","argv":["true"]}'
in_guest 'sudo pkill -CONT -x qemu-ga'
wait_for 30 'it answers again' ask vm_pin '{"vm":"demo"}'
# it refuses, by its own settings
in_guest 'sudo systemctl stop qemu-guest-agent;
	sudo systemd-run -q -u other-agent qemu-ga -b guest-file-open'
wait_for 20 'another agent' in_guest systemctl -q is-active other-agent
lies state 'disabled' true
in_guest 'sudo systemctl stop other-agent'
# it is not there
refuse unavailable 'does not answer' ask vm_pin '{"vm":"demo"}'
expect 'nothing of that changed the pin' "$pinned" "$(cat "$pin")"
# D21: without an agent there is no pin, and certainly none of the network's
rm "$pin"
ask service_stop >/dev/null
t=$SECONDS
refuse denied 'boxery pin demo asks again; boxery pin demo --from-guest' \
	ask vm_start '{"vm":"demo"}'
say "start gave up after $((SECONDS - t)) s"
expect 'no pin' no "$([ -e "$pin" ] && echo yes || echo no)"
# D21: a cold start pins, and says so to nobody but the log
check 'stop' ask vm_stop '{"vm":"demo"}'
refuse state 'demo is off' ask vm_pin '{"vm":"demo","from_guest":true}'
check 'start of a machine without a pin' ask vm_start '{"vm":"demo"}'
expect 'it is pinned' "$pinned" "$(cat "$pin")"
check 'run' ask vm_run '{"vm":"demo","argv":["true"]}'
check 'rm' ask vm_rm '{"vm":"demo","force":true}'
expect_nothing demo lease
lab_end
