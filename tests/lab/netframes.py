"""Frames made by hand: what root in a guest can send.

Every builder takes and returns bytes. Checksums are right, so that nothing but
a filter has a reason to drop a packet. MACs are given in text.
"""
import socket
import struct

BROADCAST = "ff:ff:ff:ff:ff:ff"
IPV4, ARP, RARP, VLAN, QINQ, IPV6 = (0x0800, 0x0806, 0x8035, 0x8100, 0x88a8,
                                     0x86dd)
ICMP, IGMP, IPIP, TCP, UDP, GRE, ESP, ICMP6, SCTP = (1, 2, 4, 6, 17, 47, 50,
                                                     58, 132)
SYN, ACK = 2, 16
MORE = 0x2000


def mac_bytes(text):
    return bytes.fromhex(text.replace(":", ""))


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ether(src, dst, kind, payload, tags=()):
    """tags: (type, VLAN id) pairs, the outer one first."""
    head = mac_bytes(dst) + mac_bytes(src)
    for tag, vid in tags:
        head += struct.pack("!HH", tag, vid)
    return head + struct.pack("!H", kind) + payload


def arp(op, mac, ip, target_mac, target_ip, tail=b""):
    return struct.pack("!HHBBH", 1, IPV4, 6, 4, op) + mac_bytes(mac) + \
        socket.inet_aton(ip) + mac_bytes(target_mac) + \
        socket.inet_aton(target_ip) + tail


def ip(src, dst, proto, payload, frag=0, ident=1, ttl=64):
    """frag: the offset in units of 8 bytes, and MORE."""
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), ident,
                       frag, ttl, proto, 0, socket.inet_aton(src),
                       socket.inet_aton(dst))
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def ip6(src, dst, proto, payload, hops=255):
    return struct.pack("!IHBB", 6 << 28, len(payload), proto, hops) + \
        socket.inet_pton(socket.AF_INET6, src) + \
        socket.inet_pton(socket.AF_INET6, dst) + payload


def _pseudo(src, dst, proto, length):
    if ":" in src:
        return socket.inet_pton(socket.AF_INET6, src) + \
            socket.inet_pton(socket.AF_INET6, dst) + \
            struct.pack("!II", length, proto)
    return socket.inet_aton(src) + socket.inet_aton(dst) + \
        struct.pack("!HH", proto, length)


def _summed(src, dst, proto, data, at):
    value = checksum(_pseudo(src, dst, proto, len(data)) + data)
    return data[:at] + struct.pack("!H", value) + data[at + 2:]


def udp_part(src, dst, sport, dport, data):
    head = struct.pack("!HHHH", sport, dport, 8 + len(data), 0)
    return _summed(src, dst, UDP, head + data, 6)


def tcp_part(src, dst, sport, dport, data, flags=SYN):
    head = struct.pack("!HHIIBBHHH", sport, dport, 1000, 1 if flags & ACK else 0,
                       0x50, flags, 8192, 0, 0)
    return _summed(src, dst, TCP, head + data, 16)


def echo_part(data, ident):
    head = struct.pack("!BBHHH", 8, 0, 0, ident, 1)
    return head[:2] + struct.pack("!H", checksum(head + data)) + head[4:] + data


def udp(src, dst, sport, dport, data):
    return ip(src, dst, UDP, udp_part(src, dst, sport, dport, data))


def tcp(src, dst, sport, dport, data, flags=SYN):
    return ip(src, dst, TCP, tcp_part(src, dst, sport, dport, data, flags))


def echo(src, dst, data, ident=7):
    return ip(src, dst, ICMP, echo_part(data, ident))


def too_big(src, dst, quoted, mtu=1200):
    """ICMP "fragmentation needed" about a packet that dst sent."""
    body = struct.pack("!BBHHH", 3, 4, 0, 0, mtu) + quoted
    body = body[:2] + struct.pack("!H", checksum(body)) + body[4:]
    return ip(src, dst, ICMP, body)


def udp6(src, dst, sport, dport, data):
    return ip6(src, dst, UDP, udp_part(src, dst, sport, dport, data))


def icmp6(src, dst, kind, body):
    data = struct.pack("!BBH", kind, 0, 0) + body
    return ip6(src, dst, ICMP6, _summed(src, dst, ICMP6, data, 2))


def option6(data):
    """A neighbour discovery option of no known type that holds data."""
    data += b"\0" * (-(len(data) + 2) % 8)
    return bytes([253, (len(data) + 2) // 8]) + data


def solicitation(src, target, data):
    last = socket.inet_pton(socket.AF_INET6, target)[-3:]
    group = "ff02::1:ff%02x:%02x%02x" % tuple(last)
    return icmp6(src, group, 135, b"\0\0\0\0" + socket.inet_pton(
        socket.AF_INET6, target) + option6(data))


def advertisement(src, data):
    """A router's: "I am the way out"."""
    return icmp6(src, "ff02::1", 134,
                 struct.pack("!BBHII", 64, 0, 1800, 0, 0) + option6(data))


def fragments(src, dst, proto, body, first_len, ident):
    """body in two pieces, the first of first_len (a multiple of 8) bytes."""
    return [ip(src, dst, proto, body[:first_len], MORE, ident),
            ip(src, dst, proto, body[first_len:], first_len // 8, ident)]


def dhcp(op, kind, mac, xid, options=b"", ciaddr="0.0.0.0", yiaddr="0.0.0.0",
         server="0.0.0.0"):
    """op 1: to a server, 2: from one. kind: 1 DISCOVER, 2 OFFER, 3 REQUEST."""
    return struct.pack("!BBBBIHH4s4s4s4s16s64x128xI", op, 1, 6, 0, xid, 0, 0,
                       socket.inet_aton(ciaddr), socket.inet_aton(yiaddr),
                       socket.inet_aton(server), socket.inet_aton("0.0.0.0"),
                       mac_bytes(mac), 0x63825363) + \
        bytes([53, 1, kind]) + options + b"\xff"


def dhcp_kind(data):
    """The message type of a BOOTP payload, 0 if it has none."""
    at = 240
    while at + 2 < len(data) and data[at] != 255:
        if data[at] == 53:
            return data[at + 2]
        at += 1 if data[at] == 0 else 2 + data[at + 1]
    return 0


def dns_query(ident, name):
    labels = b"".join(bytes([len(p)]) + p.encode() for p in name.split("."))
    return struct.pack("!HHHHHH", ident, 0x0100, 1, 0, 0, 0) + labels + \
        b"\0" + struct.pack("!HH", 1, 1)
