#!/usr/bin/python3
"""Who says yes to a grant over MCP, and what does not count; elicit.sh starts it.

    elicit.py BIN SERVICE DIR [CASE…]     DIR: keys, home/ of the guest's user
"""
import http.client
import json
import os
import pty
import queue
import re
import select
import signal
import subprocess
import sys
import threading
import time

BIN, SERVICE, DIR = sys.argv[1:4]
ONLY = sys.argv[4:]
HOME = os.environ["BOXERY_HOME"]
V1, V2 = "2025-11-25", "2026-07-28"
META = "io.modelcontextprotocol/"
FORMS = {"elicitation": {}}
YES = {"action": "accept", "content": {"approve": True}}
CANARY = "canary-" + os.urandom(8).hex()
started = []
passed = 0


def spawn(*argv, **how):
    p = subprocess.Popen(argv, **how)
    started.append(p)
    return p


def until(what, name, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return
        time.sleep(0.05)
    raise AssertionError("in vain: " + name)


def boxery(*words):
    return subprocess.run([BIN + "/boxery", *words], capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=60, check=False,
                          start_new_session=True)


def out(*words):
    done = boxery(*words, "--json")
    assert done.returncode == 0, (words, done.stderr)
    return json.loads(done.stdout)


def held(vm="demo"):
    return [r["grant"] for r in out("grants", vm)["rows"]]


def waiting(vm="demo"):
    return [r for r in out("approvals")["rows"] if r["vm"] == vm]


def clean():
    if held():
        assert boxery("revoke", "demo", "--all").returncode == 0
    for row in waiting():
        assert boxery("deny", row["id"]).returncode == 0


def audit():
    with open(HOME + "/state/audit.jsonl", encoding="utf-8") as f:
        return [e for e in map(json.loads, f) if "event" in e]


# -- clients -------------------------------------------------------------------

class Stdio:
    """Any era, over a pair of pipes."""

    def __init__(self, *args, name="stdio"):
        self.name = name
        self.p = spawn(BIN + "/boxery-mcp", "--client", name, "--no-start",
                       *args, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                       cwd=DIR)
        self.messages = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.p.stdout:
            self.messages.put(json.loads(line))
        self.messages.put(None)

    def post(self, message):
        self.p.stdin.write(json.dumps(message).encode() + b"\n")
        self.p.stdin.flush()

    def call(self, message):
        """What comes about it, as it comes: here simply all."""
        self.post(message)
        while True:
            m = self.messages.get(timeout=60)
            if m is None:
                return
            yield m

    def leave(self):
        self.p.stdin.close()

    def close(self):
        self.leave()
        self.end()

    def end(self):
        assert self.p.wait(60) == 0, self.p.returncode
        self.p.stdout.close()


class Http:
    """A session of an earlier era, or requests of the modern one."""
    port = None

    def __init__(self, token=None, name="default"):
        if token is None:
            with open(HOME + "/config/mcp-client-token", encoding="ascii") as f:
                token = f.read()
        self.name = name
        self.headers = {"Authorization": "Bearer " + token,
                        "Content-Type": "application/json",
                        "Accept": "application/json, text/event-stream"}

    def send(self, message, method="POST"):
        c = http.client.HTTPConnection("127.0.0.1", Http.port, timeout=60)
        headers = dict(self.headers)
        meta = message.get("params", {}).get("_meta", {}) if message else {}
        if META + "protocolVersion" in meta:
            headers["MCP-Protocol-Version"] = V2
            headers["Mcp-Method"] = message["method"]
            headers["Mcp-Name"] = message["params"].get("name", "")
        c.request(method, "/mcp", json.dumps(message) if message else None,
                  headers)
        r = c.getresponse()
        if "mcp-session-id" in r.headers:
            self.headers["Mcp-Session-Id"] = r.headers["mcp-session-id"]
            self.headers["MCP-Protocol-Version"] = V1
        return c, r

    def post(self, message):
        c, r = self.send(message)
        assert r.status == 202, (r.status, r.read())
        c.close()

    def call(self, message):
        c, r = self.send(message)
        if r.headers["content-type"] == "application/json":
            yield json.loads(r.read())
        else:
            for line in r:
                if line.startswith(b"data: ") and line.strip() != b"data:":
                    yield json.loads(line[6:])
        c.close()

    def leave(self):
        c, r = self.send(None, "DELETE")
        assert r.status == 204, r.status
        c.close()

    def close(self):
        pass


def request(method, params, id=1):
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def note(method, params):
    return {"jsonrpc": "2.0", "method": method, "params": params}


def response(id, result):
    return {"jsonrpc": "2.0", "id": id, "result": result}


def hello(client, capabilities, version=V1):
    for m in client.call(request("initialize", {
            "protocolVersion": version, "capabilities": capabilities,
            "clientInfo": {"name": "Trust me\x1b[2J", "version": "1.0"}}, 0)):
        assert "result" in m, m
        break
    client.post(note("notifications/initialized", {}))


class Legacy:
    """One call; `answers` is what is posted when a question comes: messages,
    with ID for the question's id, or callables."""

    def __init__(self, transport, capabilities=FORMS, version=V1):
        self.t = transport
        self.id = 0
        hello(self.t, capabilities, version)

    def call(self, answers=(), tool="vm_grant", **args):
        self.id += 1
        self.questions, self.withdrawn = [], []
        for m in self.t.call(request("tools/call", {
                "name": tool, "arguments": args}, self.id)):
            if m.get("method") == "elicitation/create":
                self.questions.append(m)
                for a in answers:
                    if callable(a):
                        a()
                    else:
                        self.t.post(json.loads(json.dumps(a).replace(
                            '"ID"', json.dumps(m["id"]))))
            elif m.get("method") == "notifications/cancelled":
                self.withdrawn.append(m["params"]["requestId"])
            elif m.get("id") == self.id:
                return m
        return None

    def answered(self, result, **args):
        return self.call([response("ID", result)], **args)


class Modern:
    def __init__(self, transport, capabilities=FORMS):
        self.t, self.capabilities = transport, capabilities

    def call(self, state=None, responses=None, tool="vm_grant", **args):
        params = {"name": tool, "arguments": args, "_meta": {
            META + "protocolVersion": V2,
            META + "clientCapabilities": self.capabilities,
            META + "clientInfo": {"name": "Trust me", "version": "2.0"}}}
        if state is not None:
            params["requestState"] = state
        if responses is not None:
            params["inputResponses"] = responses
        for m in self.t.call(request("tools/call", params, 7)):
            if m.get("id") == 7:
                return m
        return None

    def asked(self, **args):
        """A first round: the state, the key and the request."""
        m = self.call(**args)
        r = m["result"]
        assert r["resultType"] == "input_required", m
        (key, asked), = r["inputRequests"].items()
        return r["requestState"], key, asked

    def answered(self, result, **args):
        state, key, self.question = self.asked(**args)
        return self.call(state=state, responses={key: result}, **args)


def is_refused(m, words):
    assert m["result"]["isError"], m
    text = m["result"]["content"][0]["text"]
    assert words in text, text


def is_state(m, state):
    r = m["result"]
    assert not r.get("isError"), m
    assert r["structuredContent"]["state"] == state, m
    # K05: the text says the same
    assert json.loads(r["content"][0]["text"]) == r["structuredContent"], m
    return r["structuredContent"]


def transports():
    yield Stdio
    yield Http


def case(fn):
    global passed
    if ONLY and fn.__name__ not in ONLY:
        return
    begun = time.monotonic()
    fn()
    print(f"ok    {fn.__name__} ({time.monotonic() - begun:.1f} s)",
          flush=True)
    passed += 1


# -- cases ---------------------------------------------------------------------

TOKEN = {"vm": "demo", "grants": ["env:TOKEN"]}


def fresh():
    """Never asked for before: a no is remembered for a while."""
    fresh.count += 1
    return {"vm": "demo", "grants": [f"env:FRESH_{fresh.count}"]}


fresh.count = 0


def check_question(params):
    text, schema = params["message"], params["requestedSchema"]
    assert text.startswith("May the VM demo use this?"), text
    for words in ("env:TOKEN", "Whatever runs in demo", "Asked by an agent"):
        assert words in text, text
    # what the agent's side said comes last, and cannot pass for ours
    at = text.index("Nobody checked it.")
    assert text.index("Trust me") > at and "\x1b" not in text, text
    assert list(schema["properties"]) == ["approve"]
    assert schema["required"] == ["approve"]
    assert schema["properties"]["approve"]["type"] == "boolean"
    assert schema["properties"]["approve"]["default"] is False
    assert CANARY not in json.dumps(params)


def a_legacy_person_says_yes():  # F08 F14
    for transport in transports():
        clean()
        c = Legacy(transport())
        m = c.answered(YES, reason="I [need](http://it)", **TOKEN)
        is_state(m, "granted")
        assert len(c.questions) == 1 and not c.withdrawn
        check_question(c.questions[0]["params"])
        assert c.questions[0]["params"]["mode"] == "form"
        assert held() == ["env:TOKEN"]
        # F12: what is held needs no question
        is_state(c.call(**TOKEN), "held")
        assert not c.questions
        c.t.close()
    said = [e for e in audit() if e["event"] == "answered"]
    assert [e["outcome"] for e in said[-2:]] == ["yes", "yes"], said
    assert said[-1]["way"] == "dialog", said
    assert {e["client"].split(":")[1] for e in said[-2:]} \
        == {"stdio", "default"}, said


def a_modern_person_says_yes():  # F08 F14
    for transport in transports():
        clean()
        c = Modern(transport())
        is_state(c.answered(YES, reason="need", **TOKEN), "granted")
        assert c.question["method"] == "elicitation/create"
        check_question(c.question["params"])
        assert held() == ["env:TOKEN"]
        is_state(c.call(**TOKEN), "held")
        c.t.close()


NO = {
    "declined": ({"action": "decline"}, "a person said no"),
    "unticked": ({"action": "accept", "content": {"approve": False}},
                 "a person said no"),
    "cancelled": ({"action": "cancel"}, "left without an answer"),
    "empty": ({"action": "accept", "content": {}}, "no answer that a person"),
    "without": ({"action": "accept"}, "no answer that a person"),
    "string": ({"action": "accept", "content": {"approve": "true"}},
               "no answer that a person"),
    "number": ({"action": "accept", "content": {"approve": 1}},
               "no answer that a person"),
    "more": ({"action": "accept",
              "content": {"approve": True, "remember": True}},
             "no answer that a person"),
    "beside": ({"action": "accept", "content": {"approve": True},
                "approve": True}, "no answer that a person"),
    "loud": ({"action": "ACCEPT", "content": {"approve": True}},
             "no answer that a person"),
    "array": ([True], "no answer that a person"),
    "true": (True, "no answer that a person"),
    "long": ({"action": "accept",
              "content": {"approve": True, "x": "y" * 20000}},
             "no answer that a person"),
}


def nothing_else_is_a_yes():  # F08 F14
    for transport in transports():
        clean()
        legacy, modern = Legacy(transport()), Modern(transport())
        for name, (answer, words) in NO.items():
            # each asks for another, since a no is remembered for a while
            for c in legacy, modern:
                m = c.answered(answer, vm="demo", grants=[
                    f"env:{name.upper()}_{type(c).__name__.upper()}"])
                is_refused(m, words)
        assert held() == [] and not waiting(), (held(), waiting())
        legacy.t.close()
        modern.t.close()


def only_the_answer_to_the_question_counts():
    for transport in transports():
        clean()
        c, other = Legacy(transport()), Legacy(transport())
        refuse = response("ID", {"action": "decline"})
        strangers = [response("boxery-99", YES), response(1, YES),
                     response(c.id + 1, YES),
                     {"jsonrpc": "2.0", "id": "ID2", "error": {
                         "code": -1, "message": "no"}}]
        # another session's is one to nobody, whatever its id
        is_refused(c.call([*strangers, refuse, response("ID", YES)],
                          vm="demo", grants=["env:FIRST"]), "said no")
        asked = c.questions[0]["id"]
        c.t.post(response(asked, YES))
        is_refused(c.call([lambda: other.t.post(response("boxery-2", YES)),
                           response(asked, YES), refuse],
                          vm="demo", grants=["env:SECOND"]), "said no")
        assert c.questions[0]["id"] != asked
        assert held() == []
        # a client that cannot ask after all: it waits elsewhere
        fails = {"jsonrpc": "2.0", "id": "ID", "error": {
            "code": -32601, "message": "what?"}}
        is_state(c.call([fails], vm="demo", grants=["env:THIRD"]), "pending")
        c.t.close()
        other.t.close()


def who_cannot_be_asked_is_told_the_command():  # F08 F14
    for transport in transports():
        for capabilities in ({}, {"elicitation": {"url": {}}},
                             {"elicitation": None}, {"sampling": {}}):
            clean()
            for c in (Legacy(transport(), capabilities),
                      Modern(transport(), capabilities)):
                r = is_state(c.call(**fresh()),
                             "pending")
                assert r["command"] == "boxery approve " + r["id"], r
                assert r["id"] in [w["id"] for w in waiting()], waiting()
                c.t.close()
        assert held() == []
    # a client that takes no stream has no way to be asked
    clean()
    t = Http()
    t.headers["Accept"] = "application/json"
    is_state(Legacy(t).call(**fresh()), "pending")


def approved_elsewhere():
    clean()
    c = Modern(Stdio(), {})
    ask = {"vm": "demo", "grants": ["file:~/notes"], "for": "1h"}
    r = is_state(c.call(**ask), "pending")
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(BIN + "/boxery", ["boxery", "approve", r["id"]])
    text = b""
    while b"[y/N] " not in text:
        assert select.select([fd], [], [], 20)[0], text
        text += os.read(fd, 4096)
    assert b"Trust me" in text, text
    time.sleep(0.1)
    os.write(fd, b"y\n")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    os.close(fd)
    # F12: the call that finds the answer is later than the answer
    time.sleep(2.1)
    is_state(c.call(**ask), "held")
    assert not waiting()
    # for longer is another request
    is_state(c.call(**{**ask, "for": "2h"}), "pending")
    c.t.close()


def an_end_of_the_call_is_no_answer():
    for transport in transports():
        clean()
        c = Legacy(transport())
        # cancelled: no answer, the dialog is taken back, nothing waits
        def cancel():
            c.t.post(note("notifications/cancelled", {"requestId": c.id}))
        if transport is Stdio:
            threading.Timer(2, lambda: c.t.post(request("ping", {}, 2))).start()
            seen = []
            for m in c.t.call(request("tools/call", {
                    "name": "vm_grant", "arguments": TOKEN}, 1)):
                seen.append(m)
                c.id = 1
                if m.get("method") == "elicitation/create":
                    cancel()
                if m.get("id") == 2:
                    break
            assert [m.get("method") for m in seen] == [
                "elicitation/create", "notifications/cancelled", None], seen
            assert seen[1]["params"]["requestId"] == seen[0]["id"]
            c.id = 2
        else:
            assert c.call([cancel], **TOKEN) is None
            assert c.withdrawn == [c.questions[0]["id"]]
        assert held() == [] and not waiting(), waiting()
        # the late answer counts for nothing, and the session goes on
        c.t.post(response("boxery-1", YES))
        assert held() == []
        is_state(c.answered(YES, **TOKEN), "granted")
        clean()
        # gone: a person may still answer elsewhere
        c.call([c.t.leave], **fresh())
        until(lambda: len(waiting()) == 1, "pending after a disconnect", 5)
        assert held() == []
        c.t.close() if transport is Http else c.t.end()


def a_stream_that_was_cut_is_read_on():
    """The question is on the call's stream, for whoever comes again for it."""
    clean()
    t = Http()
    hello(t, FORMS)
    c, r = t.send(request("tools/call", {"name": "vm_grant",
                                         "arguments": TOKEN}, 1))
    event = asked = None
    while asked is None:
        line = r.readline()
        if line.startswith(b"id: ") and event is None:
            event = line[4:].strip().decode()  # of what came before
        if line.startswith(b"data: {"):
            asked = json.loads(line[6:])
    r.close()
    c.close()
    t.headers["Last-Event-ID"] = event
    c, r = t.send(None, "GET")
    del t.headers["Last-Event-ID"]
    assert r.status == 200, r.status
    again = answer = None
    while answer is None:
        line = r.readline()
        assert line, "the stream ended"
        if not line.startswith(b"data: {"):
            continue
        if again is None:
            again = json.loads(line[6:])
            assert again == asked, again
            t.post(response(asked["id"], YES))
        else:
            answer = json.loads(line[6:])
    is_state(answer, "granted")
    c.close()


def a_person_is_not_flooded():
    clean()
    c = Legacy(Stdio(name="flood"))
    for i in range(10):
        c.t.post(request("tools/call", {"name": "vm_grant",
                                        "arguments": fresh()}, f"f{i}"))
    c.t.post(request("tools/call", {"name": "vm_grants", "arguments": {}},
                     "beside"))
    asked, pending = [], []
    while len(asked) + len(pending) < 11:
        m = c.t.messages.get(timeout=20)
        (asked if "method" in m else pending).append(m["id"])
    assert len(asked) == 4 and "beside" in pending, (asked, pending)
    c.t.close()
    assert held() == []


def a_question_ends_before_its_clients_patience():
    """Alone it takes 42 seconds: it runs beside the others."""
    c = Legacy(Stdio(name="slow"))
    begun = time.monotonic()
    m = c.call(vm="other", grants=["env:SLOW"])
    took = time.monotonic() - begun
    is_state(m, "pending")
    assert 35 < took < 50, took
    assert c.withdrawn == [c.questions[0]["id"]]
    # late: to nobody
    c.t.post(response(c.questions[0]["id"], YES))
    assert held("other") == []
    c.t.close()


def a_round_is_good_once_and_for_its_call():  # F08
    made = boxery("mcp", "token", "add", "second")
    assert made.returncode == 0, made
    second = re.search(rb"bxm_\w+", made.stdout).group().decode()
    for transport in transports():
        clean()
        c = Modern(transport())
        stranger = Modern(Http(second) if transport is Http
                          else Stdio(name="second"))
        state, key, _ = c.asked(**TOKEN)
        yes = {key: YES}

        def refused(client, **how):
            m = client.call(responses=yes, **how)
            assert m["error"]["code"] == -32602, m
            assert "requestState" in m["error"]["message"], m

        refused(c, state=state, vm="other", grants=["env:TOKEN"])
        refused(c, state=state, vm="demo", grants=["env:TOKEN", "env:MORE"])
        refused(c, state=state, tool="vm_revoke", **TOKEN)
        refused(stranger, state=state, **TOKEN)
        for bad in (state + "-TAMPERED", state[:-8], state.swapcase(), "",
                    "x.y", 7, {}, []):
            refused(c, state=bad, **TOKEN)
        for bad in 7, [], "yes":
            m = c.call(state=state, responses=bad, **TOKEN)
            assert m["error"]["code"] == -32602, m
        assert held() == []
        is_state(c.call(state=state, responses=yes, **TOKEN), "granted")
        assert held() == ["env:TOKEN"]
        clean()
        refused(c, state=state, **TOKEN)
        # answers to what was not asked, or without a state
        for responses in yes, {"x": YES}:
            assert c.call(responses=responses, **TOKEN)["result"][
                "resultType"] == "input_required"
        assert held() == [] and not waiting()
        c.t.close()
        stranger.t.close()


def missing_answers_are_asked_for_again_but_not_for_ever():
    clean()
    c = Modern(Stdio())
    state, rounds, ask = None, 0, fresh()
    while True:
        m = c.call(state=state, responses={"other": YES} if state else None,
                   **ask)
        if m["result"]["resultType"] != "input_required":
            break
        assert m["result"]["requestState"] != state
        state, rounds = m["result"]["requestState"], rounds + 1
    assert rounds == 4, rounds
    is_state(m, "pending")
    assert held() == []
    c.t.close()


def an_answer_is_to_the_words_that_were_shown():
    """The VM got part of it meanwhile: the question is another one."""
    clean()
    c = Modern(Stdio())
    ask = {"vm": "demo", "grants": ["env:TOKEN", "file:~/notes"]}
    state, key, first = c.asked(**ask)
    is_state(c.answered(YES, **TOKEN), "granted")
    m = c.call(state=state, responses={key: YES}, **ask)
    assert m["result"]["resultType"] == "input_required", m
    (key, second), = m["result"]["inputRequests"].items()
    assert "env:TOKEN" in first["params"]["message"]
    assert "env:TOKEN" not in second["params"]["message"]
    assert held() == ["env:TOKEN"]
    is_state(c.call(state=m["result"]["requestState"], responses={key: YES},
                    **ask), "granted")
    assert len(held()) == 2
    c.t.close()


def earlier_revisions_are_asked_in_their_own_words():
    clean()
    c = Legacy(Stdio(), version="2025-06-18")
    is_state(c.answered(YES, **TOKEN), "granted")
    assert "mode" not in c.questions[0]["params"]
    c.t.close()


def the_tools_say_what_they_do():  # F05 F14 F15 F16 F17
    clean()
    c = Legacy(Stdio())
    for m in c.t.call(request("tools/list", {}, 1)):
        tools = {t["name"]: t for t in m["result"]["tools"]}
        break
    c.id = 1
    hints = {name: t["annotations"] for name, t in tools.items()}
    assert hints["vm_grants"]["readOnlyHint"] is True
    assert hints["vm_grant"]["readOnlyHint"] is False
    assert hints["vm_revoke"]["readOnlyHint"] is False
    assert hints["vm_revoke"]["destructiveHint"] is False
    for name in "vm_grant", "vm_revoke", "vm_grants":
        assert tools[name]["outputSchema"]["type"] == "object"
    for name in "approve", "deny", "approvals", "panic", "agent_forward":
        assert name not in tools
    given = tools["vm_grant"]["inputSchema"]["properties"]
    for name in "client_info", "values", "agent_socket", "approve", "yes":
        assert name not in given, given
        is_refused(c.call(**TOKEN, **{name: "x"}), "unknown parameter")
    assert not c.questions
    is_state(c.answered(YES, **TOKEN), "granted")
    m = c.call(tool="vm_grants", vm="demo")["result"]
    assert json.loads(m["content"][0]["text"]) == m["structuredContent"]
    assert [r["grant"] for r in m["structuredContent"]["rows"]] \
        == ["env:TOKEN"]
    m = c.call(tool="vm_revoke", vm="demo", grants=["env:TOKEN"])["result"]
    assert m["structuredContent"]["revoked"] == ["env:TOKEN"]
    assert json.loads(m["content"][0]["text"]) == m["structuredContent"]
    assert not c.questions and held() == []
    os.makedirs(os.environ["HOME"] + "/.ssh", exist_ok=True)
    with open(os.environ["HOME"] + "/.ssh/id", "w", encoding="ascii") as f:
        f.write("x")
    for grant in ("env:BOXERY_HTTP_TOKEN", "file:~/.ssh/id",
                  f"file:{HOME}/config/env"):
        assert c.call(vm="demo", grants=[grant])["result"]["isError"], grant
        assert not c.questions, grant
    c.t.close()


def a_read_only_token_cannot_ask():
    made = boxery("mcp", "token", "add", "looks", "--read-only")
    c = Legacy(Http(re.search(rb"bxm_\w+", made.stdout).group().decode()))
    m = c.call(**TOKEN)
    assert m["error"]["code"] == -32602, m
    assert "structuredContent" in c.call(tool="vm_grants")["result"]


def the_sdks_answer():  # F08
    root, node = os.environ["npm_root"], os.environ["node"]
    token = HOME + "/config/mcp-client-token"
    for script in "elicit_v1.mjs", "elicit_v2.mjs":
        clean()
        done = subprocess.run(
            [node, f"{root}/{script}", BIN + "/boxery-mcp",
             f"http://127.0.0.1:{Http.port}/mcp", token], cwd=root,
            capture_output=True, timeout=120, check=False)
        print(done.stdout.decode(), end="")
        assert done.returncode == 0, done.stderr.decode()


def nothing_leaked():
    with open(HOME + "/state/audit.jsonl", "rb") as f:
        assert CANARY.encode() not in f.read()


# -- all of them ---------------------------------------------------------------

def start():
    log = open(DIR + "/service.log", "ab")
    spawn(SERVICE, HOME, stderr=log)
    until(lambda: os.path.exists(HOME + "/run/host.sock")
          and boxery("grants").returncode == 0, "the service")
    with open(HOME + "/config/env", "w", encoding="ascii") as f:
        f.write(f"TOKEN={CANARY}\n")
    os.chmod(HOME + "/config/env", 0o600)
    with open(os.environ["HOME"] + "/notes", "w", encoding="ascii") as f:
        f.write("notes\n")
    server = spawn(BIN + "/boxery-mcp", "--http", "0", "--no-start",
                   stderr=subprocess.PIPE, cwd=DIR)
    said = b""
    while b"/mcp\n" not in said:
        line = server.stderr.readline()
        assert line, said
        said += line
    Http.port = int(re.search(rb":(\d+)/mcp", said).group(1))


def main():
    failures = []

    def slow():
        try:
            case(a_question_ends_before_its_clients_patience)
        except BaseException as e:  # told by the main thread
            failures.append(e)

    start()
    beside = threading.Thread(target=slow)
    beside.start()
    for fn in (a_legacy_person_says_yes, a_modern_person_says_yes,
               nothing_else_is_a_yes, only_the_answer_to_the_question_counts,
               who_cannot_be_asked_is_told_the_command, approved_elsewhere,
               an_end_of_the_call_is_no_answer,
               a_stream_that_was_cut_is_read_on, a_person_is_not_flooded,
               a_round_is_good_once_and_for_its_call,
               missing_answers_are_asked_for_again_but_not_for_ever,
               an_answer_is_to_the_words_that_were_shown,
               earlier_revisions_are_asked_in_their_own_words,
               the_tools_say_what_they_do, a_read_only_token_cannot_ask,
               the_sdks_answer, nothing_leaked):
        case(fn)
    beside.join()
    if failures:
        raise failures[0]
    for p in reversed(started):
        if p.poll() is None:
            p.send_signal(signal.SIGTERM)
            assert p.wait(20) == 0, (p.args, p.returncode)
    print(f"{passed} passed, 0 failed")


try:
    main()
finally:
    for p in reversed(started):
        if p.poll() is None:
            p.send_signal(signal.SIGTERM)
            p.wait(20)
