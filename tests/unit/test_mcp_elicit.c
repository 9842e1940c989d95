/*
 * A client before 2026-07-28 that is asked: what reaches it, whose answer
 * counts, and what becomes of a question that nobody waits for any longer.
 */
#include "mcp/elicit.h"

#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/limits.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static json_t *parse(const char *text)
{
	struct err e = {0};
	json_t *v = json_parse(text, strlen(text), &e);

	if (!v)
		fail_msg("%s: %s", text, err_msg(&e));
	return v;
}

static void what_can_be_asked(void **state)
{
	static const struct {
		const char *capabilities;
		unsigned can;
	} rows[] = {
		{"{}", 0},
		{"{\"elicitation\":{}}", ELICIT_FORM},
		{"{\"elicitation\":{\"form\":{}}}", ELICIT_FORM},
		{"{\"elicitation\":{\"form\":{},\"url\":{}}}", ELICIT_FORM},
		/* a page elsewhere is no form */
		{"{\"elicitation\":{\"url\":{}}}", 0},
		{"{\"elicitation\":true}", 0},
		{"{\"elicitation\":null}", 0},
		{"{\"sampling\":{},\"roots\":{\"listChanged\":true}}",
		 ELICIT_SAMPLING | ELICIT_ROOTS},
		{"{\"Elicitation\":{}}", 0},
		{"[]", 0},
	};

	(void)state;
	assert_int_equal(elicit_abilities(NULL), 0);
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		auto_json json_t *v = parse(rows[i].capabilities);

		assert_int_equal(elicit_abilities(v), rows[i].can);
	}
}

static void which_ability_a_request_needs(void **state)
{
	static const struct {
		const char *request;
		unsigned needs;
	} rows[] = {
		{"{\"method\":\"elicitation/create\"}", ELICIT_FORM},
		{"{\"method\":\"sampling/createMessage\"}", ELICIT_SAMPLING},
		{"{\"method\":\"roots/list\"}", ELICIT_ROOTS},
		{"{\"method\":\"tools/call\"}", 0},
		{"{\"method\":1}", 0},
		{"{}", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		auto_json json_t *v = parse(rows[i].request);

		assert_int_equal(elicit_needs(v), rows[i].needs);
	}
}

/* -- a client -------------------------------------------------------------- */

struct client {
	struct elicit *t;
	const char *answers[5]; /* messages, sent at once when it is asked */
	bool leaves;
	int cancel_fd; /* written when it is asked, unless -1 */
	json_t *sent;  /* everything that reached it */
};

static void take(struct elicit *t, const char *text)
{
	struct jsonrpc_msg m;
	struct jsonrpc_fault f = {0};

	assert_int_equal(jsonrpc_parse(text, strlen(text), &m, &f), 0);
	elicit_take(t, &m);
	jsonrpc_msg_finish(&m);
}

static void *answer_main(void *arg)
{
	struct client *c = arg;
	uint64_t one = 1;

	for (size_t i = 0; i < 5 && c->answers[i]; i++)
		take(c->t, c->answers[i]);
	if (c->leaves)
		elicit_end(c->t);
	if (c->cancel_fd >= 0)
		assert_int_equal(write(c->cancel_fd, &one, sizeof(one)),
				 sizeof(one));
	return NULL;
}

/* The reader of messages is another thread than the one that sent. */
static void on_send(void *ctx, json_t *message)
{
	struct client *c = ctx;
	pthread_t thread;

	json_array_append_new(c->sent, message);
	if (json_object_get(message, "id")) {
		assert_int_equal(
			pthread_create(&thread, NULL, answer_main, c), 0);
		pthread_join(thread, NULL);
	}
}

#define ONE "{\"k\":{\"method\":\"elicitation/create\",\"params\":"            \
	"{\"mode\":\"form\",\"message\":\"May it?\"}}}"
#define RESPONSE(id, result)                                                   \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":" result "}"
#define YES "{\"action\":\"accept\",\"content\":{\"approve\":true}}"

static json_t *ask(struct client *c, const char *requests, int64_t ms)
{
	auto_json json_t *v = parse(requests);
	struct elicit_ask a = {
		.abilities = ELICIT_FORM,
		.has_modes = true,
		.send = on_send,
		.ctx = c,
		.cancel_fd = c->cancel_fd,
		.until = deadline_in_ms(ms),
	};

	c->sent = json_array();
	return elicit_ask(c->t, &a, v);
}

/* F08: whose answer counts. */
static void only_the_first_answer_to_the_id_counts(void **state)
{
	static const struct {
		const char *name;
		const char *answers[5];
		const char *got; /* NULL: nothing */
	} rows[] = {
		{"yes", {RESPONSE("\"boxery-1\"", YES)}, "{\"k\":" YES "}"},
		{"others' ids first",
		 {RESPONSE("\"boxery-2\"", YES), RESPONSE("1", YES),
		  RESPONSE("\"BOXERY-1\"", YES),
		  RESPONSE("\"boxery-1\"", "{\"action\":\"decline\"}")},
		 "{\"k\":{\"action\":\"decline\"}}"},
		{"a second one",
		 {RESPONSE("\"boxery-1\"", "{\"action\":\"cancel\"}"),
		  RESPONSE("\"boxery-1\"", YES)},
		 "{\"k\":{\"action\":\"cancel\"}}"},
		{"what it is, is not for us to say",
		 {RESPONSE("\"boxery-1\"",
			   "{\"action\":\"accept\",\"content\":{\"approve\":"
			   "\"true\",\"more\":[1]},\"x\":1}")},
		 "{\"k\":{\"action\":\"accept\",\"content\":{\"approve\":"
		 "\"true\",\"more\":[1]},\"x\":1}}"},
		{"no object", {RESPONSE("\"boxery-1\"", "[true]")},
		 "{\"k\":[true]}"},
		{"an error",
		 {"{\"jsonrpc\":\"2.0\",\"id\":\"boxery-1\",\"error\":"
		  "{\"code\":-32601,\"message\":\"what?\"}}"},
		 NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		struct client c = {.t = elicit_new(), .cancel_fd = -1};
		auto_json json_t *got = NULL;
		autofree char *text = NULL;

		memcpy(c.answers, rows[i].answers, sizeof(c.answers));
		got = ask(&c, ONE, 5000);
		text = json_print(got);
		if (rows[i].got)
			assert_string_equal(text, rows[i].got);
		else if (got)
			fail_msg("%s: got %s", rows[i].name, text);
		/* it was answered: there is nothing to withdraw */
		assert_int_equal(json_array_size(c.sent), 1);
		json_decref(c.sent);
		elicit_free(c.t);
	}
}

static void what_is_too_long_is_no_answer(void **state)
{
	struct client c = {.t = elicit_new(), .cancel_fd = -1};
	autofree char *pad = alloc_array(LIMIT_ELICITED_LEN + 1, 1);
	autofree char *answer = NULL;
	auto_json json_t *got = NULL;

	(void)state;
	memset(pad, 'x', LIMIT_ELICITED_LEN);
	answer = alloc_printf(RESPONSE("\"boxery-1\"", "{\"action\":\"%s\"}"),
			      pad);
	c.answers[0] = answer;
	got = ask(&c, ONE, 5000);
	assert_true(json_is_null(json_object_get(got, "k")));
	json_decref(c.sent);
	elicit_free(c.t);
}

static void a_request_is_one_of_its_revision(void **state)
{
	struct client c = {.t = elicit_new(),
			   .cancel_fd = -1,
			   .answers = {RESPONSE("\"boxery-1\"", YES)}};
	auto_json json_t *v = parse(ONE);
	auto_json json_t *got = NULL;
	autofree char *text = NULL;
	struct elicit_ask a = {.abilities = ELICIT_FORM,
			       .send = on_send,
			       .ctx = &c,
			       .cancel_fd = -1,
			       .until = deadline_in_ms(5000)};

	(void)state;
	c.sent = json_array();
	got = elicit_ask(c.t, &a, v);
	assert_non_null(got);
	text = json_print(json_array_get(c.sent, 0));
	/* "mode" came with 2025-11-25 */
	assert_string_equal(text,
			    "{\"method\":\"elicitation/create\",\"params\":"
			    "{\"message\":\"May it?\"},\"jsonrpc\":\"2.0\","
			    "\"id\":\"boxery-1\"}");
	json_decref(c.sent);
	elicit_free(c.t);
}

static void who_did_not_declare_it_is_not_asked(void **state)
{
	struct client c = {.t = elicit_new(), .cancel_fd = -1};
	auto_json json_t *got = ask(
		&c,
		"{\"a\":{\"method\":\"sampling/createMessage\",\"params\":{}},"
		"\"b\":{\"method\":\"roots/list\",\"params\":{}},"
		"\"c\":{\"method\":\"tools/call\",\"params\":{}}}",
		5000);

	(void)state;
	assert_null(got);
	assert_int_equal(json_array_size(c.sent), 0);
	json_decref(c.sent);
	elicit_free(c.t);
}

/* -- questions that end without an answer ----------------------------------- */

static void assert_withdrawn(const json_t *sent)
{
	const json_t *m = json_array_get(sent, 1);

	assert_int_equal(json_array_size(sent), 2);
	assert_string_equal(json_string_value(json_object_get(m, "method")),
			    "notifications/cancelled");
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(m, "params"),
						  "requestId")),
		"boxery-1");
}

static void time_ends_it(void **state)
{
	struct client c = {.t = elicit_new(), .cancel_fd = -1};
	int64_t began = deadline_now_ms();

	(void)state;
	assert_null(ask(&c, ONE, 100));
	assert_in_range(deadline_now_ms() - began, 90, 3000);
	assert_withdrawn(c.sent);
	json_decref(c.sent);
	/* the late answer is one to nobody, also for the next who asks */
	take(c.t, RESPONSE("\"boxery-1\"", YES));
	c.answers[0] = RESPONSE("\"boxery-1\"", YES);
	assert_null(ask(&c, ONE, 100));
	json_decref(c.sent);
	/* no time left: it is not even asked */
	assert_null(ask(&c, ONE, 0));
	assert_int_equal(json_array_size(c.sent), 0);
	json_decref(c.sent);
	elicit_free(c.t);
}

static void cancellation_ends_it(void **state)
{
	struct client c = {.t = elicit_new(),
			   .cancel_fd = eventfd(0, EFD_CLOEXEC)};
	int64_t began = deadline_now_ms();

	(void)state;
	assert_null(ask(&c, ONE, 20000));
	assert_in_range(deadline_now_ms() - began, 0, 5000);
	assert_withdrawn(c.sent);
	json_decref(c.sent);
	/* a call that has ended asks no more */
	assert_null(ask(&c, ONE, 20000));
	assert_int_equal(json_array_size(c.sent), 0);
	json_decref(c.sent);
	close(c.cancel_fd);
	elicit_free(c.t);
}

static void the_end_of_the_client_ends_it(void **state)
{
	struct client c = {
		.t = elicit_new(), .cancel_fd = -1, .leaves = true};

	(void)state;
	assert_null(ask(&c, ONE, 20000));
	/* nobody is there to withdraw it from */
	assert_int_equal(json_array_size(c.sent), 1);
	json_decref(c.sent);
	/* nor to ask again */
	assert_null(ask(&c, ONE, 20000));
	assert_int_equal(json_array_size(c.sent), 0);
	json_decref(c.sent);
	elicit_free(c.t);
}

/* Each question makes the next call ask as well, on its own thread. */
struct crowd {
	struct elicit *t;
	int depth;	 /* questions that are open */
	int refused;	 /* askers that were not heard */
};

static void ask_in_crowd(struct crowd *c);

static void on_crowd_send(void *ctx, json_t *message)
{
	struct crowd *c = ctx;

	if (json_object_get(message, "id")) {
		c->depth++;
		ask_in_crowd(c);
		if (c->refused == 1)
			elicit_end(c->t);
	}
	json_decref(message);
}

static void ask_in_crowd(struct crowd *c)
{
	auto_json json_t *v = parse(ONE);
	int before = c->depth;
	struct elicit_ask a = {.abilities = ELICIT_FORM,
			       .send = on_crowd_send,
			       .ctx = c,
			       .cancel_fd = -1,
			       .until = deadline_in_ms(20000)};

	assert_null(elicit_ask(c->t, &a, v));
	c->refused += c->depth == before;
}

static void a_person_is_not_flooded(void **state)
{
	struct crowd c = {.t = elicit_new()};

	(void)state;
	ask_in_crowd(&c);
	assert_int_equal(c.depth, LIMIT_ELICITS_OPEN_COUNT);
	assert_int_equal(c.refused, 1);
	elicit_free(c.t);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(what_can_be_asked),
	cmocka_unit_test(which_ability_a_request_needs),
	cmocka_unit_test(only_the_first_answer_to_the_id_counts),
	cmocka_unit_test(what_is_too_long_is_no_answer),
	cmocka_unit_test(a_request_is_one_of_its_revision),
	cmocka_unit_test(who_did_not_declare_it_is_not_asked),
	cmocka_unit_test(time_ends_it),
	cmocka_unit_test(cancellation_ends_it),
	cmocka_unit_test(a_person_is_not_flooded),
	cmocka_unit_test(the_end_of_the_client_ends_it),
};
UNIT_MAIN(tests)
