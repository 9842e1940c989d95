#!/usr/bin/python3
"""An ssh server with the right host key that lies.

    hostile_sshd.py KEY PORTFILE MODE

MODE is the lie. Whatever it is, it must not make the client hang, crash, or hold
memory without bound.
"""
import os
import random
import socket
import sys
import threading
import time

import paramiko
from paramiko import common
from paramiko.message import Message

CHUNK = b"x" * 32000


def message(kind, *fields):
    m = Message()
    m.add_byte(common.byte_chr(kind))
    for f in fields:
        if isinstance(f, bool):
            m.add_boolean(f)
        elif isinstance(f, int):
            m.add_int(f)
        else:
            m.add_string(f)
    return m


class Door(paramiko.ServerInterface):
    def check_auth_publickey(self, username, key):
        return paramiko.AUTH_SUCCESSFUL

    def get_allowed_auths(self, username):
        return "publickey"

    def check_channel_request(self, kind, chanid):
        return paramiko.OPEN_SUCCEEDED


class Liar(paramiko.Transport):
    """Channels are ours alone: paramiko only does keys, login and packets."""

    def __init__(self, sock, mode):
        super().__init__(sock)
        self.mode = mode
        self.refusals = 0
        self.stalled = False
        table = dict(self._handler_table)
        table[common.MSG_CHANNEL_OPEN] = Liar.on_open
        table[common.MSG_CHANNEL_OPEN_FAILURE] = Liar.on_refusal
        table[common.MSG_KEXINIT] = Liar.on_kexinit
        self._handler_table = table
        self._channel_handler_table = {
            kind: on_channel for kind in range(91, 101)}
        self._channels = Everything(self)

    def say(self, kind, *fields):
        self._send_message(message(kind, *fields))

    def later(self, what, *args):
        threading.Thread(target=self.quietly, args=(what,) + args,
                         daemon=True).start()

    def quietly(self, what, *args):
        try:
            what(*args)
        except Exception:  # the client left, as it should
            pass

    # -- what the client asks

    def on_open(self, m):
        m.get_text()
        self.peer = m.get_int()
        self.window = m.get_int()
        window, packet = 2 << 20, 32768
        if self.mode == "open-stall":
            return
        if self.mode == "tiny-packet":
            packet = 10
        if self.mode == "huge-window":
            window = 0xFFFFFFFF
        if self.mode == "no-window":
            window = 0
        self.say(common.MSG_CHANNEL_OPEN_SUCCESS, self.peer, self.peer,
                 window, packet)

    def on_kexinit(self, m):
        if not self.stalled:
            self._negotiate_keys(m)

    def on_refusal(self, m):
        self.refusals += 1

    def on_channel(self, chan, m):
        kind = self.last_kind
        if kind == common.MSG_CHANNEL_REQUEST:
            what = m.get_text()
            reply = m.get_boolean()
            if what in ("exec", "subsystem"):
                text = m.get_text()
                self.later(self.serve, chan.chanid, what, text, reply)
        elif kind == common.MSG_CHANNEL_DATA and self.mode.startswith("sftp"):
            self.sftp(chan.chanid, m.get_binary())
        elif kind == common.MSG_CHANNEL_WINDOW_ADJUST:
            self.window += m.get_int()
        elif kind == common.MSG_CHANNEL_CLOSE and self.mode != "no-close":
            self.say(common.MSG_CHANNEL_CLOSE, chan.chanid)

    # -- the lies

    def data(self, chan, p):
        self.say(common.MSG_CHANNEL_DATA, chan, p)

    def finish(self, chan, status=0):
        self.say(common.MSG_CHANNEL_EOF, chan)
        self.say(common.MSG_CHANNEL_REQUEST, chan, "exit-status", False,
                 status)
        self.say(common.MSG_CHANNEL_CLOSE, chan)

    def serve(self, chan, what, text, reply):
        lie = getattr(self, "do_" + self.mode.replace("-", "_"), None)
        if self.mode == "no-answer":
            return
        if reply:
            self.say(common.MSG_CHANNEL_SUCCESS, chan)
        if what == "exec" and lie:
            lie(chan)
        elif what == "exec" and not self.mode.startswith("sftp"):
            self.data(chan, b"hello\n")
            self.finish(chan)

    def do_huge_window(self, chan):
        self.stop_reading = True
        time.sleep(60)

    def do_no_window(self, chan):
        time.sleep(60)

    def do_window_flood(self, chan):
        for _ in range(64 << 20 >> 15):
            self.data(chan, CHUNK)
        self.finish(chan)

    def do_stderr_flood(self, chan):
        # no lie: all of the window for stderr but for a byte of stdout, which
        # is the worst mixture for a client that reads only stdout
        while True:
            if self.window <= 1:
                time.sleep(0.001)
                continue
            part = CHUNK[:self.window - 1]
            self.window -= len(part)
            self.say(common.MSG_CHANNEL_EXTENDED_DATA, chan, 1, part)
            if self.window == 1:
                self.window = 0
                self.data(chan, b"y")

    def do_no_close(self, chan):
        while True:
            self.data(chan, CHUNK)

    def do_junk(self, chan):
        while True:
            self.say(common.MSG_IGNORE, "x" * 2000)

    def do_requests(self, chan):
        while True:
            self.say(common.MSG_GLOBAL_REQUEST, "x" * 2000, True)

    def do_channel_requests(self, chan):
        while True:
            self.say(common.MSG_CHANNEL_REQUEST, chan, "x" * 2000, True)

    def do_opens(self, chan):
        """It asks for channels and forwards: each is refused, all goes on."""
        kinds = [("forwarded-tcpip", ("h", 1, "o", 2)),
                 ("forwarded-streamlocal@openssh.com", ("/p", "")),
                 ("x11", ("o", 1)), ("auth-agent@openssh.com", ()),
                 ("session", ()), ("direct-tcpip", ("h", 1, "o", 2)),
                 ("nonsense", ())]
        for i, (kind, rest) in enumerate(kinds * 20):
            self.say(common.MSG_CHANNEL_OPEN, kind, i, 1 << 20, 32768, *rest)
        self.say(common.MSG_GLOBAL_REQUEST, "tcpip-forward", True, "", 22)
        for _ in range(200):
            if self.refusals == len(kinds) * 20:
                break
            time.sleep(0.05)
        self.data(chan, b"%d refused\n" % self.refusals)
        self.finish(chan)

    def do_vanish(self, chan):
        self.data(chan, b"half")
        time.sleep(0.2)
        self.sock.shutdown(socket.SHUT_RDWR)

    def do_no_status(self, chan):
        self.data(chan, b"out")
        self.say(common.MSG_CHANNEL_EOF, chan)
        self.say(common.MSG_CHANNEL_CLOSE, chan)

    def do_odd_signal(self, chan):
        self.say(common.MSG_CHANNEL_REQUEST, chan, "exit-signal", False,
                 "../\x1b[2J", False, "", "")
        self.say(common.MSG_CHANNEL_CLOSE, chan)

    def do_big_status(self, chan):
        self.finish(chan, 0xFFFFFFFF)

    def do_rekey_stall(self, chan):
        self.stalled = True
        self._send_message(self.kexinit())
        time.sleep(60)

    def kexinit(self):
        m = Message()
        m.add_byte(common.cMSG_KEXINIT)
        m.add_bytes(os.urandom(16))
        m.add_list(["curve25519-sha256@libssh.org"])
        m.add_list(["ssh-ed25519"])
        for _ in range(2):
            m.add_list(["aes256-ctr"])
        for _ in range(2):
            m.add_list(["hmac-sha2-256-etm@openssh.com"])
        for _ in range(2):
            m.add_list(["none"])
        m.add_string("")
        m.add_string("")
        m.add_boolean(False)
        m.add_int(0)
        return m

    def do_noise(self, chan):
        rnd = random.Random()
        calm = [2, 4] + [kind for kind in range(80, 101) if kind != 97]
        for i in range(4000):
            m = Message()
            kinds = calm if i < 3000 else range(1, 256)
            m.add_byte(common.byte_chr(rnd.choice(kinds)))
            if rnd.random() < 0.8:
                m.add_int(chan)
            if rnd.random() < 0.3:
                m.add_string(rnd.choice(["exit-status", "exit-signal", "signal",
                                         "pty-req", "env", "x11-req", "exec"]))
            m.add_bytes(os.urandom(rnd.randrange(40)))
            self._send_message(m)
        self.finish(chan)

    # -- sftp replies: one lie a mode

    def packet(self, chan, kind, ident, body=b""):
        p = bytes([kind]) + ident.to_bytes(4, "big") + body
        self.data(chan, len(p).to_bytes(4, "big") + p)

    def sftp(self, chan, p):
        def text(b):
            return len(b).to_bytes(4, "big") + b

        kind, ident = p[4], int.from_bytes(p[5:9], "big")
        mode = self.mode[5:]
        attrs = (4).to_bytes(4, "big") + (0o100644).to_bytes(4, "big")
        if kind == 1:
            self.packet(chan, 2, 2 if mode == "version" else 3,
                        text(b"posix-rename@openssh.com") + text(b"1"))
        elif mode == "silent":
            return
        elif mode == "huge":
            self.data(chan, b"\xff\xff\xff\xff" + CHUNK)
        elif mode == "short":
            self.data(chan, b"\0\0\0\x01\x65")
        elif mode == "id":
            self.packet(chan, 101, ident + 1, bytes(4) + text(b"") * 2)
        elif mode == "type":
            self.packet(chan, 77, ident, b"?")
        elif mode == "cut":
            self.packet(chan, 105, ident, b"\0\0\0\x0f\0")
        elif kind in (7, 17):
            self.packet(chan, 105, ident, attrs)
        elif kind in (3, 11):
            size = 70000 if mode == "handle" else 4
            self.packet(chan, 102, ident, text(b"h" * size))
        elif kind == 19:
            self.packet(chan, 104, ident, (1).to_bytes(4, "big") +
                        text(b"a\0b") + text(b"") + bytes(4))
        elif kind == 12 and mode == "names":
            self.packet(chan, 104, ident, (1).to_bytes(4, "big") +
                        text(b"../escape") + text(b"") + attrs)
        elif kind == 12 and mode == "count":
            self.packet(chan, 104, ident, (1 << 31).to_bytes(4, "big") +
                        text(b"a") + text(b"") + attrs)
        elif kind == 12 and mode == "nothing":
            self.packet(chan, 104, ident, bytes(4))
        elif kind == 12:  # for ever
            self.packet(chan, 104, ident, (200).to_bytes(4, "big") +
                        (text(b"n" * 200) + text(b"") + attrs) * 200)
        elif kind == 5 and mode == "empty":
            self.packet(chan, 103, ident, text(b""))
        elif kind == 5 and mode == "more":
            self.packet(chan, 103, ident, text(b"d" * 40000))
        elif kind == 5:  # a file without end
            self.packet(chan, 103, ident, text(b"d" * 32768))
        else:
            self.packet(chan, 101, ident, bytes(4) + text(b"") * 2)


class Any:
    """A channel, of which paramiko has read the number."""

    def __init__(self, transport, chanid):
        self.transport = transport
        self.chanid = chanid


def on_channel(chan, m):
    chan.transport.on_channel(chan, m)


class Everything:
    """Stands for paramiko's channel table: every number is in it."""

    def __init__(self, transport):
        self.transport = transport

    def get(self, chanid):
        return Any(self.transport, chanid)

    def __len__(self):
        return 1

    def values(self):
        return []

    def delete(self, chanid):
        pass


def read_kind(transport):
    """Note the kind of each packet as it is read."""
    packetizer = transport.packetizer
    inner = packetizer.read_message

    def read_message():
        while getattr(transport, "stop_reading", False):
            time.sleep(0.1)
        kind, m = inner()
        transport.last_kind = kind
        return kind, m

    packetizer.read_message = read_message


def serve(sock, key, mode):
    try:
        if mode == "mute":
            time.sleep(60)
        elif mode == "lines":
            while True:
                sock.sendall(b"hello, hello\r\n" * 1000)
        elif mode == "half-kex":
            sock.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
            time.sleep(60)
        elif mode == "garbage":
            sock.sendall(b"SSH-2.0-OpenSSH_9.2\r\n" + os.urandom(100000))
            time.sleep(60)
        elif mode == "no-login":
            door = Door()
            door.check_auth_publickey = lambda u, k: time.sleep(60)
            t = paramiko.Transport(sock)
            t.add_server_key(key)
            t.start_server(server=door)
            time.sleep(60)
        else:
            t = Liar(sock, mode)
            read_kind(t)
            t.local_version = "SSH-2.0-OpenSSH_9.2 hostile"
            t.add_server_key(key)
            t.start_server(server=Door())
            t.join()
    except Exception:  # the client left, as it should
        pass
    finally:
        sock.close()


def main():
    key = paramiko.Ed25519Key(filename=sys.argv[1])
    mode = sys.argv[3]
    listener = socket.create_server(("127.0.0.1", 0))
    with open(sys.argv[2] + ".new", "w", encoding="ascii") as f:
        f.write(str(listener.getsockname()[1]))
    os.rename(sys.argv[2] + ".new", sys.argv[2])
    while True:
        sock, _ = listener.accept()
        threading.Thread(target=serve, args=(sock, key, mode),
                         daemon=True).start()


main()
