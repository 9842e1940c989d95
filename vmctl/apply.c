/*
 * One struct vmstate a VM that something was ever done for: the outcome of the
 * last sync, values from terminals, its ssh agent's forwarding. `busy` is the
 * turn of who syncs: it is taken under the lock and the guest is talked to
 * without it. A sync reads the store after it got its turn, so the last one to
 * end left the guest with what the store said last.
 *
 * What is withdrawn from a guest that does not answer is withdrawn all the
 * same: the store and the proxy's files have changed, the guest's own timer
 * ends what had an end, and `dirty` has the thread try again.
 */
#include "vmctl/apply_impl.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/db.h"
#include "base/secret.h"
#include "grants/approval.h"
#include "grants/token.h"
#include "vmctl/agentfwd.h"
#include "vmctl/guest.h"
#include "vmctl/machines.h"
#include "vmctl/service.h"

#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define GUEST_DIR "/run/user/UID/boxery-grants"

/* -- states ------------------------------------------------------------------ */

struct apply *apply_new(struct service *s)
{
	struct apply *a = ALLOC_NEW(struct apply);
	pthread_condattr_t attr;

	a->service = s;
	a->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (a->stop_fd < 0)
		alloc_fail("no eventfd");
	pthread_mutex_init(&a->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&a->changed, &attr);
	pthread_condattr_destroy(&attr);
	return a;
}

void apply_drop_outcomes(struct vmstate *v)
{
	for (size_t i = 0; i < v->outcome_count; i++)
		free(v->outcomes[i].why);
	free(v->outcomes);
	v->outcomes = NULL;
	v->outcome_count = 0;
}

static void drop_values(struct vmstate *v)
{
	struct value *next;

	for (struct value *at = v->values; at; at = next) {
		next = at->next;
		free(at->name);
		secret_free(at->secret);
		free(at);
	}
	v->values = NULL;
}

void apply_free(struct apply *a)
{
	struct vmstate *next;

	if (!a)
		return;
	if (a->started) {
		pthread_mutex_lock(&a->lock);
		a->ending = true;
		pthread_cond_broadcast(&a->changed);
		pthread_mutex_unlock(&a->lock);
		eventfd_write(a->stop_fd, 1);
		pthread_join(a->thread, NULL);
	}
	for (struct vmstate *v = a->list; v; v = next) {
		next = v->next;
		agentfwd_free(v->agent);
		apply_drop_outcomes(v);
		drop_values(v);
		free(v);
	}
	close(a->stop_fd);
	pthread_mutex_destroy(&a->lock);
	pthread_cond_destroy(&a->changed);
	free(a);
}

/* Lock held. */
static struct vmstate *state_of(struct apply *a, const char *vm)
{
	struct vmstate *v = a->list;

	while (v && strcmp(v->vm, vm) != 0)
		v = v->next;
	if (v)
		return v;
	v = ALLOC_NEW(struct vmstate);
	snprintf(v->vm, sizeof(v->vm), "%s", vm);
	v->next = a->list;
	a->list = v;
	return v;
}

static int take_turn(struct apply *a, const char *vm, struct deadline d,
		     struct vmstate **ret, struct err *e)
{
	struct timespec until = deadline_timespec(d);
	struct vmstate *v;
	int rc = 0;

	pthread_mutex_lock(&a->lock);
	v = state_of(a, vm);
	while (v->busy && !deadline_passed(d))
		pthread_cond_timedwait(&a->changed, &a->lock, &until);
	if (v->busy)
		rc = err_set(e, ERR_BUSY,
			     "%s is being told what it may use: try again", vm);
	else
		v->busy = true;
	pthread_mutex_unlock(&a->lock);
	*ret = v;
	return rc;
}

/* dirty: to be tried again. */
static void end_turn(struct apply *a, struct vmstate *v, bool dirty)
{
	pthread_mutex_lock(&a->lock);
	v->busy = false;
	v->dirty = dirty;
	if (dirty)
		a->retry = deadline_in_ms(APPLY_RETRY_MS);
	pthread_cond_broadcast(&a->changed);
	pthread_mutex_unlock(&a->lock);
}

void apply_poke(struct apply *a)
{
	pthread_mutex_lock(&a->lock);
	a->poked = true;
	pthread_cond_broadcast(&a->changed);
	pthread_mutex_unlock(&a->lock);
}

void apply_set_value(struct apply *a, const char *vm, const char *name,
		     const char *value)
{
	struct vmstate *v;
	struct value *at;

	pthread_mutex_lock(&a->lock);
	v = state_of(a, vm);
	for (at = v->values; at && strcmp(at->name, name) != 0; at = at->next)
		;
	if (!at) {
		at = ALLOC_NEW(struct value);
		at->name = alloc_str(name);
		at->next = v->values;
		v->values = at;
	}
	secret_free(at->secret);
	at->secret = secret_copy(value, strlen(value));
	pthread_mutex_unlock(&a->lock);
}

int apply_set_agent(struct apply *a, const char *vm, const char *socket,
		    struct err *e)
{
	if (agentfwd_check_socket(socket, e))
		return -1;
	return db_exec(a->service->db, e,
		       "INSERT INTO vm_agent (vm, socket) VALUES (?1, ?2) ON "
		       "CONFLICT (vm) DO UPDATE SET socket = ?2",
		       "ss", vm, socket);
}
/* -- sync -------------------------------------------------------------------- */

/* May it be otherwise the next time? */
bool apply_is_worth_again(const struct err *e)
{
	return e->code == ERR_UNAVAILABLE || e->code == ERR_TIMEOUT ||
	       e->code == ERR_PROTOCOL || e->code == ERR_BUSY;
}

static int tell_and_end(struct apply *a, struct vmstate *v, struct guest *g,
			const struct err *off, struct deadline d,
			struct err *e)
{
	int rc = apply_tell(a, v, g, off, d, e);

	end_turn(a, v, rc && apply_is_worth_again(e));
	return rc;
}

int apply_sync_quietly(struct apply *a, struct machine *m, struct deadline d,
		       struct err *e)
{
	struct err off = {0};
	struct guest *g = NULL;
	struct vmstate *v;

	if (take_turn(a, machine_name(m), d, &v, e))
		return -1;
	if (machine_guest(m, &g, &off))
		g = NULL;
	return tell_and_end(a, v, g, g ? NULL : &off, d, e);
}

int apply_sync(struct apply *a, struct machine *m, struct deadline d,
	       struct err *e)
{
	apply_poke(a);
	return apply_sync_quietly(a, m, d, e);
}

int apply_ready(struct apply *a, struct machine *m, struct guest *g,
		struct deadline d, struct err *e)
{
	auto_secret struct secret *token = NULL;
	const char *vm = machine_name(m);
	struct vmstate *v;

	/* from here on the one before is void: a revert may have brought back
	 * a guest that still has it */
	if (token_mint(a->service->db, &a->service->home, vm, time(NULL),
		       &token, e) ||
	    take_turn(a, vm, d, &v, e))
		return -1;
	return tell_and_end(a, v, g, NULL, d, e);
}

void apply_cut(struct apply *a, const char *vm)
{
	struct agentfwd *agent;

	pthread_mutex_lock(&a->lock);
	agent = TAKE_PTR(state_of(a, vm)->agent);
	pthread_mutex_unlock(&a->lock);
	agentfwd_free(agent);
}

int apply_forget(struct apply *a, const char *vm, struct err *e)
{
	struct service *s = a->service;
	struct vmstate *v;

	if (store_forget_vm(s->grants, vm, e) ||
	    token_revoke(s->db, &s->home, vm, e) ||
	    approval_forget_vm(s->db, vm, e) ||
	    db_exec(s->db, e, "DELETE FROM vm_agent WHERE vm = ?1", "s", vm))
		return -1;
	apply_cut(a, vm);
	pthread_mutex_lock(&a->lock);
	v = state_of(a, vm);
	v->dirty = false;
	drop_values(v);
	if (!v->busy)
		apply_drop_outcomes(v);
	pthread_mutex_unlock(&a->lock);
	return 0;
}
/* -- what there is to say ---------------------------------------------------- */

char *apply_place(const struct grant *g)
{
	const char *slash;

	switch (g->kind) {
	case GRANT_ENV:
		return alloc_printf("$%s", g->name);
	case GRANT_FILE:
		slash = strrchr(g->name, '/');
		return g->target ? alloc_str(g->target)
				 : alloc_printf(GUEST_DIR "/files/%s",
						slash ? slash + 1 : g->name);
	case GRANT_SSH_AGENT:
		return alloc_str("$SSH_AUTH_SOCK");
	case GRANT_LLM:
	case GRANT_HTTP:
	case GRANT_GITHUB:
	case GRANT_KIND_COUNT:
	default:
		return NULL;
	}
}

static bool agent_state(const struct vmstate *v, char **ret_why)
{
	if (v->agent)
		return agentfwd_state(v->agent, ret_why);
	*ret_why = alloc_str("no ssh agent is known: boxery agent-forward on, "
			     "from a shell that has one (ssh-add -l)");
	return false;
}

bool apply_state(struct apply *a, const struct store_grant *g, char **ret_why)
{
	struct vmstate *v;
	bool ok = false;

	*ret_why = NULL;
	pthread_mutex_lock(&a->lock);
	v = state_of(a, g->vm);
	if (g->grant.kind == GRANT_SSH_AGENT)
		ok = agent_state(v, ret_why);
	for (size_t i = 0; i < v->outcome_count; i++) {
		if (strcmp(v->outcomes[i].id, g->id) != 0)
			continue;
		ok = v->outcomes[i].ok;
		*ret_why = ok ? NULL : alloc_str(v->outcomes[i].why);
	}
	pthread_mutex_unlock(&a->lock);
	if (!ok && !*ret_why)
		*ret_why = alloc_str("the guest was not told yet");
	return ok;
}
