/*
 * One thread: it looks, then sleeps until the half minute is over or libvirt's
 * connection broke. While libvirt does not answer it tries again every few
 * seconds, for libvirtd may come back with other chains than it had.
 *
 * A look is cheap (the host's packet filter is read once for all machines); only
 * for what seems wrong isolation_enforce() takes its time. No machine's lock is
 * taken: whoever is at work on a machine must not be waited for while it is
 * open, and cut() ends no other boot than the one that was seen.
 */
#include "vmctl/netwatch.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/log.h"
#include "vmctl/backend.h"
#include "vmctl/isolation.h"
#include "vmctl/registry.h"
#include "vmctl/service.h"

#include <errno.h>
#include <pthread.h>

#define EVERY_MS 30000
#define RETRY_MS 3000

struct netwatch {
	struct service *service;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool ending, lost;
};

/* -- a round ----------------------------------------------------------------- */

static int look(struct service *s, const struct vm_record *v,
		const struct isolation_chains *chains, struct err *e)
{
	struct isolation_look seen;
	struct err why = {0};

	if (isolation_look(s, v, chains, &seen, e))
		return -1;
	if (seen.is != ISOLATION_WRONG)
		return 0;
	log_warn("%s: %s; looking again", v->name, err_msg(&seen.why));
	if (isolation_enforce(s, v->name, &why) == 0 || why.code == ERR_STATE)
		return 0;
	/* removed meanwhile */
	if (why.code == ERR_NOT_FOUND)
		return 0;
	if (e)
		*e = why;
	return -1;
}

/* Of one machine that cannot be asked about, the others learn nothing. */
static int look_at_all(struct service *s, struct err *e)
{
	struct isolation_chains chains = {.readable = false};
	struct vm_records all;
	int rc = 0;

	if (registry_copy(s->registry, &all, e))
		return -1;
	if (all.count > 0)
		isolation_read(&chains);
	for (size_t i = 0; i < all.count; i++) {
		if (look(s, &all.list[i], &chains, e))
			rc = -1;
	}
	isolation_chains_finish(&chains);
	vm_records_finish(&all);
	return rc;
}

/* -- the thread -------------------------------------------------------------- */

static void on_lost(void *ctx)
{
	struct netwatch *w = ctx;

	pthread_mutex_lock(&w->lock);
	w->lost = true;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

/* False: it ends. */
static bool sleep_until(struct netwatch *w, struct deadline d)
{
	struct timespec until = deadline_timespec(d);
	bool ending;

	pthread_mutex_lock(&w->lock);
	while (!w->ending && !w->lost && !deadline_passed(d))
		pthread_cond_timedwait(&w->changed, &w->lock, &until);
	w->lost = false;
	ending = w->ending;
	pthread_mutex_unlock(&w->lock);
	return !ending;
}

static void *run(void *arg)
{
	struct netwatch *w = arg;
	int64_t pause_ms;
	bool told = false;

	do {
		struct err e = {0};

		pause_ms = EVERY_MS;
		if (look_at_all(w->service, &e)) {
			if (!told)
				log_warn("isolation is not looked at: %s",
					 err_msg(&e));
			pause_ms = RETRY_MS;
		}
		told = pause_ms == RETRY_MS;
	} while (sleep_until(w, deadline_in_ms(pause_ms)));
	return NULL;
}

int netwatch_new(struct service *s, struct netwatch **ret, struct err *e)
{
	struct netwatch *w = ALLOC_NEW(struct netwatch);
	pthread_condattr_t attr;
	int rc;

	w->service = s;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->changed, &attr);
	pthread_condattr_destroy(&attr);
	s->backend->ops->on_lost(s->backend, on_lost, w);
	rc = pthread_create(&w->thread, NULL, run, w);
	if (rc == 0) {
		*ret = w;
		return 0;
	}
	s->backend->ops->on_lost(s->backend, NULL, NULL);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->changed);
	free(w);
	errno = rc;
	return err_sys(e, "a thread for the watch");
}

void netwatch_free(struct netwatch *w)
{
	if (!w)
		return;
	w->service->backend->ops->on_lost(w->service->backend, NULL, NULL);
	pthread_mutex_lock(&w->lock);
	w->ending = true;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->changed);
	free(w);
}
