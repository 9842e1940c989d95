/*
 * A guest that loses its power says no goodbye: whoever waits for its answer
 * would wait until ssh gives it up, which an emulated guest on a busy host has
 * to be granted a minute for. The hypervisor knows at once. So while calls use
 * machines, one thread asks it every WATCH_MS whether those still run, and of
 * one that does not it drops the connections; what the calls then fail with,
 * machines_explain() puts right. With no call at work it sleeps.
 *
 * It also lets a desktop rest that nobody has looked at for a while.
 *
 * A machine that is paused, by a person or by a full disk, may go on, and what
 * runs in it with it: its connections stay. One that somebody makes, boots or
 * ends is theirs to look after.
 */
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/log.h"
#include "vmctl/backend.h"
#include "vmctl/guest.h"
#include "vmctl/machines_impl.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define WATCH_MS 2000
/* a desktop that is in use when its time has come: later */
#define REST_AGAIN_MS 1000

struct names {
	char (*names)[LIMIT_NAME_LEN + 1];
	size_t count;
};

/* With machines->lock held: does anybody wait for this one? */
static bool is_worth_a_look(struct machine *m)
{
	bool worth;

	if (m->users == 0)
		return false;
	pthread_mutex_lock(&m->lock);
	worth = m->guest && !m->busy[0];
	pthread_mutex_unlock(&m->lock);
	return worth;
}

static void list_used(struct machines *m, struct names *ret)
{
	pthread_mutex_lock(&m->lock);
	for (struct machine *at = m->list; at; at = at->next) {
		if (!is_worth_a_look(at))
			continue;
		ret->names = alloc_resize(ret->names, ret->count + 1,
					  sizeof(*ret->names));
		memcpy(ret->names[ret->count++], at->name, sizeof(at->name));
	}
	pthread_mutex_unlock(&m->lock);
}

static bool is_over(enum machine_state s)
{
	return s == MACHINE_OFF || s == MACHINE_CRASHED || s == MACHINE_ABSENT;
}

/* Found by name again: the one that was listed may be gone. busy: also of one
 * that somebody is at work on. */
static void drop_connections(struct machines *m, const char *name, bool busy)
{
	pthread_mutex_lock(&m->lock);
	for (struct machine *at = m->list; at; at = at->next) {
		if (strcmp(at->name, name) != 0)
			continue;
		pthread_mutex_lock(&at->lock);
		if (at->guest && (busy || !at->busy[0])) {
			at->running_until_ms = 0;
			guest_drop(at->guest);
		}
		pthread_mutex_unlock(&at->lock);
	}
	pthread_mutex_unlock(&m->lock);
}

void machines_look(struct machines *m)
{
	struct backend *b = m->service->backend;
	struct names used = {0};

	list_used(m, &used);
	for (size_t i = 0; i < used.count; i++) {
		enum machine_state state;
		struct err e = {0};

		if (b->ops->state(b, used.names[i], &state, &e))
			log_debug("%s: %s", used.names[i], err_msg(&e));
		else if (is_over(state))
			/* a busy one may be about to be booted */
			drop_connections(m, used.names[i], false);
	}
	free(used.names);
}

void machines_lost_power(struct machines *m, const char *name)
{
	drop_connections(m, name, true);
}

/* -- rest --------------------------------------------------------------------
 */

static int64_t rest_at_ms(struct machine *m)
{
	int64_t at_ms;

	pthread_mutex_lock(&m->lock);
	at_ms = m->desktop_rest_at_ms ? m->desktop_rest_at_ms : INT64_MAX;
	pthread_mutex_unlock(&m->lock);
	return at_ms;
}

static void set_rest(struct machine *m, int64_t at_ms, const char *how)
{
	pthread_mutex_lock(&m->lock);
	m->desktop_rest_at_ms = at_ms;
	if (at_ms == 0)
		m->desktop_how = how;
	pthread_mutex_unlock(&m->lock);
}

static void let_rest(struct machine *m)
{
	struct machine_desktop *d =
		machine_desktop_lock(m, deadline_in_ms(0), NULL);

	if (!d) {
		set_rest(m, deadline_now_ms() + REST_AGAIN_MS, NULL);
		return;
	}
	if (d->state && d->rest && rest_at_ms(m) <= deadline_now_ms()) {
		set_rest(m, 0, "at rest");
		d->rest(d->state);
	}
	machine_desktop_unlock(m);
}

/* One whose time has come, held; or NULL. */
static struct machine *find_tired(struct machines *m)
{
	struct machine *at;

	pthread_mutex_lock(&m->lock);
	at = m->list;
	while (at && rest_at_ms(at) > deadline_now_ms())
		at = at->next;
	if (at)
		at->users++;
	pthread_mutex_unlock(&m->lock);
	return at;
}

static void let_all_rest(struct machines *m)
{
	struct machine *at;

	while ((at = find_tired(m))) {
		let_rest(at);
		pthread_mutex_lock(&m->lock);
		at->users--;
		pthread_mutex_unlock(&m->lock);
	}
}

/* -- the thread --------------------------------------------------------------
 */

/* With machines->lock held: when there is something to do. */
static int64_t due_ms(struct machines *m, int64_t look_ms)
{
	int64_t due = look_ms;

	for (struct machine *at = m->list; at; at = at->next) {
		int64_t at_ms = rest_at_ms(at);

		due = at_ms < due ? at_ms : due;
	}
	return due;
}

/* WATCH_MS after there is a use, or when a desktop is to rest; false at the
 * end. */
static bool await_turn(struct machines *m)
{
	int64_t look_ms = INT64_MAX;
	bool ending;

	pthread_mutex_lock(&m->lock);
	while (!m->ending) {
		int64_t now_ms = deadline_now_ms(), due;
		struct timespec until;

		if (m->uses && look_ms == INT64_MAX)
			look_ms = now_ms + WATCH_MS;
		due = due_ms(m, look_ms);
		if (due <= now_ms)
			break;
		until = deadline_timespec(deadline_in_ms(due - now_ms));
		pthread_cond_timedwait(&m->changed, &m->lock, &until);
	}
	ending = m->ending;
	pthread_mutex_unlock(&m->lock);
	return !ending;
}

static void *watch(void *arg)
{
	struct machines *m = arg;

	while (await_turn(m)) {
		machines_look(m);
		let_all_rest(m);
	}
	return NULL;
}

int machines_watch(struct machines *m, struct err *e)
{
	sigset_t all, before;
	int rc;

	/* signals are the main thread's business */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	rc = pthread_create(&m->watcher, NULL, watch, m);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc != 0) {
		errno = rc;
		return err_sys(e, "a thread that watches the machines");
	}
	m->watched = true;
	return 0;
}

void machines_unwatch(struct machines *m)
{
	if (!m->watched)
		return;
	pthread_mutex_lock(&m->lock);
	m->ending = true;
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
	pthread_join(m->watcher, NULL);
	m->watched = false;
}
