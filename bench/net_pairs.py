#!/usr/bin/env python3
"""Measures for bench/net.sh, inside its lab: guest "nat" is behind the filter,
guest "other" is not.

usage: net_pairs.py PAIRS
"""
import os
import secrets
import socket
import statistics
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../tests/lab"))

import netframes as f  # noqa: E402
import networld  # noqa: E402
import nettalk  # noqa: E402

SECONDS = 0.4
CHUNK = bytes(256 * 1024)


def sink(server, ret):
    with server, server.accept()[0] as peer:
        view = memoryview(bytearray(1 << 20))
        while n := peer.recv_into(view):
            ret.append(n)


def throughput(place):
    """Bytes from there to the internet: a second, and a second of CPU."""
    with networld.inside("internet"):
        server = socket.create_server((networld.INTERNET, 0))
    got = []
    t = threading.Thread(target=sink, args=(server, got))
    t.start()
    with networld.inside(place):
        s = socket.create_connection(server.getsockname(), 10)
    begin, cpu = time.monotonic(), time.process_time()
    with s:
        while time.monotonic() - begin < SECONDS:
            s.sendall(CHUNK)
    t.join()
    return (sum(got) / (time.monotonic() - begin),
            sum(got) / (time.process_time() - cpu))


def lease_to_reachable(world):
    """From DHCP's ACK to a DNS answer, by hand, in ms."""
    x = world.nat
    xid = secrets.randbits(32)
    chosen = nettalk.option(50, x.ip) + nettalk.option(54, networld.GATEWAY)
    if not nettalk.answered(w=world, x=x, kind=5, xid=xid, mac=f.BROADCAST,
                            packet=nettalk.broadcast_dhcp(x, 3, xid, chosen)):
        raise SystemExit("no DHCP answer")
    begin = time.monotonic()
    if not nettalk.dns_udp(world, x):
        raise SystemExit("no DNS answer")
    return (time.monotonic() - begin) * 1000


def ratio(k, with_it, without):
    """Of one of throughput's figures: MiB with, without, "ratio (quarters)"."""
    ratios = [a[k] / b[k] for a, b in zip(with_it, without)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    mib = [statistics.median(v[k] for v in side) / (1 << 20)
           for side in (with_it, without)]
    return f"{mib[0]:.0f} and {mib[1]:.0f} MiB/s  ratio {middle:.2f} " \
        f"({low:.2f}–{high:.2f})"


def main(pairs):
    throughput("nat")
    throughput("other")
    with_it, without = [], []
    for n in range(pairs):
        order = [("nat", with_it), ("other", without)]
        for place, to in order if n % 2 else order[::-1]:
            to.append(throughput(place))
    print(f"network filter, TCP from a guest with and without  "
          f"{ratio(0, with_it, without)}  by CPU time "
          f"{ratio(1, with_it, without)}  (aim ≥ 0.95; {pairs} pairs)")
    world = networld.World()
    try:
        times = [lease_to_reachable(world) for _ in range(10)]
    finally:
        world.close()
    print(f"from DHCP's answer to DNS's behind the filter  "
          f"{statistics.median(times):.1f} ms (10 times, at most "
          f"{max(times):.1f})")


if __name__ == "__main__":
    main(int(sys.argv[1]))
