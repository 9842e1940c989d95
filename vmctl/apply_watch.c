#include "vmctl/apply_impl.h"

#include "base/alloc.h"
#include "base/log.h"
#include "grants/event.h"
#include "vmctl/audit.h"
#include "vmctl/machines.h"
#include "vmctl/service.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SYNC_MS 30000
/* clocks are set, and hosts sleep: never trust a longer wait than this */
#define LOOK_MS 60000

struct names {
	char (*names)[LIMIT_NAME_LEN + 1];
	size_t count;
};

static void add_name(struct names *n, const char *vm)
{
	for (size_t i = 0; i < n->count; i++) {
		if (strcmp(n->names[i], vm) == 0)
			return;
	}
	n->names = alloc_resize(n->names, n->count + 1, sizeof(*n->names));
	snprintf(n->names[n->count++], sizeof(*n->names), "%s", vm);
}

struct ended {
	struct apply *apply;
	struct names names;
};

static void note_ended(const struct store_grant *g, void *ctx)
{
	struct ended *x = ctx;
	const struct event ev = {
		.what = EVENT_EXPIRED,
		.vm = g->vm,
		.text = g->text,
	};

	add_name(&x->names, g->vm);
	audit_event(x->apply->service->audit, event_json(&ev));
}

static void note_held(const struct store_grant *g, void *ctx)
{
	add_name(&((struct ended *)ctx)->names, g->vm);
}

static void add_dirty(struct apply *a, struct names *n)
{
	pthread_mutex_lock(&a->lock);
	for (struct vmstate *v = a->list; v; v = v->next) {
		if (v->dirty)
			add_name(n, v->vm);
	}
	pthread_mutex_unlock(&a->lock);
}

static void sync_named(struct apply *a, const char *vm)
{
	struct machines *all = a->service->machines;
	struct machine *m;
	struct err e = {0};

	if (machines_borrow(all, a, vm, &m, &e) == 0) {
		if (apply_sync_quietly(a, m, deadline_in_ms(SYNC_MS), &e) &&
		    apply_is_worth_again(&e))
			log_info("%s: was not told what it may use: %s", vm,
				 err_msg(&e));
		machines_return(all, a);
	}
}

/* What ended; and, at first, whatever is held: of a service that died nobody
 * knows how far it came. */
static void work(struct apply *a, bool first)
{
	struct ended x = {.apply = a};
	int64_t now_s = time(NULL);
	struct err e = {0};

	if (store_expire(a->service->grants, now_s, note_ended, &x, &e) ||
	    (first && store_list(a->service->grants, NULL, now_s, note_held,
				 &x, &e)))
		log_error("grants: %s", err_msg(&e));
	add_dirty(a, &x.names);
	for (size_t i = 0; i < x.names.count; i++)
		sync_named(a, x.names.names[i]);
	free(x.names.names);
}

/* Lock held: does some guest wait to be told again? */
static bool any_dirty(const struct apply *a)
{
	for (const struct vmstate *v = a->list; v; v = v->next) {
		if (v->dirty)
			return true;
	}
	return false;
}

static int64_t pause_ms(struct apply *a)
{
	int64_t end_s = 0, ms = LOOK_MS, left_ms;
	struct err e = {0};

	if (store_next_end(a->service->grants, &end_s, &e))
		log_error("grants: %s", err_msg(&e));
	if (end_s) {
		left_ms = (end_s - time(NULL)) * 1000;
		ms = left_ms < 0 ? 0 : left_ms < ms ? left_ms : ms;
	}
	return ms;
}

/* Until something ends, or is to be tried again; lock held. Somebody may turn
 * dirty meanwhile. */
static bool is_due(struct apply *a, struct deadline d, struct timespec *ret)
{
	struct deadline next = any_dirty(a) ? deadline_min(d, a->retry) : d;

	*ret = deadline_timespec(next);
	return a->ending || a->poked || deadline_passed(next);
}

/* False at the end. */
static bool sleep_until_due(struct apply *a)
{
	struct deadline d = deadline_in_ms(pause_ms(a));
	struct timespec until;
	bool ending;

	pthread_mutex_lock(&a->lock);
	while (!is_due(a, d, &until))
		pthread_cond_timedwait(&a->changed, &a->lock, &until);
	a->poked = false;
	ending = a->ending;
	pthread_mutex_unlock(&a->lock);
	return !ending;
}

static void *run(void *arg)
{
	struct apply *a = arg;
	bool first = true;

	do {
		work(a, first);
		first = false;
	} while (sleep_until_due(a));
	return NULL;
}

int apply_start(struct apply *a, struct err *e)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	rc = pthread_create(&a->thread, NULL, run, a);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc != 0) {
		errno = rc;
		return err_sys(e, "a thread for what ends");
	}
	a->started = true;
	return 0;
}
