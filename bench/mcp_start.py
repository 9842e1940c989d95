#!/usr/bin/env python3
"""boxery-mcp: start to first tools/list answer, and its memory. Reported."""

import json
import os
import statistics
import subprocess
import sys
import time

ROUNDS = 20


def start_once(server):
    begin = time.monotonic()
    process = subprocess.Popen([server], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    for i, (method, params) in enumerate((
            ("initialize", {"protocolVersion": "2025-11-25",
                            "capabilities": {},
                            "clientInfo": {"name": "bench", "version": "1"}}),
            ("tools/list", {}))):
        process.stdin.write(json.dumps(
            {"jsonrpc": "2.0", "id": i, "method": method,
             "params": params}).encode() + b"\n")
    process.stdin.flush()
    for _ in range(2):
        assert b'"result"' in process.stdout.readline()
    took_ms = (time.monotonic() - begin) * 1000
    with open(f"/proc/{process.pid}/status", encoding="ascii") as f:
        rss_kb = [int(line.split()[1]) for line in f
                  if line.startswith("VmRSS")][0]
    process.stdin.close()
    process.wait(timeout=10)
    return took_ms, rss_kb


def main():
    server = os.path.join(sys.argv[1], "boxery-mcp")
    results = [start_once(server) for _ in range(ROUNDS)]
    took = statistics.median(r[0] for r in results)
    rss = statistics.median(r[1] for r in results)
    print(f"boxery-mcp  start to tools/list {took:.1f} ms (aim < 30)  "
          f"RSS {rss / 1024:.1f} MB (aim < 10)")


main()
