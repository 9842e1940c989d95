# Sourced inside the lab: an "internet", a "LAN" and guests' namespaces.
# shellcheck shell=bash disable=SC2154
# Of the sourcing script: bin, tools, work.
#
#   netlab_places         internet and lan behind the host, with routes
#   netlab_network        libvirt's network "default", with fixed addresses
#   netlab_port NAME N    namespace NAME behind port pNAME: 192.168.122.N
#   netlab_filters        defines the product's two filters
#   netlab_bind NAME N FILTER     as libvirt does when a domain starts
#   netlab_open_host      takes away what else stops packets; _end undoes what
#                         the host's own packet filter must not have
#   netlab_settled NAME…  their ports forward
#   netlab_unbind NAME

virsh() { command virsh -q -c qemu:///system "$@"; }

# What hides in the range of a cloud's metadata, of a tailnet, …: all there.
netlab_places() {
	local name
	ip link set lo up
	for name in internet lan; do
		ip netns add "$name"
		ip link add "u$name" type veth peer name w0 netns "$name"
		ip link set "u$name" up
		ip -n "$name" link set lo up
		ip -n "$name" link set w0 up
	done
	ip addr add 203.0.113.1/24 dev uinternet
	ip addr add 2001:db8:1::1/64 dev uinternet nodad
	ip -n internet addr add 203.0.113.2/24 dev w0
	ip -n internet addr add 198.51.100.7/32 dev lo
	ip -n internet addr add 2001:db8:1::2/64 dev w0 nodad
	ip -n internet addr add 2001:db8::7/128 dev lo
	ip -n internet route add 192.168.122.0/24 via 203.0.113.1
	ip route add default via 203.0.113.2
	ip -6 route add default via 2001:db8:1::2
	ip addr add 192.168.77.1/24 dev ulan
	ip -n lan addr add 192.168.77.2/24 dev w0
	ip -n lan route add default via 192.168.77.1
	for name in 10.0.0.0/8 100.64.0.0/10 169.254.0.0/16 172.16.0.0/12 \
		192.168.0.0/16; do
		ip route add "$name" via 192.168.77.2
	done
}

netlab_publish() {
	iptables -t nat "$1" PREROUTING -p tcp --dport "$2" -m addrtype \
		--dst-type LOCAL -j DNAT --to-destination "192.168.77.2:$3"
}

# Nothing but the filter may be what stops a packet.
netlab_open_host() {
	local name
	sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 \
		net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0 \
		net.ipv4.conf.virbr0.rp_filter=0 \
		net.ipv4.conf.virbr0.route_localnet=1 \
		net.ipv6.conf.virbr0.disable_ipv6=0 \
		net.ipv4.icmp_ratelimit=0
	ip -6 addr replace fd00:77::1/64 dev virbr0 nodad
	ip6tables -I FORWARD -j ACCEPT
	# a host that forwards its LAN's packets to guests
	iptables -N lan-in 2>/dev/null
	iptables -F lan-in
	iptables -A lan-in -s 192.168.77.0/24 -p tcp -j ACCEPT
	iptables -A lan-in -s 192.168.77.0/24 -p udp -j ACCEPT
	iptables -A lan-in -s 10.0.0.0/8 -j ACCEPT
	iptables -A lan-in -s 100.64.0.0/10 -j ACCEPT
	# and passes ports of its own on, as Docker does for containers: one
	# that its rules then accept before all others, and one among those
	# that its ssh is answered at
	iptables -A lan-in -d 192.168.77.2 -p tcp --dport 80 -j ACCEPT
	netlab_publish -A 8080 80
	netlab_publish -A 40808 81
	iptables -I FORWARD -j lan-in
	# its sshd is open to all, and libvirt's network was made last
	iptables -I INPUT -j LIBVIRT_INP
	iptables -I INPUT -p tcp --dport 22 -j ACCEPT
	# what a row before made them believe
	ip neigh flush dev virbr0
	for name in nat none other stranger; do
		ip -n "$name" neigh flush dev "e$name"
	done
}
netlab_open_host_end() {
	iptables -D INPUT -p tcp --dport 22 -j ACCEPT
	iptables -D INPUT -j LIBVIRT_INP
	iptables -D FORWARD -j lan-in
	netlab_publish -D 8080 80
	netlab_publish -D 40808 81
	ip6tables -D FORWARD -j ACCEPT
}

netlab_mac() { printf '52:54:00:aa:bb:%02x' "$1"; }

netlab_network() {
	local n hosts=''
	for n in "$@"; do
		hosts+="<host mac='$(netlab_mac "$n")' ip='192.168.122.$n'/>"
	done
	cat >"$work/network.xml" <<-XML
		<network><name>default</name><bridge name='virbr0' delay='0'/>
		<forward mode='nat'/><domain name='lab.test' localOnly='yes'/>
		<ip address='192.168.122.1' netmask='255.255.255.0'><dhcp>
		<range start='192.168.122.2' end='192.168.122.254'/>$hosts
		</dhcp></ip></network>
	XML
	virsh net-define "$work/network.xml"
	virsh net-autostart default
	virsh net-start default
}

netlab_port() {
	local name=$1 n=$2
	ip netns add "$name" 2>/dev/null
	ip link add "p$name" type veth peer name "e$name" netns "$name"
	ip -n "$name" link set "e$name" address "$(netlab_mac "$n")"
	ip link set "p$name" master virbr0
	ip link set "p$name" up
	ip -n "$name" link set lo up
	ip -n "$name" link set "e$name" up promisc on
	ip -n "$name" addr add "192.168.122.$n/24" dev "e$name"
	ip -n "$name" route add default via 192.168.122.1
}

netlab_filters() {
	local mode name uuid
	for mode in nat none; do
		name=boxery-guest-isolation
		[ $mode = nat ] || name=boxery-guest-none
		uuid=$(virsh nwfilter-dumpxml $name 2>/dev/null |
			sed -n 's/.*<uuid>\(.*\)<.*/\1/p')
		"$tools/filter_drive" xml $mode ${uuid:+"$uuid"} >"$work/$mode.xml" &&
			virsh nwfilter-define "$work/$mode.xml" || return 1
	done
}

netlab_bind() {
	cat >"$work/binding.xml" <<-XML
		<filterbinding><owner><name>$1</name>
		<uuid>$(cat /proc/sys/kernel/random/uuid)</uuid></owner>
		<portdev name='p$1'/><mac address='$(netlab_mac "$2")'/>
		<filterref filter='$3'>
		<parameter name='IP' value='192.168.122.$2'/>
		<parameter name='GATEWAY' value='192.168.122.1'/>
		</filterref></filterbinding>
	XML
	# the product's part: it closes what passes by the chains
	virsh nwfilter-binding-create "$work/binding.xml" &&
		"$bin/boxery-netread" >/dev/null
}

# Ports learn before they forward, fe80:: addresses are tentative at first.
netlab_settled() {
	local name
	for name in "$@"; do
		[ "$(cat "/sys/class/net/p$name/brport/state")" = 3 ] || return 1
	done
	! ip -6 addr show tentative | grep -q inet6
}

netlab_unbind() { virsh nwfilter-binding-delete "p$1"; }
