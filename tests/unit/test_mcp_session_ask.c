/*
 * Conversations in which a tool asks its client something: one that gives back
 * what it was told, and says so when it was told nothing.
 */
#include "mcp/session.h"

#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"
#include "mcp/elicit.h"
#include "mcp/present.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>

/* -- the tool -------------------------------------------------------------- */

#define QUESTION                                                               \
	"{\"k\":{\"method\":\"elicitation/create\",\"params\":{\"message\":"   \
	"\"May it?\",\"requestedSchema\":{\"type\":\"object\"}}}}"

static const char *list_tools(void *ctx)
{
	(void)ctx;
	return "[]";
}

static const void *find_tool(void *ctx, const char *name)
{
	static const char *const names[] = {"asks", "needs"};

	(void)ctx;
	for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
		if (strcmp(names[i], name) == 0)
			return names[i];
	}
	return NULL;
}

static bool is_long(void *ctx, const void *tool)
{
	(void)ctx;
	(void)tool;
	return true;
}

static const char *lane_of(void *ctx, const void *tool, const json_t *args)
{
	(void)ctx;
	(void)tool;
	(void)args;
	return NULL;
}

static unsigned needs(void *ctx, const void *tool)
{
	(void)ctx;
	return strcmp(tool, "needs") == 0 ? ELICIT_SAMPLING : 0;
}

/* "told: …", "told nothing", "told to stop"; by whom it was called. */
static json_t *call_tool(void *ctx, const struct tools_call *c)
{
	auto_json json_t *question =
		json_parse(QUESTION, strlen(QUESTION), NULL);
	auto_json json_t *answers = c->ask(c->ctx, question);
	struct pollfd p = {.fd = c->cancel_fd, .events = POLLIN};
	autofree char *text = answers ? json_print(answers) : NULL;
	autofree char *said = NULL;

	(void)ctx;
	if (text)
		said = alloc_printf("told: %s by %s", text,
				    c->client ? c->client : "(nobody)");
	return present_error(said			? said
			     : poll(&p, 1, 0) > 0 ? "told to stop"
						  : "told nothing");
}

/* -- the client ------------------------------------------------------------ */

struct wire {
	pthread_mutex_t lock;
	struct buf out;
	const char *answer; /* to a request, with %s for its id */
	const char *say;    /* instead of it */
	struct session *session;
	struct session_io io;
	pthread_t thread;
	bool has_thread;
	int requests_count;
};

static void *answer_main(void *arg)
{
	struct wire *w = arg;
	const char *text = w->answer ? w->answer : w->say;

	session_message(w->session, &w->io, text, strlen(text));
	return NULL;
}

static void on_send(void *ctx, const struct session_out *out)
{
	struct wire *w = ctx;
	struct err e = {0};

	pthread_mutex_lock(&w->lock);
	assert_ok(buf_add(&w->out, out->text, out->len, &e), &e);
	assert_ok(buf_add(&w->out, "\n", 1, &e), &e);
	pthread_mutex_unlock(&w->lock);
	/* what must arrive is told apart from what may be lost */
	assert_int_equal(out->is_request, !out->is_answer);
	if (!out->is_request || strstr(out->text, "notifications/"))
		return;
	w->requests_count++;
	if (!w->answer && !w->say) {
		session_end_asks(w->session);
		return;
	}
	assert_int_equal(pthread_create(&w->thread, NULL, answer_main, w), 0);
	w->has_thread = true;
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

static struct rounds *rounds;

static void open_wire(struct wire *w)
{
	static const struct protocol_server server = {
		.name = "t",
		.title = "t",
		.version = "1",
		.instructions = "Look.",
	};
	struct toolset set = {.list = list_tools,
			      .find = find_tool,
			      .is_long = is_long,
			      .lane = lane_of,
			      .call = call_tool,
			      .needs = needs};
	struct err e = {0};

	if (!rounds)
		rounds = rounds_new("t", 60000);
	set.rounds = rounds;
	*w = (struct wire){.lock = PTHREAD_MUTEX_INITIALIZER};
	buf_init(&w->out, 1 << 20);
	w->io = (struct session_io){.ctx = w,
				    .send = on_send,
				    .start = on_start,
				    .can_ask = true};
	assert_ok(session_new(&server, &set, &w->session, &e), &e);
}

static void close_wire(struct wire *w)
{
	assert_int_equal(session_busy(w->session), 0);
	session_free(w->session);
	buf_finish(&w->out);
	rounds_free(rounds);
	rounds = NULL;
}

static const char *say(struct wire *w, const char *text)
{
	buf_reset(&w->out);
	session_message(w->session, &w->io, text, strlen(text));
	if (w->has_thread)
		pthread_join(w->thread, NULL);
	w->has_thread = false;
	return w->out.data;
}

static void assert_has(const char *got, const char *part)
{
	if (!strstr(got, part))
		fail_msg("no %s in %s", part, got);
}

#define HELLO(capabilities)                                                    \
	"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{" \
	"\"protocolVersion\":\"2025-11-25\",\"capabilities\":" capabilities    \
	",\"clientInfo\":{\"name\":\"cli\",\"version\":\"7\"}}}"
#define CALL                                                                   \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{" \
	"\"name\":\"asks\"}}"
#define FORMS "{\"elicitation\":{}}"

/* -- 2025-11-25 and before ------------------------------------------------- */

static void a_legacy_client_answers(void **state)
{
	struct wire w;
	const char *got;

	(void)state;
	open_wire(&w);
	say(&w, HELLO(FORMS));
	w.answer = "{\"jsonrpc\":\"2.0\",\"id\":\"boxery-1\",\"result\":"
		   "{\"action\":\"decline\"}}";
	got = say(&w, CALL);
	assert_has(got, "\"id\":\"boxery-1\"");
	assert_has(got, "told: {\\\"k\\\":{\\\"action\\\":\\\"decline\\\"}} by "
			"cli 7");
	assert_int_equal(w.requests_count, 1);
	close_wire(&w);
}

/* F14: who cannot be asked is told so by the tool, at once. */
static void a_legacy_client_without_forms_is_not_asked(void **state)
{
	static const char *const hellos[] = {
		HELLO("{}"),
		HELLO("{\"elicitation\":{\"url\":{}}}"),
		HELLO("{\"sampling\":{}}"),
		"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(hellos); i++) {
		struct wire w;

		open_wire(&w);
		say(&w, hellos[i]);
		assert_has(say(&w, CALL), "told nothing");
		assert_int_equal(w.requests_count, 0);
		close_wire(&w);
	}
}

static void where_no_request_gets_through_none_is_sent(void **state)
{
	struct wire w;

	(void)state;
	open_wire(&w);
	w.io.can_ask = false;
	say(&w, HELLO(FORMS));
	assert_has(say(&w, CALL), "told nothing");
	assert_int_equal(w.requests_count, 0);
	close_wire(&w);
}

static void a_cancelled_question_is_not_answered(void **state)
{
	struct wire w;
	const char *got;

	(void)state;
	open_wire(&w);
	say(&w, HELLO(FORMS));
	w.say = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
		"\"params\":{\"requestId\":1}}";
	got = say(&w, CALL);
	/* the call is not answered, and its dialog is taken back */
	assert_has(got, "elicitation/create");
	assert_has(got, "{\"requestId\":\"boxery-1\"");
	assert_null(strstr(got, "told"));
	close_wire(&w);
}

static void a_client_that_left_ends_its_questions(void **state)
{
	struct wire w;

	(void)state;
	open_wire(&w);
	say(&w, HELLO(FORMS));
	assert_has(say(&w, CALL), "told nothing");
	assert_int_equal(w.requests_count, 1);
	close_wire(&w);
}

/* -- 2026-07-28 ------------------------------------------------------------ */

#define MODERN(name, capabilities, more)                                       \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{" \
	"\"name\":\"" name "\",\"_meta\":{"                                    \
	"\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","          \
	"\"io.modelcontextprotocol/clientInfo\":{\"name\":\"new\"},"           \
	"\"io.modelcontextprotocol/clientCapabilities\":" capabilities "}" more \
	"}}"

/* The state in an answer; free() */
static char *state_in(const char *got)
{
	const char *at;

	assert_has(got, "\"requestState\":\"");
	at = strstr(got, "\"requestState\":\"") +
	     strlen("\"requestState\":\"");
	return alloc_strn(at, strcspn(at, "\""));
}

static char *with_state(const char *state)
{
	return alloc_printf(
		MODERN("asks", FORMS,
		       ",\"requestState\":\"%s\",\"inputResponses\":{\"k\":7}"),
		state);
}

static void a_modern_client_answers_in_a_second_round(void **state)
{
	struct wire w;
	const char *got;
	autofree char *made = NULL, *second = NULL;

	(void)state;
	open_wire(&w);
	got = say(&w, MODERN("asks", FORMS, ""));
	assert_has(got, "\"resultType\":\"input_required\"");
	assert_has(got, "\"inputRequests\":" QUESTION);
	assert_has(got, "serverInfo");
	assert_null(strstr(got, "complete"));
	assert_null(strstr(got, "told"));
	made = state_in(got);
	second = with_state(made);
	got = say(&w, second);
	assert_has(got, "told: {\\\"k\\\":7} by new");
	assert_has(got, "\"resultType\":\"complete\"");
	/* F08: and that was it */
	got = say(&w, second);
	assert_has(got, "-32602");
	assert_has(got, "requestState");
	assert_int_equal(w.requests_count, 0);
	close_wire(&w);
}

static void bad_rounds_are_refused(void **state)
{
	static const char *const rows[] = {
		MODERN("asks", FORMS, ",\"requestState\":\"AAAA.AAAA\""),
		MODERN("asks", FORMS, ",\"requestState\":7"),
		MODERN("asks", FORMS, ",\"requestState\":null"),
		MODERN("asks", FORMS, ",\"inputResponses\":null"),
		MODERN("asks", FORMS, ",\"inputResponses\":[]"),
	};
	struct wire w;

	(void)state;
	open_wire(&w);
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
		assert_has(say(&w, rows[i]), "-32602");
	close_wire(&w);
}

static void a_modern_client_without_forms_is_not_asked(void **state)
{
	struct wire w;

	(void)state;
	open_wire(&w);
	assert_has(say(&w, MODERN("asks", "{}", "")), "told nothing");
	close_wire(&w);
}

static void what_a_tool_cannot_do_without_is_demanded(void **state)
{
	struct wire w;
	const char *got;

	(void)state;
	open_wire(&w);
	got = say(&w, MODERN("needs", FORMS, ""));
	assert_has(got, "\"code\":-32021");
	assert_has(got, "\"requiredCapabilities\":{\"sampling\":{}}");
	got = say(&w, MODERN("needs", "{\"sampling\":{}}", ""));
	assert_has(got, "told nothing");
	close_wire(&w);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_legacy_client_answers),
	cmocka_unit_test(a_legacy_client_without_forms_is_not_asked),
	cmocka_unit_test(where_no_request_gets_through_none_is_sent),
	cmocka_unit_test(a_cancelled_question_is_not_answered),
	cmocka_unit_test(a_client_that_left_ends_its_questions),
	cmocka_unit_test(a_modern_client_answers_in_a_second_round),
	cmocka_unit_test(bad_rounds_are_refused),
	cmocka_unit_test(a_modern_client_without_forms_is_not_asked),
	cmocka_unit_test(what_a_tool_cannot_do_without_is_demanded),
};
UNIT_MAIN(tests)
