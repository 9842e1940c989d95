/*
 * One I/O thread (whoever calls serve_run) polls the listening socket, a stop
 * signal, a wake-up and every client. It parses frames and moves bytes, never
 * blocks and never runs a handler; each call has a thread of its own, because
 * handlers wait for ssh and libvirt.
 *
 * Stopping: the socket is unlinked and closed first, so that a new client
 * starts a new service (which waits for our lock); calls are cancelled; the
 * loop goes on until they have answered and their answers are flushed.
 *
 * epoll's data pointer names what is ready: one of the marks below, or else a
 * struct conn. A connection is closed only by this thread, while it handles
 * that connection's event or between two rounds, so none of a round's
 * pointers dangles.
 */
#include "vmctl/serve.h"

#include "base/alloc.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/log.h"
#include "vmctl/conn.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define EVENTS_COUNT 64
#define ACCEPT_COUNT 16
/* out of descriptors: look again after */
#define ACCEPT_PAUSE_MS 200
#define TICK_MS 15000
#define TICK_SOON_MS 1000
/* answers reach clients that read, once all calls have ended */
#define FLUSH_MS 1000
/* the usual 8 MiB a call would be much address space; handlers hold 100 KiB */
#define STACK_LEN ((size_t)2 * 1024 * 1024)

static char mark_listen, mark_signal, mark_wake;

struct serve {
	struct serve_opts opts;
	int epoll_fd, wake_fd;
	int64_t started_ms;
	struct stat socket_stat;
	atomic_bool stop_asked;
	/* the I/O thread's alone */
	struct conn *conns;
	bool accept_paused;
	bool stopping;
	/* under lock */
	pthread_mutex_t lock;
	struct call *calls;
	unsigned calls_count;	/* in the list */
	unsigned threads_count; /* a little longer: still answering */
	unsigned clients_count;
};

static int watch_fd(struct serve *s, int fd, void *mark, struct err *e)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = mark};

	if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &ev) != 0)
		return err_sys(e, "epoll_ctl");
	return 0;
}

int serve_new(const struct serve_opts *o, struct serve **ret, struct err *e)
{
	struct serve *s = ALLOC_NEW(struct serve);

	s->opts = *o;
	s->started_ms = deadline_now_ms();
	pthread_mutex_init(&s->lock, NULL);
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->epoll_fd < 0 || s->wake_fd < 0) {
		err_sys(e, "epoll");
		goto fail;
	}
	if (o->socket_path && lstat(o->socket_path, &s->socket_stat) != 0) {
		err_sys(e, "%s", o->socket_path);
		goto fail;
	}
	if (watch_fd(s, o->listen_fd, &mark_listen, e) != 0 ||
	    watch_fd(s, s->wake_fd, &mark_wake, e) != 0 ||
	    (o->signal_fd >= 0 &&
	     watch_fd(s, o->signal_fd, &mark_signal, e) != 0))
		goto fail;
	*ret = s;
	return 0;
fail:
	serve_free(s);
	return -1;
}

void serve_free(struct serve *s)
{
	if (!s)
		return;
	if (s->opts.listen_fd >= 0)
		close(s->opts.listen_fd);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	if (s->wake_fd >= 0)
		close(s->wake_fd);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

const struct serve_opts *serve_opts(const struct serve *s)
{
	return &s->opts;
}

static void wake(struct serve *s)
{
	uint64_t one = 1;

	if (write(s->wake_fd, &one, sizeof(one)) < 0)
		log_debug("the service is awake already");
}

void serve_stop(struct serve *s)
{
	atomic_store(&s->stop_asked, true);
	wake(s);
}

struct serve_counts serve_counts(struct serve *s)
{
	struct serve_counts c = {
		.uptime_ms = deadline_now_ms() - s->started_ms,
	};

	pthread_mutex_lock(&s->lock);
	c.clients = s->clients_count;
	c.calls = s->threads_count;
	pthread_mutex_unlock(&s->lock);
	return c;
}

/* ---- calls ------------------------------------------------------------------
 */

/* One client, however many connections it has, must not take all threads, and
 * agents together must leave some for a person. Lock held. */
static int check_counts(const struct serve *s, const struct call *c,
			struct err *e)
{
	unsigned max = LIMIT_CALLS_COUNT;
	unsigned own = 0;

	if (c->conn->agent)
		max -= LIMIT_CALLS_PER_CLIENT_COUNT;
	if (s->calls_count >= max)
		return err_set(e, ERR_LIMIT,
			       "the service is running %u calls: try again "
			       "when some have ended",
			       s->calls_count);
	for (struct call *o = s->calls; o; o = o->serve_next)
		own += strcmp(o->conn->identity, c->conn->identity) == 0;
	if (own >= LIMIT_CALLS_PER_CLIENT_COUNT)
		return err_set(e, ERR_LIMIT,
			       "client %s has %u calls running: try again "
			       "when some have ended",
			       c->conn->identity, own);
	return 0;
}

static int start_thread(struct call *c, struct err *e)
{
	pthread_attr_t attr;
	pthread_t thread;
	int rc;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_LEN);
	rc = pthread_create(&thread, &attr, dispatch_call, c);
	pthread_attr_destroy(&attr);
	if (rc != 0) {
		errno = rc;
		return err_sys(e, "a thread for the call");
	}
	return 0;
}

int serve_begin_call(struct serve *s, struct call *c, struct err *e)
{
	int rc = -1;

	pthread_mutex_lock(&s->lock);
	if (s->stopping) {
		err_set(e, ERR_UNAVAILABLE, "the service is stopping: try again");
	} else if (check_counts(s, c, e) == 0) {
		/* first the list: the thread may be done before we look again
		 */
		c->serve_next = s->calls;
		s->calls = c;
		s->calls_count++;
		s->threads_count++;
		rc = start_thread(c, e);
		if (rc != 0) {
			s->calls = c->serve_next;
			s->calls_count--;
			s->threads_count--;
		}
	}
	pthread_mutex_unlock(&s->lock);
	return rc;
}

void serve_close_call(struct serve *s, struct call *c)
{
	pthread_mutex_lock(&s->lock);
	for (struct call **p = &s->calls; *p; p = &(*p)->serve_next) {
		if (*p == c) {
			*p = c->serve_next;
			s->calls_count--;
			break;
		}
	}
	pthread_mutex_unlock(&s->lock);
	call_unlink(c);
}

void serve_end_call(struct serve *s, struct call *c)
{
	call_free(c);
	pthread_mutex_lock(&s->lock);
	s->threads_count--;
	if (atomic_load(&s->stop_asked))
		wake(s);
	pthread_mutex_unlock(&s->lock);
}

static void cancel_calls(struct serve *s)
{
	pthread_mutex_lock(&s->lock);
	for (struct call *c = s->calls; c; c = c->serve_next) {
		pthread_mutex_lock(&c->conn->lock);
		call_cancel(c);
		pthread_mutex_unlock(&c->conn->lock);
	}
	pthread_mutex_unlock(&s->lock);
}

/* ---- clients ----------------------------------------------------------------
 */

static void drop_client(struct serve *s, struct conn *c)
{
	if (c->prev)
		c->prev->next = c->next;
	else
		s->conns = c->next;
	if (c->next)
		c->next->prev = c->prev;
	pthread_mutex_lock(&s->lock);
	s->clients_count--;
	pthread_mutex_unlock(&s->lock);
	conn_close(c);
}

static void add_client(struct serve *s, int fd)
{
	struct err e = {0};
	struct conn *c;
	uid_t uid;

	if (fd_peer_uid(fd, &uid, &e) != 0) {
		log_warn("a client without a uid: %s", err_msg(&e));
		close(fd);
		return;
	}
	c = conn_new(s, s->epoll_fd, fd, uid);
	if (!c)
		return;
	c->next = s->conns;
	if (c->next)
		c->next->prev = c;
	s->conns = c;
	pthread_mutex_lock(&s->lock);
	s->clients_count++;
	pthread_mutex_unlock(&s->lock);

	/* the socket's mode already says so; this holds where it does not */
	if (uid != geteuid())
		err_set(&e, ERR_DENIED,
			"this service belongs to uid %u, not to uid %u",
			(unsigned)geteuid(), (unsigned)uid);
	else if (s->clients_count > LIMIT_CLIENTS_COUNT)
		err_set(&e, ERR_LIMIT, "the service has %d clients: close some",
			LIMIT_CLIENTS_COUNT);
	else
		return;
	conn_refuse(c, &e);
	drop_client(s, c);
}

static void pause_accept(struct serve *s, bool pause)
{
	struct err e = {0};

	if (pause == s->accept_paused)
		return;
	s->accept_paused = pause;
	if (pause) {
		log_warn("out of file descriptors: clients have to wait");
		epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, s->opts.listen_fd, NULL);
	} else if (watch_fd(s, s->opts.listen_fd, &mark_listen, &e) != 0) {
		log_error("%s", err_msg(&e));
	}
}

static void accept_clients(struct serve *s)
{
	for (int i = 0; i < ACCEPT_COUNT; i++) {
		int fd = accept4(s->opts.listen_fd, NULL, NULL,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			add_client(s, fd);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
		    errno == ENOBUFS)
			pause_accept(s, true);
		return;
	}
}

/* ---- the loop
 * ------------------------------------------------------------------ */

static bool socket_is_ours(const struct serve *s)
{
	struct stat st;

	return !s->opts.socket_path || (lstat(s->opts.socket_path, &st) == 0 &&
					st.st_dev == s->socket_stat.st_dev &&
					st.st_ino == s->socket_stat.st_ino);
}

static void begin_stop(struct serve *s)
{
	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	pthread_mutex_unlock(&s->lock);
	if (s->opts.socket_path && socket_is_ours(s))
		unlink(s->opts.socket_path);
	pause_accept(s, false);
	epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, s->opts.listen_fd, NULL);
	close(s->opts.listen_fd);
	s->opts.listen_fd = -1;
	cancel_calls(s);
}

/* Once in a while: clients that never said hello, and a home that was removed
 * under us (nobody could ask such a service to stop). */
static void tick(struct serve *s)
{
	int64_t now_ms = deadline_now_ms();
	struct conn *next;

	for (struct conn *c = s->conns; c; c = next) {
		struct err e = {0};

		next = c->next;
		if (c->greeted || now_ms - c->opened_ms < LIMIT_HELLO_MS)
			continue;
		err_set(&e, ERR_TIMEOUT, "no hello within %d s",
			LIMIT_HELLO_MS / 1000);
		conn_refuse(c, &e);
		drop_client(s, c);
	}
	if (s->opts.tick)
		s->opts.tick(s->opts.ctx);
	if (!s->stopping && !socket_is_ours(s)) {
		log_warn("%s is gone: stopping", s->opts.socket_path);
		serve_stop(s);
	}
}

static int tick_ms(const struct serve *s)
{
	if (s->accept_paused)
		return ACCEPT_PAUSE_MS;
	for (struct conn *c = s->conns; c; c = c->next) {
		if (!c->greeted)
			return TICK_SOON_MS;
	}
	return TICK_MS;
}

static void handle(struct serve *s, const struct epoll_event *ev)
{
	uint64_t n;

	if (ev->data.ptr == &mark_listen) {
		accept_clients(s);
	} else if (ev->data.ptr == &mark_wake) {
		if (read(s->wake_fd, &n, sizeof(n)) < 0)
			log_debug("woken for nothing");
	} else if (ev->data.ptr == &mark_signal) {
		/* the fd stays readable; it is not looked at again */
		epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, s->opts.signal_fd, NULL);
		atomic_store(&s->stop_asked, true);
	} else if (!conn_event(ev->data.ptr, ev->events)) {
		drop_client(s, ev->data.ptr);
	}
}

static int poll_round(struct serve *s, int timeout_ms, struct err *e)
{
	struct epoll_event evs[EVENTS_COUNT];
	int n = epoll_wait(s->epoll_fd, evs, EVENTS_COUNT, timeout_ms);

	if (n < 0 && errno != EINTR)
		return err_sys(e, "epoll_wait");
	for (int i = 0; i < n; i++)
		handle(s, &evs[i]);
	return 0;
}

static bool all_flushed(struct serve *s)
{
	bool flushed = true;

	for (struct conn *c = s->conns; c && flushed; c = c->next) {
		pthread_mutex_lock(&c->lock);
		flushed = c->out.len == 0;
		pthread_mutex_unlock(&c->lock);
	}
	return flushed;
}

static int drain(struct serve *s, struct err *e)
{
	struct deadline d = deadline_in_ms(LIMIT_SERVICE_STOP_MS);

	begin_stop(s);
	while (serve_counts(s).calls > 0 && !deadline_passed(d)) {
		if (poll_round(s, deadline_poll_ms(d), e) != 0)
			return -1;
	}
	d = deadline_in_ms(FLUSH_MS);
	while (!all_flushed(s) && !deadline_passed(d)) {
		if (poll_round(s, deadline_poll_ms(d), e) != 0)
			return -1;
	}
	return 0;
}

int serve_run(struct serve *s, struct err *e)
{
	int64_t ticked_ms = deadline_now_ms();
	int rc = 0;

	while (rc == 0 && !atomic_load(&s->stop_asked)) {
		int every_ms = tick_ms(s);
		bool was_paused = s->accept_paused;

		rc = poll_round(s, every_ms, e);
		if (was_paused)
			pause_accept(s, false);
		if (deadline_now_ms() - ticked_ms >= every_ms) {
			ticked_ms = deadline_now_ms();
			tick(s);
		}
	}
	if (rc == 0)
		rc = drain(s, e);
	while (s->conns)
		drop_client(s, s->conns);
	return rc;
}
