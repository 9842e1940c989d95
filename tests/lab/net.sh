#!/bin/bash
# What a guest reaches and what reaches it, proved by traffic: every row of
# netrows.py and nettalk.py, as root in a guest, with the filter of both modes
# and without it; again after all that may befall a filter.
#
#   tests/lab/net.sh            (enters the lab by itself)
#
# A guest is a namespace behind a port of libvirt's bridge with a binding of
# our filter, as libvirt makes one for a domain's interface. Beside them runs
# a domain without a disk, whose chains are read.
if [ -z "${BOXERY_LAB:-}" ]; then
	exec "$(dirname "$0")/run" "$0" "$@"
fi
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"
work=$(mktemp -d /tmp/boxery-net-XXXXXX)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/lab/netlab.sh
. "$(dirname "$0")/netlab.sh"

matrix() { python3 "$top/tests/lab/net_matrix.py" "$@"; }
see() {
	local file=$work/$1.json
	shift
	netlab_open_host
	matrix see "$@" >"$file" || exit 1
	netlab_open_host_end
}
titles=()
again() {
	domain_check "$1"
	wait_for 40 'the ports forward' netlab_settled nat none other stranger
	see "again${#titles[@]}" nat none
	titles+=("after: $1=$work/again${#titles[@]}.json")
}

ports() {
	netlab_port nat 50
	netlab_port none 51
	netlab_port other 52
	netlab_port stranger 53
}
bind_all() {
	netlab_bind nat 50 boxery-guest-isolation &&
		netlab_bind none 51 boxery-guest-none &&
		netlab_bind other 52 boxery-guest-isolation
}

libvirt_stop() {
	local pid
	pid=$(cat /run/libvirtd.pid)
	kill "$pid"
	# shellcheck disable=SC2317 # called by wait_for
	gone() { ! kill -0 "$pid"; }
	wait_for 20 'libvirtd ends' gone
}
libvirt_start() {
	libvirtd --daemon
	wait_for 60 'libvirtd answers' virsh list
}

# A guest whose firmware asks for an address and finds nothing to boot.
domain_define() {
	cat >"$work/domain.xml" <<-XML
		<domain type='qemu'><name>diskless</name><memory unit='MiB'>64</memory>
		<os><type arch='x86_64' machine='q35'>hvm</type>
		<boot dev='network'/></os><devices><interface type='network'>
		<mac address='$(netlab_mac 54)'/><source network='default'/>
		<model type='virtio'/><port isolated='yes'/>
		<filterref filter='boxery-guest-isolation'>
		<parameter name='IP' value='192.168.122.54'/>
		<parameter name='GATEWAY' value='192.168.122.1'/></filterref>
		</interface></devices></domain>
	XML
	virsh define "$work/domain.xml" && virsh autostart diskless
}
# B03, B07: applied whenever it starts
domain_check() {
	local dev
	dev=$(virsh domiflist diskless | awk 'NF { print $1 }')
	check "$1: the chains of a domain" "$work/filter_drive" check nat \
		"$dev" "$(netlab_mac 54)" 192.168.122.54 192.168.122.1 virbr0
}
# shellcheck disable=SC2317 # called by wait_for
domain_lease() {
	virsh net-dhcp-leases default | grep "$(netlab_mac 54).*192.168.122.54/"
}

# root runs the helper that lies beside the program
cp "$tools/filter_drive" "$bin/boxery-netread" "$work"

# ---- the host ----
netlab_places
netlab_network 50 51 52 53 54
ports
netlab_filters || exit 1
domain_define || exit 1
virsh start diskless & # libvirt asks QEMU at length what it can do, the first time
domain=$!
wait_for 40 'the ports forward' netlab_settled nat none other stranger

# ---- without the filter ----
# The checks that libvirt's network and br_netfilter make are off as well.
iptables -I FORWARD -j ACCEPT
sysctl -qw net.bridge.bridge-nf-call-iptables=0
say 'no filter'
see off off
# A11: what keeps our guests apart if all else fails
for port in pnat pother; do bridge link set dev $port isolated on; done
see isolated off
check 'isolated ports alone keep guests apart' matrix apart "$work/isolated.json"
for port in pnat pother; do bridge link set dev $port isolated off; done
sysctl -qw net.bridge.bridge-nf-call-iptables=1
iptables -D FORWARD -j ACCEPT

# ---- with it ----
bind_all || exit 1
wait $domain || exit 1
say 'both filters'
see on nat none
domain_check 'first start'
wait_for 40 'the domain gets its address' domain_lease # B08

say 'libvirtd starts again'
libvirt_stop
libvirt_start
again 'libvirtd restarted'

say 'the filters are defined once more'
# other text first: libvirt does nothing about the same
for name in boxery-guest-isolation boxery-guest-none; do
	virsh nwfilter-dumpxml $name |
		sed 's/priority=.-899./priority="-799"/' >"$work/other.xml"
	virsh nwfilter-define "$work/other.xml" || bad "redefining $name"
done
netlab_filters || exit 1
again 'filters defined again'

for port in nat none other; do netlab_unbind $port; done
bind_all || exit 1
again 'bindings made again'

say 'save and restore'
check 'save' virsh save diskless "$work/diskless.save"
check 'restore' virsh restore "$work/diskless.save"
domain_check 'save and restore'

# B07: nothing of /run, no rule and no device is left
say 'the host boots'
virsh destroy diskless
virsh net-destroy default
libvirt_stop
nft flush ruleset
for port in pnat pnone pother pstranger; do ip link del $port; done
kill "$(cat /run/virtlogd.pid)"
rm -rf /run/libvirt/*
virtlogd --daemon
libvirt_start
wait_for 30 'the network starts by itself' test -e /sys/class/net/virbr0
ports
bind_all || exit 1
# shellcheck disable=SC2317 # called by wait_for
domain_runs() { [ "$(virsh domstate diskless)" = running ]; }
wait_for 30 'the domain starts by itself' domain_runs
again 'the host booted'

python3 - "$work" <<'PY'
import json, sys
w = sys.argv[1]
both = {**json.load(open(w + "/on.json")), **json.load(open(w + "/off.json"))}
json.dump(both, open(w + "/first.json", "w"))
PY
# tests/run prints what is there when the test has ended
report=$top/build/check/net-in-lab.report
mkdir -p "$(dirname "$report")"
matrix table "$work/first.json" "${titles[@]}" | tee "$report"
[ "${PIPESTATUS[0]}" -eq 0 ] || failures=$((failures + 1))
if [ "$failures" -gt 0 ]; then
	tail -n 20 /run/lab/libvirtd.log
	say "$failures failed"
	exit 1
fi
say 'all as it should be'
