/*
 * A session over a library that answers nothing, and what it tells when
 * something changes.
 */
#include "mcp/session.h"

#include "tests/support/unit.h"

#include "base/buf.h"
#include "base/json.h"

#include <stdio.h>
#include <string.h>

struct wire {
	struct buf said;  /* answers and what goes with a request */
	struct buf noted; /* what is no answer to anything */
	int ended;
	struct feed *feed;
	struct session *session;
};

static void add(struct buf *to, const struct session_out *out)
{
	struct err e = {0};

	assert_ok(buf_add(to, out->text, out->len, &e), &e);
	assert_ok(buf_add(to, "\n", 1, &e), &e);
}

static void on_send(void *ctx, const struct session_out *out)
{
	struct wire *w = ctx;

	add(&w->said, out);
}

static void on_note(void *ctx, const struct session_out *out)
{
	struct wire *w = ctx;

	add(&w->noted, out);
}

static int on_start(void *ctx, const char *lane, void (*work)(void *arg),
		    void *arg, struct err *e)
{
	(void)ctx;
	(void)lane;
	(void)e;
	work(arg);
	return 0;
}

static void on_end(void *ctx)
{
	struct wire *w = ctx;

	w->ended++;
}

static json_t *answer(void *ctx, const struct library_ask *a,
		      struct jsonrpc_fault *f)
{
	(void)ctx;
	return a->ask->kind == ASK_RESOURCES_LIST
		       ? json_pack("{s:[]}", "resources")
		       : library_not_found(f, a->ask->uri ? a->ask->uri : "");
}

static bool may_watch(void *ctx, const char *uri)
{
	(void)ctx;
	return strncmp(uri, "a:", 2) == 0;
}

static const struct protocol_server server = {
	.name = "boxery",
	.title = "boxery",
	.version = "1",
	.instructions = "",
	.has_library = true,
	.prompts_change = true,
};

static void open_wire(struct wire *w)
{
	struct toolset tools = {0};
	struct err e = {0};

	*w = (struct wire){.feed = feed_new(NULL)};
	buf_init(&w->said, (size_t)1 << 20);
	buf_init(&w->noted, (size_t)1 << 20);
	tools.library = (struct library){
		.answer = answer, .may_watch = may_watch, .feed = w->feed};
	assert_ok(session_new(&server, &tools, &w->session, &e), &e);
	session_notes(w->session, on_note, w);
}

static void close_wire(struct wire *w)
{
	session_free(w->session);
	feed_free(w->feed);
	buf_finish(&w->said);
	buf_finish(&w->noted);
}

static void send(struct wire *w, const char *text)
{
	struct session_io io = {
		.ctx = w, .send = on_send, .start = on_start, .end = on_end};

	buf_reset(&w->said);
	session_message(w->session, &io, text, strlen(text));
}

static void expect(struct buf *b, const char *text)
{
	struct err e = {0};

	assert_ok(buf_add(b, "", 1, &e), &e);
	if (!strstr(b->data, text))
		fail_msg("no %s in %s", text, b->data);
	buf_reset(b);
}

#define META                                                      \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":" \
	"\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define LISTEN(id, what)                                         \
	"{\"jsonrpc\":\"2.0\",\"id\":" id                        \
	",\"method\":\"subscriptions/listen\",\"params\":{" META \
	",\"notifications\":" what "}}"
#define TAG(id) "\"io.modelcontextprotocol/subscriptionId\":" id

static void a_modern_client_hears_what_it_listens_to(void **state)
{
	struct wire w;

	(void)state;
	open_wire(&w);
	send(&w, LISTEN("7", "{\"promptsListChanged\":true,"
			     "\"toolsListChanged\":true,"
			     "\"resourceSubscriptions\":[\"a:1\",\"b:1\"]}"));
	/* tools do not change here, and b: is nobody's */
	expect(&w.said, "acknowledged\",\"params\":{\"notifications\":{"
			"\"promptsListChanged\":true,"
			"\"resourceSubscriptions\":[\"a:1\"]},"
			"\"_meta\":{" TAG("7") "}}}");
	assert_int_equal(w.ended, 0);
	feed_tell(w.feed, FEED_TOOLS, NULL);
	feed_tell(w.feed, FEED_RESOURCES, NULL);
	feed_tell(w.feed, FEED_UPDATED, "a:2");
	assert_int_equal(w.said.len, 0);
	feed_tell(w.feed, FEED_PROMPTS, NULL);
	expect(&w.said, "notifications/prompts/list_changed\",\"params\":{"
			"\"_meta\":{" TAG("7") "}}}");
	feed_tell(w.feed, FEED_UPDATED, "a:1");
	expect(&w.said, "\"uri\":\"a:1\"");
	assert_int_equal(w.noted.len, 0);

	/* an id is in use until its request has ended */
	send(&w, LISTEN("7", "{}"));
	expect(&w.said, "this id is in use");
	assert_int_equal(w.ended, 1);
	send(&w, LISTEN("\"7\"", "{}"));
	expect(&w.said, TAG("\"7\""));
	send(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
		 "\"params\":{\"requestId\":7," META "}}");
	assert_int_equal(w.said.len, 0);
	assert_int_equal(w.ended, 3); /* it, and the notification */
	feed_tell(w.feed, FEED_PROMPTS, NULL);
	assert_int_equal(w.said.len, 0);
	session_end_listening(w.session);
	expect(&w.said, "\"id\":\"7\",\"result\":{\"resultType\":\"complete\"");
	assert_int_equal(w.ended, 4);
	close_wire(&w);
}

#define ASK(id, method, params)                                   \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method \
	"\",\"params\":" params "}"
#define HELLO                                                          \
	ASK("1", "initialize",                                         \
	    "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}," \
	    "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}")

static void a_legacy_client_hears_of_what_it_has(void **state)
{
	struct wire w;

	(void)state;
	open_wire(&w);
	feed_tell(w.feed, FEED_PROMPTS, NULL);
	send(&w, HELLO);
	feed_tell(w.feed, FEED_TOOLS, NULL);
	feed_tell(w.feed, FEED_RESOURCES, NULL);
	assert_int_equal(w.noted.len, 0);
	feed_tell(w.feed, FEED_PROMPTS, NULL);
	expect(&w.noted, "\"method\":\"notifications/prompts/list_changed\"}");
	/* the list of resources, once it was asked for */
	send(&w, ASK("2", "resources/list", "{}"));
	expect(&w.said, "\"resources\":[]");
	feed_tell(w.feed, FEED_RESOURCES, NULL);
	expect(&w.noted, "notifications/resources/list_changed");

	send(&w, ASK("3", "resources/subscribe", "{\"uri\":\"b:1\"}"));
	expect(&w.said, "-32002");
	send(&w, ASK("3", "resources/read", "{\"uri\":\"b:1\"}"));
	expect(&w.said, "-32002");
	send(&w, ASK("4", "resources/subscribe", "{\"uri\":\"a:1\"}"));
	expect(&w.said, "\"result\":{}");
	feed_tell(w.feed, FEED_UPDATED, "a:2");
	assert_int_equal(w.noted.len, 0);
	feed_tell(w.feed, FEED_UPDATED, "a:1");
	expect(&w.noted, "notifications/resources/updated\",\"params\":{"
			 "\"uri\":\"a:1\"}}");
	send(&w, ASK("5", "resources/unsubscribe", "{\"uri\":\"a:1\"}"));
	feed_tell(w.feed, FEED_UPDATED, "a:1");
	assert_int_equal(w.noted.len, 0);
	close_wire(&w);
}

static void there_is_a_limit(void **state)
{
	struct wire w;
	char text[256];

	(void)state;
	open_wire(&w);
	send(&w, HELLO);
	for (int i = 0; i < 65; i++) {
		snprintf(text, sizeof(text),
			 ASK("9", "resources/subscribe", "{\"uri\":\"a:%d\"}"),
			 i);
		send(&w, text);
		expect(&w.said, i < 64 ? "\"result\":{}" : "64 resources");
	}
	close_wire(&w);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_modern_client_hears_what_it_listens_to),
	cmocka_unit_test(a_legacy_client_hears_of_what_it_has),
	cmocka_unit_test(there_is_a_limit),
};
UNIT_MAIN(tests)
