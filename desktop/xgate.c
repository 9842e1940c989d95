/*
 * Theory of operation. One thread, two byte queues:
 *
 *   libxcb --- pair ---> up   ---> server     counted by xframe_up()
 *   libxcb <--- pair --- down <--- server     filtered by xframe_down()
 *
 * A queue that is not empty is written before more is read into it, so memory
 * is two fixed buffers and back-pressure reaches either end. The down queue is
 * filtered in place: pieces that pass are moved to its front.
 *
 * The state (frame, deadline, error) is under one mutex; the owner changes it
 * and wakes the thread through an eventfd. The thread never holds the mutex
 * while it waits.
 */
#include "desktop/xgate.h"
#include "base/alloc.h"
#include "base/fd.h"
#include "desktop/xframe.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

enum {
	UP_SIZE = 64 * 1024,
	DOWN_SIZE = 256 * 1024,
	/* how often an idle gate looks whether it is still wanted */
	IDLE_MS = 3600 * 1000,
};
_Static_assert((int)DOWN_SIZE >= XSETUP_MAX_LEN, "a setup must fit");

struct queue {
	uint8_t *data;
	size_t size;
	size_t at;    /* first byte to write */
	size_t ready; /* end of what may be written */
	size_t len;   /* end of what was read; behind ready: undecided */
};

struct xgate {
	pthread_t thread;
	bool started; /* the owner's alone, as is thread */
	int server_fd, pair_fd, wake_fd;
	struct queue up, down; /* the thread's alone */
	pthread_mutex_t mutex; /* guards what follows */
	struct xframe frame;
	struct err error;
	struct deadline deadline;
	bool active, broken, quit;
};

static void wake(struct xgate *g)
{
	uint64_t one = 1;
	ssize_t n = write(g->wake_fd, &one, sizeof(one));

	(void)n; /* only full when the thread is awake anyway */
}

/* ---- on the thread ---- */

/* First fault wins; both ends learn of it. */
static void fail(struct xgate *g, const struct err *why)
{
	pthread_mutex_lock(&g->mutex);
	if (!g->broken)
		g->error = *why;
	g->broken = true;
	pthread_mutex_unlock(&g->mutex);
	shutdown(g->pair_fd, SHUT_RDWR);
	shutdown(g->server_fd, SHUT_RDWR);
}

static int lost(struct err *e)
{
	return err_set(e, ERR_UNAVAILABLE,
		       "the connection to the guest's desktop was lost");
}

/* Read what fits behind q->len; 0 when there was nothing to read. */
static int fill(struct queue *q, int fd, struct err *e)
{
	ssize_t n;

	if (q->at > 0 && q->at == q->ready) {
		memmove(q->data, q->data + q->at, q->len - q->at);
		q->len -= q->at;
		q->at = q->ready = 0;
	}
	n = recv(fd, q->data + q->len, q->size - q->len, MSG_DONTWAIT);
	if (n > 0)
		q->len += (size_t)n;
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		return lost(e);
	return 0;
}

static int drain(struct queue *q, int fd, struct err *e)
{
	ssize_t n = send(fd, q->data + q->at, q->ready - q->at,
			 MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n > 0)
		q->at += (size_t)n;
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		return lost(e);
	return 0;
}

/* Decide what was read: passing pieces close up to q->ready. */
static int filter(struct xgate *g, struct queue *q, struct err *e)
{
	size_t from = q->ready;
	struct xframe_piece piece;
	int rc;

	do {
		pthread_mutex_lock(&g->mutex);
		rc = xframe_down(&g->frame, q->data + from, q->len - from,
				 &piece, e);
		pthread_mutex_unlock(&g->mutex);
		if (rc != 0)
			return -1;
		if (piece.passes) {
			if (from != q->ready)
				memmove(q->data + q->ready, q->data + from,
					piece.len);
			q->ready += piece.len;
		}
		from += piece.len;
	} while (piece.len > 0 && from < q->len);
	memmove(q->data + q->ready, q->data + from, q->len - from);
	q->len -= from - q->ready;
	return 0;
}

static bool pending(const struct queue *q)
{
	return q->at < q->ready;
}

static int pump(struct xgate *g, const struct pollfd fds[3], struct err *e)
{
	if (fds[1].revents & POLLIN) {
		if (fill(&g->up, g->pair_fd, e) != 0)
			return -1;
		pthread_mutex_lock(&g->mutex);
		xframe_up(&g->frame, g->up.data + g->up.ready,
			  g->up.len - g->up.ready);
		pthread_mutex_unlock(&g->mutex);
		g->up.ready = g->up.len;
	} else if (fds[1].revents & (POLLHUP | POLLERR)) {
		return lost(e);
	}
	if (pending(&g->up) && drain(&g->up, g->server_fd, e) != 0)
		return -1;
	if (fds[2].revents & POLLIN) {
		if (fill(&g->down, g->server_fd, e) != 0 ||
		    filter(g, &g->down, e) != 0)
			return -1;
	} else if (fds[2].revents & (POLLHUP | POLLERR)) {
		return lost(e);
	}
	if (pending(&g->down) && drain(&g->down, g->pair_fd, e) != 0)
		return -1;
	return 0;
}

static void want(struct xgate *g, bool active, struct pollfd fds[3])
{
	fds[0] = (struct pollfd){.fd = g->wake_fd, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = g->pair_fd};
	fds[2] = (struct pollfd){.fd = g->server_fd};
	if (pending(&g->up))
		fds[2].events |= POLLOUT;
	else
		fds[1].events |= POLLIN;
	if (pending(&g->down))
		fds[1].events |= POLLOUT;
	else if (active)
		fds[2].events |= POLLIN;
	/* an end that hung up would be reported over and over */
	if (fds[2].events == 0)
		fds[2].fd = -1;
}

/* The call may have ended, or another begun, since we started to wait. */
static int check_overdue(struct xgate *g, struct err *e)
{
	int rc = 0;

	pthread_mutex_lock(&g->mutex);
	if (g->active)
		rc = deadline_check(g->deadline,
				    "waiting for the guest's desktop", e);
	pthread_mutex_unlock(&g->mutex);
	return rc;
}

static void *run(void *arg)
{
	struct xgate *g = arg;

	for (;;) {
		struct pollfd fds[3];
		struct err e = {0};
		struct deadline d;
		uint64_t count;
		bool active;

		pthread_mutex_lock(&g->mutex);
		active = g->active;
		d = active ? g->deadline : deadline_in_ms(IDLE_MS);
		if (g->quit || g->broken) {
			pthread_mutex_unlock(&g->mutex);
			return NULL;
		}
		pthread_mutex_unlock(&g->mutex);
		want(g, active, fds);
		if (deadline_poll(fds, 3, d, "waiting for the guest's desktop",
				  &e) < 0) {
			if (e.code != ERR_TIMEOUT || check_overdue(g, &e) != 0)
				fail(g, &e);
			continue;
		}
		if (fds[0].revents &&
		    read(g->wake_fd, &count, sizeof(count)) < 0)
			err_sys(&e, "eventfd");
		/* a server that always has more to say ends here too */
		if (pump(g, fds, &e) != 0 || check_overdue(g, &e) != 0)
			fail(g, &e);
	}
}

/* ---- for the owner ---- */

int xgate_open(int server_fd, struct xgate **ret, int *ret_fd, struct err *e)
{
	struct xgate *g = ALLOC_NEW(struct xgate);
	int pair[2] = {-1, -1};
	int rc;

	g->server_fd = server_fd;
	g->pair_fd = -1;
	g->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&g->mutex, NULL);
	xframe_init(&g->frame);
	g->up = (struct queue){.data = alloc_zero(UP_SIZE), .size = UP_SIZE};
	g->down = (struct queue){.data = alloc_zero(DOWN_SIZE),
				 .size = DOWN_SIZE};
	if (g->wake_fd < 0) {
		err_sys(e, "eventfd");
		goto fail;
	}
	if (fd_pair(pair, e) != 0)
		goto fail;
	g->pair_fd = pair[0];
	rc = pthread_create(&g->thread, NULL, run, g);
	if (rc != 0) {
		errno = rc;
		err_sys(e, "starting a thread");
		close(pair[1]);
		goto fail;
	}
	g->started = true;
	*ret = g;
	*ret_fd = pair[1];
	return 0;
fail:
	xgate_free(g);
	return -1;
}

void xgate_free(struct xgate *g)
{
	if (!g)
		return;
	if (g->started) {
		pthread_mutex_lock(&g->mutex);
		g->quit = true;
		pthread_mutex_unlock(&g->mutex);
		wake(g);
		pthread_join(g->thread, NULL);
	}
	if (g->server_fd >= 0)
		close(g->server_fd);
	if (g->pair_fd >= 0)
		close(g->pair_fd);
	if (g->wake_fd >= 0)
		close(g->wake_fd);
	pthread_mutex_destroy(&g->mutex);
	free(g->up.data);
	free(g->down.data);
	free(g);
}

void xgate_begin(struct xgate *g, struct deadline d)
{
	pthread_mutex_lock(&g->mutex);
	g->deadline = d;
	g->active = true;
	pthread_mutex_unlock(&g->mutex);
	wake(g);
}

void xgate_end(struct xgate *g)
{
	pthread_mutex_lock(&g->mutex);
	g->active = false;
	pthread_mutex_unlock(&g->mutex);
	wake(g);
}

int xgate_expect(struct xgate *g, uint64_t request, uint64_t max_len,
		 struct err *e)
{
	int rc;

	pthread_mutex_lock(&g->mutex);
	rc = xframe_expect(&g->frame, request, max_len, e);
	pthread_mutex_unlock(&g->mutex);
	return rc;
}

void xgate_allow_event(struct xgate *g, uint8_t kind)
{
	pthread_mutex_lock(&g->mutex);
	xframe_allow_event(&g->frame, kind);
	pthread_mutex_unlock(&g->mutex);
}

int xgate_error(struct xgate *g, struct err *e)
{
	struct err why = {0};

	pthread_mutex_lock(&g->mutex);
	if (g->broken)
		why = g->error;
	pthread_mutex_unlock(&g->mutex);
	if (why.code == ERR_NONE)
		return lost(e);
	if (e)
		*e = why;
	return -1;
}

struct xsetup xgate_setup(struct xgate *g)
{
	struct xsetup s;

	pthread_mutex_lock(&g->mutex);
	s = g->frame.setup;
	pthread_mutex_unlock(&g->mutex);
	return s;
}
