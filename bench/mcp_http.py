#!/usr/bin/env python3
"""boxery-mcp --http: requests per CPU-second of the server, and its memory,
beside npm's server-everything in the same run. Reported.

usage: mcp_http.py BIN_DIR CONFORMANCE NODE NPM_ROOT
"""

import atexit
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

BIN, FIXTURES, NODE, NPM = sys.argv[1:5]
TICKS = os.sysconf("SC_CLK_TCK")
V1, V2 = "2025-11-25", "2026-07-28"
META = {"_meta": {"io.modelcontextprotocol/protocolVersion": V2,
                  "io.modelcontextprotocol/clientCapabilities": {}}}
CONNS = 4


def cpu_s(pids):
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


def rss_mb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f
                    if line.startswith("VmRSS")) / 1024


class Conn:
    """Keep-alive; reads whole answers, however they are framed."""

    def __init__(self, port):
        self.sock = socket.create_connection(("127.0.0.1", port))
        self.pending = b""

    def more(self):
        data = self.sock.recv(1 << 16)
        assert data, self.pending
        self.pending += data

    def answer(self):
        while b"\r\n\r\n" not in self.pending:
            self.more()
        head, self.pending = self.pending.split(b"\r\n\r\n", 1)
        lower = head.lower()
        if b"transfer-encoding: chunked" in lower:
            while not self.pending.endswith(b"0\r\n\r\n"):
                self.more()
            body, self.pending = self.pending, b""
        else:
            at = lower.index(b"content-length:")
            size = int(lower[at + 15:].split(b"\r\n", 1)[0])
            while len(self.pending) < size:
                self.more()
            body, self.pending = self.pending[:size], self.pending[size:]
        return head, body


def request(port, message, headers):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    lines = [f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}",
             "Content-Type: application/json",
             "Accept: application/json, text/event-stream",
             f"Content-Length: {len(body)}"]
    lines += [f"{k}: {v}" for k, v in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def legacy_headers(port, auth):
    c = Conn(port)
    c.sock.sendall(request(port, {
        "id": 0, "method": "initialize", "params": {
            "protocolVersion": V1, "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"}}}, auth))
    head, _ = c.answer()
    session = next(line.split(": ")[1] for line in head.decode().split("\r\n")
                   if line.lower().startswith("mcp-session-id"))
    headers = {**auth, "Mcp-Session-Id": session, "MCP-Protocol-Version": V1}
    c.sock.sendall(request(port, {"method": "notifications/initialized"},
                           headers))
    c.answer()
    return headers


def modern(method, name=None):
    headers = {"MCP-Protocol-Version": V2, "Mcp-Method": method}
    if name:
        headers["Mcp-Name"] = name
    return headers


def measure(port, pids, message, headers, count):
    conns = [Conn(port) for _ in range(CONNS)]
    for i, c in enumerate(conns):
        # an id in use would be refused, which costs little
        c.data = request(port, {"id": i, **message}, headers)
    begin, wall = cpu_s(pids), time.monotonic()
    for _ in range(count // CONNS):
        for c in conns:
            c.sock.sendall(c.data)
        for c in conns:
            _, body = c.answer()
            assert b'"result"' in body and b'"isError"' not in body, body
    took = max(cpu_s(pids) - begin, 1 / TICKS)
    wall = time.monotonic() - wall
    for c in conns:
        c.sock.close()
    return count / took, count / wall


def call(name, arguments):
    return {"method": "tools/call",
            "params": {"name": name, "arguments": arguments}}


def with_meta(message):
    return {**message, "params": {**message.get("params", {}), **META}}


def start(argv, ready, env=None, **kwargs):
    proc = subprocess.Popen(argv, stdin=subprocess.PIPE,
                            env={**os.environ, **(env or {})}, **kwargs)
    atexit.register(proc.kill)
    pipe = proc.stdout or proc.stderr
    while True:
        line = pipe.readline().decode()
        assert line, argv
        if ready in line:
            return proc, line


def report(what, rate, peer):
    print(f"  {what:44} {rate:8.0f} /CPU-s"
          + (f"  {rate / peer:5.1f} x" if peer else ""))


def everything():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    proc, _ = start([NODE, os.path.join(
        NPM, "node_modules/@modelcontextprotocol/server-everything/dist/"
        "index.js"), "streamableHttp"], "listening", {"PORT": str(port)},
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    headers = legacy_headers(port, {})
    echo = call("echo", {"message": "x"})
    measure(port, [proc.pid], echo, headers, 800)
    rate, _ = measure(port, [proc.pid], echo, headers, 4000)
    lists, _ = measure(port, [proc.pid], {"method": "tools/list"}, headers,
                       1000)
    print(f"server-everything  RSS {rss_mb(proc.pid):.0f} MB")
    report("tools/call echo", rate, None)
    report("tools/list", lists, None)
    proc.terminate()
    proc.wait()
    return rate, lists


def boxery(home, peer_call, peer_list):
    proc, line = start([os.path.join(BIN, "boxery-mcp"), "--home", home,
                        "--http", "0"], "serving", stderr=subprocess.PIPE)
    port = int(line.split(":")[-1].split("/")[0])
    idle = rss_mb(proc.pid)
    with open(os.path.join(home, "config/mcp-client-token"),
              encoding="ascii") as f:
        auth = {"Authorization": "Bearer " + f.read()}
    session = legacy_headers(port, auth)
    lists = {"method": "tools/list"}
    wait = call("vm_wait", {"seconds": 0})
    measure(port, [proc.pid], wait, session, 40)
    with open(os.path.join(home, "state/host.lock"), encoding="ascii") as f:
        host = int(f.read())
    print(f"boxery-mcp  RSS idle {idle:.1f} MB (aim <= 12)")
    for era, headers, dress in (
            ("2025-11-25", lambda *_: session, lambda m: m),
            ("2026-07-28", lambda *a: {**auth, **modern(*a)}, with_meta)):
        rate, _ = measure(port, [proc.pid], dress(lists),
                          headers("tools/list"), 8000)
        report(f"tools/list, {era}", rate, peer_list)
        rate, wall = measure(port, [proc.pid, host], dress(wait),
                             headers("tools/call", "vm_wait"), 8000)
        report(f"vm_wait, with the service, {era}", rate, peer_call)
    print(f"  RSS after {rss_mb(proc.pid):.1f} MB, {wall:.0f} calls a second "
          f"on {CONNS} connections")
    proc.terminate()
    proc.wait()
    os.kill(host, 15)


def in_process(peer):
    proc, line = start([FIXTURES, "--http", "0"], "http",
                       stdout=subprocess.PIPE)
    port = int(line.split(":")[-1].split("/")[0])
    session = legacy_headers(port, {})
    text = call("test_simple_text", {})
    print("the same code, a tool in the process (aim >= 15 x)")
    rate, _ = measure(port, [proc.pid], text, session, 20000)
    report("tools/call, 2025-11-25", rate, peer)
    rate, _ = measure(port, [proc.pid], with_meta(text),
                      modern("tools/call", "test_simple_text"), 20000)
    report("tools/call, 2026-07-28", rate, peer)
    proc.stdin.close()
    proc.wait()


def main():
    peer_call, peer_list = everything()
    with tempfile.TemporaryDirectory(prefix="boxery-bench-") as home:
        boxery(home, peer_call, peer_list)
    in_process(peer_call)


main()
