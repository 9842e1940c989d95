#!/bin/bash
# Is what libvirt applied read back, by root and by group libvirt, and is
# every piece that is missing found? No guest runs: a filter is bound to a plain
# port of the bridge, as libvirt does it for a guest's.
#
#   tests/lab/netread.sh       (enters the lab by itself)
if [ -z "${BOXERY_LAB:-}" ]; then
	exec "$(dirname "$0")/run" "$0" "$@"
fi
# shellcheck source=tests/lab/lib.sh
. "$(dirname "$0")/lib.sh"

work=$(mktemp -d /tmp/boxery-netread-XXXXXX)
chmod 711 "$work"
trap 'kill "$root_pid" 2>/dev/null; rm -rf "$work"' EXIT
root_pid=
# root runs the helper that lies beside the program
cp "$tools/filter_drive" "$bin/boxery-netread" "$work"
gateway=192.168.122.1
bridge=virbr0
sysctl=/proc/sys/net/bridge/bridge-nf-call-iptables

declare -A mac=([vnet0]=52:54:00:aa:bb:01 [vnet1]=52:54:00:aa:bb:02)
declare -A address=([vnet0]=192.168.122.50 [vnet1]=192.168.122.51)
declare -A mode=([vnet0]=nat [vnet1]=none)
declare -A filter=([nat]=boxery-guest-isolation [none]=boxery-guest-none)

bind() {
	cat >"$work/b.xml" <<-XML
		<filterbinding>
		 <owner><name>$1</name>
		  <uuid>$(cat /proc/sys/kernel/random/uuid)</uuid></owner>
		 <portdev name='$1'/><mac address='${mac[$1]}'/>
		 <filterref filter='${filter[${mode[$1]}]}'>
		  <parameter name='IP' value='${address[$1]}'/>
		  <parameter name='GATEWAY' value='$gateway'/>
		 </filterref>
		</filterbinding>
	XML
	virsh -q nwfilter-binding-create "$work/b.xml"
}
# libvirt takes seconds to bind one: what is broken is put back as it was
remember() {
	ebtables-save -t nat >"$work/ebtables" &&
		iptables-save -t filter >"$work/iptables"
}
restore() {
	ebtables-restore <"$work/ebtables" && iptables-restore <"$work/iptables"
}
verify() {
	"$work/filter_drive" check "${2:-${mode[$1]}}" "$1" "${mac[$1]}" \
		"${address[$1]}" "$gateway" "$bridge"
}
# setpriv has root's rights until its exec, so that a shell stands between
user_verify() {
	as_user sh -c 'exec "$@"' sh "$work/filter_drive" check "${mode[$1]}" \
		"$1" "${mac[$1]}" "${address[$1]}" "$gateway" "$bridge"
}
helper() { as_user sh -c 'exec "$@"' sh "$netread" "$@"; }
# has_all TEXT PART…
has_all() {
	local text=$1 part
	shift
	for part in "$@"; do
		if [[ $text == *"$part"* ]]; then
			say "ok: $part"
		else
			bad "no \"$part\" in: $text"
		fi
	done
}
# tampered PATTERN PORT COMMAND…: done by hand, found, and made good again
tampered() {
	local pattern=$1 port=$2
	shift 2
	"$@" || bad "$*"
	refuse state "$pattern" verify "$port"
	restore
	verify "$port" >/dev/null || bad "after $*: not made good"
}

virsh -q net-define /usr/share/libvirt/networks/default.xml
virsh -q net-start default
for m in nat none; do
	"$work/filter_drive" xml "$m" >"$work/f.xml"
	must "libvirt takes the filter $m" virsh -q nwfilter-define "$work/f.xml"
done
for dev in vnet0 vnet1; do
	ip link add "$dev" type veth peer name "p$dev"
	ip link set "$dev" master "$bridge" up
	must "libvirt applies the filter ${mode[$dev]}" bind "$dev"
done

# ---- root ----
for dev in vnet0 vnet1; do
	must "root reads $dev's chains" verify "$dev" # B02
done
refuse state 'chain libvirt-I-vnet0' verify vnet0 none
refuse state 'chain libvirt-I-vnet1' verify vnet1 nat

# ---- init ----
# A sudo that does not work, and one that does: our user cannot become root
# here, so that a process of root's runs what it is told.
mkdir "$work/refuses" "$work/grants"
printf '#!/bin/sh\nexit 1\n' >"$work/refuses/sudo"
cat >"$work/grants/sudo" <<-SH
	#!/bin/sh
	echo "\$*" >>"$work/asked"
	echo "\$*" >"$work/request" && read -r status <"$work/reply"
	exit "\$status"
SH
chmod 755 "$work"/*/sudo
mkfifo -m 666 "$work/request" "$work/reply"
touch "$work/asked" && chmod 666 "$work/asked"
while read -r -a command <"$work/request"; do
	"${command[@]}"
	echo $? >"$work/reply"
done &
root_pid=$!
init() {
	as_user env PATH="$1:$PATH" setsid "$bin/boxery" init "${@:2}" 2>&1
}
lab_home "$work/h"

# the folders are a must
said=$(init "$work/refuses") && bad "init without folders: $said"
has_all "$said" 'sudo install -d -m 2710' 'boxery init again'
said=$(init "$work/refuses" -y) && bad "init without folders: $said"
has_all "$said" 'nothing was set up: sudo failed'
refuse unavailable 'not installed: boxery init' user_verify vnet0
install -d -m 2710 -o "$lab_uid" -g "$(getent group libvirt-qemu | cut -d: -f1)" \
	"$BOXERY_HOME"/data{,/images,/vms}
said=$(init "$work/refuses" -y) || bad "init: $said"
has_all "$said" 'sudo install -D -m 0750 -o root -g libvirt' \
	'going on without' 'helper for others is not installed'
said=$(init "$work/refuses") || bad "init that is declined: $said"
has_all "$said" 'network filter, this needs root once' 'not installed'
report=$(ask doctor)
has_all "$report" '"check":"isolation check","ok":false'
said=$(init "$work/grants" -y) || bad "init: $said"
has_all "$said" 'is read after each start'
expect 'root was asked for two things' \
	"install -D -m 0750 -o root -g libvirt $bin/boxery-netread $netread
setcap cap_net_admin,cap_net_raw=ep $netread" "$(cat "$work/asked")"
said=$(init "$work/refuses") || bad "init: $said"
[[ $said == *sudo* ]] && bad "init asks again: $said"
report=$(ask doctor)
has_all "$report" '"check":"isolation check","ok":true'
echo 'another version' >>"$netread"
has_all "$(ask init)" '"command":["install","-D"'
lab_netread
setcap -r "$netread"
has_all "$(ask init)" '"command":["setcap"'
lab_netread
ask service_stop >/dev/null

# ---- the helper ----
for dev in vnet0 vnet1; do
	check "group libvirt reads $dev's chains" user_verify "$dev"
done
expect 'it takes no argument' 'boxery-netread: takes no argument' \
	"$(helper -t filter 2>&1)"
expect 'nor an environment' "$(helper | grep -c '^-A')" \
	"$(LD_PRELOAD=/nonexistent EBTABLES_SAVE_COUNTER=yes \
		XTABLES_LIBDIR=/nonexistent helper 2>&1 | grep -c '^-A')"
expect 'nor descriptors' 'end' "$(helper 0<&- 2>&- | tail -n 1)"
stranger=$(setpriv --reuid "$lab_uid" --regid "$lab_uid" --clear-groups -- \
	sh -c "$netread" 2>&1)
expect 'others may not run it' yes \
	"$([[ $stranger == *'Permission denied'* ]] && echo yes)"
setcap -r "$netread"
refuse unavailable 'lacks its capabilities (boxery init)' user_verify vnet0
lab_netread
sandboxed_verify() {
	as_user setpriv --no-new-privs sh -c 'exec "$@"' sh \
		"$work/filter_drive" check nat vnet0 "${mac[vnet0]}" \
		"${address[vnet0]}" "$gateway" "$bridge"
}
refuse unavailable 'no_new_privs' sandboxed_verify
chmod g+w "$netread"
refuse unavailable 'does not belong to root alone' user_verify vnet0
chown "$lab_uid" "$netread"
refuse unavailable 'does not belong to root alone' user_verify vnet0
lab_netread
check 'installed anew' user_verify vnet0

# ---- somebody's hand ----
eb() { ebtables -t nat "$@"; }
must 'the chains can be put back' remember
tampered 'chain libvirt-I-vnet0' vnet0 eb -D libvirt-I-vnet0 -j DROP # B23
tampered 'chain libvirt-I-vnet0' vnet0 eb -I libvirt-I-vnet0 -j ACCEPT
tampered 'lacks rule 1' vnet0 eb -F libvirt-O-vnet0
tampered 'lacks rule 1' vnet1 eb -F libvirt-I-vnet1
tampered 'PREROUTING of the host' vnet0 eb -D PREROUTING -i vnet0 -j libvirt-I-vnet0
tampered 'lacks rule 1' vnet0 iptables -F HI-vnet0
tampered 'lacks rule 1' vnet0 iptables -F FO-vnet0
tampered 'lacks rule 1' vnet1 iptables -F FI-vnet1
tampered 'libvirt-host-in of the host' vnet1 iptables -F libvirt-host-in
tampered 'FORWARD of the host' vnet0 iptables -D FORWARD -j libvirt-out
tampered 'INPUT of the host' vnet1 iptables -I INPUT -j ACCEPT
tampered 'PREROUTING of the host' vnet0 eb -I PREROUTING -p IPv4 -j ACCEPT
tampered 'LIBVIRT_FWI' vnet0 iptables -D FORWARD -j LIBVIRT_FWI # B14
iptables -D FORWARD -j LIBVIRT_FWI
check 'without the internet it does not matter' verify vnet1
restore
# what a host may have before libvirt's rules, and what Podman and clusters do
iptables -I INPUT -j LIBVIRT_INP
iptables -I INPUT -p tcp -m multiport --dports 22,80,443 -j ACCEPT
iptables -N podman
iptables -A podman -s 10.88.0.0/16 -j ACCEPT
iptables -I FORWARD -m comment --comment 'podman' -j podman
for dev in vnet0 vnet1; do
	check "$dev and rules of the host's owner" verify "$dev"
done
restore
nft flush ruleset
refuse state 'lacks rule 1' verify vnet0
restore
echo 0 >"$sysctl"
refuse state 'sudo sysctl -w net.bridge' verify vnet0
echo 1 >"$sysctl"
check 'all is well again' user_verify vnet0
# A10: frames that would pass by the chains; whoever reads mends it
mask=/sys/class/net/vnet0/brport/group_fwd_mask
for who in verify user_verify; do
	echo 0 >$mask
	check "$who closes the port's reserved addresses" $who vnet0
	expect 'they take the way of all frames' 0xfffd "$(cat $mask)"
done

# ---- a guest's own port ----
# it shows the same chains as the plain one's
cat >"$work/d.xml" <<-XML
	<domain type='qemu'><name>filtered</name><memory unit='MiB'>64</memory>
	 <os><type arch='x86_64'>hvm</type></os>
	 <devices><interface type='network'><source network='default'/>
	  <mac address='52:54:00:aa:bb:03'/><target dev='vnet7'/>
	  <model type='virtio'/><port isolated='yes'/>
	  <filterref filter='boxery-guest-isolation'>
	   <parameter name='IP' value='192.168.122.53'/>
	   <parameter name='GATEWAY' value='$gateway'/></filterref>
	 </interface></devices></domain>
XML
must 'a guest starts' virsh -q create "$work/d.xml"
dev=$(virsh -q domiflist filtered | awk '{ print $1 }')
mac[$dev]=52:54:00:aa:bb:03
address[$dev]=192.168.122.53
mode[$dev]=nat
check "its chains are complete at once, on $dev" user_verify "$dev"
virsh -q destroy filtered
refuse state "chain libvirt-I-$dev of the host's packet filter lacks rule 1" \
	user_verify "$dev"

if [ "$failures" -gt 0 ]; then
	say "$failures failed"
	exit 1
fi
say "all as it should be"
