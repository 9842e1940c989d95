"""A client of the service that does one thing wrong; prints what comes back.

usage: rawclient.py SOCKET hello|version|garbage|oversize|silent S|half S|
       drip S|hello-frame|old-service

old-service is the other side: a service of another version at SOCKET.
"""
import json
import socket
import struct
import sys
import time

HELLO, ERROR = 1, 9


def frame(kind, call, body):
    payload = json.dumps(body).encode()
    return struct.pack(">IBI", len(payload) + 5, kind, call) + payload


def read_all(s, seconds):
    """Everything until the service hangs up."""
    s.settimeout(seconds)
    out = b""
    try:
        while True:
            piece = s.recv(65536)
            if not piece:
                return out
            out += piece
    except ConnectionResetError:
        return out


def main():
    path, kind = sys.argv[1:3]
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 5
    hello = frame(HELLO, 0, {"version": 1, "client": "raw"})
    if kind == "hello-frame":
        sys.stdout.buffer.write(hello)
        sys.stdout.flush()
        time.sleep(1)
        return
    s = socket.socket(socket.AF_UNIX)
    if kind == "old-service":
        s.bind(path)
        s.listen()
        while True:
            client, _ = s.accept()
            client.recv(65536)
            client.sendall(frame(ERROR, 0, {
                "code": "state",
                "message": "version 0: run boxery service restart"}))
            client.close()
    s.connect(path)
    if kind == "version":
        s.sendall(frame(HELLO, 0, {"version": 2, "client": "raw"}))
    elif kind == "garbage":
        s.sendall(hello + bytes(range(256)) * 300)
    elif kind == "oversize":
        s.sendall(hello + struct.pack(">IBI", 0x7FFFFFFF, 2, 1))
    elif kind == "half":
        s.sendall(hello + struct.pack(">IBI", 100, 2, 1) + b"{")
    elif kind == "drip":
        end = time.time() + seconds
        for byte in hello + frame(2, 1, {"op": "vm_wait"}):
            if time.time() > end:
                return
            s.sendall(bytes([byte]))
            time.sleep(0.2)
    elif kind != "silent":
        try:
            s.sendall(hello)
        except BrokenPipeError:
            pass
    if kind in ("hello",):
        s.settimeout(seconds)
        sys.stdout.buffer.write(s.recv(65536))
        return
    sys.stdout.buffer.write(read_all(s, seconds))


main()
