#!/usr/bin/python3
"""Asks the handlers that run and edit in a guest; guest_ops.sh starts them.

    guest_ops.py BUILD HOME     HOME: the guest user's, which we can look into
"""
import hashlib
import json
import os
import signal
import subprocess
import sys
import time

BUILD, HOME = sys.argv[1:3]
SHOWN = 16 * 1024
KEPT = 64 << 20
passed = 0


def ask(op, **args):
    """(result, None) or (None, what it said)."""
    done = subprocess.run([BUILD + "/tools/ask", "--agent", "--quiet", op,
                           json.dumps(args)], capture_output=True,
                          timeout=60, check=False)
    if done.returncode:
        return None, done.stderr.decode().strip()
    return json.loads(done.stdout), None


def run(command, **args):
    result, why = ask("vm_run", vm="demo", command=command, **args)
    assert result is not None, why
    return result


def refused(why, op, **args):
    result, said = ask(op, vm=args.pop("vm", "demo"), **args)
    assert result is None, result
    assert why in said, said


def boxery(*words, **how):
    return subprocess.run([BUILD + "/bin/boxery", "run", "demo", *words],
                          capture_output=True, timeout=120, check=False, **how)


def processes(word):
    count = 0
    for pid in os.listdir("/proc"):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                line = f.read()
        except OSError:
            continue
        count += word in line and b"ask" not in line and b"boxery" not in line
    return count


def gone(word):
    for _ in range(100):
        if not processes(word):
            return True
        time.sleep(0.1)
    return False


def test(fn):
    global passed
    begun = time.monotonic()
    fn()
    print(f"ok    {fn.__name__} ({time.monotonic() - begun:.1f} s)")
    passed += 1


def exits_and_streams():
    r = run("echo out; echo err >&2; exit 3")
    assert (r["exit"], r["stdout"], r["stderr"]) == (3, "out\n", "err\n"), r
    assert not r["truncated"] and "signal" not in r, r
    r = run("kill -SEGV $$")
    assert r["signal"] == "SEGV" and r["exit"] == -1, r
    r = run("cat; pwd; echo $X", stdin="in\n", cwd="/usr",
            env={"X": "it's \"$HOME\""})
    assert r["stdout"] == "in\n/usr\nit's \"$HOME\"\n", r
    os.mkdir(HOME + "/sub dir")
    assert run("pwd", cwd="~/sub dir")["stdout"] == HOME + "/sub dir\n"
    assert run("pwd", cwd="~")["stdout"] == HOME + "\n"
    r = run("pwd", cwd="/no/such")
    assert r["exit"] != 0 and "/no/such" in r["stderr"], r
    # bash, with what is bash's own
    assert run("[[ a == a ]] && echo ${BASH_VERSION:+yes}")["stdout"] == "yes\n"
    refused("sleeping is off", "vm_run", vm="sleeping", command="true")
    refused("longer than", "vm_run", command="true " + "'" * 40000)


def long_output():
    r = run("seq 200000; echo warning >&2")
    assert r["truncated"] and r["stderr"] == "warning\n", r
    assert len(r["stdout"].encode()) <= SHOWN + 200
    assert r["stdout"].startswith("1\n2\n3\n")
    assert r["stdout"].endswith("\n199999\n200000\n")
    assert "bytes left out; all of it: vm_read run:" in r["stdout"]
    text, at = "", 1
    while True:
        page, why = ask("vm_read", vm="demo", path=r["output"], offset=at,
                        limit=10000)
        assert page, why
        assert page["first_line"] == at and len(page["text"]) <= 65536
        text += page["text"]
        at += page["lines"]
        if not page["more"]:
            break
    want = "".join(f"{i}\n" for i in range(1, 200001))
    # stderr is kept beside it, where it came
    assert text.replace("warning\n", "") == want
    assert text.count("warning\n") == 1
    refused("behind its end", "vm_read", path=r["output"], offset=10 ** 6)


def any_bytes():
    r = run("head -c 300000 /dev/urandom")
    assert r["truncated"] and len(r["stdout"].encode()) <= SHOWN + 200
    r = run("for i in $(seq 40000); do printf 'ä€😀'; done")
    assert "\ufffd" not in r["stdout"] and "ä€😀" in r["stdout"]
    assert run("printf 'a\\000b\\033[2J\\377'")["stdout"] == \
        "a\ufffdb\x1b[2J\ufffd"


def runs_belong_to_their_vm():
    ident = run("echo secret")["output"]
    refused("no output of that name", "vm_read", vm="other", path=ident)
    for bad in ("run:", "run:../../config/host.env", "run:x" * 40,
                "run:" + "A" * 12, ident + "x", "run:aaaaaaaaaaaa"):
        refused("no output of that name", "vm_read", path=bad)
    # also when the VM is off
    refused("no output of that name", "vm_read", vm="sleeping", path=ident)
    refused("there is no VM", "vm_read", vm="nobody", path=ident)
    kept = os.environ["BOXERY_HOME"] + "/state/runs/demo"
    assert os.stat(kept).st_mode & 0o777 == 0o700
    for name in os.listdir(kept):
        assert os.stat(kept + "/" + name).st_mode & 0o777 == 0o600


def late_commands_end():
    begun = time.monotonic()
    r = run("echo before; sleep 31.2601 & sleep 31.2602", timeout_s=1)
    assert r["timed_out"] and r["stdout"] == "before\n", r
    assert r.get("signal") == "TERM", r
    assert time.monotonic() - begun < 20
    assert gone(b"31.260")


def a_lost_client_ends_its_command():
    for how in (signal.SIGTERM, signal.SIGKILL):
        client = subprocess.Popen(
            [BUILD + "/tools/ask", "--agent", "--quiet", "vm_run",
             json.dumps({"vm": "demo", "command": "sleep 31.2603"})])
        for _ in range(100):
            if processes(b"31.2603"):
                break
            time.sleep(0.1)
        assert processes(b"31.2603")
        client.send_signal(how)
        client.wait()
        assert gone(b"31.2603")


def what_is_left_in_the_background():
    begun = time.monotonic()
    r = run("sleep 31.2604 & echo started")
    assert r["exit"] == 0 and r["stdout"] == "started\n", r
    assert r["background"] and time.monotonic() - begun < 20
    assert processes(b"31.2604")
    run("pkill -f 31.2604 >/dev/null 2>&1 &")
    assert gone(b"31.2604")
    r = run("setsid sleep 31.2605 >/dev/null 2>&1 < /dev/null & echo started")
    assert "background" not in r, r
    run("pkill -f 31.2605")


def a_flood_is_bounded():
    r = run("yes 0123456789012345678901234567890123456789 | "
            "head -c 80000000; echo end")
    assert r["exit"] == 0 and r["stdout"].endswith("end\n"), r["stdout"][-99:]
    assert r["kept_bytes"] == KEPT, r["kept_bytes"]
    path = os.environ["BOXERY_HOME"] + "/state/runs/demo/" + r["output"][4:]
    assert os.stat(path + ".out").st_size == KEPT


def write_and_read():
    r, why = ask("vm_write", vm="demo", path="~/a.txt", content="one\ntwö\n")
    assert r and r["bytes"] == 9, why
    with open(HOME + "/a.txt", "rb") as f:
        assert f.read() == "one\ntwö\n".encode()
    r, why = ask("vm_read", vm="demo", path="a.txt")
    assert r == {"text": "one\ntwö\n", "first_line": 1, "lines": 2,
                 "more": False}, (r, why)
    r, _ = ask("vm_read", vm="demo", path=HOME + "/a.txt", offset=2, limit=1)
    assert r["text"] == "twö\n" and not r["more"], r
    r, _ = ask("vm_read", vm="demo", path="a.txt", limit=1)
    assert r["text"] == "one\n" and r["more"], r
    refused("2 lines", "vm_read", path="a.txt", offset=3)
    refused("no such file", "vm_read", path="none.txt")
    refused("is a directory", "vm_read", path="sub dir")
    refused("no such file", "vm_write", path="none/x", content="")
    run("printf 'a\\000b' > bin; head -c 9000000 /dev/zero | tr '\\0' x > big; "
        "printf '\\377\\n' > latin; mkfifo fifo; chmod 700 a.txt")
    refused("is not text (byte 2 is NUL)", "vm_read", path="bin")
    refused("larger than 8 MiB", "vm_read", path="big")
    refused("not a regular file", "vm_read", path="fifo")
    assert ask("vm_read", vm="demo", path="latin")[0]["text"] == "\ufffd\n"
    ask("vm_write", vm="demo", path="a.txt", content="")
    assert os.stat(HOME + "/a.txt").st_mode & 0o777 == 0o700
    r, why = ask("vm_read", vm="demo", path="a.txt")
    assert r and r["lines"] == 0, why
    big = "line of text\n" * 9000
    r, why = ask("vm_write", vm="demo", path="a.txt", content=big)
    assert r, why
    with open(HOME + "/a.txt", encoding="utf-8") as f:
        assert f.read() == big


def edit():
    def content(text=None):
        if text is not None:
            ask("vm_write", vm="demo", path="e.txt", content=text)
        with open(HOME + "/e.txt", encoding="utf-8") as f:
            return f.read()

    content("a = 1\nb = 2\nb = 2\n")
    r, why = ask("vm_edit", vm="demo", path="e.txt", old="a = 1\n", new="")
    assert r and r["replaced"] == 1, why
    assert content() == "b = 2\nb = 2\n"
    refused("occurs 2 times", "vm_edit", path="e.txt", old="b = 2", new="c")
    refused("occurs 0 times", "vm_edit", path="e.txt", old="zzz", new="c")
    assert content() == "b = 2\nb = 2\n"
    r, why = ask("vm_edit", vm="demo", path="e.txt", old="b = 2", new="ü$&\\1",
                 all=True)
    assert r and r["replaced"] == 2, why
    assert content() == "ü$&\\1\nü$&\\1\n"
    refused("is not UTF-8 (byte 1)", "vm_edit", path="latin", old="x", new="y")
    refused("is not text", "vm_edit", path="bin", old="a", new="y")
    refused("no such file", "vm_edit", path="none", old="a", new="y")


def edits_at_once_lose_nothing():
    """Each changes a word of its own, by one of the file's two names."""
    count = 12
    path = HOME + "/shared.txt"
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(f"word{i}.\n" for i in range(count))
    os.symlink("shared.txt", HOME + "/link.txt")
    asked = [subprocess.Popen(
        [BUILD + "/tools/ask", "--agent", "--quiet", "vm_edit",
         json.dumps({"vm": "demo", "path": ("link.txt", path)[i % 2],
                     "old": f"word{i}.", "new": f"done{i}."})],
        stdout=subprocess.DEVNULL) for i in range(count)]
    for p in asked:
        assert p.wait(60) == 0
    with open(path, encoding="utf-8") as f:
        assert f.read() == "".join(f"done{i}.\n" for i in range(count))
    assert os.path.islink(HOME + "/link.txt")


def a_persons_run():
    assert boxery("true").returncode == 0
    done = boxery("sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == \
        (7, b"out\n", b"err\n"), done
    done = boxery("printf", "%s|", "it's", "$HOME", "", "a b")
    assert done.stdout == b"it's|$HOME||a b|", done
    assert boxery("sh", "-c", "kill -TERM $$").returncode == 128 + 15
    assert boxery("/no/such/program").returncode == 127
    assert boxery("--cwd", "/usr", "--", "pwd").stdout == b"/usr\n"
    blob = os.urandom(20 << 20)
    done = boxery("cat", input=blob)
    assert hashlib.sha256(done.stdout).digest() == \
        hashlib.sha256(blob).digest(), (len(done.stdout), done.stderr)
    done = boxery("sh", "-c", "exit 0", input=blob)  # reads nothing of it
    assert done.returncode == 0, done.stderr


def main():
    for fn in (exits_and_streams, long_output, any_bytes,
               runs_belong_to_their_vm, late_commands_end,
               a_lost_client_ends_its_command, what_is_left_in_the_background,
               a_flood_is_bounded, write_and_read, edit,
               edits_at_once_lose_nothing, a_persons_run):
        test(fn)
    print(f"{passed} passed, 0 failed")


main()
