#!/usr/bin/env python3
"""What an HTTP client may do to boxery-mcp --http, byte for byte.

usage: mcp_http.py BIN_DIR HOME [CASE...]

HOME is a fresh BOXERY_HOME. One server runs for most cases; some start their
own. Each case is a function; one that returns has passed.
"""
import json
import os
import re
import select
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import traceback

BIN, HOME = map(os.path.abspath, sys.argv[1:3])
V1, V2 = "2025-11-25", "2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": V2,
        "io.modelcontextprotocol/clientCapabilities": {}}
BOTH = "application/json, text/event-stream"


STARTED = []


class Server:
    def __init__(self, *args, home=HOME, address="127.0.0.1:0", env=None):
        self.proc = subprocess.Popen(
            [os.path.join(BIN, "boxery-mcp"), "--home", home, "--http",
             address, *args],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/",
            env={"HOME": os.path.join(HOME, "person"),
                 "PATH": os.environ["PATH"], **(env or {})})
        STARTED.append(self.proc)
        self.said = b""
        self.port = None
        while b"/mcp\n" not in self.said:
            line = self.proc.stderr.readline()
            self.said += line
            if not line:
                self.proc.wait(5)
                self.proc.stderr.close()
                return
        self.port = int(re.search(rb":(\d+)/mcp", self.said).group(1))

    def status(self, name):
        with open(f"/proc/{self.proc.pid}/status", encoding="ascii") as f:
            return next(int(line.split()[1]) for line in f
                        if line.startswith(name + ":"))

    def files(self):
        return len(os.listdir(f"/proc/{self.proc.pid}/fd"))

    def stop(self, timeout=5):
        self.proc.send_signal(signal.SIGTERM)
        status = self.proc.wait(timeout)
        self.said += self.proc.stderr.read()
        self.proc.stderr.close()
        return status


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def __repr__(self):
        return f"<{self.status} {self.headers} {self.body[:300]!r}>"

    @property
    def json(self):
        assert self.headers["content-type"] == "application/json", self
        return json.loads(self.body)

    @property
    def error(self):
        return self.json["error"]

    @property
    def events(self):
        assert self.headers["content-type"] == "text/event-stream", self
        return parse_events(self.body)

    @property
    def answer(self):
        """The last message, in whichever form it came."""
        if self.headers["content-type"] == "application/json":
            return self.json
        return json.loads([e for e in self.events if e["data"]][-1]["data"])


def parse_events(text):
    events = []
    for block in text.decode().split("\n\n"):
        event = {}
        for line in block.split("\n"):
            if line and not line.startswith(":"):
                key, _, value = line.partition(":")
                event[key] = value[1:] if value.startswith(" ") else value
        if "data" in event:
            events.append(event)
    return events


class Conn:
    """One connection; answers are read as they come."""

    def __init__(self, port=None, family=socket.AF_INET, host="127.0.0.1"):
        self.sock = socket.socket(family)
        self.sock.settimeout(20)
        self.sock.connect((host, port or main.port))
        self.pending = b""

    def close(self):
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def fill(self, timeout=None):
        if timeout is not None:
            if not select.select([self.sock], [], [], timeout)[0]:
                return False
        data = self.sock.recv(1 << 16)
        self.pending += data
        return bool(data)

    def line(self):
        while b"\r\n" not in self.pending:
            if not self.fill():
                raise EOFError(self.pending)
        line, self.pending = self.pending.split(b"\r\n", 1)
        return line

    def exactly(self, count):
        while len(self.pending) < count:
            if not self.fill():
                raise EOFError(self.pending)
        data, self.pending = self.pending[:count], self.pending[count:]
        return data

    def head(self):
        status = int(self.line().split(b" ")[1])
        headers = {}
        while True:
            line = self.line()
            if not line:
                return status, headers
            key, value = line.decode().split(":", 1)
            assert key.lower() not in headers, key
            headers[key.lower()] = value.strip()

    def chunk(self):
        size = int(self.line(), 16)
        data = self.exactly(size)
        self.line()
        return data

    def answer(self):
        status, headers = self.head()
        body = b""
        if headers.get("transfer-encoding") == "chunked":
            while True:
                data = self.chunk()
                if not data:
                    break
                body += data
        elif "content-length" in headers:
            body = self.exactly(int(headers["content-length"]))
        return Answer(status, headers, body)

    def ended(self, timeout):
        """Is it closed by the server within so many seconds?"""
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            try:
                if not self.fill(until - time.monotonic()):
                    return not select.select([self.sock], [], [], 0)[0] or \
                        self.sock.recv(1, socket.MSG_PEEK) == b""
            except OSError:
                return True
        return False


def token():
    with open(os.path.join(HOME, "config/mcp-client-token"),
              encoding="ascii") as f:
        return f.read()


def request(method="POST", path="/mcp", body=b"", auth=True, **headers):
    """The bytes of a request. A header of None is left out."""
    if isinstance(body, (dict, list)):
        body = json.dumps(body).encode()
    all_headers = {"Host": f"127.0.0.1:{main.port}", "Accept": BOTH}
    if auth:
        all_headers["Authorization"] = "Bearer " + (
            auth if isinstance(auth, str) else token())
    if method == "POST":
        all_headers["Content-Type"] = "application/json"
        all_headers["Content-Length"] = str(len(body))
    for key, value in headers.items():
        all_headers[key.replace("_", "-")] = value
    head = f"{method} {path} HTTP/1.1\r\n" + "".join(
        f"{k}: {v}\r\n" for k, v in all_headers.items() if v is not None)
    return head.encode() + b"\r\n" + body


def ask(*args, port=None, **kwargs):
    c = Conn(port)
    c.send(request(*args, **kwargs))
    answer = c.answer()
    c.close()
    return answer


def message(method, params=None, id=1):
    m = {"jsonrpc": "2.0", "method": method}
    if id is not None:
        m["id"] = id
    if params is not None:
        m["params"] = params
    return m


def initialize(version=V1):
    return message("initialize", {
        "protocolVersion": version, "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}, id=0)


def open_session(auth=True, port=None):
    a = ask(body=initialize(), auth=auth, port=port)
    assert a.status == 200, a
    return a.headers["mcp-session-id"]


def legacy(session, method, params=None, id=1, **kwargs):
    return ask(body=message(method, params, id), Mcp_Session_Id=session,
               MCP_Protocol_Version=V1, **kwargs)


def modern(method, params=None, id=1, meta=None, **kwargs):
    params = dict(params or {})
    params["_meta"] = {**META, **(meta or {})}
    headers = {"MCP_Protocol_Version": V2, "Mcp_Method": method}
    if "name" in params:
        headers["Mcp_Name"] = params["name"]
    headers.update(kwargs)
    return request(body=message(method, params, id), **headers)


def ask_modern(*args, port=None, **kwargs):
    c = Conn(port)
    c.send(modern(*args, **kwargs))
    answer = c.answer()
    c.close()
    return answer


def wait_params(seconds, **meta):
    params = {"name": "vm_wait", "arguments": {"seconds": seconds}}
    if meta:
        params["_meta"] = meta
    return params


def service_calls():
    """How many calls the service has under way, this one not counted."""
    out = subprocess.run(
        [os.path.join(BIN, "boxery"), "--home", HOME, "service", "status",
         "--json"], capture_output=True, check=False)
    return json.loads(out.stdout)["calls"] - 1 if out.returncode == 0 else -1


def until(condition, seconds, what):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.05)


def boxery(*args):
    out = subprocess.run([os.path.join(BIN, "boxery"), "--home", HOME, *args],
                         capture_output=True, check=False)
    return out.returncode, out.stdout.decode(), out.stderr.decode()


# -- the cases, in this order ----------------------------------------------------

def the_first_start_leaves_a_token():
    path = os.path.join(HOME, "config/mcp-client-token")
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert token().encode() not in main.said and b"\n" not in token().encode()
    for name in "cmdline", "environ":
        with open(f"/proc/{main.proc.pid}/{name}", "rb") as f:
            assert token().encode() not in f.read()
    with open(os.path.join(HOME, "config/mcp-tokens.json"),
              encoding="ascii") as f:
        assert token() not in f.read()


def idle_takes_little():
    rss = main.status("VmRSS") / 1024
    print(f"    idle: RSS {rss:.1f} MB")
    assert rss <= 12


def only_with_a_token():
    for auth in False, "bxm_" + "0" * 40, token()[:-1], token() + "x":
        a = ask(body=initialize(), auth=auth)
        assert a.status == 401, a
        assert a.headers["www-authenticate"].startswith("Bearer"), a
        assert a.json["id"] is None
    for value in "Basic " + token(), token(), "Bearer", "Bearer a b":
        assert ask(body=initialize(), auth=False,
                   Authorization=value).status == 401
    # the scheme's case is no matter, and 401 locks nobody out
    c = Conn()
    for auth, status in ((False, 401), (True, 200), (False, 401), (True, 200)):
        c.send(request(body=initialize(), auth=auth))
        assert c.answer().status == status
    c.close()
    assert ask(body=initialize(), auth=False,
               Authorization="bearer  " + token()).status == 200
    assert ask("GET", auth=False).status == 401


def other_paths_are_404_in_json():
    for method, path in (
            ("GET", "/"), ("GET", "/.well-known/oauth-protected-resource"),
            ("GET", "/.well-known/oauth-authorization-server/mcp"),
            ("GET", "/.well-known/openid-configuration"),
            ("POST", "/register"), ("POST", "/"), ("GET", "/mcp/x"),
            ("POST", "/sse"), ("OPTIONS", "/x")):
        a = ask(method, path, auth=False)
        assert a.status == 404 and a.error["message"], a
    a = ask("GET", "/healthz", auth=False)
    assert a.status == 200 and a.json == {"status": "ok"}
    assert ask("POST", "/healthz", auth=False).status == 405


def hosts_and_origins_of_others_are_403():
    port = main.port
    for host in ("evil.example.com", f"evil.example.com:{port}", "127.0.0.1.x",
                 "localhost.evil.com", "127.0.0.2", "localhost:x",
                 "localhost@evil.com", "192.168.0.1", ""):
        for path in "/mcp", "/healthz":
            a = ask(path=path, body=initialize(), Host=host)
            assert a.status == 403, (host, a)
            assert a.error["message"].startswith("Host"), a
    for origin in ("http://evil.example.com", "null", "https://localhost.evil",
                   f"http://127.0.0.1:{port + 1}", "http://localhost", "",
                   f"ftp://127.0.0.1:{port}"):
        a = ask(body=initialize(), Origin=origin)
        assert a.status == 403, (origin, a)
        assert a.error["message"].startswith("Origin"), a
    # the form of DNS rebinding: a page of evil.com, whose name is now ours
    a = ask(body=initialize(), Host=f"evil.com:{port}",
            Origin=f"http://evil.com:{port}")
    assert a.status == 403
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}",
                 "localhost", "LOCALHOST:9999"):
        assert ask(body=initialize(), Host=host).status == 200, host
        assert ask(body=initialize(), Host=host,
                   Origin="http://" + host).status == 200, host


def headers_that_contradict_are_400():
    good = request(body=initialize())
    for extra in (b"Host: localhost\r\n", b"Content-Length: 3\r\n",
                  b"Transfer-Encoding: chunked\r\n",
                  b"Authorization: Bearer x\r\n"):
        c = Conn()
        c.send(good.replace(b"\r\n", b"\r\n" + extra, 1))
        status, headers = c.head()
        assert status == 400, (extra, status)
        assert c.ended(2), extra
        c.close()


def bad_bodies_are_json_errors():
    for body, code in [
            (b"", -32700), (b"{", -32700), (b"\xff", -32700),
            (b"[" * 100, -32700), (b"[]", -32600),
            (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
            (b"17", -32600), (b"{}", -32600),
            (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
            (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600)]:
        a = ask(body=body)
        assert a.status == 400 and a.error["code"] == code, (body, a)
        assert a.json["id"] is None
    assert ask(body=initialize(), Content_Type="text/plain").status == 415
    assert ask(body=initialize(), Content_Type=None).status == 200
    assert ask(body=initialize(),
               Content_Type="application/json; charset=utf-8").status == 200


def a_session_from_begin_to_end():
    a = ask(body=initialize())
    session = a.headers["mcp-session-id"]
    assert re.fullmatch(r"[!-~]{20,}", session)
    assert a.json["result"]["protocolVersion"] == V1
    a = legacy(session, "notifications/initialized", id=None)
    assert a.status == 202 and a.body == b""
    for id in 1, "1", 0, -3, "żółć", 2**53 + 1:
        a = legacy(session, "ping", id=id)
        assert a.status == 200 and a.json == {
            "jsonrpc": "2.0", "id": id, "result": {}}
    # an answer of the client's
    a = ask(body={"jsonrpc": "2.0", "id": 9, "result": {}},
            Mcp_Session_Id=session)
    assert a.status == 202 and a.body == b""
    a = legacy(session, "tools/list")
    assert a.status == 200 and len(a.json["result"]["tools"]) > 10
    assert legacy(session, "no/such").error["code"] == -32601
    a = legacy(session, "tools/call", {"name": "none"})
    assert a.status == 200 and a.error["code"] == -32602
    a = legacy(session, "tools/call",
               {"name": "vm_click", "arguments": {"vm": "a", "x": -1}})
    assert a.json["result"]["isError"] is True
    assert legacy(session, "tools/call",
                  wait_params(0)).answer["result"]["content"]
    a = ask("DELETE", Mcp_Session_Id=session)
    assert a.status == 204 and a.body == b""
    assert legacy(session, "ping").status == 404
    assert ask("DELETE", Mcp_Session_Id=session).status == 404
    assert ask("GET", Mcp_Session_Id=session).status == 404


def sessions_are_required_and_checked():
    session = open_session()
    assert ask(body=message("ping")).status == 400
    assert ask(body=message("notifications/initialized", id=None)).status == 400
    assert ask("GET").status == 400
    assert ask("DELETE").status == 400
    for bad in "x", "0" * 32, session[:-1], session + "0", "a" * 5000:
        assert legacy(bad, "ping").status == 404, bad
    for version, status in ((V1, 200), ("2025-06-18", 200), (None, 200),
                            ("2025-03-26", 200), ("1999-01-01", 400),
                            ("", 400), ("x", 400)):
        a = ask(body=message("ping"), Mcp_Session_Id=session,
                MCP_Protocol_Version=version)
        assert a.status == status, (version, a)
    # initialize that is no good begins nothing
    a = ask(body=message("initialize", {}))
    assert a.error["code"] == -32602 and "mcp-session-id" not in a.headers
    # another client's session is none
    _, other, _ = boxery("mcp", "token", "add", "other")
    assert legacy(session, "ping", auth=other.strip()).status == 404
    assert legacy(session, "ping").status == 200
    boxery("mcp", "token", "revoke", "other")
    for method in "PUT", "PATCH", "OPTIONS", "HEAD":
        c = Conn()
        c.send(request(method))
        status, headers = c.head()
        assert status == 405 and "POST" in headers["allow"], method
        c.close()


def accept_is_taken_leniently():
    session = open_session()
    for accept, json_type in (
            (None, True), ("*/*", True), ("application/json", True), (BOTH, True),
            ("text/html", True), ("text/event-stream", False), ("", True),
            ("APPLICATION/JSON;q=0.5 , text/plain", True)):
        a = legacy(session, "ping", Accept=accept)
        assert a.status == 200, (accept, a)
        assert (a.headers["content-type"] == "application/json") == json_type
        assert a.answer["result"] == {}
    for accept, json_type in ((BOTH, False), ("application/json", True),
                              ("text/event-stream", False)):
        a = legacy(session, "tools/call", wait_params(0.2, progressToken="t"),
                   Accept=accept)
        assert (a.headers["content-type"] == "application/json") == json_type
        assert "isError" not in a.answer["result"], a


def streams_say_how_to_be_resumed():
    session = open_session()
    a = legacy(session, "tools/call", wait_params(0.2, progressToken="t"))
    assert a.headers["x-accel-buffering"] == "no"
    assert "no-cache" in a.headers["cache-control"]
    first = a.events[0]
    assert first["data"] == "" and first["id"] and int(first["retry"]) > 0
    ids = [e["id"] for e in a.events]
    assert len(set(ids)) == len(ids)
    # the stream again, after its first event
    b = ask("GET", Mcp_Session_Id=session, Last_Event_ID=first["id"])
    assert b.events[-1]["data"] == a.events[-1]["data"]
    # and after its last: nothing
    b = ask("GET", Mcp_Session_Id=session, Last_Event_ID=a.events[-1]["id"])
    assert [e["data"] for e in b.events] == [""]
    for bad in "x", "999-1", "-1", "", "1", "99999999999999999999-1":
        a = ask("GET", Mcp_Session_Id=session, Last_Event_ID=bad)
        assert a.status == 400, (bad, a)
    # an older client knows no event without data
    a = ask(body=initialize("2025-06-18"))
    old = a.headers["mcp-session-id"]
    a = ask(body=message("tools/call", wait_params(0, progressToken=1)),
            Mcp_Session_Id=old, MCP_Protocol_Version="2025-06-18")
    assert [bool(e["data"]) for e in a.events] == [True], a.events


def a_legacy_disconnect_cancels_nothing():
    session = open_session()
    c = Conn()
    c.send(request(body=message("tools/call", wait_params(
        2, progressToken="t")), Mcp_Session_Id=session))
    assert c.head()[0] == 200
    first = parse_events(c.chunk())[0]
    until(lambda: service_calls() == 1, 5, "the call runs")
    c.close()
    time.sleep(0.5)
    assert service_calls() == 1
    # its client comes again and hears the end
    begin = time.monotonic()
    a = ask("GET", Mcp_Session_Id=session, Last_Event_ID=first["id"])
    assert time.monotonic() - begin > 0.3
    assert "isError" not in json.loads(a.events[-1]["data"])["result"]


def a_legacy_cancellation_cancels():
    session = open_session()
    c = Conn()
    c.send(request(body=message("tools/call", wait_params(
        30, progressToken="t"), id="x"), Mcp_Session_Id=session))
    assert c.head()[0] == 200
    until(lambda: service_calls() == 1, 5, "the call runs")
    a = legacy(session, "notifications/cancelled", {"requestId": "x"}, id=None)
    assert a.status == 202
    until(lambda: service_calls() == 0, 2, "the call ended")
    rest = b""
    while True:
        data = c.chunk()
        if not data:
            break
        rest += data
    assert b'"id":"x"' not in rest
    # the id is free again
    assert "result" in legacy(session, "tools/call", wait_params(0),
                              id="x").answer


def the_end_of_a_session_ends_its_waits():
    session = open_session()
    streams = []
    for i in range(2):
        c = Conn()
        c.send(request(body=message("tools/call", wait_params(
            30, progressToken=i), id=i), Mcp_Session_Id=session))
        assert c.head()[0] == 200
        streams.append(c)
    until(lambda: service_calls() == 2, 5, "the calls run")
    assert ask("DELETE", Mcp_Session_Id=session).status == 204
    until(lambda: service_calls() == 0, 2, "the calls ended")
    for c in streams:
        while c.chunk():
            pass
        c.close()


def the_general_stream():
    session = open_session()
    one = Conn()
    one.send(request("GET", Mcp_Session_Id=session, MCP_Protocol_Version=V1))
    status, headers = one.head()
    assert status == 200 and headers["content-type"] == "text/event-stream"
    first = parse_events(one.chunk())[0]
    # a client that comes again takes it over: the old end is dead to it
    two = Conn()
    two.send(request("GET", Mcp_Session_Id=session,
                     Last_Event_ID=first["id"]))
    assert two.head()[0] == 200
    assert one.chunk() == b""
    assert two.chunk()
    two.close()
    one.close()


def modern_requests():
    a = ask_modern("server/discover")
    r = a.json["result"]
    assert a.status == 200 and r["supportedVersions"] == [V2]
    assert r["resultType"] == "complete" and r["ttlMs"] >= 0
    assert "mcp-session-id" not in a.headers
    a = ask_modern("tools/list", id="li")
    assert a.json["id"] == "li" and a.json["result"]["resultType"] == "complete"
    assert len(a.json["result"]["tools"]) > 10
    assert list(a.json) == ["jsonrpc", "id", "result"]
    a = ask_modern("tools/call", wait_params(0))
    assert a.answer["result"]["resultType"] == "complete"
    for method in ("initialize", "ping", "logging/setLevel", "no/such"):
        a = ask_modern(method)
        assert a.status == 404 and a.error["code"] == -32601, a
        assert a.json["id"] == 1
    a = ask_modern("tools/call", {"name": "none"})
    assert a.status == 200 and a.error["code"] == -32602
    a = ask_modern("notifications/cancelled", {"requestId": 1}, id=None)
    assert a.status == 202 and a.body == b""
    for method in "GET", "DELETE":
        a = ask(method, MCP_Protocol_Version=V2)
        assert a.status == 405 and a.headers["allow"] == "POST"


def modern_heads_must_say_what_bodies_say():
    call = wait_params(0)
    for change in ({"MCP_Protocol_Version": None}, {"Mcp_Method": None},
                   {"Mcp_Method": "tools/list"}, {"Mcp_Method": "TOOLS/CALL"},
                   {"Mcp_Name": None}, {"Mcp_Name": "vm_list"},
                   {"MCP_Protocol_Version": V1},
                   {"Mcp_Name": "=?base64?!!?="},
                   {"Mcp_Name": "=?base64?dm1fd2FpdA=?="}):
        a = ask_modern("tools/call", call, id=7, **change)
        assert a.status == 400 and a.error["code"] == -32020, (change, a)
        assert a.json["id"] == 7
    for name in "vm_wait", "  vm_wait\t", "=?base64?dm1fd2FpdA==?=":
        a = ask_modern("tools/call", call, Mcp_Name=name)
        assert a.status == 200 and "result" in a.answer, a
    for missing in META:
        meta = {k: v for k, v in META.items() if k != missing}
        body = message("tools/call", {**wait_params(0), "_meta": {
            **meta, "progressToken": 1}}, id=8)
        a = ask(body=body, MCP_Protocol_Version=V2, Mcp_Method="tools/call",
                Mcp_Name="vm_wait")
        assert a.status == 400 and a.error["code"] == -32602, a
        assert a.json["id"] == 8
    body = message("tools/list", {"_meta": {
        **META, "io.modelcontextprotocol/protocolVersion": "2031-01-01"}})
    a = ask(body=body, MCP_Protocol_Version="2031-01-01",
            Mcp_Method="tools/list")
    assert a.status == 400 and a.error["code"] == -32022
    assert a.error["data"] == {"supported": [V2], "requested": "2031-01-01"}
    assert ask(body=body, MCP_Protocol_Version=V2,
               Mcp_Method="tools/list").error["code"] == -32020


def a_modern_disconnect_cancels():
    for accept in BOTH, "application/json":
        c = Conn()
        c.send(modern("tools/call", wait_params(30), Accept=accept,
                      meta={"progressToken": "t"}))
        until(lambda: service_calls() == 1, 5, "the call runs")
        c.close()
        until(lambda: service_calls() == 0, 2, "the call ended: " + accept)


def a_modern_stream_shows_life():
    c = Conn()
    c.send(modern("tools/call", wait_params(3), meta={"progressToken": "t"}))
    assert c.head()[0] == 200
    times = []
    while True:
        data = c.chunk()
        if not data:
            break
        times.append(time.monotonic())
    assert len(times) >= 4, times
    assert max(b - a for a, b in zip(times, times[1:])) < 1.6
    c.close()


def many_requests_on_one_connection():
    c = Conn()
    session = open_session()
    for i in range(50):
        c.send(request(body=message("ping", id=i), Mcp_Session_Id=session))
        assert c.answer().json["id"] == i
        c.send(modern("tools/list", id=i))
        assert c.answer().json["id"] == i
    # two at once: in order
    c.send(request(body=message("ping", id="a"), Mcp_Session_Id=session) +
           request(body=message("ping", id="b"), Mcp_Session_Id=session))
    assert [c.answer().json["id"] for _ in "ab"] == ["a", "b"]
    c.close()


def big_things_are_refused_in_words():
    session = open_session()
    big = json.dumps(message("ping", {"x": "y" * (4 << 20)})).encode()
    a = ask(body=big, Mcp_Session_Id=session)
    assert a.status == 413 and "bytes at most" in a.error["message"], a
    fits = json.dumps(message("ping", {"x": "y" * ((4 << 20) - 200)})).encode()
    a = ask(body=fits, Mcp_Session_Id=session)
    assert a.status == 200, a
    c = Conn()
    c.send(request(body=b"", Content_Length=str(1 << 40)))
    assert c.answer().status == 413
    assert c.ended(2)
    # in chunks, whose sum nobody announced
    c = Conn()
    c.send(request(body=b"", Content_Length=None, Transfer_Encoding="chunked",
                   Mcp_Session_Id=session))
    piece = b"10000\r\n" + b"y" * 0x10000 + b"\r\n"
    for _ in range(70):
        c.send(piece)
    c.send(b"0\r\n\r\n")
    assert c.answer().status == 413
    c.close()
    before = main.status("VmRSS")
    c = Conn()
    try:
        c.send(request(body=b"", Content_Length=None,
                       Transfer_Encoding="chunked", Mcp_Session_Id=session))
        for _ in range(2000):
            c.send(piece)
        raise AssertionError("128 MiB were taken")
    except OSError:
        pass
    assert main.status("VmRSS") < before + 8192
    c = Conn()
    c.send(request(body=initialize(), X_Big="y" * 60000))
    assert c.head()[0] in (413, 431)
    c.close()


SLOW = []


def slowly(before, after, limit):
    """Sends a request at half a byte a second, until it is cut off."""
    c = Conn()
    c.send(before)
    begin = time.monotonic()
    for byte in after:
        try:
            c.send(bytes([byte]))
            if select.select([c.sock], [], [], 0.5)[0] and not c.sock.recv(9):
                break
        except OSError:
            break
    SLOW.append((time.monotonic() - begin, limit))
    c.close()


def slow_clients_begin():
    """A head and a body that drip in, beside all other cases."""
    whole = request(body=message("ping", {"x": "y" * 5000}))
    split = whole.index(b"\r\n\r\n") + 4
    for before, after, limit in ((b"", whole[:split], 10),
                                 (whole[:split], whole[split:], 30)):
        thread = threading.Thread(target=slowly, args=(before, after, limit))
        thread.start()


def slow_clients_are_cut_off():
    until(lambda: len(SLOW) == 2, 40, "both were cut off")
    for took, limit in SLOW:
        assert limit - 1 < took < limit + 3, SLOW


def a_thousand_connections_and_stalled_readers():
    idle, stalled = [], []
    for _ in range(800):
        idle.append(Conn())
    for _ in range(200):
        c = Conn()
        c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        # far more answers than its socket holds
        c.send(modern("tools/list") * 6)
        stalled.append(c)
    begin = time.monotonic()
    for _ in range(20):
        assert ask_modern("tools/list").status == 200
    took = (time.monotonic() - begin) / 20
    rss = main.status("VmRSS") / 1024
    print(f"    1000 connections, 200 stalled: RSS {rss:.1f} MB, "
          f"a list in {took * 1000:.1f} ms")
    assert took < 0.5 and rss < 64
    for c in idle + stalled:
        c.close()
    until(lambda: main.status("Threads") < 20, 10, "the threads ended")


def connections_over_the_limit_are_told():
    conns = []
    try:
        for _ in range(1215):
            conns.append(Conn())
        conns[-1].send(request(body=initialize()))
        a = conns[-1].answer()
        assert a.status == 503 and "connections" in a.error["message"], a
        assert a.headers["retry-after"] == "1"
    finally:
        for c in conns:
            c.close()
    until(lambda: main.status("Threads") < 20, 10, "the threads ended")
    assert ask(body=initialize()).status == 200


def two_hundred_sessions_fit_40_mb():
    sessions, conns = [], []
    for _ in range(200):
        sessions.append(open_session())
        c = Conn()
        c.send(request("GET", Mcp_Session_Id=sessions[-1]))
        assert c.head()[0] == 200
        conns.append(c)
    rss = main.status("VmRSS") / 1024
    print(f"    200 sessions with a stream each: RSS {rss:.1f} MB")
    assert rss <= 40
    for session, c in zip(sessions, conns):
        assert ask("DELETE", Mcp_Session_Id=session).status == 204
        c.close()


def calls_over_the_limit_are_told():
    """64 calls of one session, and 128 of all."""
    session, other, third = (open_session() for _ in range(3))
    conns = []
    for number, s in enumerate([session] * 70 + [other] * 70):
        c = Conn()
        c.send(request(body=message("tools/call", wait_params(2), id=number),
                       Mcp_Session_Id=s, Accept="application/json"))
        conns.append(c)
    time.sleep(0.5)
    a = legacy(third, "tools/call", wait_params(0), id=1)
    statuses = [c.answer() for c in conns]
    assert any(x.status == 503 or "error" in x.answer or
               "isError" in x.answer["result"] for x in statuses + [a])
    refused = [x for x in statuses if x.status == 503]
    for x in refused:
        assert "under way" in x.error["message"] and x.json["id"] is not None
    for c in conns:
        c.close()
    assert "isError" not in legacy(third, "tools/call", wait_params(0),
                                   id=1).answer["result"]


def a_revoked_token_ends_at_once():
    status, text, _ = boxery("mcp", "token", "add", "laptop")
    assert status == 0
    laptop = text.strip()
    session = open_session(auth=laptop)
    stream = Conn()
    stream.send(request("GET", Mcp_Session_Id=session, auth=laptop))
    assert stream.head()[0] == 200
    stream.chunk()
    call = Conn()
    call.send(modern("tools/call", wait_params(30), auth=laptop,
                     Accept="application/json"))
    kept = Conn()
    kept.send(modern("tools/list", auth=laptop))
    assert kept.answer().status == 200
    until(lambda: service_calls() == 1, 5, "the call runs")
    assert boxery("mcp", "token", "revoke", "laptop")[0] == 0
    # the very next request, on a connection that was let in before
    kept.send(modern("tools/list", auth=laptop))
    assert kept.answer().status == 401
    assert stream.ended(3)
    until(lambda: service_calls() == 0, 3, "the call ended")
    assert ask(body=initialize(), auth=laptop).status == 401
    # of the same name, but another: the old session is not its
    _, text, _ = boxery("mcp", "token", "add", "laptop")
    assert legacy(session, "ping", auth=text.strip()).status == 404
    boxery("mcp", "token", "revoke", "laptop")
    for c in stream, call, kept:
        c.close()
    assert ask(body=initialize()).status == 200


def tokens_have_a_scope():
    _, text, _ = boxery("mcp", "token", "add", "reader", "--read-only")
    reader = text.strip()
    tools = ask_modern("tools/list", auth=reader).json["result"]["tools"]
    assert tools and all(t["annotations"]["readOnlyHint"] for t in tools)
    names = {t["name"] for t in tools}
    assert {"vm_list", "vm_screenshot"} <= names
    for name in "vm_click", "vm_new", "vm_rm", "vm_run":
        assert name not in names
        a = ask_modern("tools/call", {"name": name, "arguments": {"vm": "a"}},
                       auth=reader)
        assert a.error["code"] == -32602
    _, text, _ = boxery("mcp", "token", "add", "one-vm", "--vm", "mine",
                        "--vm", "also")
    one = text.strip()
    a = ask_modern("server/discover", auth=one)
    assert "mine, also" in a.json["result"]["instructions"]
    for name in "vm_info", "vm_screenshot", "vm_rm":
        a = ask_modern("tools/call", {"name": name, "arguments": {
            "vm": "other"}}, auth=one)
        result = a.answer["result"]
        assert result["isError"] and "other" in result["content"][0]["text"]
    server = Server("--vm", "also", "--vm", "further")
    a = ask_modern("server/discover", auth=one, port=server.port)
    assert "only: also." in a.json["result"]["instructions"]
    assert server.stop() == 0
    server = Server("--vm", "further")
    a = ask_modern("server/discover", auth=one, port=server.port)
    assert a.status == 403 and "none of the VMs" in a.error["message"]
    assert server.stop() == 0
    for name in "reader", "one-vm":
        assert boxery("mcp", "token", "revoke", name)[0] == 0


def the_audit_names_the_token():
    _, text, _ = boxery("mcp", "token", "add", "audited")
    a = ask_modern("tools/call", wait_params(0), auth=text.strip())
    assert a.status == 200
    ask_modern("tools/call", {"name": "vm_rm", "arguments": {"vm": "none"}},
               auth=text.strip())
    path = os.path.join(HOME, "state/audit.jsonl")
    with open(path, encoding="utf-8") as f:
        audit = f.read()
    assert ":audited\"" in audit, audit[-500:]
    assert text.strip() not in audit
    boxery("mcp", "token", "revoke", "audited")


def last_use_is_on_record():
    _, text, _ = boxery("mcp", "token", "add", "seen")
    boxery("mcp", "token", "add", "unseen")
    server = Server()
    assert ask_modern("tools/list", auth=text.strip(),
                      port=server.port).status == 200
    assert server.stop() == 0
    rows = {r["name"]: r for r in json.loads(
        boxery("mcp", "token", "list", "--json")[1])["rows"]}
    assert re.match(r"20\d\d-", rows["seen"]["used"]), rows
    assert rows["unseen"]["used"] == "never"
    boxery("mcp", "token", "revoke", "seen")
    boxery("mcp", "token", "revoke", "unseen")


def only_the_users_that_are_allowed():
    server = Server("--allow-user", "ann@example.com",
                    "--allow-user=bob@example.com", "--public-url",
                    "https://host.tail.ts.net")
    port = server.port
    for user, auth, status in (
            ("ann@example.com", True, 200), ("bob@example.com", True, 200),
            (None, True, 403), ("eve@example.com", True, 403), ("", True, 403),
            ("ann@example.com,eve@example.com", True, 403),
            ("ann@example.com", False, 401)):
        a = ask(body=initialize(), port=port, auth=auth,
                Tailscale_User_Login=user)
        assert a.status == status, (user, a)
    c = Conn(port)
    c.send(request(body=initialize(), Tailscale_User_Login="ann@example.com")
           .replace(b"\r\n", b"\r\nTailscale-User-Login: e@x\r\n", 1))
    assert c.head()[0] == 400
    c.close()
    # the public name, exactly
    user = {"Tailscale_User_Login": "ann@example.com"}
    for host, origin, status in (
            ("host.tail.ts.net", None, 200),
            ("host.tail.ts.net", "https://host.tail.ts.net", 200),
            ("HOST.tail.ts.net", None, 200),
            ("x.host.tail.ts.net", None, 403),
            ("host.tail.ts.net.evil.com", None, 403),
            ("host.tail.ts.net:444", None, 403),
            (f"localhost:{port}", "https://host.tail.ts.net", 200),
            ("host.tail.ts.net", "https://evil.com", 403)):
        a = ask(body=initialize(), port=port, Host=host, Origin=origin, **user)
        assert a.status == status, (host, origin, a)
    assert server.stop() == 0


def no_copies_without_a_copy_root():  # K02, K03
    person = os.path.join(HOME, "person")
    work = os.path.join(person, "work")
    os.makedirs(work, exist_ok=True)
    os.makedirs(os.path.join(person, ".ssh"), exist_ok=True)

    def copy(port, source, target):
        return ask_modern("tools/call", {
            "name": "vm_copy", "arguments": {"from": source, "to": target}},
            port=port).answer["result"]

    for ends in ("local:x", "a:x"), ("a:x", "local:x"):
        result = copy(main.port, *ends)
        assert result["isError"]
        assert "--copy-root" in result["content"][0]["text"]
    server = Server("--copy-root", work)
    for path in "../x", "/etc/passwd", "~/x", "../.ssh/id", "../../config/x":
        result = copy(server.port, "local:" + path, "a:x")
        assert result["isError"], result
        assert "--copy-root DIR" not in result["content"][0]["text"]
    assert server.stop() == 0
    # boxery's own folders lie in the root, and are refused all the same
    server = Server("--copy-root", os.path.join(HOME, "config"), home=HOME)
    if server.port:
        result = copy(server.port, "local:mcp-client-token", "a:x")
        assert result["isError"], result
        server.stop()
    server = Server("--copy-root", person)
    assert server.port is None and server.proc.returncode == 2


def where_it_will_not_listen():
    for args, address, words in (
            ((), "0.0.0.0:0", b"others see the token"),
            ((), "[::]:0", b"others see the token"),
            ((), "192.0.2.1:8811", b"others see the token"),
            ((), "example.com:80", b"no address"), ((), "::1:80", b"no address"),
            ((), "99999", b"no address"), ((), "", b"no address"),
            (("--public-url", "host"), "0", b"--public-url"),
            (("--public-url", "https://a/b"), "0", b"--public-url"),
            (("--tls-cert", "x"), "0", b"go together"),
            (("--client", "x"), "0", b"--client"),
            ((), f"127.0.0.1:{main.port}", b"in use")):
        out = subprocess.run(
            [os.path.join(BIN, "boxery-mcp"), "--home", HOME, "--http", address,
             *args], capture_output=True, check=False, timeout=5)
        assert out.returncode != 0 and words in out.stderr, (address, out)
        assert out.stderr.count(b"\n") == 1, out.stderr
    out = subprocess.run([os.path.join(BIN, "boxery-mcp"), "--allow-user", "x"],
                         capture_output=True, check=False, timeout=5,
                         stdin=subprocess.DEVNULL)
    assert out.returncode == 2 and b"--http" in out.stderr
    server = Server(address="[::1]:0")
    c = Conn(server.port, socket.AF_INET6, "::1")
    c.send(request(body=initialize(), Host=f"[::1]:{server.port}"))
    assert c.answer().status == 200
    c.close()
    assert server.stop() == 0


def tls_on_any_address():
    key, cert = (os.path.join(HOME, n) for n in ("tls.key", "tls.crt"))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
         "-keyout", key, "-out", cert], check=True, capture_output=True)
    os.chmod(key, 0o644)
    tls = ("--tls-cert", cert, "--tls-key", key)
    server = Server(*tls)
    assert server.port is None and server.proc.returncode != 0
    assert b"chmod 600" in server.said, server.said
    os.chmod(key, 0o600)
    os.chmod(cert, 0o600)
    server = Server("--tls-cert", key, "--tls-key", cert)
    assert server.port is None and b"PEM" in server.said, server.said
    server = Server(*tls, address="0.0.0.0:0")
    assert b"https://" in server.said
    context = ssl.create_default_context(cafile=cert)
    c = Conn(server.port)
    c.sock = context.wrap_socket(c.sock, server_hostname="localhost")
    c.send(request(body=initialize(), Host=f"localhost:{server.port}"))
    assert c.answer().status == 200
    c.send(modern("tools/call", wait_params(30), meta={"progressToken": 1},
                  Host=f"localhost:{server.port}"))
    until(lambda: service_calls() == 1, 5, "the call runs")
    c.close()
    until(lambda: service_calls() == 0, 2, "the call ended")
    old = ssl.create_default_context(cafile=cert)
    old.set_ciphers("ALL:@SECLEVEL=0")
    old.minimum_version = ssl.TLSVersion.TLSv1
    old.maximum_version = ssl.TLSVersion.TLSv1_1
    c = Conn(server.port)
    try:
        old.wrap_socket(c.sock, server_hostname="localhost")
        raise AssertionError("TLS 1.1 was taken")
    except OSError:
        c.close()
    # plain HTTP there is no way in
    plain = Conn(server.port)
    plain.send(request(body=initialize()))
    assert plain.ended(5)
    assert server.stop() == 0


def a_stop_ends_what_is_only_waited_for():
    server = Server()
    conns = []
    for accept in BOTH, "application/json":
        c = Conn(server.port)
        c.send(modern("tools/call", wait_params(40), Accept=accept,
                      meta={"progressToken": 1}))
        conns.append(c)
    session = open_session(port=server.port)
    c = Conn(server.port)
    c.send(request("GET", Mcp_Session_Id=session))
    conns.append(c)
    until(lambda: service_calls() == 2, 5, "the calls run")
    begin = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - begin < 2.5
    until(lambda: service_calls() == 0, 2, "the calls ended")
    assert b"token" not in server.said.replace(b"/mcp-client-token", b"")
    for c in conns:
        c.close()


def memory_stays_flat():
    c = Conn()
    session = open_session()

    def work(count):
        for i in range(count):
            c.send(modern("tools/list", id=i))
            c.answer()
            c.send(request(body=message("tools/call", wait_params(0), id=i),
                           Mcp_Session_Id=session))
            c.answer()
            c.send(request(body=message("tools/call", wait_params(
                0, progressToken=i), id=i), Mcp_Session_Id=session))
            c.answer()
    work(300)
    before, files = main.status("VmRSS"), main.files()
    work(1500)
    after = main.status("VmRSS")
    print(f"    RSS after 5400 lists and calls: {after} kB")
    assert after < before + 1024, (before, after)
    assert main.files() <= files + 2
    c.close()


CASES = [
    the_first_start_leaves_a_token, idle_takes_little, slow_clients_begin,
    only_with_a_token,
    other_paths_are_404_in_json, hosts_and_origins_of_others_are_403,
    headers_that_contradict_are_400, bad_bodies_are_json_errors,
    a_session_from_begin_to_end, sessions_are_required_and_checked,
    accept_is_taken_leniently, streams_say_how_to_be_resumed,
    a_legacy_disconnect_cancels_nothing, a_legacy_cancellation_cancels,
    the_end_of_a_session_ends_its_waits, the_general_stream, modern_requests,
    modern_heads_must_say_what_bodies_say, a_modern_disconnect_cancels,
    a_modern_stream_shows_life, many_requests_on_one_connection,
    big_things_are_refused_in_words,
    memory_stays_flat, two_hundred_sessions_fit_40_mb,
    a_thousand_connections_and_stalled_readers,
    connections_over_the_limit_are_told,
    calls_over_the_limit_are_told, a_revoked_token_ends_at_once,
    tokens_have_a_scope, the_audit_names_the_token, last_use_is_on_record,
    only_the_users_that_are_allowed, no_copies_without_a_copy_root,
    where_it_will_not_listen, tls_on_any_address,
    a_stop_ends_what_is_only_waited_for, slow_clients_are_cut_off,
]


def run():
    global main
    os.makedirs(os.path.join(HOME, "person"), exist_ok=True)
    main = Server()
    wanted = sys.argv[3:]
    failed = 0
    for case in CASES:
        if wanted and case.__name__ not in wanted:
            continue
        begin = time.monotonic()
        try:
            case()
            print(f"ok    {case.__name__} {time.monotonic() - begin:.1f} s",
                  flush=True)
        except Exception as e:  # every failure of a case is reported
            failed += 1
            print(f"FAIL  {case.__name__}: {type(e).__name__}: {e}")
            print(traceback.format_exc(limit=-3), flush=True)
    if main.stop() != 0:
        print("FAIL  the server's exit status")
        failed += 1
    for proc in STARTED:  # of cases that failed
        if proc.poll() is None:
            proc.kill()
    try:
        with open(os.path.join(HOME, "state/host.lock"),
                  encoding="ascii") as f:
            os.kill(int(f.read()), signal.SIGTERM)
    except (OSError, ValueError):
        pass
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    run()
