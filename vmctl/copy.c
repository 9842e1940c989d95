#include "vmctl/copy.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "vmctl/copy_impl.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

/* ---- report ------------------------------------------------------------- */

void copy_report_finish(struct copy_report *r)
{
	for (unsigned i = 0; i < COPY_WARNINGS_COUNT; i++)
		free(r->warnings[i]);
	*r = (struct copy_report){0};
}

void copy_warn(struct copy_report *r, const char *p, size_t len)
{
	if (r->warning_count < COPY_WARNINGS_COUNT)
		r->warnings[r->warning_count] = alloc_strn(p, len);
	r->warning_count++;
}

/* ---- records over the link ---------------------------------------------- */

void copy_wire_init(struct copy_wire *w, const struct copy_side *side,
		    treewire_fn *take, void *ctx)
{
	*w = (struct copy_wire){.side = side, .take = take, .ctx = ctx};
	buf_init(&w->in, TREEWIRE_RECORD_LEN);
	buf_init(&w->out, COPY_OUT_LEN + TREEWIRE_RECORD_LEN);
	w->chunk = alloc_zero(COPY_IN_LEN);
}

void copy_wire_finish(struct copy_wire *w)
{
	buf_finish(&w->in);
	buf_finish(&w->out);
	free(w->chunk);
}

int copy_check(const struct copy_side *s, struct err *e)
{
	struct pollfd p = {.fd = s->cancel_fd, .events = POLLIN};

	if (s->cancel_fd >= 0 && poll(&p, 1, 0) > 0)
		return err_set(e, ERR_CANCELLED, "the copy was cancelled");
	return deadline_check(s->deadline, "copying", e);
}

int copy_flush(struct copy_wire *w, struct err *e)
{
	const struct copy_link *l = w->side->link;

	if (w->out.len > 0 &&
	    l->send(l->ctx, w->out.data, w->out.len, e) != 0)
		return -1;
	buf_reset(&w->out);
	return 0;
}

int copy_say(struct copy_wire *w, const struct treewire_record *r,
	     struct err *e)
{
	if (treewire_encode(&w->out, r, e) != 0)
		return -1;
	return w->out.len >= COPY_OUT_LEN ? copy_flush(w, e) : 0;
}

int copy_say_simple(struct copy_wire *w, enum treewire_type type,
		    struct err *e)
{
	struct treewire_record r = {.type = type};

	return copy_say(w, &r, e);
}

int copy_say_trouble(struct copy_wire *w, const struct err *f, struct err *e)
{
	struct treewire_record r = treewire_failure(TREE_TROUBLE, f);

	return copy_say(w, &r, e);
}

static int take_record(const struct treewire_record *r, void *ctx,
		       struct err *e)
{
	struct copy_wire *w = ctx;

	if (r->type == TREE_FAIL) {
		w->ended = true;
		return treewire_to_err(r, e);
	}
	if (r->type == TREE_WARN) {
		copy_warn(w->side->report, r->text.p, r->text.len);
		return 0;
	}
	return w->take(r, w->ctx, e);
}

int copy_recv(struct copy_wire *w, struct err *e)
{
	const struct copy_link *l = w->side->link;
	ssize_t n;

	if (copy_check(w->side, e) != 0)
		return -1;
	n = l->recv(l->ctx, w->chunk, COPY_IN_LEN, e);
	if (n < 0)
		return -1;
	if (n == 0) {
		w->ended = true;
		return err_set(e, ERR_UNAVAILABLE,
			       "the other side of the copy went away");
	}
	return treewire_feed(&w->in, w->chunk, (size_t)n, take_record, w, e);
}

int copy_poll(struct copy_wire *w, struct err *e)
{
	struct pollfd p = {.fd = w->side->link->recv_fd, .events = POLLIN};

	if (copy_check(w->side, e) != 0)
		return -1;
	if (poll(&p, 1, 0) <= 0)
		return 0;
	return copy_recv(w, e);
}

int copy_give_up(struct copy_wire *w, const struct err *e)
{
	struct treewire_record r = treewire_failure(TREE_FAIL, e);
	struct err ignored = {0};

	if (w->ended)
		return -1;
	/* what is queued are whole records: they go first */
	if (treewire_encode(&w->out, &r, &ignored) != 0)
		return -1;
	if (copy_flush(w, &ignored) != 0)
		w->ended = true;
	return -1;
}

/* ---- from guest to guest ------------------------------------------------ */

/* The source runs on a thread of its own. Whichever side fails tells the
 * other over the link, or leaves it. */
struct pair {
	int fd;
	int cancel_fd;
	struct deadline deadline;
};

static int pair_send(void *ctx, const void *p, size_t len, struct err *e)
{
	const struct pair *x = ctx;
	const char *at = p;

	while (len > 0) {
		struct pollfd f[2] = {{.fd = x->fd, .events = POLLOUT},
				      {.fd = x->cancel_fd, .events = POLLIN}};
		ssize_t n = send(x->fd, at, len, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n > 0) {
			at += n;
			len -= (size_t)n;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return err_set(e, ERR_UNAVAILABLE,
				       "the other side of the copy went away");
		if (deadline_poll(f, 2, x->deadline, "copying", e) < 0)
			return -1;
		if (f[1].revents)
			return err_set(e, ERR_CANCELLED,
				       "the copy was cancelled");
	}
	return 0;
}

static ssize_t pair_recv(void *ctx, void *p, size_t max, struct err *e)
{
	const struct pair *x = ctx;

	for (;;) {
		struct pollfd f[2] = {{.fd = x->fd, .events = POLLIN},
				      {.fd = x->cancel_fd, .events = POLLIN}};
		ssize_t n = recv(x->fd, p, max, MSG_DONTWAIT);

		if (n >= 0 || errno == ECONNRESET)
			return n > 0 ? n : 0;
		if (errno != EAGAIN && errno != EINTR)
			return err_sys(e, "copying");
		if (deadline_poll(f, 2, x->deadline, "copying", e) < 0)
			return -1;
		if (f[1].revents)
			return err_set(e, ERR_CANCELLED,
				       "the copy was cancelled");
	}
}

struct source_thread {
	struct copy_side side;
	struct pair pair;
	struct err err;
	int rc;
};

static void *run_source(void *p)
{
	struct source_thread *t = p;

	t->rc = copy_from_guest(&t->side, &t->err);
	/* the sink sees the end of the stream, whatever happened */
	shutdown(t->pair.fd, SHUT_RDWR);
	return NULL;
}

int copy_between(const struct copy_side *from, const struct copy_side *to,
		 struct err *e)
{
	struct source_thread t = {.side = *from};
	struct copy_report source_report = {0};
	struct copy_side sink = *to;
	struct copy_link links[2];
	struct pair pair;
	pthread_t thread;
	int fds[2], rc;

	if (fd_pair(fds, e) != 0)
		return -1;
	autoclose int source_fd = fds[0];
	autoclose int sink_fd = fds[1];

	t.pair = (struct pair){source_fd, from->cancel_fd, from->deadline};
	pair = (struct pair){sink_fd, to->cancel_fd, to->deadline};
	links[0] = (struct copy_link){&t.pair, pair_send, pair_recv, source_fd};
	links[1] = (struct copy_link){&pair, pair_send, pair_recv, sink_fd};
	t.side.link = &links[0];
	t.side.report = &source_report;
	t.side.progress = NULL;
	sink.link = &links[1];
	rc = pthread_create(&thread, NULL, run_source, &t);
	if (rc != 0) {
		errno = rc;
		return err_sys(e, "starting a thread");
	}
	rc = copy_to_guest(&sink, e);
	shutdown(sink_fd, SHUT_RDWR);
	pthread_join(thread, NULL);
	copy_report_finish(&source_report);
	if (rc != 0 && e && e->code == ERR_UNAVAILABLE && t.rc != 0)
		*e = t.err; /* the cause, not that the source left */
	return rc;
}
