/*
 * Each fd stays in one epoll set, for EPOLLRDHUP and edge-triggered: the event
 * comes once, costs nothing per request, and is kept as `hung_up` for whoever
 * arms later. A client that shuts down only its sending half counts as gone,
 * as for other HTTP servers.
 *
 * Ending a connection is shutdown(2): its thread, which owns the fd, then sees
 * the end in whatever it does next.
 */
#include "mcp/watch.h"

#include "base/alloc.h"
#include "base/deadline.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS_COUNT 64
#define TICK_MS 1000
/* how exact deadlines are */
#define LOOK_MS 250

struct watched {
	struct watched *prev, *next;
	int fd;
	atomic_llong deadline_ms; /* 0: none */
	/* under the watch's lock */
	bool hung_up;
	void (*gone)(void *arg); /* NULL: not armed */
	void *arg;
	const atomic_bool *cut;
};

struct watch {
	pthread_mutex_t lock;
	pthread_t thread;
	int epoll_fd, stop_fd;
	void (*tick)(void *ctx);
	void *ctx;
	struct watched *all;
};

static void tell(struct watched *c)
{
	void (*gone)(void *arg) = c->gone;

	c->gone = NULL;
	if (gone)
		gone(c->arg);
}

/* Events of an fd that was removed meanwhile must not be followed: their
 * struct is gone. So they are looked up. */
static void take_events(struct watch *w, const struct epoll_event *events,
			int count)
{
	pthread_mutex_lock(&w->lock);
	for (struct watched *c = w->all; c && count > 0; c = c->next) {
		for (int i = 0; i < count; i++) {
			if (events[i].data.ptr != c)
				continue;
			c->hung_up = true;
			tell(c);
		}
	}
	pthread_mutex_unlock(&w->lock);
}

static void look_at_deadlines(struct watch *w)
{
	int64_t now = deadline_now_ms();

	pthread_mutex_lock(&w->lock);
	for (struct watched *c = w->all; c; c = c->next) {
		int64_t at = atomic_load(&c->deadline_ms);

		if ((at != 0 && now >= at) || (c->cut && atomic_load(c->cut)))
			(void)shutdown(c->fd, SHUT_RDWR);
	}
	pthread_mutex_unlock(&w->lock);
}

static void *thread_main(void *arg)
{
	struct watch *w = arg;
	int64_t tick_ms = deadline_now_ms() + TICK_MS;

	for (;;) {
		struct epoll_event events[EVENTS_COUNT];
		int n = epoll_wait(w->epoll_fd, events, EVENTS_COUNT, LOOK_MS);
		bool stop = false;

		for (int i = 0; i < n; i++)
			stop |= events[i].data.ptr == w;
		if (stop)
			return NULL;
		if (n > 0)
			take_events(w, events, n);
		if (deadline_now_ms() >= tick_ms) {
			tick_ms = deadline_now_ms() + TICK_MS;
			w->tick(w->ctx);
		}
		look_at_deadlines(w);
	}
}

int watch_new(void (*tick)(void *ctx), void *ctx, struct watch **ret,
	      struct err *e)
{
	struct watch *w = ALLOC_NEW(struct watch);
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = w};

	pthread_mutex_init(&w->lock, NULL);
	w->tick = tick;
	w->ctx = ctx;
	w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	w->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->epoll_fd < 0 || w->stop_fd < 0 ||
	    epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, w->stop_fd, &ev) != 0) {
		err_sys(e, "making an epoll set");
	} else {
		if (pthread_create(&w->thread, NULL, thread_main, w) == 0) {
			*ret = w;
			return 0;
		}
		err_set(e, ERR_SYSTEM, "cannot start a thread");
	}
	if (w->epoll_fd >= 0)
		close(w->epoll_fd);
	if (w->stop_fd >= 0)
		close(w->stop_fd);
	pthread_mutex_destroy(&w->lock);
	free(w);
	return -1;
}

void watch_free(struct watch *w)
{
	uint64_t one = 1;

	if (!w)
		return;
	while (write(w->stop_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(w->thread, NULL);
	close(w->epoll_fd);
	close(w->stop_fd);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

struct watched *watch_add(struct watch *w, int fd)
{
	struct watched *c = ALLOC_NEW(struct watched);
	struct epoll_event ev = {.events = EPOLLRDHUP | EPOLLET,
				 .data.ptr = c};

	c->fd = fd;
	pthread_mutex_lock(&w->lock);
	c->next = w->all;
	if (c->next)
		c->next->prev = c;
	w->all = c;
	(void)epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
	pthread_mutex_unlock(&w->lock);
	return c;
}

void watch_remove(struct watch *w, struct watched *c)
{
	pthread_mutex_lock(&w->lock);
	(void)epoll_ctl(w->epoll_fd, EPOLL_CTL_DEL, c->fd, NULL);
	if (c->prev)
		c->prev->next = c->next;
	else
		w->all = c->next;
	if (c->next)
		c->next->prev = c->prev;
	pthread_mutex_unlock(&w->lock);
	free(c);
}

void watch_arm(struct watch *w, struct watched *c, void (*gone)(void *arg),
	       void *arg, const atomic_bool *cut)
{
	pthread_mutex_lock(&w->lock);
	c->gone = gone;
	c->arg = arg;
	c->cut = cut;
	if (c->hung_up)
		tell(c);
	pthread_mutex_unlock(&w->lock);
}

void watch_disarm(struct watch *w, struct watched *c)
{
	pthread_mutex_lock(&w->lock);
	c->gone = NULL;
	c->cut = NULL;
	pthread_mutex_unlock(&w->lock);
}

void watch_deadline(struct watched *c, int64_t ms)
{
	atomic_store(&c->deadline_ms, ms > 0 ? deadline_now_ms() + ms : 0);
}
