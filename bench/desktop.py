#!/usr/bin/env python3
"""Figures of a desktop; bench/desktop.sh starts what it needs.

    desktop.py BUILD SERVICE_PID SSH…    SSH: a command that runs a command
                                         in the guest
"""
import json
import os
import statistics
import subprocess
import sys
import time

BUILD, SERVICE, SSH = sys.argv[1], sys.argv[2], sys.argv[3:]
ENV = (f"export DISPLAY={os.environ['DISPLAY']} "
       f"XAUTHORITY={os.environ['XAUTHORITY']}; ")
ROUNDS = 15


class Client:
    def __init__(self):
        self.process = subprocess.Popen(
            [BUILD + "/bin/boxery-mcp"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)
        self.ids = 0
        self.request("initialize", {"protocolVersion": "2025-11-25",
                                    "capabilities": {},
                                    "clientInfo": {"name": "bench",
                                                   "version": "1"}})

    def request(self, method, params):
        self.ids += 1
        self.process.stdin.write(json.dumps(
            {"jsonrpc": "2.0", "id": self.ids, "method": method,
             "params": params}).encode() + b"\n")
        self.process.stdin.flush()
        while True:
            line = self.process.stdout.readline()
            if line.startswith(b'{"jsonrpc":"2.0","method"'):
                continue
            return line

    def call(self, tool, **args):
        line = self.request("tools/call", {
            "name": tool, "arguments": {"vm": "demo", **args}})
        assert b'"isError":true' not in line, line[:500]
        return line


def xstate(*words):
    subprocess.run([BUILD + "/tools/xstate", *map(str, words)], check=True,
                   stdout=subprocess.DEVNULL)


def in_guest(command):
    return subprocess.run([*SSH, ENV + command], check=True,
                          stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout


def ms(fn, *args, **kwargs):
    begun = time.monotonic()
    fn(*args, **kwargs)
    return (time.monotonic() - begun) * 1000


def paired(prepare, ours, peer):
    """Medians in ms, of turns."""
    a, b = [], []
    for i in range(ROUNDS):
        prepare(i)
        a.append(ms(ours))
        b.append(ms(peer))
    return statistics.median(a), statistics.median(b)


def report(what, ours, peer, name, aim):
    print(f"{what:20} ours {ours:.1f} ms  {name} {peer:.1f} ms  "
          f"ratio {ours / peer:.3f}  (aim ≤ {aim})", flush=True)


def scrot():
    assert in_guest("scrot -o /tmp/boxery-bench.png && "
                    "cat /tmp/boxery-bench.png")


def screenshots(c):
    c.call("vm_screenshot")
    shot = lambda: c.call("vm_screenshot")
    ours, peer = paired(lambda i: xstate("photo", i), shot, scrot)
    report("screenshot, photo", ours, peer, "scrot over ssh", 0.25)
    in_guest("xsetroot -solid gray")
    xterm = subprocess.Popen(["xterm", "-geometry", "150x50", "-e", "sh", "-c",
                              "ls -lR /usr/include | head -2000; sleep 99"],
                             stderr=subprocess.DEVNULL)
    time.sleep(1.5)
    ours, peer = paired(lambda i: xstate("blink", 500, 300, 300, 200, 1,
                                         2 + i % 2), shot, scrot)
    report("screenshot, window", ours, peer, "scrot over ssh", 0.25)
    ours, peer = paired(lambda i: None, shot, scrot)
    report("screenshot, same", ours, peer, "scrot over ssh", 0.05)
    maim = lambda: in_guest("maim")
    report("screenshot, same", ours,
           statistics.median(ms(maim) for _ in range(5)), "maim over ssh",
           0.05)
    xterm.terminate()
    xterm.wait()


def menus(c):
    """The window manager's menu, which a right click opens."""
    away = lambda i: (in_guest("xdotool key Escape mousemove 1000 500"),
                      time.sleep(0.3))
    demo = ("xdotool mousemove 300 300 click 3; {wait}"
            "scrot -o /tmp/boxery-bench.png; convert "
            "/tmp/boxery-bench.png -resize '1456x819!' "
            "/tmp/boxery-small.png; base64 -w0 /tmp/boxery-small.png")

    def ours():
        line = c.call("vm_click", x=228, y=228, button="right",
                      screenshot=True)
        assert b'changed\\":[[' in line, line[-300:]

    def peer():
        away(0)
        in_guest(demo.format(wait="sleep 2; "))

    away(0)
    mine, theirs = paired(away, ours, peer)
    report("click to picture", mine, theirs, "click, sleep 2, scrot, convert",
           0.15)
    bare = statistics.median(
        (away(0), ms(in_guest, demo.format(wait="")))[1] for _ in range(5))
    print(f"                     {mine:.1f} ms of which 150 ms is the quiet "
          f"that it waits for; the peer without its wait: {bare:.1f} ms",
          flush=True)
    away(0)


def clicks(c):
    """A click alone, beside a command over the same kind of link."""
    true = lambda: in_guest("true")
    click = lambda: c.call("vm_click", x=900, y=600, settle_ms=0)
    xdotool = lambda: in_guest("xdotool mousemove 1187 791 click 1")
    click()
    ours, trip = paired(lambda i: None, click, true)
    report("click", ours, trip, "ssh true", "its + 2 ms")
    peer = statistics.median(ms(xdotool) for _ in range(ROUNDS))
    report("click", ours, peer, "xdotool over ssh", 1)


def cpu_s():
    with open(f"/proc/{SERVICE}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def read_and_written():
    with open(f"/proc/{SERVICE}/io", encoding="ascii") as f:
        return sum(int(line.split()[1]) for line in f
                   if line.startswith(("rchar", "wchar")))


def idle(c):
    """A cursor that blinks, and nobody who looks."""
    seconds = 20
    c.call("vm_screenshot")
    cursor = subprocess.Popen([BUILD + "/tools/xstate", "blink", "300", "300",
                               "2", "14", "530", "60"],
                              stdout=subprocess.DEVNULL)
    time.sleep(1)
    cpu, moved = cpu_s(), read_and_written()
    time.sleep(seconds)
    cpu, moved = cpu_s() - cpu, read_and_written() - moved
    print(f"idle                 {moved / seconds / 1000:.2f} kB/s of all "
          f"that the service reads and writes, {cpu / seconds * 100:.2f} % of "
          f"a CPU  (aim < 1 kB/s, < 0.2 %)", flush=True)
    cursor.terminate()
    cursor.wait()


def main():
    c = Client()
    screenshots(c)
    menus(c)
    clicks(c)
    idle(c)


main()
