#include "vmctl/granting.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "grants/event.h"
#include "grants/policy.h"
#include "grants/store.h"
#include "vmctl/audit.h"
#include "vmctl/conffile.h"
#include "vmctl/service.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#define SETTING "GRANT_CONFIRM"

static const char *const ways[] = {
	[CONFIRM_TERMINAL] = "terminal",
	[CONFIRM_DIALOG] = "dialog",
};

void granting_finish(struct granting *g)
{
	grantset_finish(&g->set);
	grantset_finish(&g->rest);
	approval_finish(&g->approval);
}

/* -- what is asked for ------------------------------------------------------- */

static int parse_terms(const json_t *args, struct terms *ret, struct err *e)
{
	const char *for_text = NULL, *until_text = NULL;
	int64_t uses = 0;

	if (json_opt_str(args, "for", &for_text, e) ||
	    json_opt_str(args, "until", &until_text, e) ||
	    json_opt_int(args, "uses", &uses, e))
		return -1;
	return terms_parse(for_text, until_text, uses, time(NULL), ret, e);
}

int granting_parse(struct granting *g, const json_t *args, const json_t *texts,
		   struct err *e)
{
	const struct policy_ask ask = {
		.home = &call_service(g->call)->home,
		.agent = call_from_agent(g->call),
	};

	if (parse_terms(args, &g->terms, e) ||
	    json_opt_str(args, "reason", &g->reason, e) ||
	    json_opt_str(args, "client_info", &g->client_info, e) ||
	    grantset_parse(texts, &g->set, e))
		return -1;
	return policy_check(&ask, &g->set, &g->terms, e);
}

static struct store_add addition(const struct granting *g,
				 const struct grantset *set)
{
	return (struct store_add){
		.vm = g->vm,
		.set = set,
		.terms = g->terms,
		.by = call_client(g->call),
		.how = g->how,
		.now_s = time(NULL),
		/* an agent whose person answered elsewhere, which it cannot
		 * see, asks again to find that answer */
		.again_s = call_from_agent(g->call) ? LIMIT_APPROVAL_S : 0,
	};
}

/* -- the audit --------------------------------------------------------------- */

static void note(const struct granting *g, enum event_what what,
		 const char *way, const char *outcome)
{
	struct audit *audit = call_service(g->call)->audit;
	autofree char *terms = terms_print(&g->terms);
	const struct event ev = {
		.what = what,
		.vm = g->vm,
		.set = &g->rest,
		.client = call_client(g->call),
		.agent = call_from_agent(g->call),
		.terms = terms,
		.way = way,
		.outcome = outcome,
		.approval = g->approval.id,
	};

	audit_event(audit, event_json(&ev));
}

/* -- asking ------------------------------------------------------------------ */

/* The question, put by the client's front-end. *ret_answer NULL: it has nobody
 * to ask. */
static int put_question(struct granting *g, const struct confirm_ask *ask,
			enum confirm_way way, json_t **ret_answer,
			struct err *e)
{
	auto_json json_t *question = confirm_question(ask);

	note(g, EVENT_ASKED, ways[way], NULL);
	return call_confirm(g->call, question, ret_answer, e);
}

static int judge(struct granting *g, enum confirm_way way,
		 const json_t *answer, struct err *e)
{
	enum confirm_verdict v = confirm_read(way, answer);

	note(g, EVENT_ANSWERED, ways[way], confirm_verdict_name(v));
	switch (v) {
	case CONFIRM_YES:
		return 0;
	case CONFIRM_DISMISSED:
		return err_set(e, ERR_DENIED,
			       "not confirmed: the question was left without "
			       "an answer; nothing was granted");
	case CONFIRM_FORGED:
		return err_set(e, ERR_DENIED,
			       "not confirmed: what came back is no answer "
			       "that a person gives; nothing was granted");
	case CONFIRM_NO:
	default:
		return err_set(e, ERR_DENIED,
			       "not confirmed: a person said no; nothing was "
			       "granted");
	}
}

/* Who asks, as the service knows it. */
static struct confirm_ask question_of(const struct granting *g)
{
	const char *client = strchr(call_client(g->call), ':');

	return (struct confirm_ask){
		.occasion = g->occasion,
		.vm = g->vm,
		.grants = &g->rest,
		.terms = g->terms,
		.agent = call_from_agent(g->call),
		.uid = getuid(), /* no other uid is served */
		.client = client ? client + 1 : call_client(g->call),
		.reason = g->reason,
		.client_info = g->client_info,
	};
}

static int no_terminal(struct err *e)
{
	return err_set(e, ERR_DENIED,
		       "a person has to confirm this, and there is no terminal "
		       "to ask on: type the command in one");
}

static int ask_person(struct granting *g, struct err *e)
{
	const struct confirm_ask ask = question_of(g);
	auto_json json_t *answer = NULL;

	if (put_question(g, &ask, CONFIRM_TERMINAL, &answer, e))
		return -1;
	if (!answer) /* F11 */
		return no_terminal(e);
	g->how = "terminal";
	return judge(g, CONFIRM_TERMINAL, answer, e);
}

/* -- an agent's request ------------------------------------------------------ */

static struct approval_request request_of(const struct granting *g)
{
	return (struct approval_request){
		.client = call_client(g->call),
		.vm = g->vm,
		.set = &g->rest,
		.terms = g->terms,
		.reason = g->reason,
		.client_info = g->client_info,
	};
}

/* A request that waits was answered in a dialog instead. */
static void settle(struct granting *g, bool yes)
{
	struct db *db = call_service(g->call)->db;
	const struct approval_request req = request_of(g);
	struct approval used = {0};

	/* it may have expired meanwhile, which is as good */
	if (g->approval.id[0] &&
	    approval_decide(db, g->approval.id, yes, call_client(g->call),
			    time(NULL), NULL) == 0 &&
	    yes && approval_ask(db, &req, time(NULL), &used, NULL) == 0)
		approval_finish(&used);
}

static int ask_dialog(struct granting *g, bool *ret_asked, struct err *e)
{
	const struct confirm_ask ask = question_of(g);
	auto_json json_t *answer = NULL;
	enum confirm_verdict v;
	int rc;

	if (put_question(g, &ask, CONFIRM_DIALOG, &answer, e))
		return -1;
	*ret_asked = answer != NULL;
	if (!answer)
		return 0;
	g->how = "dialog";
	v = confirm_read(CONFIRM_DIALOG, answer);
	rc = judge(g, CONFIRM_DIALOG, answer, e);
	if (v == CONFIRM_YES || v == CONFIRM_NO)
		settle(g, v == CONFIRM_YES);
	return rc;
}

static int say_denied(const struct granting *g, struct err *e)
{
	return err_set(e, ERR_DENIED,
		       "request %s was denied by a person; asking for the same "
		       "again changes nothing for a while",
		       g->approval.id);
}

/* No dialog: it waits for boxery approve. */
static int wait_elsewhere(struct granting *g, enum granting_outcome *ret,
			  struct err *e)
{
	struct db *db = call_service(g->call)->db;
	const struct approval_request req = request_of(g);
	struct approval got = {0};

	if (approval_ask(db, &req, time(NULL), &got, e))
		return -1;
	approval_finish(&g->approval);
	g->approval = got;
	switch (got.state) {
	case APPROVAL_APPROVED:
		g->how = "approve";
		*ret = GRANTING_AGREED;
		return 0;
	case APPROVAL_PENDING:
		note(g, EVENT_ASKED, "pending", NULL);
		*ret = GRANTING_PENDING;
		return 0;
	case APPROVAL_DENIED:
	case APPROVAL_USED:
	default:
		return say_denied(g, e);
	}
}

static int ask_agents_person(struct granting *g, enum granting_outcome *ret,
			     struct err *e)
{
	struct db *db = call_service(g->call)->db;
	const struct approval_request req = request_of(g);
	bool found = false, asked;

	if (approval_find(db, &req, time(NULL), &found, &g->approval, e))
		return -1;
	if (found && g->approval.state == APPROVAL_APPROVED)
		return wait_elsewhere(g, ret, e);
	if (found && g->approval.state == APPROVAL_DENIED)
		return say_denied(g, e);
	if (ask_dialog(g, &asked, e))
		return -1;
	*ret = GRANTING_AGREED;
	return asked ? 0 : wait_elsewhere(g, ret, e);
}

/* -- all --------------------------------------------------------------------- */

static int is_needed(struct granting *g, bool *ret, struct err *e)
{
	const struct home *h = &call_service(g->call)->home;
	autofree char *path = path_join(h->config, "config");
	autofree char *setting = NULL;

	if (conffile_get(path, SETTING, &setting, e))
		return -1;
	return confirm_is_needed(setting, call_from_agent(g->call), ret, e);
}

int granting_ask(struct granting *g, enum granting_outcome *ret, struct err *e)
{
	struct store *st = call_service(g->call)->grants;
	const struct store_add a = addition(g, &g->set);
	bool needed;

	if (store_missing(st, &a, &g->rest, e))
		return -1;
	if (g->rest.count == 0) { /* F12 */
		*ret = GRANTING_HELD;
		return 0;
	}
	if (is_needed(g, &needed, e))
		return -1;
	if (call_from_agent(g->call))
		return ask_agents_person(g, ret, e);
	g->how = "config"; /* F21 */
	if (needed && ask_person(g, e))
		return -1;
	*ret = GRANTING_AGREED;
	return 0;
}

int granting_store(struct granting *g, struct err *e)
{
	const struct store_add a = addition(g, &g->rest);

	if (store_add(call_service(g->call)->grants, &a, e))
		return -1;
	note(g, EVENT_GRANTED, g->how, NULL);
	return 0;
}

/* Another call of the agent's may have taken the answer already: as good. */
static void use_up(struct granting *g)
{
	const struct approval *a = &g->approval;
	const struct approval_request req = {
		.client = a->client,
		.vm = a->vm,
		.set = &a->set,
		.terms = a->terms,
	};
	struct approval used = {0};
	bool found = false;

	if (approval_find(call_service(g->call)->db, &req, time(NULL), &found,
			  &used, NULL))
		return;
	if (found)
		approval_finish(&used);
	if (found && approval_ask(call_service(g->call)->db, &req, time(NULL),
				  &used, NULL) == 0)
		approval_finish(&used);
}

/* The same question that a dialog would have put: GRANT_CONFIRM, a person's
 * setting for himself, has no say in it (F22). */
static struct confirm_ask approval_question(const struct approval *a)
{
	const char *client = strchr(a->client, ':');

	return (struct confirm_ask){
		.occasion = CONFIRM_GRANT,
		.vm = a->vm,
		.grants = &a->set,
		.terms = a->terms,
		.agent = true,
		.uid = getuid(),
		.client = client ? client + 1 : a->client,
		.reason = a->reason,
		.client_info = a->client_info,
	};
}

int granting_approve(struct granting *g, struct err *e)
{
	struct db *db = call_service(g->call)->db;
	const struct confirm_ask ask = approval_question(&g->approval);
	auto_json json_t *texts = grantset_json(&g->approval.set);
	auto_json json_t *answer = NULL;
	enum confirm_verdict v;

	g->terms = g->approval.terms;
	g->how = "approve";
	if (grantset_parse(texts, &g->rest, e) ||
	    put_question(g, &ask, CONFIRM_TERMINAL, &answer, e))
		return -1;
	if (!answer)
		return no_terminal(e);
	v = confirm_read(CONFIRM_TERMINAL, answer);
	if (judge(g, CONFIRM_TERMINAL, answer, e)) {
		/* one that was left without an answer waits on */
		if (v == CONFIRM_NO)
			(void)!approval_decide(db, g->approval.id, false,
					       call_client(g->call),
					       time(NULL), NULL);
		return -1;
	}
	if (approval_decide(db, g->approval.id, true, call_client(g->call),
			    time(NULL), e))
		return -1;
	use_up(g);
	return 0;
}
