/*
 * What a client brings back: a state and answers. The input is the params of a
 * call; "REAL" for a state stands for one that was really given out. Only that
 * one opens, and once; answers are never to what was not asked.
 */
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "mcp/elicit.h"
#include "mcp/rounds.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const char question[] =
	"{\"k\":{\"method\":\"elicitation/create\",\"params\":{\"message\":"
	"\"May it?\"}},\"l\":{\"method\":\"roots/list\"}}";

static json_t *ask(struct round *r)
{
	auto_json json_t *v = json_parse(question, strlen(question), NULL);

	return round_ask(r, v);
}

static json_t *give_out(struct rounds *s, struct round_call c)
{
	struct round r;
	struct jsonrpc_fault f = {0};
	struct err e = {0};
	auto_json json_t *result = NULL;
	json_t *state;

	c.state = NULL;
	c.responses = NULL;
	if (round_open(&r, s, &c, &f) != 0 || ask(&r) || !round_must_ask(&r))
		abort();
	result = round_result(&r, &e);
	state = json_deep_copy(json_object_get(result, "requestState"));
	if (!state)
		abort();
	round_finish(&r);
	return state;
}

static void check_answers(const json_t *answers, const json_t *responses)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)answers, key, v)
	{
		if ((strcmp(key, "k") != 0 && strcmp(key, "l") != 0) ||
		    !json_object_get(responses, key))
			abort();
	}
}

/* Was it taken? */
static bool attempt(struct rounds *s, const struct round_call *c)
{
	struct jsonrpc_fault f = {0};
	auto_json json_t *answers = NULL;
	struct err e = {0};
	struct round r;

	if (round_open(&r, s, c, &f) != 0) {
		if (f.code != JSONRPC_INVALID_PARAMS)
			abort();
		jsonrpc_fault_finish(&f);
		return false;
	}
	answers = ask(&r);
	/* all of it, or the rest is asked for */
	if ((json_object_size(answers) == 2) == round_must_ask(&r))
		abort();
	if (!c->state && answers)
		abort();
	check_answers(answers, c->responses);
	if (round_must_ask(&r)) {
		auto_json json_t *result = round_result(&r, &e);

		if (!result)
			abort();
	}
	round_finish(&r);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	auto_json json_t *params = json_parse((const char *)data, len, NULL);
	json_t *args = json_object_get(params, "arguments");
	struct round_call c = {
		.method = "tools/call",
		.name = "t",
		.args = json_is_object(args) ? args : NULL,
		.abilities = ELICIT_FORM | ELICIT_ROOTS,
		.state = json_object_get(params, "requestState"),
		.responses = json_object_get(params, "inputResponses"),
	};
	const char *state = json_string_value(c.state);
	struct rounds *s;
	auto_json json_t *real = NULL;
	bool is_real = state && strcmp(state, "REAL") == 0;
	bool taken;

	if (!params)
		return 0;
	s = rounds_new("t", LIMIT_ROUND_MS);
	real = give_out(s, c);
	if (is_real)
		c.state = real;
	taken = attempt(s, &c);
	if (taken && c.state && !is_real)
		abort();
	if (taken && c.state && attempt(s, &c))
		abort();
	rounds_free(s);
	return 0;
}
