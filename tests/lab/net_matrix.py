#!/usr/bin/env python3
"""Sends every row of the matrix, and prints the table of what was seen.

usage: net_matrix.py see MODE… > FILE        MODE: nat none off
       net_matrix.py table FILE [TITLE=FILE]…
       net_matrix.py apart FILE

tests/lab/net.sh has made the namespaces. `see` prints one JSON object. `table`
prints the first file row by row and of each other one what differs from what
is expected. `apart` wants nothing seen at another guest, of a run of mode off.
The exit status is 1 when anything is not as it should be.
"""
import concurrent.futures
import json
import sys
import time

import netrows
import nettalk
import networld

REPEAT, PAUSE, SETTLE, PATIENCE = 3, 0.1, 0.4, 5


class Probes:
    def __init__(self):
        self.all = []

    def of(self, key):
        return lambda eye, send, token: self.all.append((key, eye, send, token))

    def send(self):
        for _ in range(REPEAT):
            done = set()
            for _, _, send, token in self.all:
                # one token may have several eyes
                if token not in done:
                    send()
                    done.add(token)
            time.sleep(PAUSE)
        time.sleep(SETTLE)

    def wait(self, expected, arrived):
        """Of a busy machine: what is to arrive may take its time."""
        until = time.monotonic() + PATIENCE
        missing = [p for p in self.all if expected(*p[0])]
        while missing and time.monotonic() < until:
            missing = [p for p in missing if not arrived(p[1], p[3])]
            time.sleep(0.05)


def see(modes):
    world = networld.World()
    guests = {"nat": world.nat, "none": world.none, "off": world.nat}
    result = {}
    try:
        talks(world, modes, guests, result)
        probes = Probes()
        for mode in modes:
            for r in netrows.ROWS:
                r.make(world, guests[mode], probes.of((mode, r.text)))
        probes.send()
        expect = {r.text: r.expect for r in netrows.ROWS}
        probes.wait(lambda mode, text: expect[text][mode], world.arrived)
        for (mode, text), eye, _, token in probes.all:
            row = result.setdefault(mode, {}).setdefault(text, [0, 0, []])
            row[1] += 1
            if world.arrived(eye, token):
                row[0] += 1
            row[2].append([eye, bool(world.arrived(eye, token))])
    finally:
        world.close()
    json.dump(result, sys.stdout)


def talks(world, modes, guests, result):
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        running = {(mode, t.text): pool.submit(t.run, world, guests[mode])
                   for mode in modes for t in nettalk.TALKS}
        for (mode, text), future in running.items():
            result.setdefault(mode, {})[text] = [int(future.result()), 1, []]


def rows():
    return netrows.ROWS + nettalk.TALKS


def right(row, mode, seen, total):
    return seen == total if row.expect[mode] else seen == 0


def word(seen, total):
    if seen == 0:
        return "-"
    return "reached" if seen == total else f"{seen} of {total}"


def line(row, seen):
    wrong = 0
    cells = []
    for mode in "nat", "none", "off":
        got, total, _ = seen[mode][row.text]
        ok = right(row, mode, got, total)
        wrong += not ok
        cells.append(f"{'reached' if row.expect[mode] else '-':>8}"
                     f"{word(got, total):>9}{' ' if ok else '!'}")
    return f"{row.text:<53}{row.ids:<12}{''.join(cells)}", wrong


def first_table(path):
    with open(path) as file:
        seen = json.load(file)
    wrong, group = 0, None
    print(f"{'':65}{'filter nat':>17} {'filter none':>17} {'no filter':>17}")
    print(f"{'target':<53}{'proves':<12}" + f"{'expect':>8}{'seen':>9} " * 3)
    for r in rows():
        if r.group != group:
            group = r.group
            print(f"-- {group}")
        text, bad = line(r, seen)
        wrong += bad
        print(text)
        for mode in seen if bad else ():
            got, total, detail = seen[mode][r.text]
            if detail and not right(r, mode, got, total):
                print(f"     {mode}:", " ".join(
                    f"{n}.{eye}{'+' if s else '-'}"
                    for n, (eye, s) in enumerate(detail)))
    probes = sum(v[1] for m in seen.values() for v in m.values())
    print(f"{len(rows())} rows, {probes} probes, {wrong} cells not as expected")
    return wrong


def short_table(title, path):
    with open(path) as file:
        seen = json.load(file)
    wrong = 0
    for mode, of_mode in seen.items():
        for r in rows():
            got, total, _ = of_mode[r.text]
            if not right(r, mode, got, total):
                wrong += 1
                print(f"  {title}: {mode}: {r.text}: expected "
                      f"{'reached' if r.expect[mode] else '-'}, seen "
                      f"{word(got, total)}")
    cells = sum(len(m) for m in seen.values())
    print(f"{title:<53}{cells - wrong} of {cells} cells as expected")
    return wrong


def apart(path):
    with open(path) as file:
        probes = [(text, seen) for text, (_, _, detail) in
                  json.load(file)["off"].items()
                  for eye, seen in detail if eye == "other"]
    wrong = [text for text, seen in probes if seen]
    print(f"{len(probes)} probes for another guest, {len(wrong)} arrived",
          *sorted(set(wrong)), sep="\n  ")
    return 1 if wrong or not probes else 0


def main(verb, *args):
    if verb == "see":
        see(args)
        return 0
    if verb == "apart":
        return apart(args[0])
    wrong = first_table(args[0])
    for pair in args[1:]:
        wrong += short_table(*pair.split("=", 1))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
