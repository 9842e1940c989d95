#!/bin/bash
# What may happen to a host costs no healthy VM its power: libvirtd that starts
# again and again, an upgrade that brings other rules, containers, a firewall of
# the host's owner. And a filter that is flushed costs it, and says the way back.
#
#   tests/lab/netwatch.sh      (enters the lab by itself)
#
# The machine has no disk and boots nothing; it is recorded by hand.
if [ -z "${BOXERY_LAB:-}" ]; then
	exec "$(dirname "$0")/run" "$0" "$@"
fi
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
work=$(mktemp -d /tmp/boxery-netwatch-XXXXXX)
chmod 711 "$work"
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/lab/netlab.sh
. "$(dirname "$0")/netlab.sh"

lab_home "$work/h"
install -d -m 2710 -o "$lab_uid" -g "$(getent group libvirt-qemu | cut -d: -f1)" \
	"$BOXERY_HOME"/data{,/images,/vms}
lab_netread
must 'init' ask init

# ---- a machine ----
domain=boxery-$(lab_instance)-demo
mac=$(lab_mac)7a:32
uuid=$(cat /proc/sys/kernel/random/uuid)
cat >"$work/domain.xml" <<-XML
	<domain type='qemu'><name>$domain</name><uuid>$uuid</uuid>
	<memory unit='MiB'>64</memory>
	<os><type arch='x86_64' machine='q35'>hvm</type></os><devices>
	<interface type='network'><mac address='$mac'/>
	<source network='default'/><model type='virtio'/><port isolated='yes'/>
	<filterref filter='boxery-guest-isolation'>
	<parameter name='IP' value='192.168.122.50'/>
	<parameter name='GATEWAY' value='192.168.122.1'/></filterref>
	</interface></devices></domain>
XML
virsh define "$work/domain.xml"
# shellcheck disable=SC2317 # called by must
record() {
	python3 - "$BOXERY_HOME/state/boxery.db" "$uuid" "$mac" <<-'PY'
		import sqlite3, sys
		db = sqlite3.connect(sys.argv[1])
		db.execute("INSERT INTO vm VALUES ('demo', 'ready', ?, ?,"
		           " '192.168.122.50', '0:cli', 'small', 1, 67108864, 1,"
		           " 'none', '[]', 0, 1, 'nat', 1, '')", sys.argv[2:])
		db.commit()
	PY
}
must 'it is on record' record
must 'it starts' virsh start "$domain"
isolation() { field "$(ask vm_info '{"vm":"demo"}')" isolation; }
# shellcheck disable=SC2317 # called by wait_for
is_on() { [ "$(isolation)" = on ]; }
log=$BOXERY_HOME/state/host.log
looks() { grep -c 'looking again' "$log"; }
wait_for 20 'it is isolated' is_on

# ---- the host's owner ----
iptables -I INPUT -p tcp --dport 22 -j ACCEPT
iptables -I INPUT -j LIBVIRT_INP
iptables -N podman
iptables -A podman -s 10.88.0.0/16 -j ACCEPT
iptables -I FORWARD -j podman
sleep 33 # the watch has looked since
expect 'an open sshd, and containers: it runs' running "$(virsh domstate "$domain")"
expect 'an open sshd, and containers: isolation' on "$(isolation)"

# ---- libvirtd ----
for _ in 1 2 3; do
	kill "$(cat /run/libvirtd.pid)"
	while kill -0 "$(cat /run/libvirtd.pid)" 2>/dev/null; do sleep 0.1; done
	libvirtd --daemon
	wait_for 60 'libvirtd answers' virsh list
	expect 'libvirtd again: isolation' on "$(isolation)"
	# nobody but the watch looks meanwhile
	sleep 4
	expect 'libvirtd again: it runs' running "$(virsh domstate "$domain")"
done

# ---- an upgrade ----
# libvirt has the filter of another version, and the service of this one starts
ask service_stop >/dev/null
virsh nwfilter-dumpxml boxery-guest-isolation |
	sed '/protocol=.tcp..*dstportend/d' >"$work/old.xml"
must 'another version' virsh nwfilter-define "$work/old.xml"
before=$(looks)
ask service_status >/dev/null
wait_for 30 'this version is applied' is_on
[ "$(looks)" -gt "$before" ] || bad 'the watch did not see it'
expect 'an upgrade: it runs' running "$(virsh domstate "$domain")"
grep -q 'it is defined anew' "$log" || bad 'the log does not tell'

# ---- and what must not be ----
# as a firewall that is set up by flushing all
nft flush ruleset
# shellcheck disable=SC2317 # called by wait_for
is_off() { [ "$(virsh domstate "$domain")" = 'shut off' ]; }
wait_for 60 'its power is cut' is_off
expect 'flushed: isolation' stopped "$(isolation)"
refuse state 'boxery start demo applies it anew; if that does not help, sudo systemctl restart libvirtd' \
	ask vm_run '{"vm":"demo","argv":["true"]}'
# that way back: with libvirtd again its network's rules are there
virsh start "$domain"
port=$(virsh domiflist "$domain" | awk 'NF { print $1 }')
cp "$tools/filter_drive" "$bin/boxery-netread" "$work"
# shellcheck disable=SC2317 # called by refuse, check
verify() {
	"$work/filter_drive" check nat "$port" "$mac" 192.168.122.50 \
		192.168.122.1 virbr0
}
refuse state 'LIBVIRT_FWI' verify
kill "$(cat /run/libvirtd.pid)"
while kill -0 "$(cat /run/libvirtd.pid)" 2>/dev/null; do sleep 0.1; done
libvirtd --daemon
wait_for 60 'libvirtd answers' virsh list
if [ "$(virsh domstate "$domain")" != running ]; then
	virsh start "$domain"
	port=$(virsh domiflist "$domain" | awk 'NF { print $1 }')
fi
check 'libvirtd again, and all is there' verify
lab_end
