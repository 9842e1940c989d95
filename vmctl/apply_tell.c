#include "vmctl/apply_impl.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/db.h"
#include "base/secret.h"
#include "grants/envfile.h"
#include "grants/event.h"
#include "grants/policy.h"
#include "vmctl/agentfwd.h"
#include "vmctl/applywire.h"
#include "vmctl/audit.h"
#include "vmctl/guest.h"
#include "vmctl/service.h"

#include <string.h>
#include <time.h>

#define WIRE_CAP \
	((size_t)LIMIT_GRANTS_PER_VM_COUNT * (LIMIT_GRANT_FILE_LEN + 4096))

/* -- what the guest is to have ----------------------------------------------- */

struct plan {
	struct apply *apply;
	struct vmstate *v;
	int64_t now_s;
	struct applywire_item *items;
	struct grant *grants; /* of items[i] */
	struct secret **values;
	char **problems; /* why there is no value; such an item is not sent */
	size_t count;
	char agent_id[EDGE_ID_LEN + 1]; /* "": none */
};

static void plan_finish(struct plan *p)
{
	for (size_t i = 0; i < p->count; i++) {
		grant_finish(&p->grants[i]);
		secret_free(p->values[i]);
		free(p->problems[i]);
	}
	free(p->items);
	free(p->grants);
	free(p->values);
	free(p->problems);
}

static void plan_add(const struct store_grant *g, void *ctx)
{
	struct plan *p = ctx;
	size_t n = p->count;
	struct applywire_item *i;

	if (g->grant.kind == GRANT_SSH_AGENT)
		memcpy(p->agent_id, g->id, sizeof(p->agent_id));
	if (g->grant.kind != GRANT_ENV && g->grant.kind != GRANT_FILE)
		return;
	p->items = alloc_resize(p->items, n + 1, sizeof(*p->items));
	p->grants = alloc_resize(p->grants, n + 1, sizeof(*p->grants));
	/* pointers: NOLINTNEXTLINE(bugprone-sizeof-expression) */
	p->values = alloc_resize(p->values, n + 1, sizeof(*p->values));
	p->problems = alloc_resize(p->problems, n + 1, sizeof(*p->problems));
	p->values[n] = NULL;
	p->problems[n] = NULL;
	p->grants[n] = grant_copy(&g->grant);
	i = &p->items[n];
	*i = (struct applywire_item){.kind = APPLYWIRE_ENV};
	memcpy(i->id, g->id, sizeof(i->id));
	if (g->grant.kind == GRANT_FILE)
		i->kind = g->grant.target ? APPLYWIRE_LINK : APPLYWIRE_FILE;
	i->left_s = g->end_s ? g->end_s - p->now_s : 0;
	p->count++;
}

static struct secret *value_from_terminal(struct plan *p, const char *name)
{
	struct secret *copy = NULL;

	pthread_mutex_lock(&p->apply->lock);
	for (struct value *at = p->v->values; at; at = at->next) {
		if (strcmp(at->name, name) == 0)
			copy = secret_copy(secret_const_bytes(at->secret),
					   secret_len(at->secret));
	}
	pthread_mutex_unlock(&p->apply->lock);
	return copy;
}

static int read_env(struct plan *p, const char *name, struct secret **ret,
		    struct err *e)
{
	if (envfile_get(&p->apply->service->home, name, ret, e))
		return -1;
	if (!*ret)
		*ret = value_from_terminal(p, name);
	if (!*ret)
		return 0; /* the guest may have it from before */
	return policy_check_value(name, secret_const_bytes(*ret),
				  secret_len(*ret), e);
}

static void read_values(struct plan *p)
{
	const struct home *h = &p->apply->service->home;

	for (size_t i = 0; i < p->count; i++) {
		const struct grant *g = &p->grants[i];
		struct err why = {0};
		const char *slash;
		int rc;

		if (g->kind == GRANT_ENV)
			rc = read_env(p, g->name, &p->values[i], &why);
		else
			rc = policy_read_file(h, g->name, &p->values[i], &why);
		if (rc)
			p->problems[i] = alloc_str(err_msg(&why));
		slash = strrchr(g->name, '/');
		p->items[i].name = g->target ? g->target
				   : slash   ? slash + 1
					     : g->name;
		p->items[i].value = p->values[i];
	}
}

/* -- telling the guest ------------------------------------------------------- */

static int ask_guest(const struct plan *p, struct guest *g,
		     const struct buf *in, struct buf *out, struct deadline d,
		     struct err *e)
{
	static const char *const argv[] = {"sh", "-c", applywire_script, NULL};
	const struct guest_run run = {
		.argv = argv,
		.in = in->data,
		.in_len = in->len,
		.out = out,
		.cancel_fd = p->apply->stop_fd,
	};
	struct guest_exit how = {.status = -1};

	if (guest_run(g, &run, d, &how, e))
		return -1;
	if (how.status != 0)
		return err_set(e, ERR_STATE,
			       "the guest's shell could not do it (status %d)",
			       how.status);
	return 0;
}

/* Those that have something to be sent, in a row of their own. */
static int tell_guest(struct plan *p, struct guest *g, struct deadline d,
		      struct err *e)
{
	autofree struct applywire_item *sent =
		alloc_array(p->count + 1, sizeof(*sent));
	size_t count = 0;
	struct buf in, out;
	int rc;

	for (size_t i = 0; i < p->count; i++) {
		if (!p->problems[i])
			sent[count++] = p->items[i];
	}
	buf_init(&in, WIRE_CAP);
	buf_init(&out, APPLYWIRE_ANSWER_CAP);
	rc = applywire_print(&in, sent, count, e);
	if (rc == 0)
		rc = ask_guest(p, g, &in, &out, d, e);
	if (rc == 0)
		rc = applywire_parse(out.data, out.len, sent, count, e);
	/* what was done before it failed is known all the same */
	for (size_t i = 0, k = 0; i < p->count; i++) {
		if (!p->problems[i])
			p->items[i] = sent[k++];
	}
	secret_wipe(in.data, in.len);
	buf_finish(&in);
	buf_finish(&out);
	return rc;
}

static bool was_ok(const struct vmstate *v, const char *id)
{
	for (size_t i = 0; i < v->outcome_count; i++) {
		if (strcmp(v->outcomes[i].id, id) == 0)
			return v->outcomes[i].ok;
	}
	return false;
}

static void note_applied(struct plan *p, size_t i, bool ok)
{
	autofree char *text = grant_print(&p->grants[i]);
	const struct event ev = {
		.what = EVENT_APPLIED,
		.vm = p->v->vm,
		.text = text,
		.outcome = ok ? "ok" : "unapplied",
	};

	audit_event(p->apply->service->audit, event_json(&ev));
}

/* failed: what the guest as a whole said, or NULL. */
static void keep_outcomes(struct plan *p, const struct err *failed)
{
	struct outcome *fresh = alloc_array(p->count + 1, sizeof(*fresh));

	for (size_t i = 0; i < p->count; i++) {
		const struct applywire_item *item = &p->items[i];
		const char *why = p->problems[i] ? p->problems[i] : item->why;

		if (!item->ok && !why)
			why = failed ? err_msg(failed) : "the guest said nothing";
		memcpy(fresh[i].id, item->id, sizeof(fresh[i].id));
		fresh[i].ok = item->ok;
		fresh[i].why = item->ok ? NULL : alloc_str(why);
		if (item->ok != was_ok(p->v, item->id) || !item->ok)
			note_applied(p, i, item->ok);
	}
	pthread_mutex_lock(&p->apply->lock);
	apply_drop_outcomes(p->v);
	p->v->outcomes = fresh;
	p->v->outcome_count = p->count;
	pthread_mutex_unlock(&p->apply->lock);
}

/* -- the ssh agent ----------------------------------------------------------- */

static int take_socket(sqlite3_stmt *row, void *ctx, struct err *e)
{
	(void)e;
	*(char **)ctx = alloc_str((const char *)sqlite3_column_text(row, 0));
	return 0;
}

/* The turn is ours. Replaced only where the grant or the agent is another. */
static void sync_agent(struct plan *p, struct vmstate *v)
{
	struct apply *a = p->apply;
	autofree char *socket = NULL;
	struct agentfwd *before, *fresh;

	if (p->agent_id[0] &&
	    db_query(a->service->db, take_socket, &socket, NULL,
		     "SELECT socket FROM vm_agent WHERE vm = ?1", "s", v->vm))
		return;
	if (v->agent && socket &&
	    agentfwd_is_for(v->agent, socket, p->agent_id)) {
		agentfwd_retry(v->agent);
		return;
	}
	pthread_mutex_lock(&a->lock);
	before = TAKE_PTR(v->agent);
	pthread_mutex_unlock(&a->lock);
	agentfwd_free(before);
	if (!socket)
		return;
	fresh = agentfwd_new(a->service, v->vm, socket, p->agent_id);
	pthread_mutex_lock(&a->lock);
	v->agent = fresh;
	pthread_mutex_unlock(&a->lock);
}
/* -- all --------------------------------------------------------------------- */

int apply_tell(struct apply *a, struct vmstate *v, struct guest *g,
	       const struct err *off, struct deadline d, struct err *e)
{
	struct plan p = {.apply = a, .v = v, .now_s = time(NULL)};
	struct err why = off ? *off : (struct err){0};
	int rc = store_list(a->service->grants, v->vm, p.now_s, plan_add, &p,
			    e);

	if (rc == 0) {
		read_values(&p);
		sync_agent(&p, v);
		rc = g ? tell_guest(&p, g, d, &why) : -1;
		keep_outcomes(&p, rc ? &why : NULL);
		if (rc)
			*e = why;
	}
	plan_finish(&p);
	return rc;
}
