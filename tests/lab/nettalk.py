"""Rows of the matrix that need an answer: both sides have a stack here.

Each is a function of the world and the guest that says whether the talk came
about. They run side by side, each in a thread: a socket belongs to the
namespace in which its thread made it.
"""
import secrets
import socket
import struct
import threading

import netframes as f
from networld import GATEWAY, HOST_PUBLIC, INTERNET, inside, token

TALKS = []
WAIT = 2.5


class Talk:
    def __init__(self, group, text, ids, nat, none, run):
        self.group, self.text, self.ids, self.run = group, text, ids, run
        self.expect = {"nat": nat, "none": none, "off": True}


def talk(group, text, ids, nat=True, none=True):
    def add(run):
        TALKS.append(Talk(group, text, ids, nat, none, run))
        return run
    return add


def stream(place, server=None):
    with inside(place):
        s = socket.socket()
    s.settimeout(WAIT)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if server:
        s.bind(server)
        s.listen()
    return s


def datagram(place, address=None):
    with inside(place):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(WAIT)
    if address:
        s.bind(address)
    return s


def echo_once(server):
    """In a thread: the first connection is sent what it sends."""
    def run():
        try:
            with server, server.accept()[0] as peer:
                peer.settimeout(WAIT)
                peer.sendall(peer.recv(100))
        except OSError:
            pass
    t = threading.Thread(target=run)
    t.start()
    return t


def ask_stream(place, address, port):
    """A connection, a token there and back."""
    t = token()
    with stream(place) as s:
        try:
            s.connect((address, port))
            s.sendall(t)
            return s.recv(100) == t
        except OSError:
            return False


@talk("allowed", "the internet by TCP", "A03 B14", none=False)
def internet_tcp(w, x):
    server = stream("internet", (INTERNET, 0))
    t = echo_once(server)
    got = ask_stream(x.name, INTERNET, server.getsockname()[1])
    t.join()
    return got


@talk("allowed", "the internet by UDP", "A03 B14", none=False)
def internet_udp(w, x):
    one = token()
    with datagram("internet", (INTERNET, 0)) as server, \
            datagram(x.name) as client:
        client.sendto(one, server.getsockname())
        try:
            data, peer = server.recvfrom(100)
            server.sendto(data, peer)
            return client.recv(100) == one
        except OSError:
            return False


@talk("allowed", "ping to the internet", "A03 B14", none=False)
def internet_ping(w, x):
    t = token()
    x.sock.send(x.ether(w.bridge_mac, f.IPV4, f.echo(x.ip, INTERNET, t)))
    return w.wait(x.name, t) is not None


@talk("allowed", "a private router says the packet is too big", "B14",
      none=False)
def path_mtu(w, x):
    t = token()
    with datagram(x.name) as s:
        s.sendto(t + bytes(20), (INTERNET, 4444))
    sent = w.wait("internet", t)
    if not sent:
        return False
    before = len(w.seen.get(x.name, ()))
    w.route("internet", f.too_big("10.9.9.1", HOST_PUBLIC, sent[14:14 + 60]))
    return w.wait(x.name, t, after=before) is not None


def dns_name():
    """One that libvirt's dnsmasq itself knows: there is none of that name."""
    return f"{secrets.token_hex(8)}.lab.test"


@talk("allowed", "DNS by UDP from the bridge address", "A04 B13", none=False)
def dns_udp(w, x):
    query = f.dns_query(secrets.randbelow(65536), dns_name())
    with datagram(x.name) as s:
        s.sendto(query, (GATEWAY, 53))
        try:
            answer = s.recv(1500)
        except OSError:
            return False
    return answer[:2] == query[:2] and query[12:-4] in answer


@talk("allowed", "DNS by TCP from the bridge address", "A04 B13", none=False)
def dns_tcp(w, x):
    query = f.dns_query(secrets.randbelow(65536), dns_name())
    with stream(x.name) as s:
        try:
            s.connect((GATEWAY, 53))
            s.sendall(struct.pack("!H", len(query)) + query)
            answer = s.recv(1500)
        except OSError:
            return False
    return query[12:-4] in answer


def answered(w, x, kind, packet, xid, mac):
    """A DHCP message out, one of that kind in."""
    want = b"\x02\x01\x06\x00" + struct.pack("!I", xid)
    for _ in range(2):
        x.sock.send(x.ether(mac, f.IPV4, packet))
        data = w.wait(x.name, want)
        if data and f.dhcp_kind(data[data.index(want):]) == kind:
            return data[data.index(want):]
    return None


def option(code, address):
    return bytes([code, 4]) + socket.inet_aton(address)


def broadcast_dhcp(x, kind, xid, options=b""):
    return f.udp("0.0.0.0", "255.255.255.255", 68, 67,
                 f.dhcp(1, kind, x.mac, xid, options))


@talk("allowed", "DHCP: discover, request, the address it was given", "A04 B08")
def dhcp_lease(w, x):
    xid = secrets.randbits(32)
    offer = answered(w, x, 2, broadcast_dhcp(x, 1, xid), xid, f.BROADCAST)
    if not offer or socket.inet_ntoa(offer[16:20]) != x.ip:
        return False
    xid = secrets.randbits(32)
    chosen = option(50, x.ip) + option(54, GATEWAY)
    ack = answered(w, x, 5, broadcast_dhcp(x, 3, xid, chosen), xid, f.BROADCAST)
    return ack is not None and socket.inet_ntoa(ack[16:20]) == x.ip


@talk("allowed", "DHCP: renewed", "A04 B08")
def dhcp_renew(w, x):
    xid = secrets.randbits(32)
    request = f.dhcp(1, 3, x.mac, xid, ciaddr=x.ip)
    packet = f.udp(x.ip, GATEWAY, 68, 67, request)
    return answered(w, x, 5, packet, xid, w.bridge_mac) is not None


@talk("allowed", "ssh from the host", "A09 B14")
def ssh_in(w, x):
    t = echo_once(stream(x.name, (x.ip, 22)))
    got = ask_stream("host", x.ip, 22)
    t.join()
    return got
