/*
 * Conversations: what a client sends, line by line, and what it must get. No
 * service is there, so every tools/call here ends in its arguments.
 */
#include "mcp/session.h"

#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"

#include <pthread.h>
#include <string.h>

struct wire {
	pthread_mutex_t lock;
	struct buf out; /* every message sent, one a line */
	/* holds calls back until they are released */
	void (*held_work)(void *arg);
	void *held_arg;
	bool hold;
	int said, ended; /* messages given, and those that are over */
	struct session_io io;
};

static void on_send(void *ctx, const struct session_out *out)
{
	const char *text = out->text;
	size_t len = out->len;
	struct wire *w = ctx;
	struct err e = {0};

	pthread_mutex_lock(&w->lock);
	assert_null(memchr(text, '\n', len));
	assert_ok(buf_add(&w->out, text, len, &e), &e);
	assert_ok(buf_add(&w->out, "\n", 1, &e), &e);
	pthread_mutex_unlock(&w->lock);
}

static int on_start(void *ctx, const char *lane, void (*work)(void *arg),
		    void *arg, struct err *e)
{
	struct wire *w = ctx;

	if (w->hold) {
		(void)lane;
		(void)e;
		w->held_work = work;
		w->held_arg = arg;
		return 0;
	}
	work(arg);
	return 0;
}

static const struct protocol_server server = {
	.name = "boxery",
	.title = "boxery",
	.version = "1.2.3",
	.instructions = "Look first.",
};

static void on_end(void *ctx)
{
	struct wire *w = ctx;

	w->ended++;
}

static struct session *open_session(struct wire *w)
{
	static struct tools tools = {.copy_root_refusal = "no copies here"};
	struct toolset set = tools_set(&tools);
	struct session *s = NULL;
	struct err e = {0};

	*w = (struct wire){.lock = PTHREAD_MUTEX_INITIALIZER};
	buf_init(&w->out, 1 << 20);
	w->io = (struct session_io){.ctx = w,
				    .send = on_send,
				    .start = on_start,
				    .can_ask = true,
				    .end = on_end};
	if (!tools.list)
		tools_init(&tools);
	assert_ok(session_new(&server, &set, &s, &e), &e);
	return s;
}

static void close_session(struct session *s, struct wire *w)
{
	assert_int_equal(session_busy(s), 0);
	assert_int_equal(w->said, w->ended);
	session_free(s);
	buf_finish(&w->out);
}

static void say(struct session *s, struct wire *w, const char *text)
{
	w->said++;
	session_message(s, &w->io, text, strlen(text));
}

struct turn {
	const char *in;
	const char *out[4]; /* pieces of the one answer; none: no answer */
};

static void converse(const char *name, const struct turn *turns)
{
	struct wire w;
	struct session *s = open_session(&w);

	for (int i = 0; turns[i].in; i++) {
		const char *got;

		buf_reset(&w.out);
		say(s, &w, turns[i].in);
		got = w.out.data;
		if (!turns[i].out[0] && *got)
			fail_msg("%s, turn %d: answered %s", name, i, got);
		if (turns[i].out[0] &&
		    strchr(got, '\n') != got + w.out.len - 1)
			fail_msg("%s, turn %d: not one answer: %s", name, i,
				 got);
		for (int k = 0; k < 4 && turns[i].out[k]; k++) {
			if (!strstr(got, turns[i].out[k]))
				fail_msg("%s, turn %d: no %s in %s", name, i,
					 turns[i].out[k], got);
		}
	}
	close_session(s, &w);
}

#define REQ(id, method, params)                                                \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method              \
	"\",\"params\":" params "}"
#define NOTE(method, params)                                                   \
	"{\"jsonrpc\":\"2.0\",\"method\":\"" method "\",\"params\":" params "}"
#define META(version, more)                                                    \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":" version      \
	",\"io.modelcontextprotocol/clientCapabilities\":{}" more "}"
#define MODERN META("\"2026-07-28\"", "")
#define HELLO(version)                                                         \
	REQ("0", "initialize",                                                 \
	    "{\"protocolVersion\":" version ",\"capabilities\":{},"            \
	    "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}")

static void legacy_initialize(void **state)
{
	static const struct {
		const char *asked, *got;
	} rows[] = {
		{"\"2024-11-05\"", "\"protocolVersion\":\"2024-11-05\""},
		{"\"2025-03-26\"", "\"protocolVersion\":\"2025-03-26\""},
		{"\"2025-06-18\"", "\"protocolVersion\":\"2025-06-18\""},
		{"\"2025-11-25\"", "\"protocolVersion\":\"2025-11-25\""},
		{"\"2026-07-28\"", "\"protocolVersion\":\"2025-11-25\""},
		{"\"1999-01-01\"", "\"protocolVersion\":\"2025-11-25\""},
		{"\"\"", "\"protocolVersion\":\"2025-11-25\""},
		{"7", "-32602"},
		{"null", "-32602"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		autofree char *in = alloc_printf(
			"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\","
			"\"params\":{\"protocolVersion\":%s}}",
			rows[i].asked);
		const struct turn turns[] = {{in, {"\"id\":0", rows[i].got}},
					     {NULL, {NULL}}};

		converse(rows[i].asked, turns);
	}
}

/* K01, K05 */
static void legacy_conversation(void **state)
{
	static const struct turn turns[] = {
		{HELLO("\"2025-11-25\""),
		 {"\"serverInfo\":{\"name\":\"boxery\"", "\"tools\":{}",
		  "\"instructions\":\"Look first.\"", "\"version\":\"1.2.3\""}},
		{NOTE("notifications/initialized", "{}"), {NULL}},
		{"{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}",
		 {"{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{}}"}},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}",
		 {"\"id\":1", "\"name\":\"vm_list\"", "\"inputSchema\":"}},
		{REQ("2", "tools/list", "{\"cursor\":\"x\"}"), {"-32602"}},
		{REQ("3", "tools/call",
		     "{\"name\":\"vm_click\",\"arguments\":{\"vm\":\"a\","
		     "\"y\":-1}}"),
		 {"\"id\":3", "\"isError\":true", "at least 0"}},
		{REQ("4", "tools/call",
		     "{\"name\":\"vm_click\",\"arguments\":{\"vm\":\"a\","
		     "\"bogus\":1}}"),
		 {"\"isError\":true", "bogus"}},
		{REQ("5", "tools/call", "{\"name\":\"vm_info\"}"),
		 {"\"isError\":true", "vm"}},
		{REQ("6", "tools/call", "{\"name\":\"nothing\"}"),
		 {"-32602", "unknown tool: nothing"}},
		/* rows that are not for agents are no tools */
		{REQ("7", "tools/call", "{\"name\":\"build_base\"}"),
		 {"-32602", "unknown tool"}},
		{REQ("8", "tools/call", "{}"), {"-32602", "name"}},
		{REQ("9", "tools/call",
		     "{\"name\":\"vm_list\",\"arguments\":[]}"),
		 {"-32602", "arguments"}},
		{REQ("10", "tools/call",
		     "{\"name\":\"vm_copy\",\"arguments\":{\"from\":"
		     "\"local:a\",\"to\":\"demo:b\"}}"),
		 {"\"isError\":true", "vm_copy: no copies here"}},
		{REQ("11", "tools/list", "{\"_meta\":{\"progressToken\":1.5}}"),
		 {"-32602", "progressToken"}},
		{REQ("12", "resources/list", "{}"), {"-32601"}},
		{REQ("13", "server/nonsense", "{}"), {"-32601"}},
		/* what clients say that asks for nothing */
		{NOTE("notifications/cancelled", "{\"requestId\":3}"), {NULL}},
		{NOTE("notifications/cancelled", "{\"requestId\":null}"),
		 {NULL}},
		{NOTE("notifications/cancelled", "{}"), {NULL}},
		{NOTE("notifications/roots/list_changed", "{}"), {NULL}},
		{"{\"jsonrpc\":\"2.0\",\"method\":\"tools/list\"}", {NULL}},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", {NULL}},
		/* and it lives on after nonsense */
		{"nonsense", {"-32700", "\"id\":null"}},
		{"[]", {"-32600", "\"id\":null"}},
		{"{\"jsonrpc\":\"2.0\",\"id\":14,\"method\":\"ping\"}",
		 {"\"id\":14", "\"result\":{}"}},
		{NULL, {NULL}},
	};

	(void)state;
	converse("legacy", turns);
}

static void modern_conversation(void **state)
{
	static const struct turn turns[] = {
		{REQ("\"d\"", "server/discover", "{" MODERN "}"),
		 {"\"id\":\"d\"", "\"supportedVersions\":[\"2026-07-28\"]",
		  "\"resultType\":\"complete\"", "\"ttlMs\":"}},
		{REQ("1", "server/discover", "{" MODERN "}"),
		 {"\"cacheScope\":\"private\"",
		  "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":"
		  "\"boxery\"",
		  "\"capabilities\":{\"tools\":{},\"logging\":{}}", "\"instructions\":"}},
		{REQ("2", "tools/list", "{" MODERN "}"),
		 {"\"tools\":[", "\"resultType\":\"complete\"", "\"ttlMs\":",
		  "\"cacheScope\":"}},
		{REQ("3", "tools/call",
		     "{\"name\":\"vm_info\",\"arguments\":{}," MODERN "}"),
		 {"\"isError\":true", "\"resultType\":\"complete\"",
		  "serverInfo"}},
		{REQ("4", "tools/call", "{\"name\":\"zzz\"," MODERN "}"),
		 {"-32602", "unknown tool"}},
		/* what the envelope must hold */
		{REQ("5", "tools/list", "{}"),
		 {"-32602", "io.modelcontextprotocol/protocolVersion"}},
		{REQ("6", "tools/list",
		     "{\"_meta\":{\"io.modelcontextprotocol/"
		     "protocolVersion\":\"2026-07-28\"}}"),
		 {"-32602", "io.modelcontextprotocol/clientCapabilities"}},
		{REQ("7", "tools/list",
		     "{\"_meta\":{\"io.modelcontextprotocol/"
		     "clientCapabilities\":{}}}"),
		 {"-32602", "io.modelcontextprotocol/protocolVersion"}},
		{REQ("8", "tools/list", "{" META("7", "") "}"), {"-32602"}},
		{REQ("9", "tools/list", "{" META("\"2027-01-01\"", "") "}"),
		 {"-32022", "\"supported\":[\"2026-07-28\"]",
		  "\"requested\":\"2027-01-01\""}},
		{REQ("10", "tools/list",
		     "{" META("\"2026-07-28\"", ",\"progressToken\":[]") "}"),
		 {"-32602", "progressToken"}},
		{REQ("11", "server/discover", "{}"), {"-32602"}},
		/* gone with the old era */
		{REQ("12", "ping", "{" MODERN "}"), {"-32601"}},
		{REQ("13", "logging/setLevel", "{" MODERN "}"), {"-32601"}},
		{REQ("14", "initialize", "{" MODERN "}"), {"-32601"}},
		{NOTE("notifications/cancelled",
		      "{\"requestId\":3," MODERN "}"),
		 {NULL}},
		{NOTE("notifications/whatever", "{" MODERN "}"), {NULL}},
		{NULL, {NULL}},
	};

	(void)state;
	converse("modern", turns);
}

/* One process serves both: a client may probe with one and go on with the
 * other. */
static void eras_mix(void **state)
{
	static const struct turn turns[] = {
		/* before anything was settled */
		{REQ("1", "tools/list", "{}"), {"\"tools\":["}},
		{REQ("2", "server/discover", "{" MODERN "}"),
		 {"supportedVersions"}},
		{REQ("3", "ping", "{}"), {"-32602"}},
		{HELLO("\"2025-06-18\""), {"2025-06-18"}},
		{REQ("4", "ping", "{}"), {"\"result\":{}"}},
		{REQ("5", "tools/list", "{}"), {"\"result\":{\"tools\":["}},
		{REQ("6", "tools/list", "{" MODERN "}"), {"resultType"}},
		{NULL, {NULL}},
	};

	(void)state;
	converse("mixed", turns);
}

static void an_id_in_use_is_refused(void **state)
{
	struct wire w;
	struct session *s = open_session(&w);
	const char *call = REQ("1", "tools/call", "{\"name\":\"vm_info\"}");

	(void)state;
	w.hold = true;
	say(s, &w, call);
	assert_int_equal(session_busy(s), 1);
	say(s, &w, call);
	assert_non_null(strstr(w.out.data, "-32600"));
	/* another type is another id; and a ping is answered meanwhile */
	buf_reset(&w.out);
	say(s, &w, "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"method\":\"ping\"}");
	assert_non_null(strstr(w.out.data, "\"result\":{}"));
	buf_reset(&w.out);
	w.held_work(w.held_arg);
	assert_non_null(strstr(w.out.data, "\"id\":1"));
	/* free again */
	w.hold = false;
	buf_reset(&w.out);
	say(s, &w, call);
	assert_non_null(strstr(w.out.data, "\"isError\":true"));
	close_session(s, &w);
}

static void a_cancelled_call_is_not_answered(void **state)
{
	struct wire w;
	struct session *s = open_session(&w);

	(void)state;
	w.hold = true;
	say(s, &w, REQ("\"x\"", "tools/call", "{\"name\":\"vm_info\"}"));
	say(s, &w, NOTE("notifications/cancelled", "{\"requestId\":\"y\"}"));
	say(s, &w, NOTE("notifications/cancelled", "{\"requestId\":\"x\"}"));
	say(s, &w, NOTE("notifications/cancelled", "{\"requestId\":\"x\"}"));
	w.held_work(w.held_arg);
	assert_string_equal(w.out.data, "");
	close_session(s, &w);
}

static void too_long_is_answered(void **state)
{
	struct wire w;
	struct session *s = open_session(&w);

	(void)state;
	session_too_long(&w.io);
	assert_non_null(strstr(w.out.data, "-32600"));
	assert_non_null(strstr(w.out.data, "\"id\":null"));
	close_session(s, &w);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(legacy_initialize),
	cmocka_unit_test(legacy_conversation),
	cmocka_unit_test(modern_conversation),
	cmocka_unit_test(eras_mix),
	cmocka_unit_test(an_id_in_use_is_refused),
	cmocka_unit_test(a_cancelled_call_is_not_answered),
	cmocka_unit_test(too_long_is_answered),
};
UNIT_MAIN(tests)
