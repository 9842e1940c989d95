#!/usr/bin/python3
"""What a VM is granted; grants.sh starts it.

    grants.py BUILD SERVICE DIR [TEST…]     DIR: keys, home/ of the guest's user
"""
import json
import os
import pty
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

BUILD, SERVICE, DIR = sys.argv[1:4]
ONLY = sys.argv[4:]
CONFIG = os.environ["BOXERY_HOME"] + "/config"
STATE = os.environ["BOXERY_HOME"] + "/state"
PERSON = os.environ["HOME"]
GUEST_HOME = DIR + "/home"
GUEST_UID = os.stat(GUEST_HOME).st_uid
RUN = f"/run/user/{GUEST_UID}/boxery-grants"
CANARY = "canary-" + os.urandom(8).hex()
passed = 0
service = None


# ---- the service, a person, an agent ----

def start_service():
    global service
    log = open(DIR + "/service.log", "ab")
    service = subprocess.Popen([SERVICE, os.environ["BOXERY_HOME"]],
                               stderr=log)
    until(lambda: os.path.exists(os.environ["BOXERY_HOME"] + "/run/host.sock")
          and boxery("grants").returncode == 0, "the service")


def end_service(how=signal.SIGTERM):
    service.send_signal(how)
    code = service.wait(20)
    assert how == signal.SIGKILL or code == 0, code
    # or the next client starts a real one for it
    if how == signal.SIGKILL:
        os.unlink(os.environ["BOXERY_HOME"] + "/run/host.sock")


def until(what, name, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return
        time.sleep(0.05)
    raise AssertionError("in vain: " + name)


def boxery(*words, **how):
    """Without a terminal."""
    how.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([BUILD + "/bin/boxery", *words],
                          capture_output=True, timeout=60, check=False,
                          start_new_session=True, **how)


def out(*words, **how):
    done = boxery(*words, "--json", **how)
    assert done.returncode == 0, (words, done.stderr)
    return json.loads(done.stdout)


class Terminal:
    """boxery with a terminal of its own; stdin is what is said."""

    def __init__(self, *words, env=None, stdin=None):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            if stdin is not None:
                r, w = os.pipe()
                os.write(w, stdin)
                os.close(w)
                os.dup2(r, 0)
            os.execve(BUILD + "/bin/boxery", ["boxery", *words],
                      {**os.environ, **(env or {})})
        self.text = b""

    def read(self, want, seconds=30):
        end = time.monotonic() + seconds
        while want not in self.text:
            left = end - time.monotonic()
            ready = select.select([self.fd], [], [], max(left, 0))[0]
            assert ready, ("in vain", want, self.text)
            try:
                more = os.read(self.fd, 4096)
            except OSError:
                more = b""
            assert more, ("ended before", want, self.text)
            self.text += more

    def say(self, line):
        self.read(b"[y/N] ")
        # the question begins with what was typed before thrown away
        time.sleep(0.1)
        os.write(self.fd, line)
        return self.end()

    def end(self, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if not select.select([self.fd], [], [], 0.2)[0]:
                continue
            try:
                more = os.read(self.fd, 4096)
            except OSError:
                break
            if not more:
                break
            self.text += more
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def yes(*words, **how):
    t = Terminal(*words, **how)
    code = t.say(b"y\n")
    assert code == 0, t.text
    return t.text.decode()


def agent(op, **args):
    """(result, None) or (None, what it said), of a client that cannot ask."""
    done = subprocess.run([BUILD + "/tools/ask", "--agent", "--quiet", op,
                           json.dumps(args)], capture_output=True,
                          timeout=60, check=False)
    if done.returncode:
        return None, done.stderr.decode().strip()
    return json.loads(done.stdout), None


def ask_with_dialog(give, client="dialog", **args):
    """vm_grant of a client that has a dialog, which gives what give() makes of
    the question: (result or error, question)."""
    question = None

    def frame(kind, call, body):
        payload = json.dumps(body).encode()
        return struct.pack(">IBI", len(payload) + 5, kind, call) + payload

    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(30)
        s.connect(os.environ["BOXERY_HOME"] + "/run/host.sock")
        s.sendall(frame(1, 0, {"version": 1, "client": client, "agent": True}))
        s.sendall(frame(2, 1, {"op": "vm_grant", "args": args}))
        f = s.makefile("rb")
        while True:
            size, kind, _ = struct.unpack(">IBI", f.read(9))
            body = json.loads(f.read(size - 5))
            if kind == 6:
                question = body["question"]
                s.sendall(frame(7, 1, {"answer": give(question)}))
            elif kind in (8, 9):
                return body, question


def guest(command):
    """What a new shell of the guest says."""
    source = "" if os.geteuid() == 0 else f". {DIR}/granted; "
    result, why = agent("vm_run", vm="demo", command=source + command)
    assert result is not None, why
    return result["stdout"]


def rows(vm="demo"):
    return {r["grant"]: r for r in out("grants", vm)["rows"]}


def clean():
    boxery("revoke", "demo", "--all")
    assert not rows()


def person_file(name, text):
    path = PERSON + "/" + name
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def set_env_file(text):
    path = CONFIG + "/env"
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, 0o600)


def audit():
    with open(STATE + "/audit.jsonl", encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def test(fn):
    global passed
    if ONLY and fn.__name__ not in ONLY:
        return
    begun = time.monotonic()
    fn()
    print(f"ok    {fn.__name__} ({time.monotonic() - begun:.1f} s)",
          flush=True)
    passed += 1


# ---- who is asked, and how ----

def asked_on_the_terminal():  # F04 F09 F10
    set_env_file(f"TOKEN={CANARY}\n")
    t = Terminal("grant", "demo", "env:TOKEN", "--for", "2h")
    t.read(b"[y/N] ")
    for words in (b"May the VM demo use this?", b"env:TOKEN", b"2 hours",
                  b"Whatever runs in demo can use it", b"client cli of uid"):
        assert words in t.text, (words, t.text)
    assert CANARY.encode() not in t.text
    assert t.say(b"\n") != 0  # default: no
    assert b"a person said no" in t.text, t.text
    for no in b"n\n", b"yes please\n", b"yy\n", b" y\n", b"\x04":
        t = Terminal("grant", "demo", "env:TOKEN")
        assert t.say(no) != 0, (no, t.text)
    assert not rows()
    assert "granted" in yes("grant", "demo", "env:TOKEN")
    assert list(rows()) == ["env:TOKEN"]
    events = [e for e in audit() if "event" in e]
    assert {e["event"] for e in events} >= {"asked", "answered", "granted",
                                            "applied"}, events
    assert [e["outcome"] for e in events if e["event"] == "answered"][-1] \
        == "yes"


def refused_without_a_terminal():  # F09 F11 F23
    clean()
    done = boxery("grant", "demo", "env:TOKEN", input=b"y\n" * 9, stdin=None)
    assert done.returncode != 0 and b"no terminal" in done.stderr, done
    for option in "--yes", "-y", "--force", "--no-confirm":
        done = boxery("grant", "demo", "env:TOKEN", option)
        assert done.returncode != 0, option
    env = {**os.environ, "GRANT_CONFIRM": "off", "BOXERY_GRANT_CONFIRM": "off",
           "BOXERY_YES": "1"}
    assert boxery("grant", "demo", "env:TOKEN", env=env).returncode != 0
    # "yes" on standard input is no answer while there is a terminal
    t = Terminal("grant", "demo", "env:TOKEN", stdin=b"y\ny\n")
    assert t.say(b"n\n") != 0
    # nor is what was typed before the question
    t = Terminal("grant", "demo", "env:TOKEN")
    os.write(t.fd, b"y\n")
    t.read(b"[y/N] ")
    time.sleep(0.2)
    assert t.say(b"\n") != 0, t.text
    assert not rows()


def left_without_an_answer():
    t = Terminal("grant", "demo", "env:TOKEN")
    t.read(b"[y/N] ")
    os.write(t.fd, b"\x03")
    assert t.end() != 0
    t = Terminal("grant", "demo", "env:TOKEN")
    t.read(b"[y/N] ")
    os.kill(t.pid, signal.SIGWINCH)
    assert t.say(b"\xc3\xa4y\n") != 0
    t = Terminal("grant", "demo", "env:TOKEN")
    t.read(b"[y/N] ")
    os.kill(t.pid, signal.SIGKILL)
    t.end()
    assert not rows()


def never_asked_twice():  # F12 F13
    clean()
    yes("grant", "demo", "env:TOKEN", "--for", "2h")
    # less, and the same, of what is held: no terminal is needed
    assert out("grant", "demo", "env:TOKEN", "--for", "1h")["state"] == "held"
    done = boxery("grant", "demo", "env:TOKEN")  # without an end: that is more
    assert done.returncode != 0, done.stdout
    assert out("revoke", "demo", "env:TOKEN")["revoked"] == ["env:TOKEN"]
    assert boxery("revoke", "demo", "env:TOKEN").returncode != 0


def confirm_off():  # F21 F22
    with open(CONFIG + "/config", "w", encoding="utf-8") as f:
        f.write("GRANT_CONFIRM = off\n")
    assert out("grant", "demo", "env:TOKEN")["state"] == "granted"
    assert "(config)" in rows()["env:TOKEN"]["by"]
    clean()
    # not for agents, and nothing is validated less
    result, _ = agent("vm_grant", vm="demo", grants=["env:ANOTHER"])
    assert result["state"] == "pending", result
    assert boxery("grant", "demo", "env:BOXERY_TOKEN").returncode != 0
    assert boxery("approve", result["id"]).returncode != 0
    assert boxery("deny", result["id"]).returncode == 0
    with open(CONFIG + "/config", "w", encoding="utf-8") as f:
        f.write("GRANT_CONFIRM = of\n")
    done = boxery("grant", "demo", "env:TOKEN")
    assert done.returncode != 0 and b"GRANT_CONFIRM" in done.stderr, done
    os.unlink(CONFIG + "/config")


def never_granted():  # F15 F16 F17 F18 F19
    for folder in "/.ssh", "/.gnupg", "/.pi":
        os.makedirs(PERSON + folder, exist_ok=True)
        person_file(folder[1:] + "/secret", CANARY)
    os.symlink(PERSON + "/.ssh", PERSON + "/innocent")
    for what in ("file:~/.ssh/secret", "file:~/.gnupg/secret",
                 "file:~/.pi/secret", "file:~/innocent/secret",
                 f"file:{CONFIG}/env", f"file:{STATE}/boxery.db",
                 "env:BOXERY_HTTP_TOKEN", "env:LD_PRELOAD", "file:/dev/zero",
                 "file:~/nothing", "file:relative", "llm:nobody"):
        done = boxery("grant", "demo", what)
        assert done.returncode != 0, what
        assert b"terminal" not in done.stderr, done.stderr
        result, why = agent("vm_grant", vm="demo", grants=[what])
        assert result is None and "terminal" not in why, (what, result, why)
    os.makedirs(PERSON + "/deep", exist_ok=True)
    real = person_file("deep/real", "x")
    os.symlink(real, PERSON + "/link")
    t = Terminal("grant", "demo", "file:~/link")
    t.read(b"[y/N] ")
    assert f"file:{real}".encode() in t.text, t.text
    t.say(b"y\n")
    assert f"file:{real}" in rows()
    clean()


def agents_wait_elsewhere():  # F08 F14 and the way without a dialog
    ask = dict(vm="demo", grants=["env:TOKEN"],
               reason="I \x1b[2Jneed\u202e it\n[y/N] y")
    first, why = agent("vm_grant", **ask)
    assert first and first["state"] == "pending", why
    assert first["command"] == "boxery approve " + first["id"]
    again, _ = agent("vm_grant", **ask)
    assert again["id"] == first["id"]
    listed = out("approvals")["rows"]
    assert [r["id"] for r in listed] == [first["id"]], listed
    assert not rows()
    for op in "approve", "deny", "approvals", "panic", "agent_forward":
        args = {"id": first["id"]} if op in ("approve", "deny") else {}
        result, why = agent(op, **args)
        assert result is None, (op, result)
    assert boxery("approve", first["id"]).returncode != 0
    t = Terminal("approve", first["id"])
    t.read(b"[y/N] ")
    text = t.text
    assert b"Asked by an agent" in text and b"\x1b[2J" not in text, text
    assert "\u202e".encode() not in text
    assert text.index(b"Its reason") > text.index(b"Whatever runs"), text
    assert t.say(b"y\n") == 0, t.text
    assert guest("echo $TOKEN") == CANARY + "\n"
    found, _ = agent("vm_grant", **ask)
    assert found["state"] == "held", found
    assert boxery("approve", first["id"]).returncode != 0  # single-use
    done, _ = agent("vm_revoke", vm="demo", grants=["env:TOKEN"])
    assert done["revoked"] == ["env:TOKEN"], done
    # once more: single-use also means a new question, which is denied
    second, _ = agent("vm_grant", **ask)
    assert second["state"] == "pending" and second["id"] != first["id"]
    t = Terminal("approve", second["id"])
    assert t.say(b"n\n") != 0
    result, why = agent("vm_grant", **ask)
    assert result is None and "denied" in why, why
    # of exactly this: another request is another one
    other, _ = agent("vm_grant", vm="demo", grants=["env:OTHER"])
    assert other["state"] == "pending"
    assert boxery("deny", other["id"]).returncode == 0
    assert not rows()


def dialogs():  # F08: and what is no answer of a dialog
    yes_form = {"action": "accept", "content": {"approve": True}}
    forged = [
        {"terminal": "y"},  # an agent's client has no terminal
        {"dialog": {"action": "accept"}},
        {"dialog": {"action": "accept", "content": {}}},
        {"dialog": {"action": "accept", "content": {"approve": "true"}}},
        {"dialog": {"action": "accept", "content": {"approve": 1}}},
        {"dialog": {"action": "accept", "content": {"approve": True,
                                                    "also": 1}}},
        {"dialog": {"action": "decline", "content": {"approve": True}}},
        {"dialog": {"action": "cancel"}},
        {"dialog": {**yes_form, "yes": True}},
        {"dialog": yes_form, "terminal": "y"},
        {"yes": True}, {}, [], "y", True,
    ]
    ask = dict(vm="demo", grants=["env:TOKEN"], reason="*please* <b>now</b>")
    for i, answer in enumerate(forged):
        body, question = ask_with_dialog(lambda q, a=answer: a, f"c{i}", **ask)
        assert body.get("code") == "denied", (answer, body)
        assert "[y/N]" not in question["dialog"]
        assert question["schema"]["required"] == ["approve"]
    assert not rows()
    body, question = ask_with_dialog(lambda q: {"dialog": yes_form}, **ask)
    assert body["state"] == "granted", body
    assert "\\*please\\*" in question["dialog"], question["dialog"]
    assert guest("echo $TOKEN") == CANARY + "\n"
    body, question = ask_with_dialog(lambda q: {"dialog": yes_form}, **ask)
    assert body["state"] == "held" and question is None, body
    verdicts = [e["outcome"] for e in audit() if e.get("event") == "answered"]
    assert verdicts.count("forged") >= 10, verdicts
    clean()


# ---- in the guest ----

def env_in_the_guest():  # F01 F02 D04
    value = CANARY + " \"quoted\" $HOME `id`\nsecond line\n"
    set_env_file("TOKEN=" + CANARY + "\nPEM=\"" + CANARY +
                 " \\\"quoted\\\" $HOME `id`\\nsecond line\\n\"\n")
    yes("grant", "demo", "env:TOKEN", "env:PEM")
    row = rows()["env:TOKEN"]
    assert row["state"] == "applied" and row["place"] == "$TOKEN", row
    assert guest("echo $TOKEN; printf %s \"$PEM\"") == CANARY + "\n" + value
    assert guest("stat -c '%a %U' " + RUN + "/env/TOKEN") == \
        f"400 {os.environ['GUEST_USER']}\n"
    assert guest("stat -c %a " + RUN) == "700\n"
    assert guest("stat -f -c %T " + RUN + "/env/TOKEN") == "tmpfs\n"
    done = boxery("run", "demo", "--", "bash", "-c", "echo $TOKEN")
    assert done.stdout.decode() == CANARY + "\n", done
    begun = time.monotonic()
    assert boxery("revoke", "demo", "env:TOKEN").returncode == 0
    took = time.monotonic() - begun
    assert guest("echo \"<$TOKEN>\"; ls " + RUN + "/env") == "<>\nPEM\n"
    print(f"      revoked within {took * 1000:.0f} ms")
    clean()
    assert guest("ls " + RUN + "/env") == ""


def env_from_the_session():
    env = {"FROM_SHELL": CANARY + "-shell"}
    yes("grant", "demo", "env:FROM_SHELL", env=env)
    assert guest("echo $FROM_SHELL") == CANARY + "-shell\n"
    with open(STATE + "/boxery.db", "rb") as f:
        assert CANARY.encode() not in f.read()
    # a service that starts anew has it no more, the guest does
    end_service()
    start_service()
    until(lambda: rows()["env:FROM_SHELL"]["state"] == "applied", "as it was")
    assert guest("echo $FROM_SHELL") == CANARY + "-shell\n"
    # and a guest that starts anew says what is missing
    guest("rm -rf " + RUN)
    out("start", "demo")
    row = rows()["env:FROM_SHELL"]
    assert row["state"] == "unapplied" and "grant it again" in row["why"], row
    done = boxery("grant", "demo", "env:FROM_SHELL",
                  env={**os.environ, **env})
    assert done.returncode == 0, done.stderr
    assert guest("echo $FROM_SHELL") == CANARY + "-shell\n"
    clean()
    done = yes("grant", "demo", "env:NOWHERE")
    assert "unapplied" in done, done
    clean()


def files_in_the_guest():
    path = person_file("with space → no".replace(" → ", "-"), CANARY)
    netrc = person_file("netrc", CANARY + "\nsecond\n")
    yes("grant", "demo", f"file:{path}", f"file:{netrc}=>~/new/dir/netrc")
    got = rows()
    assert all(r["state"] == "applied" for r in got.values()), got
    assert guest(f"cat '{RUN}/files/{os.path.basename(path)}'") == CANARY
    assert guest("cat ~/new/dir/netrc") == CANARY + "\nsecond\n"
    assert guest("stat -L -c '%a %F' ~/new/dir/netrc; "
                 "stat -L -f -c %T ~/new/dir/netrc") == \
        "400 regular file\ntmpfs\n"
    # what changed is brought again
    person_file("netrc", "changed")
    out("grant", "demo", f"file:{netrc}=>~/new/dir/netrc")
    assert guest("cat ~/new/dir/netrc") == "changed"
    clean()
    # nothing stays: no link, no folder, nothing in memory
    assert guest("ls -A ~/new 2>&1; ls -A ~ | grep boxery; find " + RUN +
                 " -type f -size +0") .startswith("ls: cannot access"), "left"
    # what the guest has of its own is not touched
    guest("mkdir -p ~/own; echo mine > ~/own/file; ln -s nowhere ~/own/link")
    for name in "file", "link":
        text = yes("grant", "demo", f"file:{netrc}=>~/own/{name}")
        assert "something else" in text, text
        clean()
    assert guest("cat ~/own/file; readlink ~/own/link") == "mine\nnowhere\n"


def links_outlast_no_reboot():
    netrc = person_file("netrc", CANARY)
    yes("grant", "demo", f"file:{netrc}=>~/dangling/netrc")
    guest("rm -rf " + RUN)  # as a reboot does
    out("stop", "demo")
    row = rows()[f"file:{netrc}→~/dangling/netrc"]
    assert row["state"] == "unapplied" and row["why"] == "demo is off", row
    assert boxery("revoke", "demo", "--all").returncode == 0
    assert os.path.islink(GUEST_HOME + "/dangling/netrc")
    out("start", "demo")
    assert not os.path.lexists(GUEST_HOME + "/dangling")
    assert not os.path.lexists(GUEST_HOME + "/.boxery-links")


def repointed_files():  # F20
    path = person_file("granted", CANARY)
    yes("grant", "demo", f"file:{path}=>~/granted")
    assert guest("cat ~/granted") == CANARY
    os.rename(path, path + ".was")
    os.symlink(PERSON + "/.ssh/secret", path)
    out("start", "demo")
    row = rows()[f"file:{path}→~/granted"]
    assert row["state"] == "unapplied", row
    assert not os.path.lexists(GUEST_HOME + "/granted")
    os.unlink(path)
    os.rename(path + ".was", path)
    out("start", "demo")
    assert guest("cat ~/granted") == CANARY
    assert boxery("revoke", "demo", "file:~/granted=>~/granted").returncode \
        == 0
    assert not rows()


def hostile_guest():
    path = person_file("granted", CANARY)

    def problem():
        out("start", "demo")
        row = rows()[f"file:{path}"]
        assert row["state"] == "unapplied", row
        return row["why"]

    yes("grant", "demo", f"file:{path}")
    before = set(os.listdir(DIR))
    guest(f"rm -rf {RUN}; mkdir ~/disk; ln -s ~/disk {RUN}")
    assert "something else" in problem()
    assert not os.listdir(GUEST_HOME + "/disk")
    guest(f"rm -f {RUN}; mkdir -p {RUN} ~/disk; ln -s ~/disk {RUN}/files")
    assert "something else" in problem()
    assert not os.listdir(GUEST_HOME + "/disk")
    guest(f"rm -rf {RUN}; touch {RUN}")
    assert "something else" in problem()
    guest(f"rm -f {RUN}; mkdir -m 0 {RUN}")
    out("start", "demo")  # its own again: chmod is no obstacle
    guest(f"chmod 700 {RUN}; rm -rf {RUN}/files/granted; "
          f"mkdir -p {RUN}/files/granted/deep")
    out("start", "demo")
    assert rows()[f"file:{path}"]["state"] == "applied"
    # names that a script could trip over
    guest(f"cd {RUN}/env && touch 'a b' -- '-rf' '*' \"$(printf 'x\\ny')\" "
          "'$(touch ~/pwned)'; mkdir -p ~/.boxery-links; "
          "ln -s /etc/passwd ~/.boxery-links/l; "
          "printf '/etc/passwd\\n/tmp\\n' > ~/.boxery-links/m")
    out("start", "demo")
    assert guest(f"ls -A {RUN}/env; ls ~/pwned 2>/dev/null; test -e "
                 "/etc/passwd && echo there") == "there\n"
    if os.geteuid() == 0:
        mount = f"/run/user/{GUEST_UID}"
        subprocess.run(["mount", "-t", "tmpfs", "-o",
                        f"size=4k,uid={GUEST_UID},mode=700", "tmpfs", mount],
                       check=True)
        big = person_file("granted", CANARY * 4000)
        assert "memory" in problem() and big
        subprocess.run(["umount", mount], check=True)
        person_file("granted", CANARY)
    # on a disk: never
    assert set(os.listdir(DIR)) == before
    out("start", "demo")
    assert rows()[f"file:{path}"]["state"] == "applied"
    clean()


def guests_off():
    yes("grant", "sleeping", "env:TOKEN")
    row = out("grants", "sleeping")["rows"][0]
    assert row["state"] == "unapplied" and "off" in row["why"], row
    assert out("revoke", "sleeping", "--all")["revoked"] == ["env:TOKEN"]


# ---- until when ----

def ends_by_itself():
    yes("grant", "demo", "env:TOKEN", "--for", "3s")
    assert guest("echo $TOKEN") == CANARY + "\n"
    until(lambda: guest("echo \"<$TOKEN>\"") == "<>\n", "its end", 10)
    assert not rows()
    assert any(e.get("event") == "expired" for e in audit())


def ends_without_us():
    path = person_file("granted", CANARY)
    yes("grant", "demo", "env:TOKEN", f"file:{path}=>~/granted", "--for", "4s")
    assert guest("echo $TOKEN") == CANARY + "\n"
    end_service(signal.SIGKILL)
    place = f"{RUN}/env/TOKEN"
    assert os.path.exists(place) or os.geteuid() != 0
    until(lambda: not os.path.exists(place) and
          not os.path.lexists(GUEST_HOME + "/granted"), "its end", 10)
    start_service()
    assert not rows()


def killed_in_between():
    """After the yes, before the guest has it: the next service brings it."""
    guest("true")
    for server in guest_sshds():
        os.kill(server, signal.SIGSTOP)
    t = Terminal("grant", "demo", "env:TOKEN")
    t.read(b"[y/N] ")
    os.write(t.fd, b"y\n")
    until(lambda: any(e.get("event") == "granted" for e in audit()[-3:]),
          "the yes on record")
    end_service(signal.SIGKILL)
    t.end()
    for server in guest_sshds():
        os.kill(server, signal.SIGCONT)
    start_service()
    until(lambda: rows()["env:TOKEN"]["state"] == "applied", "brought")
    assert guest("echo $TOKEN") == CANARY + "\n"
    # and the other way round: revoked while the guest does not answer
    for server in guest_sshds():
        os.kill(server, signal.SIGSTOP)
    done = boxery("revoke", "demo", "env:TOKEN")
    assert done.returncode != 0 and b"told again" in done.stderr, done
    assert not rows()
    for server in guest_sshds():
        os.kill(server, signal.SIGCONT)
    until(lambda: guest("echo \"<$TOKEN>\"") == "<>\n", "withdrawn", 60)


def guest_sshds():
    """Those that serve our connections to the guest: what its sshd forked."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], check=True,
                            capture_output=True, text=True).stdout
    rows_of = [line.split(None, 2) for line in listed.splitlines()]
    found = {int(os.environ["GUEST_SSHD"])}
    for _ in range(3):  # a listener's, and what those forked
        found |= {int(pid) for pid, parent, args in rows_of
                  if int(parent) in found and args.startswith("sshd: ")}
    return sorted(found - {int(os.environ["GUEST_SSHD"])})


# ---- the ssh agent ----

def start_agent():
    sock = DIR + "/agent.sock"
    agent_process = subprocess.Popen(["ssh-agent", "-D", "-a", sock],
                                     stdout=subprocess.DEVNULL)
    env = {**os.environ, "SSH_AUTH_SOCK": sock}
    until(lambda: subprocess.run(["ssh-add", "-l"], capture_output=True,
                                 env=env, check=False).returncode != 2,
          "an agent")
    for key in "other", "client":
        subprocess.run(["ssh-add", "-q", f"{DIR}/{key}"], check=True,
                       env=env, stderr=subprocess.DEVNULL)
    return agent_process, {"SSH_AUTH_SOCK": sock}


def key_of(name):
    with open(f"{DIR}/{name}.pub", encoding="utf-8") as f:
        return f.read().split()[1]


SIGN_IN = ("ssh -F none -o StrictHostKeyChecking=no -o BatchMode=yes "
           "-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -p "
           f"{os.environ['ELSEWHERE_PORT']} {os.environ['GUEST_USER']}"
           "@127.0.0.1 ")


def agent_lent():  # D05 F05
    assert guest("ssh-add -l 2>&1; true").startswith("Could not open")
    assert boxery("agent-forward", "on", "demo").returncode != 0
    t = Terminal("agent-forward", "on", "demo", env=person_agent)
    assert t.say(b"n\n") != 0
    assert not rows()
    yes("agent-forward", "on", "demo", env=person_agent)
    until(lambda: rows()["ssh-agent"]["state"] == "applied", "lent")
    listed = guest("ssh-add -L")
    assert key_of("other") in listed and key_of("client") in listed
    assert guest("stat -L -c '%a %F' $SSH_AUTH_SOCK").split()[1:] == \
        ["socket"], guest("stat -L -c '%a %F' $SSH_AUTH_SOCK")
    assert guest(SIGN_IN + "echo in") == "in\n"
    if shutil.which("git"):
        guest("git init -q --bare ~/repo")
        ssh = SIGN_IN.rsplit(" -p", 1)[0]
        assert guest(f"GIT_SSH_COMMAND='{ssh}' git ls-remote ssh://"
                     f"{os.environ['GUEST_USER']}@127.0.0.1:"
                     f"{os.environ['ELSEWHERE_PORT']}/~/repo && echo fine") \
            == "fine\n"
    assert rows()["ssh-agent"]["used"] >= 1


def agent_filtered():
    with open(DIR + "/home/mine", "wb") as f, open(DIR + "/other", "rb") as k:
        f.write(k.read())
    os.chmod(DIR + "/home/mine", 0o600)
    os.chown(DIR + "/home/mine", GUEST_UID, -1)
    # nothing but listing and signing
    for what in ("ssh-add -D", "ssh-add ~/mine", "ssh-add -x </dev/null",
                 "ssh-add -d ~/mine"):
        assert guest(f"{what} >/dev/null 2>&1; echo $?") != "0\n", what
    listed = subprocess.run(["ssh-add", "-l"], capture_output=True, check=True,
                            env={**os.environ, **person_agent}).stdout
    assert listed.count(b"\n") == 2, listed
    # listed keys only
    with open(CONFIG + "/agent-keys", "w", encoding="utf-8") as f:
        f.write("# none of other\nssh-ed25519 " + key_of("client") + " c\n")
    listed = guest("ssh-add -L")
    assert key_of("client") in listed and key_of("other") not in listed
    assert guest(SIGN_IN + "echo in 2>/dev/null; true") == ""
    os.unlink(CONFIG + "/agent-keys")
    assert guest(SIGN_IN + "echo in") == "in\n"


def agent_many_at_once():
    assert guest("for i in 1 2 3 4 5 6 7 8; do ssh-add -L & done; wait") \
        .count(key_of("other")) == 8
    # one that says nothing, and one that says nonsense, hold up nobody
    talk = ("import os,socket,sys,time\n"
            "s=[socket.socket(socket.AF_UNIX) for i in range(6)]\n"
            "for x in s: x.connect(os.environ['SSH_AUTH_SOCK'])\n"
            "s[0].sendall(b'\\xff'*64); s[1].sendall(b'\\0\\0\\0\\0')\n"
            "s[2].sendall(b'\\0\\0\\0\\x05\\x0d\\xff\\xff\\xff\\xff')\n"
            "s[3].sendall(b'\\0\\0')\n"
            "print(len(s[0].recv(9)),len(s[1].recv(9)),len(s[2].recv(9)))\n"
            "os.system('ssh-add -L')\n")
    said = guest(f"/usr/bin/python3 -c \"{talk}\"")
    assert "0 0 0\n" in said and key_of("other") in said, said


def agent_cut():
    command = "ssh-add -l >/dev/null && echo $SSH_AUTH_SOCK && sleep 30"
    holder = subprocess.Popen(
        [BUILD + "/bin/boxery", "run", "demo", "--", "bash", "-c",
         "exec 3<>/dev/null; " + command], stdout=subprocess.PIPE,
        start_new_session=True)
    sock = holder.stdout.readline().decode().strip()
    assert sock, "no agent"
    begun = time.monotonic()
    assert boxery("agent-forward", "off", "demo").returncode == 0
    took = time.monotonic() - begun
    assert took < 5, took
    assert guest(f"SSH_AUTH_SOCK={sock} ssh-add -l 2>&1; true") != ""
    assert "Could not open" in guest("ssh-add -l 2>&1; true") or \
        "Error connecting" in guest("ssh-add -l 2>&1; true")
    assert guest(f"ls {RUN}/agent 2>/dev/null; true") == ""
    holder.kill()
    holder.wait()
    # off is what it was already
    assert boxery("agent-forward", "off", "demo").returncode == 0
    print(f"      cut within {took * 1000:.0f} ms")


def agent_uses():
    yes("grant", "demo", "ssh-agent", "--uses", "1", env=person_agent)
    until(lambda: rows()["ssh-agent"]["state"] == "applied", "lent")
    assert guest(SIGN_IN + "echo in") == "in\n"
    assert guest(SIGN_IN + "echo in 2>/dev/null; true") == ""
    until(lambda: not rows(), "used up")
    used = [e["outcome"] for e in audit() if e.get("event") == "used"]
    assert used.count("ok") >= 1, used


def agent_ends():
    """Its time is over while it is used."""
    yes("grant", "demo", "ssh-agent", "--for", "4s", env=person_agent)
    until(lambda: rows()["ssh-agent"]["state"] == "applied", "lent")
    talk = ("import os,socket\n"
            "s=socket.socket(socket.AF_UNIX)\n"
            "s.connect(os.environ['SSH_AUTH_SOCK']); s.settimeout(20)\n"
            "s.sendall(b'\\0\\0\\0\\1\\x0b'); print(len(s.recv(9)))\n"
            "print(len(s.recv(9000)) and len(s.recv(9000)))\n")
    assert guest(f"/usr/bin/python3 -c \"{talk}\"") == "9\n0\n"
    assert not rows()


def agent_found_again():
    """A lost connection is made anew, while it is granted."""
    clean()
    yes("agent-forward", "on", "demo", env=person_agent)
    until(lambda: rows()["ssh-agent"]["state"] == "applied", "lent")
    end_service(signal.SIGKILL)
    start_service()
    until(lambda: rows()["ssh-agent"]["state"] == "applied", "lent again")
    assert key_of("other") in guest("ssh-add -L")
    for server in guest_sshds():
        os.kill(server, signal.SIGKILL)
    until(lambda: "ssh-ed25519" in guest("ssh-add -L 2>&1; true"), "again", 60)
    clean()


# ---- the end ----

def removed_with_the_vm():  # E25 A05
    yes("grant", "demo", "env:TOKEN", "llm:openai")
    edge = f"{CONFIG}/edge/demo.json"
    with open(edge, encoding="utf-8") as f:
        assert json.load(f)["grants"][0]["provider"] == "openai"
    out("start", "demo")
    with open(CONFIG + "/tokens.json", encoding="utf-8") as f:
        first = json.load(f)["tokens"]["demo"]
    out("start", "demo")
    with open(CONFIG + "/tokens.json", encoding="utf-8") as f:
        assert json.load(f)["tokens"]["demo"] != first  # each ready
    pending, _ = agent("vm_grant", vm="demo", grants=["env:THIRD"])
    done = boxery("revoke", "demo", "llm:openai")  # E24
    assert done.returncode == 0
    with open(edge, encoding="utf-8") as f:
        assert json.load(f)["grants"] == []
    out("rm", "demo")
    assert not os.path.exists(edge) and not rows()
    with open(CONFIG + "/tokens.json", encoding="utf-8") as f:
        assert "demo" not in json.load(f)["tokens"]
    assert boxery("approve", pending["id"]).returncode != 0
    out("start", "demo")
    assert guest("echo \"<$TOKEN>\"") == "<>\n"


def panic():
    yes("grant", "demo", "env:TOKEN", "llm:openai", "ssh-agent",
        env=person_agent)
    running = subprocess.Popen(
        [BUILD + "/bin/boxery", "run", "demo", "--", "sleep", "60"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    time.sleep(1)
    result = out("panic")
    assert len(result["revoked"]) == 3, result
    assert set(result["paused"]) == {"demo", "other"}, result
    assert running.wait(20) != 0
    assert not out("grants")["rows"]
    result, why = agent("vm_run", vm="demo", command="true")
    assert result is None and "paused" in why, why
    out("start", "demo")
    out("start", "other")
    assert guest("echo \"<$TOKEN>\"; ssh-add -l 2>&1 | head -c 5") == \
        "<>\nCould"


def no_value_anywhere():
    """But in the file it comes from, and in what commands printed (runs/)."""
    set_env_file(f"TOKEN={CANARY}\n")
    yes("grant", "demo", "env:TOKEN")
    clean()
    found = []
    for top, _, names in os.walk(os.environ["BOXERY_HOME"]):
        for name in names:
            path = os.path.join(top, name)
            if path == CONFIG + "/env" or not os.path.isfile(path) or \
                    path.startswith(STATE + "/runs/"):
                continue
            with open(path, "rb") as f:
                if CANARY.encode() in f.read():
                    found.append(path)
    with open(DIR + "/main.log", "rb") as f:
        if CANARY.encode() in f.read():
            found.append("sshd's log")
    with open(DIR + "/service.log", "rb") as f:
        if CANARY.encode() in f.read():
            found.append("the service's log")
    for pid in filter(str.isdigit, os.listdir("/proc")):
        for kind in "cmdline", "environ":
            try:
                with open(f"/proc/{pid}/{kind}", "rb") as f:
                    if CANARY.encode() in f.read() and int(pid) != os.getpid():
                        found.append(f"{kind} of {pid}")
            except OSError:
                pass
    for top, _, names in os.walk(GUEST_HOME):
        for name in names:
            path = os.path.join(top, name)
            if os.path.isfile(path) and not os.path.islink(path):
                with open(path, "rb") as f:
                    if CANARY.encode() in f.read():
                        found.append(path)
    assert not found, found


agent_process, person_agent = start_agent()
start_service()
set_env_file(f"TOKEN={CANARY}\n")
try:
    for fn in (asked_on_the_terminal, refused_without_a_terminal,
               left_without_an_answer, never_asked_twice, confirm_off,
               never_granted, agents_wait_elsewhere, dialogs, env_in_the_guest,
               env_from_the_session, files_in_the_guest,
               links_outlast_no_reboot, repointed_files, hostile_guest,
               guests_off, ends_by_itself, ends_without_us, killed_in_between,
               agent_lent, agent_filtered, agent_many_at_once, agent_cut,
               agent_uses, agent_ends, agent_found_again, removed_with_the_vm, panic,
               no_value_anywhere):
        test(fn)
    end_service()
finally:
    service.poll() is None and service.kill()
    agent_process.kill()
print(f"{passed} passed")
