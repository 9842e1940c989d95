/* What agents asked for and a person answers in a terminal; and panic. */
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "grants/event.h"
#include "grants/store.h"
#include "grants/token.h"
#include "vmctl/apply.h"
#include "vmctl/audit.h"
#include "vmctl/backend.h"
#include "vmctl/granting.h"
#include "vmctl/handlers.h"
#include "vmctl/machines.h"
#include "vmctl/registry.h"
#include "vmctl/service.h"

#include <string.h>
#include <time.h>

#define SYNC_MS 10000

/* -- approvals --------------------------------------------------------------- */

static void add_row(const struct approval *a, void *rows)
{
	autofree char *terms = terms_print(&a->terms);
	char expires[TERMS_TIME_SIZE];
	json_t *row = json_pack("{s:s, s:s, s:o, s:s, s:s}", "id", a->id, "vm",
				a->vm, "grants", grantset_json(&a->set),
				"client", a->client, "expires",
				terms_print_time(a->expires_s, expires));

	if (terms[0])
		json_object_set_new(row, "terms", json_string(terms));
	json_array_append_new(rows, row);
}

int op_approvals(struct call *c, const json_t *args, json_t **ret_result,
		 struct err *e)
{
	auto_json json_t *rows = json_array();

	(void)args;
	if (approval_list(call_service(c)->db, time(NULL), add_row, rows, e))
		return -1;
	*ret_result = json_pack("{s:O}", "rows", rows);
	return 0;
}

static bool has_agent(const struct grantset *set)
{
	for (size_t i = 0; i < set->count; i++) {
		if (set->grants[i].kind == GRANT_SSH_AGENT)
			return true;
	}
	return false;
}

static int approve(struct granting *g, const char *socket, struct err *e)
{
	struct service *s = call_service(g->call);
	struct err ignored = {0};
	struct machine *m;

	if (machines_get(s->machines, g->call, g->vm, &m, e) ||
	    granting_approve(g, e))
		return -1;
	if (socket && has_agent(&g->rest) &&
	    apply_set_agent(s->apply, g->vm, socket, e))
		return -1;
	if (granting_store(g, e))
		return -1;
	(void)!apply_sync(s->apply, m, deadline_in_ms(SYNC_MS), &ignored);
	return 0;
}

int op_approve(struct call *c, const json_t *args, json_t **ret_result,
	       struct err *e)
{
	struct granting g = {.call = c};
	const char *id, *socket = NULL;
	int rc;

	if (json_get_str(args, "id", &id, e) ||
	    json_opt_str(args, "agent_socket", &socket, e) ||
	    approval_get(call_service(c)->db, id, time(NULL), &g.approval, e))
		return -1;
	g.vm = g.approval.vm;
	rc = approve(&g, socket, e);
	if (rc == 0)
		*ret_result = json_pack("{s:s, s:s, s:o}", "vm", g.vm, "state",
					"granted", "grants",
					grantset_json(&g.rest));
	granting_finish(&g);
	return rc;
}

int op_deny(struct call *c, const json_t *args, json_t **ret_result,
	    struct err *e)
{
	struct service *s = call_service(c);
	struct approval a = {0};
	const char *id;
	int rc;

	if (json_get_str(args, "id", &id, e) ||
	    approval_get(s->db, id, time(NULL), &a, e))
		return -1;
	rc = approval_decide(s->db, id, false, call_client(c), time(NULL), e);
	if (rc == 0) {
		const struct event ev = {
			.what = EVENT_ANSWERED,
			.vm = a.vm,
			.set = &a.set,
			.client = call_client(c),
			.way = "deny",
			.outcome = "no",
			.approval = id,
		};

		audit_event(s->audit, event_json(&ev));
		*ret_result = json_pack("{s:s, s:b}", "id", id, "denied", 1);
	}
	approval_finish(&a);
	return rc;
}

/* -- panic ------------------------------------------------------------------- */

struct panic {
	struct call *call;
	json_t *revoked, *paused;
	char *problem; /* the first */
};

static void note_revoked(const struct store_grant *g, void *ctx)
{
	struct panic *p = ctx;
	const struct event ev = {
		.what = EVENT_REVOKED,
		.vm = g->vm,
		.text = g->text,
		.client = call_client(p->call),
		.way = "panic",
	};

	json_array_append_new(p->revoked,
			      json_sprintf("%s: %s", g->vm, g->text));
	audit_event(call_service(p->call)->audit, event_json(&ev));
}

static void note_problem(struct panic *p, const char *what,
			 const struct err *why)
{
	log_error("panic: %s: %s", what, err_msg(why));
	if (!p->problem)
		p->problem = alloc_printf("%s: %s", what, err_msg(why));
}

/* Whatever fails, the rest is done: the power is what is left then. */
static void stop_one(struct panic *p, const char *vm)
{
	struct service *s = call_service(p->call);
	struct backend *b = s->backend;
	enum machine_state state;
	struct machine *m;
	struct err e = {0};

	apply_cut(s->apply, vm);
	if (token_revoke(s->db, &s->home, vm, &e) ||
	    approval_forget_vm(s->db, vm, &e))
		note_problem(p, vm, &e);
	e = (struct err){0};
	if (b->ops->state(b, vm, &state, &e) ||
	    (state == MACHINE_RUNNING && b->ops->pause(b, vm, &e)))
		note_problem(p, vm, &e);
	else if (state == MACHINE_RUNNING)
		json_array_append_new(p->paused, json_string(vm));
	e = (struct err){0};
	if (machines_get(s->machines, p->call, vm, &m, &e) == 0)
		machine_drop(m);
}

int op_panic(struct call *c, const json_t *args, json_t **ret_result,
	     struct err *e)
{
	struct service *s = call_service(c);
	struct panic p = {
		.call = c, .revoked = json_array(), .paused = json_array()};
	struct vm_records all = {0};
	struct err why = {0};

	(void)args;
	(void)e;
	if (store_revoke(s->grants, NULL, NULL, note_revoked, &p, &why))
		note_problem(&p, "grants", &why);
	why = (struct err){0};
	if (registry_copy(s->registry, &all, &why))
		note_problem(&p, "VMs", &why);
	for (size_t i = 0; i < all.count; i++)
		stop_one(&p, all.list[i].name);
	vm_records_finish(&all);
	apply_poke(s->apply);
	*ret_result = json_pack("{s:o, s:o}", "revoked", p.revoked, "paused",
				p.paused);
	if (p.problem)
		json_object_set_new(*ret_result, "problem",
				    json_string(p.problem));
	free(p.problem);
	return 0;
}
