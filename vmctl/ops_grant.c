/* Grants as a person or an agent asks for them: grant, revoke, grants,
 * agent-forward, and new --grant. Whether somebody agreed is granting.c's
 * business, what reaches the guest apply.c's. */
#include "vmctl/ops_grant.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "grants/event.h"
#include "grants/policy.h"
#include "grants/store.h"
#include "vmctl/apply.h"
#include "vmctl/audit.h"
#include "vmctl/backend.h"
#include "vmctl/granting.h"
#include "vmctl/handlers.h"
#include "vmctl/machines.h"
#include "vmctl/registry.h"
#include "vmctl/service.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* a guest that does not answer is told later */
#define SYNC_MS 10000

/* -- results ----------------------------------------------------------------- */

/* "GRANT: why" of those in set that the guest has not got. */
struct unapplied {
	struct apply *apply;
	const struct grantset *set;
	json_t *list;
};

static bool is_in(const struct grantset *set, const struct grant *g)
{
	for (size_t i = 0; i < set->count; i++) {
		if (grant_equal(&set->grants[i], g))
			return true;
	}
	return false;
}

static bool is_proxied(const struct grant *g)
{
	return edge_has_kind(g->kind);
}

static void add_unapplied(const struct store_grant *g, void *ctx)
{
	struct unapplied *u = ctx;
	autofree char *why = NULL;
	autofree char *line = NULL;

	if (is_proxied(&g->grant) || !is_in(u->set, &g->grant) ||
	    apply_state(u->apply, g, &why))
		return;
	line = alloc_printf("%s: %s", g->text, why);
	json_array_append_new(u->list, json_string(line));
}

static int granted_result(struct service *s, const struct granting *g,
			  const char *state, json_t **ret, struct err *e)
{
	struct unapplied u = {s->apply, &g->set, json_array()};
	int rc = store_list(s->grants, g->vm, time(NULL), add_unapplied, &u, e);

	if (rc == 0)
		*ret = json_pack("{s:s, s:s, s:o}", "vm", g->vm, "state", state,
				 "grants", grantset_json(&g->set));
	if (rc == 0 && json_array_size(u.list) > 0)
		json_object_set(*ret, "unapplied", u.list);
	json_decref(u.list);
	return rc;
}

static json_t *pending_result(const struct granting *g)
{
	autofree char *command =
		alloc_printf("boxery approve %s", g->approval.id);
	char expires[TERMS_TIME_SIZE];

	return json_pack("{s:s, s:s, s:o, s:s, s:s, s:s}", "vm", g->vm, "state",
			 "pending", "grants", grantset_json(&g->set), "id",
			 g->approval.id, "command", command, "expires",
			 terms_print_time(g->approval.expires_s, expires));
}

/* -- grant ------------------------------------------------------------------- */

/* The VM was removed while its person read the question: nothing stays. */
static int check_still_there(struct service *s, const char *vm, struct err *e)
{
	struct err why = {0}, ignored = {0};
	struct vm_record v;
	bool gone;

	if (registry_get(s->registry, vm, &v, &why)) {
		gone = why.code == ERR_NOT_FOUND;
	} else {
		gone = v.phase == VM_REMOVING;
		vm_record_finish(&v);
	}
	if (!gone)
		return 0;
	(void)!apply_forget(s->apply, vm, &ignored);
	return err_set(e, ERR_NOT_FOUND, "%s was removed meanwhile", vm);
}

/* What the person's program knows of the session that it runs in. */
static int take_session(struct service *s, const char *vm, const json_t *args,
			const struct grantset *set, struct err *e)
{
	const json_t *values = json_object_get(args, "values");
	const char *socket = NULL;

	if (json_opt_str(args, "agent_socket", &socket, e))
		return -1;
	for (size_t i = 0; i < set->count; i++) {
		const struct grant *g = &set->grants[i];
		const char *value =
			json_string_value(json_object_get(values, g->name));

		if (g->kind == GRANT_ENV && value)
			apply_set_value(s->apply, vm, g->name, value);
		if (g->kind == GRANT_SSH_AGENT && socket &&
		    apply_set_agent(s->apply, vm, socket, e))
			return -1;
	}
	return 0;
}

/* What is wrong with the guest is in the result: the grant is made. */
static void bring(struct service *s, struct machine *m)
{
	struct err ignored = {0};

	(void)!apply_sync(s->apply, m, deadline_in_ms(SYNC_MS), &ignored);
}

static int grant(struct granting *g, struct machine *m, const json_t *args,
		 json_t **ret_result, struct err *e)
{
	struct service *s = call_service(g->call);
	enum granting_outcome outcome;

	if (granting_ask(g, &outcome, e))
		return -1;
	if (outcome == GRANTING_PENDING) {
		*ret_result = pending_result(g);
		return 0;
	}
	if (take_session(s, g->vm, args, &g->set, e) ||
	    (outcome == GRANTING_AGREED && granting_store(g, e)) ||
	    check_still_there(s, g->vm, e))
		return -1;
	bring(s, m);
	return granted_result(s, g,
			      outcome == GRANTING_HELD ? "held" : "granted",
			      ret_result, e);
}

static int grant_texts(struct call *c, const json_t *args, const json_t *texts,
		       json_t **ret_result, struct err *e)
{
	struct granting g = {.call = c};
	struct machine *m;
	int rc;

	if (json_get_str(args, "vm", &g.vm, e) ||
	    machines_get(call_service(c)->machines, c, g.vm, &m, e))
		return -1;
	rc = granting_parse(&g, args, texts, e);
	if (rc == 0)
		rc = grant(&g, m, args, ret_result, e);
	granting_finish(&g);
	return rc;
}

int op_vm_grant(struct call *c, const json_t *args, json_t **ret_result,
		struct err *e)
{
	return grant_texts(c, args, json_object_get(args, "grants"), ret_result,
			   e);
}

/* -- with new ---------------------------------------------------------------- */

int grant_new_ask(struct call *c, const char *vm, const json_t *args,
		  struct granting *g, struct err *e)
{
	const json_t *texts = json_object_get(args, "grant");
	struct service *s = call_service(c);
	enum granting_outcome outcome;

	*g = (struct granting){
		.call = c, .vm = vm, .occasion = CONFIRM_NEW};
	/* a name of before may have left something, a crash at its removal */
	if (apply_forget(s->apply, vm, e))
		return -1;
	if (json_array_size(texts) == 0)
		return 0;
	return granting_parse(g, args, texts, e) ||
			       granting_ask(g, &outcome, e)
		       ? -1
		       : 0;
}

int grant_new_store(struct granting *g, const json_t *args, struct err *e)
{
	struct service *s = call_service(g->call);

	if (g->rest.count == 0)
		return 0;
	return take_session(s, g->vm, args, &g->set, e) ||
			       granting_store(g, e)
		       ? -1
		       : 0;
}

/* -- revoke ------------------------------------------------------------------ */

struct revoked {
	struct call *call;
	json_t *texts;
};

static void note_revoked(const struct store_grant *g, void *ctx)
{
	struct revoked *r = ctx;
	const struct event ev = {
		.what = EVENT_REVOKED,
		.vm = g->vm,
		.text = g->text,
		.client = call_client(r->call),
		.agent = call_from_agent(r->call),
	};

	json_array_append_new(r->texts, json_string(g->text));
	audit_event(call_service(r->call)->audit, event_json(&ev));
}

static int revoke_one(struct service *s, const char *vm, const char *typed,
		      struct revoked *r, struct err *e)
{
	autofree char *text = policy_spelling(typed);
	struct err why = {0};

	if (store_revoke(s->grants, vm, text, note_revoked, r, &why) == 0)
		return 0;
	/* what it is a link to now is not what it was then */
	if (why.code == ERR_NOT_FOUND && strcmp(text, typed) != 0 &&
	    store_revoke(s->grants, vm, typed, note_revoked, r, NULL) == 0)
		return 0;
	*e = why;
	return -1;
}

static int revoke_named(struct revoked *r, const char *vm, const json_t *args,
		  struct err *e)
{
	const json_t *which = json_object_get(args, "grants");
	struct service *s = call_service(r->call);
	bool all = false;
	int rc = 0;

	if (json_opt_bool(args, "all", &all, e))
		return -1;
	if (all == (json_array_size(which) > 0))
		return err_set(e, ERR_INVALID,
			       "say which grants, or all of them (boxery grants "
			       "%s shows them)",
			       vm);
	if (all)
		return store_revoke(s->grants, vm, NULL, note_revoked, r, e);
	/* of several, one that is not there must not save the others */
	for (size_t i = 0; i < json_array_size(which); i++) {
		struct err why = {0};

		if (revoke_one(s, vm,
			       json_string_value(json_array_get(which, i)), r,
			       &why) &&
		    rc == 0) {
			*e = why;
			rc = -1;
		}
	}
	return rc;
}

/* The guest has it no more, or it is said that this is not known. */
static void withdraw(struct service *s, struct machine *m, json_t *result)
{
	autofree char *text = NULL;
	struct err why = {0};

	if (apply_sync(s->apply, m, deadline_in_ms(SYNC_MS), &why) == 0 ||
	    why.code == ERR_STATE)
		return; /* in one that is off nothing is left */
	text = alloc_printf("the guest may still have what it was given, and "
			    "is told again later: %s",
			    err_msg(&why));
	json_object_set_new(result, "problem", json_string(text));
}

static int revoke_texts(struct call *c, const json_t *args,
			json_t **ret_result, struct err *e)
{
	struct service *s = call_service(c);
	struct revoked r = {.call = c};
	struct machine *m;
	const char *vm;
	int rc;

	if (json_get_str(args, "vm", &vm, e) ||
	    machines_get(s->machines, c, vm, &m, e))
		return -1;
	r.texts = json_array();
	rc = revoke_named(&r, vm, args, e);
	*ret_result = json_pack("{s:s, s:o}", "vm", vm, "revoked", r.texts);
	if (rc == 0 || json_array_size(r.texts) > 0)
		withdraw(s, m, *ret_result);
	return rc;
}

int op_vm_revoke(struct call *c, const json_t *args, json_t **ret_result,
		 struct err *e)
{
	return revoke_texts(c, args, ret_result, e);
}

/* -- the ssh agent ----------------------------------------------------------- */

int op_agent_forward(struct call *c, const json_t *args, json_t **ret_result,
		     struct err *e)
{
	auto_json json_t *texts = json_pack("[s]", "ssh-agent");
	auto_json json_t *off = NULL;
	auto_json json_t *revoked = NULL;
	struct err why = {0};
	const char *state, *vm;

	if (json_get_str(args, "state", &state, e) ||
	    json_get_str(args, "vm", &vm, e))
		return -1;
	if (strcmp(state, "on") == 0)
		return grant_texts(c, args, texts, ret_result, e);
	off = json_pack("{s:s, s:O}", "vm", vm, "grants", texts);
	/* off is what it may have been already */
	if (revoke_texts(c, off, &revoked, &why) &&
	    (why.code != ERR_NOT_FOUND || !revoked)) {
		*e = why;
		return -1;
	}
	*ret_result = TAKE_PTR(revoked);
	return 0;
}

/* -- grants ------------------------------------------------------------------ */

struct listing {
	struct call *call;
	json_t *rows;
	char vm[LIMIT_NAME_LEN + 1]; /* of the last row; they come in order */
	bool runs;
};

/* What a guest got, it had until it stopped. */
static bool is_running(struct listing *l, const char *vm)
{
	struct backend *b = call_service(l->call)->backend;
	enum machine_state state = MACHINE_OFF;

	if (strcmp(l->vm, vm) != 0) {
		snprintf(l->vm, sizeof(l->vm), "%s", vm);
		/* nobody to ask: what is known of the guest is told */
		l->runs = b->ops->state(b, vm, &state, NULL) != 0 ||
			  state == MACHINE_RUNNING || state == MACHINE_PAUSED;
	}
	return l->runs;
}

static void add_state(struct listing *l, json_t *row,
		      const struct store_grant *g)
{
	struct apply *apply = call_service(l->call)->apply;
	autofree char *place = apply_place(&g->grant);
	autofree char *why = NULL;
	bool ok = false;

	if (is_proxied(&g->grant)) {
		json_object_set_new(row, "state", json_string("proxied"));
		return;
	}
	if (is_running(l, g->vm))
		ok = apply_state(apply, g, &why);
	else
		why = alloc_printf("%s is off", g->vm);
	json_object_set_new(row, "state",
			    json_string(ok ? "applied" : "unapplied"));
	if (!ok)
		json_object_set_new(row, "why", json_string(why));
	else if (place)
		json_object_set_new(row, "place", json_string(place));
}

static void add_row(const struct store_grant *g, void *ctx)
{
	struct listing *l = ctx;
	autofree char *by = alloc_printf("%s (%s)", g->approved_by, g->how);
	char until[TERMS_TIME_SIZE];
	json_t *row;

	if (!call_may_use_vm(l->call, g->vm))
		return;
	row = json_pack("{s:s, s:s, s:s}", "id", g->id, "vm", g->vm, "grant",
			g->text);
	add_state(l, row, g);
	if (g->end_s)
		json_object_set_new(
			row, "until",
			json_string(terms_print_time(g->end_s, until)));
	if (g->uses_left != TERMS_USES_ANY)
		json_object_set_new(row, "uses_left",
				    json_integer(g->uses_left));
	json_object_set_new(row, "used", json_integer(g->used));
	json_object_set_new(row, "by", json_string(by));
	json_array_append_new(l->rows, row);
}

int op_vm_grants(struct call *c, const json_t *args, json_t **ret_result,
		 struct err *e)
{
	struct service *s = call_service(c);
	struct listing l = {.call = c};
	const char *vm = NULL;
	struct machine *m;
	int rc;

	if (json_opt_str(args, "vm", &vm, e) ||
	    (vm && machines_get(s->machines, c, vm, &m, e)))
		return -1;
	l.rows = json_array();
	rc = store_list(s->grants, vm, time(NULL), add_row, &l, e);
	if (rc == 0)
		*ret_result = json_pack("{s:O}", "rows", l.rows);
	json_decref(l.rows);
	return rc;
}
