#include "mcp/asking.h"

#include "base/alloc.h"

#include <string.h>

static int lack(const struct asking_opts *o, struct jsonrpc_fault *f)
{
	f->data = json_object();
	json_object_set_new(f->data, "requiredCapabilities",
			    elicit_declared(o->needs));
	f->refused = true;
	return jsonrpc_fault_set(f, JSONRPC_MISSING_CAPABILITY,
				 "this asks the client for what it did not "
				 "declare that it can do");
}

static int open_modern(struct asking *a, const struct asking_opts *o,
		       struct jsonrpc_fault *f)
{
	const struct ask *ask = o->ask;
	const struct round_call c = {
		.method = ask->tool ? "tools/call" : "prompts/get",
		.name = ask->tool ? ask->tool : ask->prompt,
		.args = ask->args,
		.abilities = ask->abilities,
		.state = ask->request_state,
		.responses = ask->input_responses,
	};

	if (o->needs & ~ask->abilities)
		return lack(o, f);
	/* nothing else asks, and what comes with it is not looked at */
	if (!c.name)
		return 0;
	if (round_open(&a->round, o->rounds, &c, f) != 0)
		return -1;
	a->client = protocol_client_name(ask->client_info);
	return 0;
}

int asking_open(struct asking *a, const struct asking_opts *o,
		struct jsonrpc_fault *f)
{
	const struct protocol_legacy *legacy = o->legacy;

	*a = (struct asking){0};
	if (!legacy)
		return open_modern(a, o, f);
	a->elicit = o->elicit;
	a->abilities = o->can_ask ? legacy->abilities : 0;
	a->has_modes = legacy->version &&
		       strcmp(legacy->version, "2025-11-25") >= 0;
	a->client = legacy->client ? alloc_str(legacy->client) : NULL;
	return 0;
}

void asking_finish(struct asking *a)
{
	round_finish(&a->round);
	free(a->client);
	*a = (struct asking){0};
}

json_t *asking_ask(struct asking *a, const struct elicit_ask *how,
		   const json_t *requests)
{
	struct elicit_ask h = *how;

	if (!a->elicit)
		return round_ask(&a->round, requests);
	h.abilities = a->abilities;
	h.has_modes = a->has_modes;
	return elicit_ask(a->elicit, &h, requests);
}

bool asking_ends_call(const struct asking *a)
{
	return round_must_ask(&a->round);
}

json_t *asking_result(struct asking *a, json_t *given, struct jsonrpc_fault *f)
{
	json_t *question;
	struct err e = {0};

	if (!asking_ends_call(a))
		return given;
	json_decref(given);
	jsonrpc_fault_finish(f);
	question = round_result(&a->round, &e);
	if (!question)
		jsonrpc_fault_set(f, JSONRPC_INTERNAL_ERROR, "%s",
				  err_msg(&e));
	return question;
}
