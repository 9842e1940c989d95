"""What a guest tries, where it would be seen, and whether it may be.

A row is one line of the table: its probes are packets with a token each and
the eye (networld.py) at which the token must or must not turn up. A row that
is denied fails as soon as one of its probes arrives; one that is allowed needs
them all. Without the filter every probe of every row must arrive.

The letters and numbers are those of the project's checklist.
"""
import functools
import os
import random

import netframes as f
import networld as w_
from networld import GATEWAY, HOST_PRIVATE, HOST_PUBLIC, INTERNET, LAN, token

ROWS = []
# a wave must not be taken for the answer to one before it
PORT = random.randrange(20000, 60000)
NEAREST = "01:80:c2:00:00:"  # 802.1D's reserved groups: a bridge keeps these


class Row:
    """make(w, x, probe): x is the guest; it calls probe(eye, send, token)."""

    def __init__(self, group, text, ids, nat, none, make):
        self.group, self.text, self.ids, self.make = group, text, ids, make
        self.expect = {"nat": nat, "none": none, "off": True}


def row(group, text, ids, make=None, nat=False, none=False):
    if make is None:
        return functools.partial(row, group, text, ids, nat=nat, none=none)
    ROWS.append(Row(group, text, ids, nat, none, make))
    return make


def three(x, dst, t):
    """The same by UDP, TCP and ICMP, a token each."""
    return [f.udp(x.ip, dst, PORT, 40000, t[0]),
            f.tcp(x.ip, dst, PORT, 22, t[1]), f.echo(x.ip, dst, t[2], PORT)]


def send_ip(w, x, packet, mac=None):
    return lambda: x.sock.send(x.ether(mac or w.bridge_mac, f.IPV4, packet))


def send_all(x, frames):
    return lambda: [x.sock.send(frame) for frame in frames]


# ---- ranges of addresses ----

def addresses(eye, *all_of_them):
    def make(w, x, probe):
        for dst in all_of_them:
            t = [token() for _ in range(3)]
            for packet, one in zip(three(x, dst, t), t):
                probe(eye, send_ip(w, x, packet), one)
    return make


row("ranges", "0.0.0.0/8", "B15", addresses("internet", "0.1.2.3", "0.255.0.1"))
row("ranges", "10.0.0.0/8", "B16",
    addresses("lan", "10.0.0.1", "10.255.255.254"))
row("ranges", "100.64.0.0/10, a tailnet in it", "B17",
    addresses("lan", "100.64.0.1", "100.100.100.100", "100.127.255.254"))
row("ranges", "127.0.0.0/8: the host's loopback", "B18 A13",
    addresses("host", "127.0.0.1", "127.9.9.9"))
row("ranges", "169.254.0.0/16, a cloud's metadata", "B19",
    addresses("lan", "169.254.169.254", "169.254.1.1"))
row("ranges", "172.16.0.0/12", "B20",
    addresses("lan", "172.16.0.1", "172.31.255.254"))
row("ranges", "192.168.0.0/16 beyond the bridge", "B21",
    addresses("lan", "192.168.0.1", "192.168.255.254", LAN))
row("ranges", "240.0.0.0/4", "B22", addresses("internet", "240.0.0.1",
                                              "255.255.255.254"))
row("ranges", "the addresses beside those ranges", "A03", addresses(
    "internet", "1.0.0.1", "9.255.255.254", "11.0.0.1", "100.63.255.254",
    "100.128.0.1", "126.255.255.254", "128.0.0.1", "169.253.255.254",
    "169.255.0.1", "172.15.255.254", "172.32.0.1", "192.167.255.254",
    "192.169.0.1", "223.255.255.254"), nat=True)


@row("ranges", "224.0.0.0/4: multicast to host and others", "B22")
def multicast(w, x, probe):
    for dst in "224.0.0.1", "224.0.0.251", "239.255.255.250":
        mac = "01:00:5e:%02x:%02x:%02x" % tuple(
            int(n) & m for n, m in zip(dst.split(".")[1:], (127, 255, 255)))
        eyes = ["other", "stranger"] + (["host"] if dst == "224.0.0.1" else [])
        t = token()
        packet = f.udp(x.ip, dst, PORT, 5353, t)
        for eye in eyes:
            probe(eye, send_ip(w, x, packet, mac), t)


@row("ranges", "broadcast: 255.255.255.255 and the subnet's", "B22 B21")
def broadcast(w, x, probe):
    for dst in "255.255.255.255", "192.168.122.255":
        t = token()
        send = send_ip(w, x, f.udp(x.ip, dst, PORT, 40000, t), f.BROADCAST)
        for eye in "host", "other", "stranger":
            probe(eye, send, t)


# ---- the host ----

def host_ports(dst, ports, sport=PORT, flags=f.SYN, kinds="ut", mac=None):
    def make(w, x, probe):
        for port in ports:
            if "u" in kinds:
                t = token()
                probe("host", send_ip(
                    w, x, f.udp(x.ip, dst, sport, port, t), mac), t)
            if "t" in kinds:
                t = token()
                probe("host", send_ip(
                    w, x, f.tcp(x.ip, dst, sport, port, t, flags), mac), t)
    return make


def host_echo(dst):
    def make(w, x, probe):
        t = token()
        probe("host", send_ip(w, x, f.echo(x.ip, dst, t, PORT)), t)
    return make


SERVICES = (22, 67, 69, 80, 111, 5353, 16509, 40000)
PUBLISHED = 8080, 40808  # netlab.sh: the host passes them on to the LAN
row("host", "bridge address: ssh, libvirt, any port", "A10 B13",
    host_ports(GATEWAY, SERVICES, kinds="t"))
row("host", "bridge address: UDP but for DNS and DHCP", "A10 B13",
    host_ports(GATEWAY, [p for p in SERVICES if p != 67], kinds="u"))
row("host", "bridge address: from port 22, SYN", "A10 B13",
    host_ports(GATEWAY, (22, 16509, 40000), 22, kinds="t"))
row("host", "bridge address: from port 22, as an answer", "A10 B13",
    host_ports(GATEWAY, (22, 16509, 40000), 22, f.ACK, kinds="t"))
row("host", "bridge address: from port 22, TCP to DHCP", "A10 B13",
    host_ports(GATEWAY, (67,), 22, kinds="t"))
row("host", "bridge address: from port 22, TCP to DNS", "A10 B13",
    host_ports(GATEWAY, (53,), 22, kinds="t"), nat=True)


@row("host", "bridge address: a port passed on, as to a container", "A10 B13")
def published(w, x, probe):
    for port in PUBLISHED:
        for sport in PORT, 22:
            t = token()
            probe("lan", send_ip(w, x, f.tcp(x.ip, GATEWAY, sport, port, t)), t)


row("host", "bridge address: UDP from ports 22, 53, 67, 68", "A10 B13",
    lambda w, x, probe: [host_ports(GATEWAY, (40000,), p, kinds="u")(w, x, probe)
                         for p in (22, 53, 67, 68)])
row("host", "bridge address: ping", "B13", host_echo(GATEWAY))
row("host", "bridge address, in a frame to everybody", "A10 B13",
    host_ports(GATEWAY, (40000,), kinds="u", mac=f.BROADCAST))
row("host", "private address: ssh, DNS, any port, ping", "A10 B21 B30",
    lambda w, x, probe: (host_ports(HOST_PRIVATE, (22, 53, 40000))(w, x, probe),
                         host_echo(HOST_PRIVATE)(w, x, probe)))
row("host", "public address (a known limit)", "B29",
    lambda w, x, probe: (host_ports(HOST_PUBLIC, (22, 40000))(w, x, probe),
                         host_echo(HOST_PUBLIC)(w, x, probe)), nat=True)


@row("host", "bridge address: GRE, SCTP, IGMP, ESP", "A10 B13")
def protocols(w, x, probe):
    for proto in f.GRE, f.SCTP, f.IGMP, f.ESP:
        t = token()
        probe("host", send_ip(w, x, f.ip(x.ip, GATEWAY, proto, t)), t)


@row("host", "IPv4 in a frame of the bridge's own kind", "A10 B13")
def past_the_bridge(w, x, probe):
    for last in "00", "02", "03", "0e":
        t = token(), token()
        probe("host", send_ip(w, x, f.udp(x.ip, GATEWAY, PORT, 40000, t[0]),
                              NEAREST + last), t[0])
        probe("host", send_ip(w, x, f.udp(x.ip, "224.0.0.1", PORT, 5353, t[1]),
                              NEAREST + last), t[1])


@row("host", "IPv6 in a frame of the bridge's own kind", "A10 B23")
def past_the_bridge6(w, x, probe):
    for last in "00", "02", "03", "0e":
        port_v6 = w.port_v6.get(x.name) or "fe80::1"
        for dst in port_v6, "ff02::1":
            t = token()
            frame = x.ether(NEAREST + last, f.IPV6,
                            f.udp6("fe80::77", dst, PORT, 40000, t))
            probe("host", send_all(x, [frame]), t)
        t = token()
        frame = x.ether(NEAREST + last, f.IPV6, f.advertisement("fe80::77", t))
        probe("host", send_all(x, [frame]), t)


# ---- other machines on the bridge ----

def to_machine(eye):
    def make(w, x, probe):
        y = getattr(w, eye)
        t = [token() for _ in range(3)]
        for packet, one in zip(three(x, y.ip, t), t):
            probe(eye, send_ip(w, x, packet, y.mac), one)
    return make


row("guests", "another guest", "A11 B21", to_machine("other"))
row("guests", "a machine of somebody else's on the bridge", "A11 B21",
    to_machine("stranger"))


def strange_frame(*probes):
    """To a machine, or to all, with an address that is nobody's there."""
    def make(w, x, probe):
        for eye, mac in probes:
            t = [token() for _ in range(3)]
            for packet, one in zip(three(x, INTERNET, t), t):
                probe(eye, send_ip(w, x, packet,
                                   mac or getattr(w, eye).mac), one)
    return make


row("guests", "another guest, a public address in the frame", "A11",
    strange_frame(("other", None), ("other", f.BROADCAST)))
# its own stack drops it, unless it forwards: nothing of ours is there
row("guests", "somebody else's, the same (a known limit)", "A11",
    strange_frame(("stranger", None)), nat=True)


@row("guests", "another guest, by ARP", "A11 B12")
def ask_other(w, x, probe):
    for mac in f.BROADCAST, w.other.mac:
        t = token()
        frame = x.ether(mac, f.ARP, f.arp(1, x.mac, x.ip, "00:00:00:00:00:00",
                                          w.other.ip, t))
        probe("other", send_all(x, [frame]), t)


@row("guests", "another guest: mangled IPv4", "A11 B23")
def mangled(w, x, probe):
    t = [token() for _ in range(3)]
    whole = f.udp(x.ip, INTERNET, PORT, 40000, t[1])
    for one, body in ((t[0], t[0]), (t[1], b"\x65" + whole[1:]),
                      (t[2], b"\x42" + f.udp(x.ip, INTERNET, 1, 1, t[2])[1:])):
        frame = x.ether(w.other.mac, f.IPV4, body)
        probe("other", send_all(x, [frame]), one)


@row("guests", "another guest and host: other kinds of frame", "A11")
def other_kinds(w, x, probe):
    for kind in 0x0026, 0x0842, f.RARP, 0x8847, 0x8863, 0x88b5, 0x9000:
        t = token()
        send = send_all(x, [x.ether(f.BROADCAST, kind, b"\xaa\xaa\3" + t +
                                    bytes(30))])
        for eye in "other", "stranger", "bridge":
            probe(eye, send, t)


@row("guests", "VLAN-tagged IPv4 and ARP", "A11")
def vlan(w, x, probe):
    for tags in ([(f.VLAN, 0)], [(f.VLAN, 5)], [(f.QINQ, 5)],
                 [(f.QINQ, 5), (f.VLAN, 6)]):
        for eye, mac, dst in (("other", w.other.mac, w.other.ip),
                              ("bridge", w.bridge_mac, GATEWAY)):
            t = token(), token()
            for one, kind, body in (
                    (t[0], f.IPV4, f.udp(x.ip, dst, PORT, 40000, t[0])),
                    (t[1], f.ARP, f.arp(1, x.mac, x.ip, f.BROADCAST, dst,
                                        t[1]))):
                frame = x.ether(mac, kind, body, tags=tags)
                probe(eye, send_all(x, [frame]), one)


# ---- pretending ----

def forged(w, x, frame):
    """The bridge learns where the true owner is once more."""
    y = w.other
    true = y.ether(f.BROADCAST, f.ARP, f.arp(1, y.mac, y.ip, f.BROADCAST,
                                             GATEWAY))

    def send():
        x.sock.send(frame)
        y.sock.send(true)
    return send


@row("pretence", "another source MAC", "B10 A12")
def other_mac(w, x, probe):
    for mac in "52:54:00:00:00:99", w.other.mac:
        t = token()
        packet = f.udp(x.ip, INTERNET, PORT, 40000, t)
        probe("internet", forged(w, x, f.ether(mac, w.bridge_mac, f.IPV4,
                                               packet)), t)


@row("pretence", "another source address", "B11 A12")
def other_ip(w, x, probe):
    for src in w.other.ip, "192.168.122.250":
        t = token()
        probe("internet", send_ip(w, x, f.udp(src, INTERNET, 4, 4, t)), t)
    for src in w.other.ip, "8.8.8.8", "10.1.1.1", "0.0.0.0":
        t = token()
        if src != "0.0.0.0":  # no stack takes that one
            probe("host", send_ip(
                w, x, f.udp(src, GATEWAY, PORT, 53, t)), t)
        t = token()
        probe("other", send_ip(w, x, f.udp(src, w.other.ip, 4, 53, t),
                               w.other.mac), t)
    t = token()
    probe("host", send_ip(w, x, f.udp("0.0.0.0", "255.255.255.255", 68, 40000,
                                      t), f.BROADCAST), t)


def claims(w, x):
    """(frame's source, ARP's MAC, ARP's address) that are not all x's own."""
    return [(x.mac, x.mac, w.other.ip), (x.mac, x.mac, GATEWAY),
            (x.mac, w.other.mac, x.ip), (x.mac, w.other.mac, w.other.ip),
            (w.other.mac, w.other.mac, w.other.ip), (x.mac, x.mac, "0.0.0.0"),
            ("52:54:00:00:00:99", x.mac, x.ip)]


@row("pretence", "ARP that claims another's address or MAC", "B12 A12")
def arp_claims(w, x, probe):
    for ether_mac, mac, ip in claims(w, x):
        for op in 1, 2:
            for dst, eyes in ((f.BROADCAST, ("bridge", "other", "stranger")),
                              (w.bridge_mac, ("bridge",)),
                              (w.other.mac, ("other",))):
                if dst == ether_mac:
                    continue  # a bridge never sends a frame back
                t = token()
                target = ip if dst == f.BROADCAST else GATEWAY
                frame = f.ether(ether_mac, dst, f.ARP,
                                f.arp(op, mac, ip, dst, target, t))
                for eye in eyes:
                    probe(eye, forged(w, x, frame), t)


@row("pretence", "its own true ARP reaches the host", "B12", nat=True, none=True)
def arp_true(w, x, probe):
    for op, dst in (1, f.BROADCAST), (2, w.bridge_mac):
        t = token()
        frame = x.ether(dst, f.ARP, f.arp(op, x.mac, x.ip, dst, GATEWAY, t))
        probe("bridge", send_all(x, [frame]), t)


@row("pretence", "a DHCP server in the guest", "B09")
def rogue_server(w, x, probe):
    y = w.other
    for src in x.ip, GATEWAY:
        for dst, mac in ((y.ip, y.mac), ("255.255.255.255", f.BROADCAST)):
            t = token()
            offer = f.dhcp(2, 2, y.mac, 77, b"\x0c\x10" + t, yiaddr=y.ip,
                           server=src)
            probe("other", send_ip(w, x, f.udp(src, dst, 67, 68, offer), mac),
                  t)


@row("pretence", "it does not hear another's DISCOVER", "B09 A11")
def hear_discover(w, x, probe):
    y, t = w.other, token()
    discover = f.dhcp(1, 1, y.mac, 78, b"\x0c\x10" + t)
    packet = f.udp("0.0.0.0", "255.255.255.255", 68, 67, discover)
    probe(x.name, send_ip(w, y, packet, f.BROADCAST), t)


# ---- IPv6 and fragments ----

@row("IPv6", "to the host", "B23")
def six_host(w, x, probe):
    for src in x.v6, "fe80::77":
        for dst in w_.HOST_V6, "ff02::1":
            mac = w.bridge_mac if dst != "ff02::1" else "33:33:00:00:00:01"
            t = token()
            frame = x.ether(mac, f.IPV6, f.udp6(src, dst, 4, 40000, t))
            probe("host", send_all(x, [frame]), t)


@row("IPv6", "neighbour solicitations, router advertisements", "B23")
def six_neighbours(w, x, probe):
    for body, eyes in (
            (lambda t: f.solicitation(x.v6, w_.HOST_V6, t), ("bridge",)),
            (lambda t: f.advertisement("fe80::77", t),
             ("bridge", "other", "stranger"))):
        t = token()
        for eye in eyes:
            probe(eye, send_all(x, [x.ether("33:33:00:00:00:01", f.IPV6,
                                            body(t))]), t)


@row("IPv6", "another guest, the internet", "B23 A11")
def six_out(w, x, probe):
    for eye, mac, dst in (("other", w.other.mac, w.other.v6),
                          ("internet", w.bridge_mac, w_.OUTSIDE_V6)):
        t = token()
        frame = x.ether(mac, f.IPV6, f.udp6(x.v6, dst, 4, 40000, t))
        probe(eye, send_all(x, [frame]), t)


def in_fragments(w, x, probe, dst, eye, part, proto, first_len):
    ident = int.from_bytes(os.urandom(2), "big")
    t = token()
    pieces = f.fragments(x.ip, dst, proto, part(t), first_len, ident)
    # each whole datagram anew: half of one must not wait for the next
    probe(eye, send_all(x, [x.ether(w.bridge_mac, f.IPV4, p)
                            for p in pieces]), t)


@row("fragments", "to the host: first one to a port that is open", "B13")
def fragment_host(w, x, probe):
    in_fragments(w, x, probe, GATEWAY, "host", lambda t: f.udp_part(
        x.ip, GATEWAY, PORT, 53, bytes(40) + t), f.UDP, 16)
    in_fragments(w, x, probe, GATEWAY, "host", lambda t: f.tcp_part(
        x.ip, GATEWAY, 22, 40000, bytes(40) + t), f.TCP, 24)


@row("fragments", "to the host: ports in a tiny one, flags behind", "B13")
def fragment_tiny(w, x, probe):
    in_fragments(w, x, probe, GATEWAY, "host", lambda t: f.tcp_part(
        x.ip, GATEWAY, PORT, 53, bytes(40) + t), f.TCP, 8)
    in_fragments(w, x, probe, GATEWAY, "host", lambda t: f.udp_part(
        x.ip, GATEWAY, PORT, 53, bytes(40) + t), f.UDP, 8)


@row("fragments", "to a private address", "B16 B21")
def fragment_lan(w, x, probe):
    for dst in "10.1.2.3", LAN:
        in_fragments(w, x, probe, dst, "lan", lambda t, dst=dst: f.udp_part(
            x.ip, dst, PORT, 53, bytes(40) + t), f.UDP, 16)


@row("fragments", "to the internet", "A03", nat=True)
def fragment_out(w, x, probe):
    in_fragments(w, x, probe, INTERNET, "internet", lambda t: f.udp_part(
        x.ip, INTERNET, PORT, 53, bytes(40) + t), f.UDP, 16)


# ---- towards the guest ----

def inward(place, src, kinds="uti", ports=(22, 5900)):
    def make(w, x, probe):
        packets = []
        if "u" in kinds:
            packets.append(lambda t: f.udp(src, x.ip, PORT, 5000, t))
        if "t" in kinds:
            for port in ports:
                packets.append(
                    lambda t, port=port: f.tcp(src, x.ip, PORT, port, t))
        if "i" in kinds:
            packets.append(lambda t: f.echo(src, x.ip, t, PORT))
        for packet in packets:
            t = token()
            probe(x.name, lambda p=packet(t): w.route(place, p), t)
    return make


row("inward", "from the internet, not an answer", "A09 B14",
    inward("internet", "203.0.113.2"))
row("inward", "from the LAN, ping", "A09 B14", inward("lan", LAN, "i"))
# the host forwards these in every column: what stops them is the filter
row("inward", "from the LAN, a host that would forward it", "A09 B14",
    lambda w, x, probe: [inward("lan", s, "ut")(w, x, probe)
                         for s in (LAN, "10.1.2.3", "100.100.100.100")])
row("inward", "from the host, not ssh", "B14",
    inward("host", GATEWAY, "ut", (80, 5900, 6080)))
row("inward", "from the host's private address, ssh", "B14",
    inward("host", HOST_PRIVATE, "t", (22,)))
row("inward", "from the host, ping (it cannot answer)", "B14",
    inward("host", GATEWAY, "i"), nat=True)


def from_stranger(packet, mac=None, kind=f.IPV4, tags=()):
    def make(w, x, probe):
        t = token()
        y = w.stranger
        frame = y.ether(mac or x.mac, kind, packet(x, y, t), tags=tags)
        probe(x.name, send_all(y, [frame]), t)
    return make


def several(*makes):
    return lambda w, x, probe: [m(w, x, probe) for m in makes]


row("inward", "from another machine on the bridge", "A11 B14", several(
    from_stranger(lambda x, y, t: f.udp(y.ip, x.ip, 4, 5000, t)),
    from_stranger(lambda x, y, t: f.tcp(y.ip, x.ip, 4, 22, t)),
    from_stranger(lambda x, y, t: f.echo(y.ip, x.ip, t, PORT)),
    from_stranger(lambda x, y, t: f.udp("8.8.8.8", x.ip, 53, 5000, t)),
    from_stranger(lambda x, y, t: f.udp(y.ip, "255.255.255.255", 4, 5000, t),
                  f.BROADCAST),
    from_stranger(lambda x, y, t: f.udp(y.ip, "224.0.0.251", 4, 5353, t),
                  "01:00:5e:00:00:fb")))
row("inward", "… its DHCP offers", "B09", several(
    from_stranger(lambda x, y, t: f.udp(
        y.ip, x.ip, 67, 68, f.dhcp(2, 2, x.mac, 79, b"\x0c\x10" + t))),
    from_stranger(lambda x, y, t: f.udp(
        y.ip, "255.255.255.255", 67, 68,
        f.dhcp(2, 2, x.mac, 80, b"\x0c\x10" + t)), f.BROADCAST)))
row("inward", "… in the bridge address's name", "B09 B14", several(
    from_stranger(lambda x, y, t: f.udp(GATEWAY, x.ip, 53, 5000, t)),
    from_stranger(lambda x, y, t: f.tcp(GATEWAY, x.ip, 40000, 22, t)),
    from_stranger(lambda x, y, t: f.echo(GATEWAY, x.ip, t, PORT)),
    from_stranger(lambda x, y, t: f.udp(
        GATEWAY, x.ip, 67, 68, f.dhcp(2, 2, x.mac, 81, b"\x0c\x10" + t))),
    from_stranger(lambda x, y, t: f.udp(
        GATEWAY, "255.255.255.255", 67, 68,
        f.dhcp(2, 2, x.mac, 82, b"\x0c\x10" + t)), f.BROADCAST)))
# what is no guest of ours has no filter of ours
row("inward", "… in the bridge address's name, by ARP (a limit)", "B12",
    from_stranger(lambda x, y, t: f.arp(2, y.mac, GATEWAY, x.mac, x.ip, t),
                  kind=f.ARP), nat=True, none=True)
row("inward", "… its ARP, IPv6, VLANs", "A11 B12 B23", several(
    from_stranger(lambda x, y, t: f.arp(1, y.mac, y.ip, x.mac, x.ip, t),
                  kind=f.ARP),
    from_stranger(lambda x, y, t: f.arp(2, y.mac, y.ip, f.BROADCAST, y.ip, t),
                  f.BROADCAST, f.ARP),
    from_stranger(lambda x, y, t: f.advertisement("fe80::53", t),
                  "33:33:00:00:00:01", f.IPV6),
    from_stranger(lambda x, y, t: f.udp6(y.v6, x.v6, 4, 4, t), kind=f.IPV6),
    from_stranger(lambda x, y, t: f.udp(y.ip, x.ip, 4, 4, t),
                  tags=[(f.VLAN, 5)])))
