#!/usr/bin/env python3
"""An agent's work on a real VM over MCP, with clients that come and go.

usage: mcp_vm.py BIN_DIR VM          (BOXERY_HOME is set, an image is there)

Makes VM, works in it, removes it. Its server is killed with SIGKILL in the
middle of things, as clients do.
"""
import base64
import json
import os
import struct
import subprocess
import sys
import tempfile
import time

BIN, VM = os.path.abspath(sys.argv[1]), sys.argv[2]
BEGIN = time.monotonic()


def say(text):
    print(f"[{time.monotonic() - BEGIN:5.0f} s] {text}", flush=True)


class Client:
    def __init__(self, *args, cwd="/"):
        self.proc = subprocess.Popen(
            [os.path.join(BIN, "boxery-mcp"), *args], cwd=cwd,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.last_id = 0
        self.progress = []

    def send(self, method, params, id=None):
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if id is not None:
            message["id"] = id
        self.proc.stdin.write(json.dumps(message).encode() + b"\n")
        self.proc.stdin.flush()

    def begin(self, tool, **arguments):
        self.last_id += 1
        self.send("tools/call", {
            "name": tool, "arguments": arguments,
            "_meta": {"progressToken": self.last_id}}, self.last_id)
        return self.last_id

    def hear(self):
        return json.loads(self.proc.stdout.readline())

    def end_of(self, id):
        """The answer to one call; progress is kept and checked."""
        last = None
        while True:
            m = self.hear()
            if m.get("method") == "notifications/progress":
                p = m["params"]
                if p["progressToken"] == id:
                    assert last is None or p["progress"] > last, p
                    last = p["progress"]
                self.progress.append(p)
                continue
            assert m["id"] == id, m
            return m["result"]

    def call(self, tool, quiet=False, **arguments):
        begin = time.monotonic()
        result = self.end_of(self.begin(tool, **arguments))
        took = time.monotonic() - begin
        assert took < 50, f"{tool} took {took:.0f} s"
        if not quiet:
            say(f"{tool} {took:.1f} s: {summary(result)}")
        return result

    def ok(self, tool, **arguments):
        result = self.call(tool, **arguments)
        assert not result.get("isError"), result
        return result

    def finish(self, result):
        """Wait for a job, call by call."""
        while True:
            s = result.get("structuredContent") or {}
            if s.get("state") != "running" or "job" not in s:
                return result
            result = self.ok("vm_wait", job=s["job"], seconds=40)

    def kill(self):
        self.proc.kill()
        self.proc.wait()

    def close(self):
        self.proc.stdin.close()
        assert self.proc.wait(60) == 0


def summary(result):
    return " | ".join(
        c["text"].replace("\n", " ")[:90] if c["type"] == "text"
        else f"<{c['mimeType']}, {len(c['data'])} of base64>"
        for c in result["content"])


def job_of(result):
    s = result["structuredContent"]
    assert s["state"] == "running", s
    assert s["job"] in result["content"][0]["text"]
    return s["job"]


def png_size(result):
    image = next(c for c in result["content"] if c["type"] == "image")
    assert image["mimeType"] == "image/png"
    assert len(image["data"]) < 700_000
    assert "structuredContent" not in result
    data = base64.b64decode(image["data"], validate=True)
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", data[16:24])


def make_vm_through_dying_clients():
    c = Client("--vm", VM)
    id = c.begin("vm_new", vm=VM, shape="small")
    # the first progress says that the job has begun
    first = c.hear()
    assert first["method"] == "notifications/progress", first
    time.sleep(2)
    c.kill()
    say("killed the client that asked for the VM")
    c = Client("--vm", VM)
    row, = c.ok("vm_list")["structuredContent"]["rows"]
    assert row["name"] == VM
    until = time.monotonic() + 600
    while row["state"] != "running":
        assert row["state"] in ("creating", "starting"), row
        assert time.monotonic() < until
        time.sleep(1)
        row, = c.ok("vm_list", quiet=True)["structuredContent"]["rows"]
    say("the VM runs all the same")
    while c.call("vm_wait", vm=VM, seconds=40).get("isError"):
        assert time.monotonic() < until
    c.close()
    assert id == 1


def commands(c):
    r = c.ok("vm_run", vm=VM, command="echo hi; echo oops >&2; exit 3")
    s = r["structuredContent"]
    assert (s["exit"], s["stdout"], s["stderr"]) == (3, "hi\n", "oops\n"), s
    assert s["untrusted"] == ["stdout", "stderr"]
    texts = [b["text"] for b in r["content"]]
    assert any("untrusted" in t and "\nhi\n" in t for t in texts), texts
    # M17: what runs on in the background and never falls silent
    r = c.finish(c.ok("vm_run", vm=VM, command="yes & echo up", timeout_s=5))
    s = r["structuredContent"]
    assert s["exit"] == 0 and s["background"], s
    r = c.ok("vm_write", vm=VM, path="note.txt", content="one\ntwo\n")
    r = c.ok("vm_read", vm=VM, path="note.txt")
    assert "one\ntwo" in r["content"][-1]["text"]
    assert "structuredContent" not in r


def a_job_outlives_its_client(c):
    job = job_of(c.ok("vm_run", vm=VM, command="sleep 60; echo late"))
    c.kill()
    c = Client("--vm", VM)
    r = c.finish(c.ok("vm_wait", job=job, seconds=40))
    assert r["structuredContent"]["stdout"] == "late\n", r
    other = Client("--client", "other")
    assert other.call("vm_wait", job=job)["isError"]
    other.close()
    return c


def cancelling_ends_the_command(c):
    id = c.begin("vm_run", vm=VM, command="sleep 4321")
    time.sleep(5)
    c.send("notifications/cancelled", {"requestId": id})
    until = time.monotonic() + 30
    # the pattern must not match the shell that looks for it
    while c.ok("vm_run", vm=VM, command="pgrep -c -f '[s]leep 4321'")[
            "structuredContent"]["stdout"] != "0\n":
        assert time.monotonic() < until
        time.sleep(1)


def copies(c, root):
    with open(os.path.join(root, "up.bin"), "wb") as f:
        f.write(os.urandom(3 << 20))
    c.finish(c.ok("vm_copy", **{"from": "local:up.bin", "to": f"{VM}:."}))
    c.finish(c.ok("vm_copy", **{"from": f"{VM}:up.bin",
                                "to": "local:down.bin"}))
    with open(os.path.join(root, "up.bin"), "rb") as a, \
            open(os.path.join(root, "down.bin"), "rb") as b:
        assert a.read() == b.read()
    for bad in "local:../x", "local:/etc/passwd":
        assert c.call("vm_copy", **{"from": bad, "to": f"{VM}:."})["isError"]


def desktop(c):
    size = png_size(c.ok("vm_screenshot", vm=VM))
    assert max(size) <= 1568, size
    r = c.ok("vm_screenshot", vm=VM, region=[0, 0, 100, 80])
    assert "region" in r["content"][1]["text"]
    png_size(r)
    r = c.ok("vm_click", vm=VM, x=10, y=10, screenshot=True)
    assert png_size(r) == size
    assert "pointer at 10, 10" in r["content"][1]["text"], r["content"][1:]
    assert c.call("vm_click", vm=VM, x=size[0], y=0)["isError"]
    # sent at once, done in order
    ids = [c.begin("vm_move", vm=VM, x=x, y=20) for x in range(20, 220, 10)]
    for _ in ids:
        m = c.hear()
        while "id" not in m:
            m = c.hear()
        assert not m["result"].get("isError"), m
    r = c.ok("vm_screenshot", vm=VM)
    assert "pointer at 210, 20" in r["content"][1]["text"], r["content"][1:]
    # what an action changes, and that nothing changes by itself; an emulated
    # guest takes its time
    c.ok("vm_wait", vm=VM, until="stable", settle_ms=2000, seconds=40)
    c.ok("vm_screenshot", vm=VM)
    r = c.ok("vm_click", vm=VM, x=size[0] // 2, y=size[1] // 2, button="right",
             settle_ms=1500, settle_cap_ms=20000)
    text = r["content"][0]["text"]
    assert '"changed":[[' in text and '"stable":true' in text, text
    r = c.ok("vm_screenshot", vm=VM, since=0)
    assert "Changed since your last screenshot" in r["content"][-1]["text"]
    r = c.ok("vm_actions", vm=VM, actions=[
        {"action": "key", "keys": "Escape"},
        {"action": "move", "x": 300, "y": 200}])
    assert "pointer at 300, 200" in r["content"][1]["text"], r["content"][1:]
    mirror = c.ok("vm_info", vm=VM)["structuredContent"]["mirror"]
    assert "DAMAGE" in mirror, mirror


def remove(c):
    c.finish(c.ok("vm_stop", vm=VM))
    c.finish(c.ok("vm_rm", vm=VM))
    assert c.ok("vm_list")["structuredContent"]["rows"] == []


def main():
    make_vm_through_dying_clients()
    root = tempfile.mkdtemp(prefix="boxery-copy-")
    c = Client("--vm", VM, "--copy-root", root)
    commands(c)
    desktop(c)
    copies(c, root)
    cancelling_ends_the_command(c)
    c = a_job_outlives_its_client(c)
    remove(c)
    c.close()
    print("7 passed, 0 failed")


if __name__ == "__main__":
    main()
