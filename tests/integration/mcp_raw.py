#!/usr/bin/env python3
"""What an MCP client may do to boxery-mcp over stdio, byte for byte.

usage: mcp_raw.py BIN_DIR HOME [CASE...]

HOME is a fresh BOXERY_HOME; the service is started in it by the first call.
Each case is a function; one that returns has passed.
"""
import fcntl
import json
import os
import select
import signal
import statistics
import subprocess
import sys
import time
import traceback

BIN, HOME = map(os.path.abspath, sys.argv[1:3])
SECRET = "sk-test-never-log-this-0123456789"
MODERN = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
}


class Server:
    """A boxery-mcp and the other ends of its pipes."""

    def __init__(self, *args, cwd="/", stderr=subprocess.PIPE, home=HOME):
        env = {
            "HOME": os.path.join(HOME, "person"),
            "PATH": os.environ["PATH"],
            "SOME_API_KEY": SECRET,
        }
        os.makedirs(env["HOME"], exist_ok=True)
        self.proc = subprocess.Popen(
            [os.path.join(BIN, "boxery-mcp"), "--home", home, *args],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
            cwd=cwd, env=env, bufsize=0)
        self.pending = b""

    def raw(self, data):
        self.proc.stdin.write(data)

    def say(self, **message):
        self.raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def hear(self, timeout=10):
        """The next message; every line must be one."""
        until = time.monotonic() + timeout
        while b"\n" not in self.pending:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.proc.stdout], [], [],
                                              left)[0]:
                raise TimeoutError(f"nothing heard, only {self.pending!r}")
            data = os.read(self.proc.stdout.fileno(), 1 << 20)
            if not data:
                raise EOFError(f"closed after {self.pending!r}")
            self.pending += data
        line, self.pending = self.pending.split(b"\n", 1)
        message = json.loads(line.decode("utf-8", "strict"))
        assert message["jsonrpc"] == "2.0", message
        return message

    def silent(self, seconds=0.3):
        try:
            heard = self.hear(seconds)
        except TimeoutError:
            return
        raise AssertionError(f"heard {heard}")

    def ask(self, method, params=None, id=1, timeout=10):
        message = {"id": id, "method": method}
        if params is not None:
            message["params"] = params
        self.say(**message)
        answer = self.hear(timeout)
        assert answer["id"] == id and type(answer["id"]) is type(id), answer
        return answer

    def tool(self, tool, id=1, timeout=60, **arguments):
        answer = self.ask("tools/call",
                          {"name": tool, "arguments": arguments}, id, timeout)
        assert "result" in answer, answer
        return answer["result"]

    def hello(self, version="2025-11-25"):
        answer = self.ask("initialize", {
            "protocolVersion": version, "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}})
        self.say(method="notifications/initialized")
        return answer["result"]

    def end(self, timeout=5):
        """Close its input; its exit status."""
        self.proc.stdin.close()
        return self.wait(timeout)

    def wait(self, timeout=5):
        status = self.proc.wait(timeout)
        self.proc.stdout.close()
        if self.proc.stderr:
            self.stderr = self.proc.stderr.read()
            self.proc.stderr.close()
        return status


def text_of(result):
    return result["content"][0]["text"]


def wait_call(id, seconds, **meta):
    params = {"name": "vm_wait", "arguments": {"seconds": seconds}}
    if meta:
        params["_meta"] = meta
    return {"id": id, "method": "tools/call", "params": params}


def service_pid():
    try:
        with open(os.path.join(HOME, "state/host.lock")) as f:
            pid = int(f.read())
        os.kill(pid, 0)
        return pid
    except (OSError, ValueError):
        return None


# -- the cases, in this order ----------------------------------------------------

def list_needs_no_service():
    s = Server()
    assert s.hello()["serverInfo"]["name"] == "boxery"
    tools = s.ask("tools/list")["result"]["tools"]
    names = [t["name"] for t in tools]
    assert len(set(names)) == len(names) and "vm_screenshot" in names
    assert "build_base" not in names and "vm_ssh" not in names
    for t in tools:
        assert t["description"] and t["inputSchema"]["type"] == "object"
        assert set(t["annotations"]) == {
            "readOnlyHint", "destructiveHint", "idempotentHint",
            "openWorldHint"}
    assert s.ask("tools/list")["result"]["tools"] == tools
    assert s.end() == 0 and s.stderr == b""
    assert not os.path.exists(os.path.join(HOME, "run")), \
        "the service was touched"


def first_call_starts_the_service():
    s = Server()
    s.hello()
    assert service_pid() is None
    assert "isError" not in s.tool("vm_wait", seconds=0)
    assert service_pid()
    assert s.end() == 0 and s.stderr == b""


def environment_is_not_passed_on():
    with open(f"/proc/{service_pid()}/environ", "rb") as f:
        assert SECRET.encode() not in f.read()
    for where, _, names in os.walk(os.path.join(HOME, "state")):
        for name in names:
            with open(os.path.join(where, name), "rb") as f:
                assert SECRET.encode() not in f.read(), name


def ids_are_echoed_with_their_type():
    s = Server()
    for id in 0, 1, -5, "1", "", "x" * 300, 2**53 + 1, "żółć":
        assert s.ask("ping", id=id)["result"] == {}
    assert s.end() == 0


def bad_lines_are_answered_and_survived():
    s = Server()
    for line, code in [
            (b"{", -32700), (b"\xff\xfe\x00", -32700),
            (b'{"jsonrpc":"2.0","id":1,"method":"\xc3("}', -32700),
            (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700),
            (b"[" * 100, -32700), (b"[]", -32600),
            (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
            (b"17", -32600), (b"{}", -32600),
            (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
            (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
            (b"x" * (5 << 20), -32600)]:
        s.raw(line + b"\n")
        answer = s.hear()
        assert answer["error"]["code"] == code, (line[:60], answer)
        assert answer["id"] is None
    s.raw(b'\r\n\n{"jsonrpc":"2.0","id":9,"method":"ping"}\r\n')
    assert s.hear() == {"jsonrpc": "2.0", "id": 9, "result": {}}
    assert s.end() == 0


def bad_arguments_are_tool_results():
    s = Server()
    s.hello()
    for tool, arguments, word in [
            ("vm_click", {"vm": "a", "x": -1, "y": 1}, "x"),
            ("vm_click", {"vm": "a", "x": 1.5, "y": 1}, "x"),
            ("vm_click", {"vm": "a", "button": "third"}, "button"),
            ("vm_click", {"vm": "a", "bogus": 1}, "bogus"),
            ("vm_click", {}, "vm"), ("vm_new", {"vm": "Not_a_name"}, "vm"),
            ("vm_new", {"vm": "a", "memory": 1}, "memory"),
            ("vm_wait", {"seconds": 46}, "seconds")]:
        result = s.tool(tool, **arguments)
        assert result["isError"] is True, result
        assert word in text_of(result) and "\n" not in text_of(result)
        assert "structuredContent" not in result
    answer = s.ask("tools/call", {"name": "no_such_tool"})
    assert answer["error"]["code"] == -32602
    assert s.end() == 0


def both_eras_in_one_process():
    s = Server()
    r = s.ask("server/discover", MODERN)["result"]
    assert r["supportedVersions"] == ["2026-07-28"]
    assert r["resultType"] == "complete" and r["ttlMs"] >= 0
    assert r["cacheScope"] in ("public", "private")
    assert r["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "boxery"
    r = s.ask("tools/call", {"name": "vm_wait", "arguments": {"seconds": 0},
                             **MODERN})["result"]
    assert r["resultType"] == "complete" and r["content"]
    assert s.ask("ping", MODERN)["error"]["code"] == -32601
    bad = json.loads(json.dumps(MODERN).replace("2026-07-28", "2026-01-01"))
    error = s.ask("tools/list", bad)["error"]
    assert error["code"] == -32022
    assert error["data"] == {"supported": ["2026-07-28"],
                             "requested": "2026-01-01"}
    assert s.ask("tools/list", {})["error"]["code"] == -32602
    for version in "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25":
        assert s.hello(version)["protocolVersion"] == version
        assert "resultType" not in s.ask("tools/list")["result"]
    assert s.end() == 0


def pings_pass_long_calls():
    s = Server()
    s.hello()
    s.say(**wait_call(2, 30))
    time.sleep(0.1)
    for i in range(20):
        begin = time.monotonic()
        s.ask("ping", id=100 + i)
        assert time.monotonic() - begin < 0.5
    s.say(method="notifications/cancelled", params={"requestId": 2})
    s.silent()
    assert s.end() == 0


def answers_come_out_of_order():
    s = Server()
    s.hello()
    s.say(**wait_call("slow", 1))
    s.say(**wait_call("quick", 0))
    assert s.hear()["id"] == "quick"
    assert s.hear()["id"] == "slow"
    assert s.end() == 0


def a_cancelled_call_ends_unanswered():
    s = Server()
    s.hello()
    s.say(**wait_call(2, 30))
    time.sleep(0.2)
    s.say(method="notifications/cancelled", params={"requestId": 2,
                                                    "reason": "tired"})
    s.silent(0.5)
    # its id is free again, and cancelling what is done is no matter
    assert "isError" not in s.tool("vm_wait", id=2, seconds=0)
    s.say(method="notifications/cancelled", params={"requestId": 2})
    s.say(method="notifications/cancelled", params={"requestId": "none"})
    s.ask("ping")
    assert s.end() == 0


def many_calls_at_once():
    s = Server()
    s.hello()
    begin = time.monotonic()
    for i in range(16):
        s.say(**wait_call(i, 1))
    got = {s.hear()["id"] for i in range(16)}
    assert got == set(range(16))
    assert time.monotonic() - begin < 5
    for i in range(80):
        s.say(**wait_call(i, 0.2))
    heard = [s.hear(20) for i in range(80)]
    refused = [h for h in heard if "error" in h]
    assert {h["id"] for h in heard} == set(range(80))
    assert len(refused) <= 16
    for h in refused:
        assert "under way" in h["error"]["message"]
    assert s.end() == 0


def an_id_in_use_is_refused():
    s = Server()
    s.say(**wait_call(5, 1))
    s.say(**wait_call(5, 1))
    assert s.hear()["error"]["code"] == -32600
    assert s.hear()["result"]
    assert s.end() == 0


def end_of_input_finishes_replies():
    s = Server()
    s.hello()
    s.say(**wait_call(1, 1))
    s.proc.stdin.close()
    assert s.hear()["result"]
    assert s.wait() == 0


def signals_end_it_at_once():
    for number in signal.SIGINT, signal.SIGTERM:
        for eof_first in False, True:
            s = Server()
            s.hello()
            s.say(**wait_call(1, 40))
            time.sleep(0.1)
            if eof_first:
                s.proc.stdin.close()
                time.sleep(0.1)
            begin = time.monotonic()
            s.proc.send_signal(number)
            assert s.wait() == 0
            assert time.monotonic() - begin < 1
            s.proc.stdin.close()


def a_client_that_left_ends_it():
    s = Server()
    s.hello()
    s.say(**wait_call(1, 40))
    time.sleep(0.1)
    s.proc.stdin.close()
    s.proc.stdout.close()
    assert s.proc.wait(2) == 0
    s.proc.stderr.close()


def an_undrained_output_stalls_nobody_else():
    """A client that reads nothing: its server still ends on SIGTERM."""
    s = Server()
    fcntl.fcntl(s.proc.stdout, fcntl.F_SETPIPE_SZ, 4096)
    s.hello()
    for i in range(50):
        s.say(id=i, method="tools/list")
    time.sleep(0.3)
    s.proc.send_signal(signal.SIGTERM)
    assert s.wait(2) == 0
    s.proc.stdin.close()


def an_undrained_or_closed_stderr_does_not_matter():
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(write, False)
    try:
        while True:
            os.write(write, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(write, True)
    s = Server(stderr=write)
    s.hello()
    assert s.tool("vm_info", vm="none")["isError"]
    assert s.end() == 0
    os.close(read)
    s = Server(stderr=write)
    s.hello()
    assert s.tool("vm_info", vm="none")["isError"]
    assert s.end() == 0
    os.close(write)


def the_service_may_go_between_calls():
    s = Server()
    s.hello()
    s.tool("vm_wait", seconds=0)
    before = service_pid()
    os.kill(before, signal.SIGKILL)
    while service_pid() == before:
        time.sleep(0.02)
    result = s.tool("vm_wait", seconds=0)
    assert "isError" not in result, result
    assert service_pid() not in (None, before)
    assert s.end() == 0


def the_service_may_go_during_a_call():
    s = Server()
    s.hello()
    s.say(**wait_call(1, 30))
    time.sleep(0.3)
    os.kill(service_pid(), signal.SIGKILL)
    result = s.hear()["result"]
    assert result["isError"], result
    assert "service" in text_of(result)
    assert "isError" not in s.tool("vm_wait", seconds=0)
    assert s.end() == 0


def scope_is_kept():
    s = Server("--vm", "mine", "--vm=also")
    assert "mine, also" in s.hello()["instructions"]
    for tool in "vm_info", "vm_new", "vm_screenshot", "vm_rm":
        result = s.tool(tool, vm="other")
        assert result["isError"], result
        assert "other" in text_of(result)
    assert s.end() == 0


def no_copies_from_a_whole_home():
    person = os.path.join(HOME, "person")
    work = os.path.join(person, "work")
    os.makedirs(work, exist_ok=True)
    for cwd in person, HOME, "/":
        s = Server(cwd=cwd)
        s.hello()
        for ends in (("local:x", "a:x"), ("a:x", "local:x")):
            result = s.tool("vm_copy", **{"from": ends[0], "to": ends[1]})
            assert result["isError"] and "--copy-root" in text_of(result)
        assert s.end() == 0
    for args, cwd in ((), work), (("--copy-root", work), person):
        s = Server(*args, cwd=cwd)
        s.hello()
        for path in "../x", "/etc/passwd", "~/x":
            result = s.tool("vm_copy", **{"from": f"local:{path}",
                                          "to": "a:x"})
            assert result["isError"], result
            assert "--copy-root" not in text_of(result), result
        assert s.end() == 0
    s = Server("--copy-root", person)
    assert s.wait() == 2
    assert b"--copy-root" in s.stderr and s.stderr.count(b"\n") == 1
    s.proc.stdin.close()


def bad_command_lines_say_why():
    for args, word in [(("--vm", "No"), b"--vm"), (("--bogus",), b"--bogus"),
                       (("--client", "a b"), b"--client"), (("--vm",), b"--vm"),
                       (("--home", "relative"), b"relative")]:
        s = Server(*args)
        assert s.wait() == 2, args
        assert word in s.stderr and s.stderr.count(b"\n") == 1, s.stderr
        s.proc.stdin.close()
    for args in ("--help",), ("--version",):
        out = subprocess.run([os.path.join(BIN, "boxery-mcp"), *args],
                             capture_output=True, check=True)
        assert b"boxery-mcp" in out.stdout and not out.stderr


def memory_stays_flat():
    s = Server()
    s.hello()

    def rss_kb():
        with open(f"/proc/{s.proc.pid}/status") as f:
            return next(int(line.split()[1]) for line in f
                        if line.startswith("VmRSS"))

    def work(count):
        for i in range(count):
            s.say(id=i, method="tools/list")
            s.say(**wait_call(f"w{i}", 0))
            s.hear()
            s.hear()
    work(300)
    before = rss_kb()
    work(1500)
    after = rss_kb()
    assert after < before + 512, (before, after)
    assert after < 10 * 1024, after
    print(f"    RSS after 1800 lists and calls: {after} kB")
    assert s.end() == 0


def figures():
    starts, pings, calls = [], [], []
    for i in range(15):
        begin = time.perf_counter()
        s = Server()
        s.hello()
        s.ask("tools/list")
        starts.append((time.perf_counter() - begin) * 1000)
        if i == 0:
            with open(f"/proc/{s.proc.pid}/status") as f:
                rss = next(line for line in f if line.startswith("VmRSS"))
        assert s.end() == 0
    s = Server()
    s.hello()
    for samples, request in ((pings, {"id": 1, "method": "ping"}),
                             (calls, wait_call(1, 0))):
        line = json.dumps({"jsonrpc": "2.0", **request}).encode() + b"\n"
        for i in range(500):
            begin = time.perf_counter()
            s.raw(line)
            s.hear()
            samples.append((time.perf_counter() - begin) * 1e6)
    assert s.end() == 0
    print(f"    start to tools/list: {statistics.median(starts):.1f} ms, "
          f"RSS {rss.split()[1]} kB, ping {statistics.median(pings):.0f} us, "
          f"call through the service {statistics.median(calls):.0f} us")
    assert statistics.median(starts) < 30


CASES = [
    list_needs_no_service, first_call_starts_the_service,
    environment_is_not_passed_on, ids_are_echoed_with_their_type,
    bad_lines_are_answered_and_survived, bad_arguments_are_tool_results,
    both_eras_in_one_process, pings_pass_long_calls, answers_come_out_of_order,
    a_cancelled_call_ends_unanswered, many_calls_at_once,
    an_id_in_use_is_refused, end_of_input_finishes_replies,
    signals_end_it_at_once, a_client_that_left_ends_it,
    an_undrained_output_stalls_nobody_else,
    an_undrained_or_closed_stderr_does_not_matter,
    the_service_may_go_between_calls, the_service_may_go_during_a_call,
    scope_is_kept, no_copies_from_a_whole_home, bad_command_lines_say_why,
    memory_stays_flat, figures,
]


def main():
    wanted = sys.argv[3:]
    failed = 0
    for case in CASES:
        if wanted and case.__name__ not in wanted:
            continue
        try:
            case()
            print(f"ok    {case.__name__}", flush=True)
        except Exception as e:  # every failure of a case is reported
            failed += 1
            print(f"FAIL  {case.__name__}: {type(e).__name__}: {e}")
            print(traceback.format_exc(limit=-2))
    pid = service_pid()
    if pid:
        os.kill(pid, signal.SIGTERM)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
