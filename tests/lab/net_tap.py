#!/usr/bin/env python3
"""Frames for a real guest's own device, and the host's ears.

usage: net_tap.py frames MAC ADDRESS PORT   a frame in hexadecimal a line
       net_tap.py hear SECONDS              the names of those that arrived

The frames are the ones that tell a tap from net.sh's veth if anything does:
one that is allowed, some that are not, and IPv4 and IPv6 to the addresses
that a bridge keeps for itself (netrows.py has all the others).
"""
import re
import select
import sys
import time

import netframes as f
import networld
from netrows import NEAREST


def frames(mac, address, port):
    with open(f"/sys/class/net/{networld.BRIDGE}/address") as file:
        bridge = file.read().strip()
    v6 = networld.local_v6(port) or "ff02::1"

    def udp(dport, name, src=address):
        return f.udp(src, networld.GATEWAY, 40000, dport,
                     f"TAP-{name}.".encode())

    yield f.ether(mac, bridge, f.IPV4, udp(53, "dns"))
    yield f.ether(mac, bridge, f.IPV4, udp(40000, "any-port"))
    yield f.ether(mac, bridge, f.IPV4, udp(53, "spoofed", "192.168.122.250"))
    yield f.ether(mac, bridge, f.IPV4, f.tcp(
        address, networld.GATEWAY, 22, 40000, b"TAP-from-22."))
    for last in "00", "02", "0e":
        yield f.ether(mac, NEAREST + last, f.IPV4, udp(40000, "v4-" + last))
        yield f.ether(mac, NEAREST + last, f.IPV6, f.udp6(
            "fe80::77", v6, 40000, 40000, f"TAP-v6-{last}.".encode()))


def hear(seconds):
    ears = [networld.raw_socket("host", p) for p in (f.TCP, f.UDP)]
    ears.append(networld.raw_socket("host", f.UDP, networld.socket.AF_INET6))
    names = set()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for s in select.select(ears, [], [], 0.2)[0]:
            names.update(re.findall(rb"TAP-([a-z0-9-]+)\.", s.recv(65536)))
    return sorted(n.decode() for n in names)


if __name__ == "__main__":
    if sys.argv[1] == "frames":
        print(*(x.hex() for x in frames(*sys.argv[2:])), sep="\n")
    else:
        print(*hear(float(sys.argv[2])))
