/*
 * The I/O thread of one guest. A round:
 *
 *   1. under the lock, take what callers asked: new channels, closes, signals,
 *      dropped sessions, the end;
 *   2. give each waiting channel a session (making one when there is none with
 *      room), step every channel and every deadline, bury dead sessions;
 *   3. poll(2) over the wake eventfd, the sessions' sockets and those local fds
 *      that we want something of; serve what is ready.
 *
 * Nothing here blocks but poll(2), whose timeout is the nearest deadline: with
 * nothing to do the thread sleeps. Callers wake it through the eventfd. Signals
 * are blocked, SIGPIPE among them.
 */
#include "vmctl/guest_impl.h"

#include "base/alloc.h"
#include "base/limits.h"

#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Its MaxSessions is 10 by default; the rest is for closing ones. */
#define EXECS_PER_SESSION_COUNT 8
#define UNIX_PER_SESSION_COUNT 32

struct poll_set {
	struct pollfd *fds;
	void **owners; /* of fds[i]: a session or a channel */
	size_t count, size;
	size_t session_count; /* fds[1..session_count] are sessions */
};

/* ---- requests ---- */

static void set_error(struct err *to, const struct err *from)
{
	if (from)
		*to = *from;
	else
		*to = (struct err){0};
}

/* NULL: it is up. Lock held. */
static void answer(struct guest *g, struct guest_waiter *w,
		   const struct err *why)
{
	if (w->done)
		return;
	set_error(&w->err, why);
	w->done = true;
	pthread_cond_broadcast(&g->cond);
}

static void answer_all(struct guest *g, const struct err *why)
{
	pthread_mutex_lock(&g->lock);
	for (struct guest_waiter *w = g->waiters; w; w = w->next)
		answer(g, w, why);
	pthread_mutex_unlock(&g->lock);
}

static void take_requests(struct guest *g, bool *ret_quit)
{
	struct guest_chan **tail = &g->chans;

	while (*tail)
		tail = &(*tail)->next;
	pthread_mutex_lock(&g->lock);
	*ret_quit = g->quit;
	*tail = g->incoming; /* oldest first, so that order is kept */
	g->incoming = NULL;
	pthread_mutex_unlock(&g->lock);
}

static void take_flags(struct guest_chan *c)
{
	char signal[sizeof(c->want_signal)];
	bool close_it, stop_it, cut_it;

	pthread_mutex_lock(&c->g->lock);
	memcpy(signal, c->want_signal, sizeof(signal));
	c->want_signal[0] = '\0';
	close_it = c->want_close;
	stop_it = c->want_stop;
	cut_it = c->want_cut;
	c->want_close = c->want_stop = c->want_cut = false;
	pthread_mutex_unlock(&c->g->lock);
	if (signal[0])
		guest_chan_signal(c, signal);
	if (stop_it)
		guest_chan_stop(c);
	if (cut_it && c->session)
		guest_session_fail(c->session, ERR_UNAVAILABLE,
				   "%s: the connection was cut", c->g->name);
	if (close_it)
		guest_chan_close(c);
}

/* ---- sessions ---- */

static bool has_room(const struct guest_session *s, const struct guest_chan *c)
{
	return c->kind == GUEST_UNIX ? s->unix_count < UNIX_PER_SESSION_COUNT
				     : s->exec_count < EXECS_PER_SESSION_COUNT;
}

static bool any_connecting(const struct guest *g, enum guest_role role)
{
	for (const struct guest_session *s = g->sessions; s; s = s->next)
		if (s->role == role && s->link < GUEST_LINK_UP)
			return true;
	return false;
}

/* False when there are as many as may be. */
static bool connect_session(struct guest *g, enum guest_role role)
{
	struct guest_session *s;
	int count = 0;

	for (s = g->sessions; s; s = s->next)
		count += s->role == role;
	if (count >= LIMIT_GUEST_SESSIONS_COUNT)
		return false;
	s = guest_session_new(g, role);
	s->next = g->sessions;
	g->sessions = s;
	return true;
}

/* Somebody's channel is on its way out, and leaves a place. */
static bool any_closing(const struct guest *g, enum guest_role role)
{
	for (const struct guest_chan *c = g->chans; c; c = c->next)
		if (c->role == role &&
		    (c->phase == GUEST_CLOSING || c->stop_ms > 0))
			return true;
	return false;
}

static void assign_session(struct guest *g, struct guest_chan *c)
{
	struct err e = {0};

	for (struct guest_session *s = g->sessions; s; s = s->next) {
		if (s->role == c->role && s->link == GUEST_LINK_UP &&
		    has_room(s, c)) {
			c->session = s;
			return;
		}
	}
	if (any_connecting(g, c->role) || connect_session(g, c->role) ||
	    any_closing(g, c->role))
		return;
	err_set(&e, ERR_BUSY,
		"%s: too many commands run at once; wait for some to end",
		g->name);
	guest_chan_end(c, &e);
	c->phase = GUEST_DONE;
}

/* Its channels and those who waited for it learn why it died. */
static void bury(struct guest *g, struct guest_session *s)
{
	/* it never came up, where the guest is now */
	bool waited_for = s->heard_ms == 0 && !s->elsewhere;

	for (struct guest_chan *c = g->chans; c; c = c->next) {
		if (c->session == s || (waited_for && c->phase == GUEST_WAIT &&
					c->role == s->role))
			guest_chan_lost(c, &s->err);
	}
	if (waited_for && s->role == GUEST_CONTROL)
		answer_all(g, &s->err);
	guest_session_free(s);
}

static bool bury_dead(struct guest *g)
{
	struct guest_session **at = &g->sessions;
	bool any = false;

	while (*at) {
		struct guest_session *s = *at;

		if (s->link != GUEST_LINK_DEAD) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		bury(g, s);
		any = true;
	}
	return any;
}

static void retire_full(struct guest *g)
{
	for (struct guest_session *s = g->sessions; s; s = s->next)
		if (s->full && s->exec_count == 0 && s->unix_count == 0)
			guest_session_fail(s, ERR_UNAVAILABLE,
					   "%s: the connection is full",
					   g->name);
}

/* A guest that moved is still waited for; of one that stopped all is over. */
static void drop_sessions(struct guest *g)
{
	bool moved, stopped;

	pthread_mutex_lock(&g->lock);
	moved = g->moved;
	stopped = g->stopped;
	g->moved = g->stopped = false;
	pthread_mutex_unlock(&g->lock);
	for (struct guest_session *s = g->sessions; s && (moved || stopped);
	     s = s->next) {
		s->elsewhere = moved && !stopped;
		guest_session_fail(s, ERR_UNAVAILABLE,
				   "the connection to %s was dropped: it "
				   "stopped or moved",
				   g->name);
	}
}

/* ---- waiters of guest_connect() ---- */

static bool control_is_up(const struct guest *g)
{
	for (const struct guest_session *s = g->sessions; s; s = s->next)
		if (s->role == GUEST_CONTROL && s->link == GUEST_LINK_UP)
			return true;
	return false;
}

static int64_t serve_waiters(struct guest *g, int64_t next_ms)
{
	bool up = control_is_up(g), waiting = false;
	struct err e = {0};

	pthread_mutex_lock(&g->lock);
	if (g->moved || g->stopped) { /* since this round began */
		pthread_mutex_unlock(&g->lock);
		return 0;
	}
	for (struct guest_waiter *w = g->waiters; w; w = w->next) {
		if (w->done)
			continue;
		if (up) {
			answer(g, w, NULL);
		} else if (deadline_check(w->deadline, "connecting", &e) < 0) {
			answer(g, w, &e);
			e = (struct err){0};
		} else {
			waiting = true;
			if (w->deadline.at_ms < next_ms)
				next_ms = w->deadline.at_ms;
		}
	}
	pthread_mutex_unlock(&g->lock);
	if (waiting && !any_connecting(g, GUEST_CONTROL) &&
	    connect_session(g, GUEST_CONTROL))
		return 0; /* look at once: it may have failed already */
	return next_ms;
}

/* ---- channels ---- */

static void expire(struct guest_chan *c)
{
	struct err e = {0};

	if (deadline_check(c->open_by, "waiting for the guest to answer", &e) <
	    0) {
		err_wrap(&e, "%s", c->g->name);
		guest_chan_end(c, &e);
		guest_chan_close(c);
	}
}

static void step_channels(struct guest *g)
{
	for (struct guest_chan *c = g->chans; c; c = c->next) {
		take_flags(c);
		if (c->phase == GUEST_WAIT && !c->session)
			assign_session(g, c);
		guest_chan_step(c);
		if (c->phase < GUEST_LIVE && !c->ended)
			expire(c);
	}
}

static void pause_sessions(struct guest *g)
{
	for (struct guest_session *s = g->sessions; s; s = s->next)
		s->paused = false;
	for (struct guest_chan *c = g->chans; c; c = c->next)
		if (c->session && guest_chan_backlogged(c))
			c->session->paused = true;
}

static void sweep_channels(struct guest *g)
{
	struct guest_chan **at = &g->chans;

	while (*at) {
		struct guest_chan *c = *at;

		if (c->phase != GUEST_DONE) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		guest_chan_finish(c);
		guest_chan_unref(c);
	}
}

/* ---- one round ---- */

static void add_fd(struct poll_set *set, struct pollfd pf, void *owner)
{
	if (set->count == set->size) {
		set->size = set->size ? set->size * 2 : 16;
		set->fds = alloc_resize(set->fds, set->size, sizeof(*set->fds));
		set->owners = alloc_resize(set->owners, set->size,
					   sizeof(*set->owners));
	}
	set->fds[set->count] = pf;
	set->owners[set->count] = owner;
	set->count++;
}

static void fill_set(struct guest *g, struct poll_set *set)
{
	struct pollfd fds[3];

	set->count = 0;
	add_fd(set, (struct pollfd){.fd = g->wake_fd, .events = POLLIN}, NULL);
	for (struct guest_session *s = g->sessions; s; s = s->next)
		add_fd(set,
		       (struct pollfd){.fd = guest_session_fd(s),
				       .events = guest_session_events(s)},
		       s);
	set->session_count = set->count - 1;
	for (struct guest_chan *c = g->chans; c; c = c->next) {
		int n = guest_chan_poll(c, fds);

		for (int i = 0; i < n; i++)
			add_fd(set, fds[i], c);
	}
}

static void serve_ready(struct guest *g, struct poll_set *set)
{
	eventfd_t ignored;

	if (set->fds[0].revents)
		eventfd_read(g->wake_fd, &ignored);
	for (size_t i = 1; i < set->count; i++) {
		if (!set->fds[i].revents)
			continue;
		if (i <= set->session_count)
			guest_session_dispatch(set->owners[i]);
		else
			guest_chan_ready(set->owners[i], set->fds[i].fd,
					 set->fds[i].revents);
	}
}

/* When the next deadline is; sessions that missed theirs are dead then. */
static int64_t next_deadline(struct guest *g, int64_t now_ms)
{
	int64_t next_ms = now_ms + DEADLINE_MAX_MS, wait_ms;

	for (struct guest_session *s = g->sessions; s; s = s->next) {
		wait_ms = guest_session_tick(s, now_ms);
		if (now_ms + wait_ms < next_ms)
			next_ms = now_ms + wait_ms;
	}
	for (struct guest_chan *c = g->chans; c; c = c->next)
		if (guest_chan_next_ms(c) < next_ms)
			next_ms = guest_chan_next_ms(c);
	return next_ms;
}

static void round_trip(struct guest *g, struct poll_set *set)
{
	int64_t now_ms = deadline_now_ms(), next_ms;

	drop_sessions(g);
	step_channels(g);
	retire_full(g);
	next_ms = next_deadline(g, now_ms);
	if (bury_dead(g))
		next_ms = now_ms; /* what it left may begin anew */
	next_ms = serve_waiters(g, next_ms);
	sweep_channels(g);
	pause_sessions(g);
	fill_set(g, set);
	if (next_ms < now_ms)
		next_ms = now_ms;
	if (poll(set->fds, set->count, (int)(next_ms - now_ms)) > 0)
		serve_ready(g, set);
}

static void leave(struct guest *g)
{
	struct err e = {0};

	err_set(&e, ERR_UNAVAILABLE, "%s: the connection is being closed",
		g->name);
	for (struct guest_chan *c = g->chans; c; c = c->next) {
		guest_chan_end(c, &e);
		c->phase = GUEST_DONE;
	}
	sweep_channels(g);
	while (g->sessions) {
		struct guest_session *s = g->sessions;

		g->sessions = s->next;
		guest_session_free(s);
	}
	answer_all(g, &e);
}

void *guest_thread_main(void *guest)
{
	struct guest *g = guest;
	struct poll_set set = {0};
	bool quit = false;

	guest_session_thread_init(g);
	for (;;) {
		take_requests(g, &quit);
		if (quit)
			break;
		round_trip(g, &set);
	}
	leave(g);
	free(set.fds);
	free(set.owners);
	return NULL;
}
