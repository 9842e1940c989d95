/* States in a client's hands: good once, for whom and what they were made. */
#include "mcp/rounds.h"

#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/deadline.h"
#include "base/json.h"
#include "base/limits.h"
#include "mcp/elicit.h"

#include <string.h>

static json_t *parse(const char *text)
{
	struct err e = {0};
	json_t *v = json_parse(text, strlen(text), &e);

	if (!v)
		fail_msg("%s: %s", text, err_msg(&e));
	return v;
}

#define FORM(text)                                                             \
	"{\"method\":\"elicitation/create\",\"params\":{\"message\":\"" text   \
	"\"}}"
#define ONE "{\"k\":" FORM("May it?") "}"
#define YES "{\"k\":{\"action\":\"accept\",\"content\":{\"approve\":true}}}"

/* A call as a client makes it. */
struct attempt {
	const char *name, *args;	  /* NULL: "t", none */
	const char *state, *responses; /* NULL: none */
	bool cannot;
};

/* -1 when it is refused. */
static int call(struct round *r, struct rounds *s, const struct attempt *a)
{
	auto_json json_t *args = a->args ? parse(a->args) : NULL;
	auto_json json_t *state = a->state ? json_string(a->state) : NULL;
	auto_json json_t *responses = a->responses ? parse(a->responses) : NULL;
	struct round_call c = {
		.method = "tools/call",
		.name = a->name ? a->name : "t",
		.args = args,
		.abilities = a->cannot ? 0 : ELICIT_FORM,
		.state = state,
		.responses = responses,
	};
	struct jsonrpc_fault f = {0};
	int rc = round_open(r, s, &c, &f);

	if (rc != 0) {
		assert_int_equal(f.code, JSONRPC_INVALID_PARAMS);
		assert_string_not_equal(err_msg(&f.why), "");
	}
	jsonrpc_fault_finish(&f);
	return rc;
}

static json_t *ask(struct round *r, const char *requests)
{
	auto_json json_t *v = parse(requests);

	return round_ask(r, v);
}

/* The state that a call is answered with when it asks. */
static char *state_of(struct round *r)
{
	struct err e = {0};
	auto_json json_t *result = NULL;

	assert_true(round_must_ask(r));
	result = round_result(r, &e);
	assert_non_null(result);
	assert_string_equal(
		json_string_value(json_object_get(result, "resultType")),
		"input_required");
	assert_non_null(json_object_get(result, "inputRequests"));
	return alloc_str(
		json_string_value(json_object_get(result, "requestState")));
}

/* A first round that asks `requests`; free() what comes back. */
static char *first(struct rounds *s, const char *args, const char *requests)
{
	struct attempt a = {.args = args};
	struct round r;
	char *state;

	assert_int_equal(call(&r, s, &a), 0);
	assert_null(ask(&r, requests));
	state = state_of(&r);
	round_finish(&r);
	return state;
}

static void an_answer_comes_back(void **state)
{
	struct rounds *s = rounds_new("stdio", 60000);
	autofree char *made = first(s, "{\"a\":1,\"b\":[2]}", ONE);
	struct attempt a = {.args = "{\"b\":[2],\"a\":1}",
			    .state = made,
			    .responses = YES};
	auto_json json_t *got = NULL;
	autofree char *text = NULL;
	struct round r;

	(void)state;
	assert_int_equal(call(&r, s, &a), 0);
	got = ask(&r, ONE);
	text = json_print(got);
	assert_string_equal(text, YES);
	assert_false(round_must_ask(&r));
	round_finish(&r);
	rounds_free(s);
}

/* F08: replayed, tampered with, another's, another call's. */
static void a_state_is_good_once_and_for_one(void **state)
{
	struct rounds *s = rounds_new("stdio", 60000), *other = rounds_new("stdio", 60000);
	struct rounds *renamed = rounds_new("laptop", 60000);
	autofree char *made = first(s, "{\"vm\":\"a\"}", ONE);
	autofree char *longer = alloc_printf("%s-TAMPERED", made);
	autofree char *cut = alloc_strn(made, strlen(made) - 4);
	const struct {
		struct rounds *by;
		struct attempt a;
	} bad[] = {
		{s, {.args = "{\"vm\":\"b\"}", .state = made}},
		{s, {.state = made}},
		{s, {.name = "u", .args = "{\"vm\":\"a\"}", .state = made}},
		{other, {.args = "{\"vm\":\"a\"}", .state = made}},
		{renamed, {.args = "{\"vm\":\"a\"}", .state = made}},
		{NULL, {.args = "{\"vm\":\"a\"}", .state = made}},
		{s, {.args = "{\"vm\":\"a\"}", .state = longer}},
		{s, {.args = "{\"vm\":\"a\"}", .state = cut}},
		{s, {.args = "{\"vm\":\"a\"}", .state = ""}},
		{s, {.args = "{\"vm\":\"a\"}", .state = "."}},
		{s, {.args = "{\"vm\":\"a\"}", .state = "e30=.e30="}},
		{s,
		 {.args = "{\"vm\":\"a\"}", .state = made, .responses = "[]"}},
		{s,
		 {.args = "{\"vm\":\"a\"}",
		  .state = made,
		  .responses = "null"}},
	};
	struct attempt good = {.args = "{\"vm\":\"a\"}",
			       .state = made,
			       .responses = YES};
	struct round r;

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
		if (call(&r, bad[i].by, &bad[i].a) == 0)
			fail_msg("row %zu was taken", i);
	}
	/* none of these has used it up */
	assert_int_equal(call(&r, s, &good), 0);
	round_finish(&r);
	assert_int_equal(call(&r, s, &good), -1);
	rounds_free(s);
	rounds_free(other);
	rounds_free(renamed);
}

static void every_changed_byte_is_seen(void **state)
{
	struct rounds *s = rounds_new("stdio", 60000);
	autofree char *made = first(s, NULL, ONE);
	struct attempt a = {.state = made, .responses = YES};
	struct round r;

	(void)state;
	for (size_t i = 0; made[i]; i++) {
		char was = made[i];

		made[i] = was == 'A' ? 'B' : 'A';
		if (call(&r, s, &a) == 0)
			fail_msg("byte %zu may be changed", i);
		made[i] = was;
	}
	assert_int_equal(call(&r, s, &a), 0);
	round_finish(&r);
	rounds_free(s);
}

static void a_state_of_another_type_is_refused(void **state)
{
	struct rounds *s = rounds_new("stdio", 60000);
	auto_json json_t *number = json_integer(7);
	struct round_call c = {.method = "tools/call",
			       .name = "t",
			       .abilities = ELICIT_FORM,
			       .state = number};
	struct jsonrpc_fault f = {0};
	struct round r;

	(void)state;
	assert_int_equal(round_open(&r, s, &c, &f), -1);
	assert_int_equal(f.code, JSONRPC_INVALID_PARAMS);
	jsonrpc_fault_finish(&f);
	rounds_free(s);
}

/* An answer is to the very words that were shown. */
static void another_question_is_asked_anew(void **state)
{
	struct rounds *s = rounds_new("stdio", 60000);
	autofree char *made = first(s, NULL, ONE);
	autofree char *again = NULL;
	struct attempt a = {.state = made, .responses = YES};
	struct round r;

	(void)state;
	assert_int_equal(call(&r, s, &a), 0);
	assert_null(ask(&r, "{\"k\":" FORM("May it do more?") "}"));
	again = state_of(&r);
	round_finish(&r);
	assert_string_not_equal(again, made);
	rounds_free(s);
}

static void responses_without_a_state_are_to_nothing(void **state)
{
	struct rounds *s = rounds_new("stdio", 60000);
	struct attempt a = {.responses = YES};
	struct round r;

	(void)state;
	assert_int_equal(call(&r, s, &a), 0);
	assert_null(ask(&r, ONE));
	assert_true(round_must_ask(&r));
	round_finish(&r);
	rounds_free(s);
}

static void missing_answers_are_asked_for_again_but_not_for_ever(void **state)
{
	struct rounds *s = rounds_new("stdio", 60000);
	char *made = first(s, NULL, ONE);
	int asked = 1;

	(void)state;
	for (;;) {
		struct attempt a = {.state = made,
				    .responses = "{\"other\":{}}"};
		struct round r;

		assert_int_equal(call(&r, s, &a), 0);
		assert_null(ask(&r, ONE));
		free(made);
		made = round_must_ask(&r) ? state_of(&r) : NULL;
		round_finish(&r);
		if (!made)
			break;
		asked++;
	}
	assert_int_equal(asked, LIMIT_ROUNDS_COUNT);
	rounds_free(s);
}

static void later_questions_find_earlier_answers(void **state)
{
	struct rounds *s = rounds_new("stdio", 60000);
	const char *two = "{\"l\":" FORM("And this?") "}";
	autofree char *made = first(s, NULL, ONE);
	struct attempt a = {.state = made, .responses = YES};
	autofree char *second = NULL;
	auto_json json_t *got = NULL, *more = NULL;
	autofree char *text = NULL;
	struct round r;

	(void)state;
	assert_int_equal(call(&r, s, &a), 0);
	got = ask(&r, ONE);
	assert_non_null(got);
	assert_null(ask(&r, two));
	second = state_of(&r);
	round_finish(&r);

	a = (struct attempt){.state = second, .responses = "{\"l\":7}"};
	assert_int_equal(call(&r, s, &a), 0);
	json_decref(got);
	got = ask(&r, ONE);
	text = json_print(got);
	assert_string_equal(text, YES);
	more = ask(&r, two);
	assert_int_equal(json_integer_value(json_object_get(more, "l")), 7);
	assert_false(round_must_ask(&r));
	round_finish(&r);
	rounds_free(s);
}

static void who_did_not_declare_it_is_not_asked(void **state)
{
	struct rounds *s = rounds_new("stdio", 60000);
	struct attempt a = {.cannot = true};
	struct round r;

	(void)state;
	assert_int_equal(call(&r, s, &a), 0);
	assert_null(ask(&r, ONE));
	assert_false(round_must_ask(&r));
	round_finish(&r);
	rounds_free(s);
}

static void the_oldest_is_forgotten(void **state)
{
	struct rounds *s = rounds_new("stdio", 60000);
	char *made[LIMIT_ROUNDS_OUT_COUNT + 1];
	struct round r;

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(made); i++)
		made[i] = first(s, NULL, ONE);
	for (size_t i = 0; i < ARRAY_COUNT(made); i++) {
		struct attempt a = {.state = made[i], .responses = YES};

		assert_int_equal(call(&r, s, &a), i == 0 ? -1 : 0);
		if (i > 0)
			round_finish(&r);
		free(made[i]);
	}
	rounds_free(s);
}

static void a_state_expires(void **state)
{
	struct rounds *s = rounds_new("stdio", 200);
	autofree char *soon = first(s, NULL, ONE);
	autofree char *late = first(s, NULL, ONE);
	struct attempt a = {.state = soon, .responses = YES};
	struct round r;

	(void)state;
	assert_int_equal(call(&r, s, &a), 0);
	round_finish(&r);
	deadline_sleep_ms(250);
	a.state = late;
	assert_int_equal(call(&r, s, &a), -1);
	rounds_free(s);
}

static void what_is_too_long_is_no_answer(void **state)
{
	struct rounds *s = rounds_new("stdio", 60000);
	autofree char *made = first(s, NULL, ONE);
	autofree char *pad = alloc_array(LIMIT_ELICITED_LEN + 1, 1);
	autofree char *responses = NULL, *huge = NULL;
	struct attempt a = {.state = made};
	auto_json json_t *got = NULL;
	struct round r;

	(void)state;
	memset(pad, 'x', LIMIT_ELICITED_LEN);
	responses = alloc_printf("{\"k\":\"%s\"}", pad);
	a.responses = responses;
	assert_int_equal(call(&r, s, &a), 0);
	got = ask(&r, ONE);
	assert_true(json_is_null(json_object_get(got, "k")));
	round_finish(&r);

	huge = alloc_array(LIMIT_ROUND_STATE_LEN + 2, 1);
	memset(huge, 'A', LIMIT_ROUND_STATE_LEN + 1);
	huge[4] = '.';
	a.state = huge;
	assert_int_equal(call(&r, s, &a), -1);
	rounds_free(s);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(an_answer_comes_back),
	cmocka_unit_test(a_state_is_good_once_and_for_one),
	cmocka_unit_test(every_changed_byte_is_seen),
	cmocka_unit_test(a_state_of_another_type_is_refused),
	cmocka_unit_test(another_question_is_asked_anew),
	cmocka_unit_test(responses_without_a_state_are_to_nothing),
	cmocka_unit_test(missing_answers_are_asked_for_again_but_not_for_ever),
	cmocka_unit_test(later_questions_find_earlier_answers),
	cmocka_unit_test(who_did_not_declare_it_is_not_asked),
	cmocka_unit_test(the_oldest_is_forgotten),
	cmocka_unit_test(a_state_expires),
	cmocka_unit_test(what_is_too_long_is_no_answer),
};
UNIT_MAIN(tests)
