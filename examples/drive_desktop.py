#!/usr/bin/env python3
"""Play the main job against boxery-mcp over stdio, as an agent would.

List the tools, look at the desktop, open a terminal by keys, type a command
that writes a random word to a file and prints it large, look again, copy the
file out, and compare. Needs nothing but Python's standard library.

    drive_desktop.py --server build/release/bin/boxery-mcp --vm demo --out .
"""

import argparse
import base64
import json
import os
import queue
import secrets
import subprocess
import sys
import tempfile
import threading
import time

CALL_TIMEOUT_S = 120
# no two of these look alike, so that the word can also be read off the picture
LETTERS = "ACEFHKLMNPRTUWXY"


class Server:
    """One boxery-mcp process and its conversation."""

    def __init__(self, argv):
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            encoding="utf-8")
        self.lines = queue.Queue()
        self.last_id = 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def request(self, method, params=None):
        self.last_id += 1
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method,
                   "params": params or {}})
        deadline = time.monotonic() + CALL_TIMEOUT_S
        while True:
            try:
                left = max(0.0, deadline - time.monotonic())
                answer = self.lines.get(timeout=left)
            except queue.Empty:
                sys.exit(f"no answer to {method} within {CALL_TIMEOUT_S} s")
            if answer is None:
                sys.exit("boxery-mcp ended before it answered")
            if answer.get("id") != self.last_id:
                continue
            if "error" in answer:
                sys.exit(f"{method}: {answer['error']['message']}")
            return answer["result"]

    def tool(self, name, **arguments):
        started = time.monotonic()
        result = self.request("tools/call",
                              {"name": name, "arguments": arguments})
        text = " ".join(c["text"] for c in result["content"]
                        if c["type"] == "text")
        took = time.monotonic() - started
        shown = {k: v if len(str(v)) < 60 else "…"
                 for k, v in arguments.items()}
        print(f"  {name}({json.dumps(shown, ensure_ascii=False)}) "
              f"{took:.1f} s: {text.splitlines()[0][:100] if text else ''}",
              flush=True)
        if result.get("isError"):
            sys.exit(f"{name}: {text}")
        return result

    def job(self, result):
        """Wait for a call that went on in the background."""
        structured = result.get("structuredContent") or {}
        while structured.get("state") == "running":
            result = self.tool("vm_wait", job=structured["job"], seconds=40)
            structured = result.get("structuredContent") or {}
        return result

    def close(self):
        self.process.stdin.close()
        return self.process.wait(timeout=30)


def save_image(result, path):
    for content in result["content"]:
        if content["type"] == "image":
            data = base64.b64decode(content["data"], validate=True)
            with open(path, "wb") as f:
                f.write(data)
            return data
    sys.exit("the screenshot held no image")


def big_letters(word):
    """A shell command that prints `word` large."""
    # DECDHL: the same line twice, as top and as bottom half, double size
    return (f"printf '\\033#3{word}\\n\\033#4{word}\\n'")


def wait_until_changed(server, vm, before, seconds, **how):
    """Screenshots until the picture differs from `before`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if image_of(server.tool("vm_screenshot", vm=vm, **how)) != before:
            return
        time.sleep(1)
    sys.exit(f"the desktop did not change within {seconds} s")


def wait_until_still(server, vm, seconds):
    """Screenshots until two in a row are the same; the last result."""
    deadline = time.monotonic() + seconds
    last = None
    while time.monotonic() < deadline:
        shot = server.tool("vm_screenshot", vm=vm)
        if image_of(shot) == last:
            return shot
        last = image_of(shot)
        time.sleep(1)
    sys.exit(f"the desktop did not come to rest within {seconds} s")


def image_of(result):
    return [c["data"] for c in result["content"] if c["type"] == "image"][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--server", required=True)
    parser.add_argument("--vm", default="demo")
    parser.add_argument("--out", default=".")
    parser.add_argument("--word", default=None,
                        help="the word to write; random when absent")
    options = parser.parse_args()
    word = options.word or "".join(
        secrets.choice(LETTERS) for _ in range(10))

    with tempfile.TemporaryDirectory(prefix="boxery-demo-") as folder:
        server = Server([options.server, "--vm", options.vm,
                         "--copy-root", folder])
        hello = server.request("initialize", {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "drive_desktop", "version": "1"}})
        server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        print(f"  server: {hello['serverInfo']['name']} "
              f"{hello['serverInfo']['version']}")
        tools = server.request("tools/list")["tools"]
        print("  tools: " + " ".join(t["name"] for t in tools))

        before = wait_until_still(server, options.vm, 60)
        save_image(before, os.path.join(options.out, "demo-before.png"))
        # Where the terminal will be: the panel alone may change sooner, and
        # what is typed before the window is there goes nowhere.
        inside = {"region": [300, 200, 200, 100]}
        bare = image_of(server.tool("vm_screenshot", vm=options.vm, **inside))
        server.tool("vm_key", vm=options.vm, keys="ctrl+alt+t")
        wait_until_changed(server, options.vm, bare, 90, **inside)
        opened = wait_until_still(server, options.vm, 60)
        server.tool("vm_type", vm=options.vm,
                    text=f"echo {word} > nonce.txt; {big_letters(word)}\n")
        wait_until_changed(server, options.vm, image_of(opened), 60)
        after = wait_until_still(server, options.vm, 60)
        save_image(after, os.path.join(options.out, "demo-after.png"))

        copied = os.path.join(folder, "nonce.txt")
        server.job(server.tool("vm_copy", **{
            "from": f"{options.vm}:nonce.txt", "to": f"local:{copied}"}))
        with open(copied, encoding="ascii") as f:
            found = f.read().strip()
        # leave the desktop as it was found
        server.tool("vm_type", vm=options.vm, text="exit\n")
        status = server.close()
    if status != 0:
        sys.exit(f"boxery-mcp ended with status {status}")
    if found != word:
        sys.exit(f"the guest's file holds {found!r}, not {word!r}")
    print(f"  the word {word} came back from the guest")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # who reads our output, or boxery-mcp, has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit("the conversation was cut off")
