"""The lab's namespaces, and the eyes that watch what arrives in them.

A socket belongs to the namespace in which it was made, so one process holds
sockets in all of them. An eye sees frames on a device before the machine there
has judged them, but for "host": raw IP sockets see what the host's stack
delivers, which is after all of its packet filter.
"""
import ctypes
import os
import secrets
import select
import socket
import threading
import time

import netframes as f

BRIDGE = "virbr0"
GATEWAY = "192.168.122.1"
HOST_PUBLIC, HOST_PRIVATE = "203.0.113.1", "192.168.77.1"
HOST_V6, OUTSIDE_V6 = "fd00:77::1", "2001:db8::7"
INTERNET = "198.51.100.7"
LAN = "192.168.77.2"
PACKET_OUTGOING = 4
CLONE_NEWNET = 0x40000000

_libc = ctypes.CDLL(None, use_errno=True)


class inside:
    """with inside("internet"): sockets made here belong there."""

    def __init__(self, name):
        self.path = f"/run/netns/{name}"
        self.name = name

    def __enter__(self):
        self.back = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        if self.name != "host":
            there = os.open(self.path, os.O_RDONLY)
            self.set(there)
            os.close(there)

    def __exit__(self, *_):
        self.set(self.back)
        os.close(self.back)

    @staticmethod
    def set(fd):
        if _libc.setns(fd, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")


class Guest:
    """A namespace behind a port of the bridge."""

    def __init__(self, name, number):
        self.name = name
        self.dev = f"e{name}"
        self.mac = f"52:54:00:aa:bb:{number:02x}"
        self.ip = f"192.168.122.{number}"
        self.v6 = f"fd00:77::{number}"
        self.sock = frame_socket(name, self.dev)

    def ether(self, dst, kind, payload, **more):
        return f.ether(self.mac, dst, kind, payload, **more)


def frame_socket(place, dev):
    with inside(place):
        s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.bind((dev, 3))
    grow(s)
    return s


def raw_socket(place, proto, family=socket.AF_INET):
    with inside(place):
        return socket.socket(family, socket.SOCK_RAW, proto)


def grow(s):
    s.setsockopt(socket.SOL_SOCKET, 33, 16 << 20)  # SO_RCVBUFFORCE


class World:
    def __init__(self):
        self.nat, self.none = Guest("nat", 50), Guest("none", 51)
        # one of ours, and a machine of somebody else on the same bridge
        self.other, self.stranger = Guest("other", 52), Guest("stranger", 53)
        with open(f"/sys/class/net/{BRIDGE}/address") as file:
            self.bridge_mac = file.read().strip()
        self.port_v6 = {"nat": local_v6("pnat"), "none": local_v6("pnone")}
        self.eyes = {}
        for g in self.nat, self.none, self.other, self.stranger:
            self.eyes[g.sock] = g.name
        self.eyes[frame_socket("internet", "w0")] = "internet"
        self.eyes[frame_socket("lan", "w0")] = "lan"
        self.eyes[frame_socket("host", BRIDGE)] = "bridge"
        for proto in (f.ICMP, f.IGMP, f.TCP, f.UDP, f.GRE, f.SCTP, f.ESP):
            self.eyes[raw_socket("host", proto)] = "host"
        for proto in f.TCP, f.UDP, f.ICMP6:
            self.eyes[raw_socket("host", proto, socket.AF_INET6)] = "host"
        for s in self.eyes:
            grow(s)
        self.senders = {p: raw_socket(p, socket.IPPROTO_RAW)
                        for p in ("host", "internet", "lan")}
        self.seen = {}
        self.lock = threading.Lock()
        self.running = True
        self.watcher = threading.Thread(target=self.watch)
        self.watcher.start()

    def close(self):
        self.running = False
        self.watcher.join()

    def watch(self):
        poll = select.epoll()
        by_fd = {s.fileno(): s for s in self.eyes}
        for fd in by_fd:
            poll.register(fd, select.EPOLLIN)
        while self.running:
            for fd, _ in poll.poll(0.1):
                s = by_fd[fd]
                data, address = s.recvfrom(65536)
                if s.family == socket.AF_PACKET and \
                        address[2] == PACKET_OUTGOING:
                    continue
                with self.lock:
                    self.seen.setdefault(self.eyes[s], []).append(data)

    def arrived(self, eye, token, after=0):
        """The first packet at that eye that holds token, or None."""
        with self.lock:
            return next((d for d in self.seen.get(eye, ())[after:]
                         if token in d), None)

    def wait(self, eye, token, after=0, seconds=1.2):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            data = self.arrived(eye, token, after)
            if data:
                return data
            time.sleep(0.02)
        return None

    def route(self, place, packet):
        """Sends an IPv4 packet as a machine there with a stack would."""
        dst = socket.inet_ntoa(packet[16:20])
        try:
            self.senders[place].sendto(packet, (dst, 0))
        except PermissionError:  # the host's own filter refuses it: not sent
            pass


def local_v6(dev):
    """A device's fe80:: address in the host, or None."""
    with open("/proc/net/if_inet6") as file:
        for line in file:
            word = line.split()
            if word[5] == dev and word[0].startswith("fe80"):
                return socket.inet_ntop(socket.AF_INET6,
                                        bytes.fromhex(word[0]))
    return None


def token():
    return secrets.token_hex(8).encode()
