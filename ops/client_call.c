/*
 * One call at a time. client_call() is a poll loop over the socket, the fds
 * lent by its io and the local side of a copy; nothing in it waits for one of
 * them alone, but the person asked by confirm().
 *
 * A call that was left at its deadline (detached) may still be answered:
 * frames of another id than the current call's are dropped.
 */
#include "ops/client_impl.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/json.h"
#include "ops/localtree.h"
#include "ops/op.h"
#include "ops/validate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define SLICE_LEN ((size_t)128 * 1024)
#define GRANT_LEN (LIMIT_RPC_WINDOW_LEN / 4)
/* how long a call may take to end once it was cancelled: by a person, who
 * waits for the undoing, or because its time was up */
#define CANCEL_MS 60000
#define OVERTIME_MS 5000

/* What a stream of the service goes to. */
struct sink {
	int fd; /* -1: dropped */
	struct buf bytes;
	size_t at; /* of bytes, what is written */
	bool broken;
};

struct pump {
	struct client *c;
	const struct client_io *io;
	uint32_t id;
	struct sink out, err;
	struct localtree *tree;
	size_t credit[RPC_STREAM_COUNT]; /* what we may send */
	size_t owed[RPC_STREAM_COUNT];	 /* read, not granted yet */
	bool in_open, tree_open;
	bool cancelled;
	struct deadline until; /* the call's, then the cancellation's */
	bool late;	       /* cancelled because its time was up */
	char job[40];
	bool done;
	json_t *result;
	struct err failure;
};

/* ---- sending
 * ------------------------------------------------------------------ */

static int send_json(struct pump *p, enum rpc_type type, const json_t *body,
		     struct err *e)
{
	return rpc_encode_json(&p->c->out, type, p->id, body, e);
}

static int send_data(struct pump *p, enum rpc_stream s, const void *bytes,
		     size_t len, struct err *e)
{
	p->credit[s] -= len;
	return rpc_encode_data(&p->c->out, p->id, s, bytes, len, e);
}

/* len more bytes of s are dealt with. */
static int grant(struct pump *p, enum rpc_stream s, size_t len, struct err *e)
{
	uint32_t credit;

	p->owed[s] += len;
	if (p->owed[s] < GRANT_LEN)
		return 0;
	credit = (uint32_t)p->owed[s];
	p->owed[s] = 0;
	return rpc_encode_credit(&p->c->out, p->id, s, credit, e);
}

static int send_call(struct pump *p, const char *op, const json_t *args,
		     struct err *e)
{
	const struct client_io *io = p->io;
	bool stream = io->in_fd >= 0 || io->out_fd >= 0 || io->err_fd >= 0;
	auto_json json_t *body = json_pack(
		"{s:s, s:O?, s:{s:b, s:b}}", "op", op, "args", args, "opts",
		"stream", (int)stream, "detached", (int)io->detached);

	/* a detached call outlasts our patience; others end with it, and a
	 * little later on its own if we cannot say so any more */
	if (!io->detached)
		json_object_set_new(
			json_object_get(body, "opts"), "deadline_ms",
			json_integer(deadline_poll_ms(io->deadline) +
				     OVERTIME_MS));
	if (send_json(p, RPC_CALL, body, e) != 0)
		return -1;
	p->in_open = io->in_fd >= 0;
	if (stream && !p->in_open)
		return send_data(p, RPC_STDIN, "", 0, e);
	return 0;
}

static int cancel(struct pump *p, int64_t patience_ms, struct err *e)
{
	auto_json json_t *body = json_object();

	if (p->cancelled)
		return 0;
	p->cancelled = true;
	p->in_open = false;
	p->until = deadline_in_ms(patience_ms);
	return send_json(p, RPC_CANCEL, body, e);
}

/* One read of what feeds the call's standard input. */
static int feed_stdin(struct pump *p, struct err *e)
{
	char bytes[64 * 1024];
	size_t max = sizeof(bytes);
	ssize_t n;

	if (max > p->credit[RPC_STDIN])
		max = p->credit[RPC_STDIN];
	n = read(p->io->in_fd, bytes, max);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	/* a terminal of another session is as good as at its end; anything
	 * else must not pass for the end of what was to be sent */
	if (n < 0 && errno != EIO) {
		err_sys(&p->failure, "reading the input");
		return cancel(p, CANCEL_MS, e);
	}
	if (n <= 0) {
		p->in_open = false;
		n = 0;
	}
	return send_data(p, RPC_STDIN, bytes, (size_t)n, e);
}

static size_t waiting(const struct client *c)
{
	return c->out.len - c->out_at;
}

static int feed_tree(struct pump *p, struct err *e)
{
	autofree char *bytes = NULL;

	if (!p->tree || !p->tree_open)
		return 0;
	bytes = alloc_array(SLICE_LEN, 1);
	while (p->credit[RPC_TREE_UP] > 0 && waiting(p->c) < CLIENT_OUT_LEN) {
		size_t max = p->credit[RPC_TREE_UP] < SLICE_LEN
				     ? p->credit[RPC_TREE_UP]
				     : SLICE_LEN;
		size_t n = localtree_produce(p->tree, bytes, max);

		if (n == 0 && !localtree_ended(p->tree))
			return 0;
		if (send_data(p, RPC_TREE_UP, bytes, n, e) != 0)
			return -1;
		if (n == 0) {
			p->tree_open = false;
			return 0;
		}
	}
	return 0;
}

static int flush(struct client *c, struct err *e)
{
	while (waiting(c) > 0) {
		ssize_t n = send(c->fd, c->out.data + c->out_at, waiting(c),
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		/* what it said before it went is still to be read */
		if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
			n = (ssize_t)waiting(c);
		if (n < 0)
			return err_sys(e, "asking the service");
		c->out_at += (size_t)n;
	}
	if (waiting(c) == 0) {
		buf_reset(&c->out);
		c->out_at = 0;
	} else if (c->out_at > CLIENT_OUT_LEN / 2) {
		buf_consume(&c->out, c->out_at);
		c->out_at = 0;
	}
	return 0;
}

/* ---- receiving
 * ---------------------------------------------------------------- */

static void drain(struct pump *p, struct sink *k, enum rpc_stream s,
		  struct err *e)
{
	ssize_t n = fd_write_some(k->fd, k->bytes.data + k->at,
				  k->bytes.len - k->at);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		/* whoever read our output left: no use in going on */
		k->broken = true;
		n = (ssize_t)(k->bytes.len - k->at);
		if (p->failure.code == ERR_NONE)
			err_sys(&p->failure, "writing the output");
		if (cancel(p, CANCEL_MS, e) != 0)
			return;
	}
	k->at += (size_t)n;
	if (k->at == k->bytes.len) {
		buf_reset(&k->bytes);
		k->at = 0;
	}
	if (grant(p, s, (size_t)n, e) != 0)
		p->c->dead = true;
}

static int take_sink(struct pump *p, struct sink *k, enum rpc_stream s,
		     const void *bytes, size_t len, struct err *e)
{
	if (k->fd < 0 || k->broken)
		return grant(p, s, len, e);
	/* what is written was granted anew, so it must not take room */
	if (k->bytes.len + len > k->bytes.cap) {
		buf_consume(&k->bytes, k->at);
		k->at = 0;
	}
	return buf_add(&k->bytes, bytes, len, e);
}

static int take_data(struct pump *p, const struct rpc_frame *f, struct err *e)
{
	const uint8_t *bytes;
	enum rpc_stream s;
	size_t len;

	if (rpc_payload_data(f, &s, &bytes, &len, e) != 0)
		return -1;
	if (s == RPC_STDOUT)
		return take_sink(p, &p->out, s, bytes, len, e);
	if (s == RPC_STDERR)
		return take_sink(p, &p->err, s, bytes, len, e);
	if (s == RPC_IMAGE && p->io->image &&
	    buf_add(p->io->image, bytes, len, e) != 0)
		return err_wrap(e, "the image");
	if (s == RPC_TREE_DOWN && p->tree && len > 0)
		localtree_feed(p->tree, bytes, len);
	return grant(p, s, len, e);
}

static int take_credit(struct pump *p, const struct rpc_frame *f, struct err *e)
{
	enum rpc_stream s;
	uint32_t credit;

	if (rpc_payload_credit(f, &s, &credit, e) != 0)
		return -1;
	if (credit > LIMIT_RPC_WINDOW_LEN - p->credit[s])
		return err_set(e, ERR_PROTOCOL,
			       "the service granted more than it had read");
	p->credit[s] += credit;
	return 0;
}

static int take_progress(struct pump *p, const struct rpc_frame *f,
			 struct err *e)
{
	auto_json json_t *body = rpc_payload_json(f, e);
	struct client_progress told = {.text = ""};

	if (!body || json_opt_int(body, "done", &told.done, e) != 0 ||
	    json_opt_int(body, "total", &told.total, e) != 0 ||
	    json_opt_str(body, "text", &told.text, e) != 0 ||
	    json_opt_str(body, "job", &told.job, e) != 0)
		return -1;
	if (told.job)
		snprintf(p->job, sizeof(p->job), "%s", told.job);
	if (p->io->progress)
		p->io->progress(p->io->ctx, &told);
	return 0;
}

static bool is_to_cancel(const struct pump *p)
{
	struct pollfd fd = {.fd = p->io->cancel_fd, .events = POLLIN};

	return poll(&fd, 1, 0) > 0;
}

/* A call that is to end is not answered for: not even with nobody's answer. */
static int take_confirm(struct pump *p, const struct rpc_frame *f,
			struct err *e)
{
	auto_json json_t *body = rpc_payload_json(f, e);
	auto_json json_t *answer = NULL;
	const json_t *question;
	json_t *given = NULL;

	if (!body)
		return -1;
	question = json_object_get(body, "question");
	if (p->io->confirm && question)
		given = p->io->confirm(p->io->ctx, question);
	if (is_to_cancel(p)) {
		json_decref(given);
		return cancel(p, CANCEL_MS, e);
	}
	answer = json_pack("{s:o}", "answer", given ? given : json_null());
	return send_json(p, RPC_ANSWER, answer, e);
}

static int take_frame(struct pump *p, const struct rpc_frame *f, struct err *e)
{
	if (f->call == 0 && f->type == RPC_ERROR) {
		p->c->dead = true;
		return client_take_error(f, e);
	}
	if (f->call != p->id)
		return 0;
	switch (f->type) {
	case RPC_DATA:
		return take_data(p, f, e);
	case RPC_CREDIT:
		return take_credit(p, f, e);
	case RPC_PROGRESS:
		return take_progress(p, f, e);
	case RPC_CONFIRM:
		return take_confirm(p, f, e);
	case RPC_RESULT:
		p->result = rpc_payload_json(f, e);
		p->done = true;
		return p->result ? 0 : -1;
	case RPC_ERROR:
		p->done = true;
		/* the reason we cancelled for comes first */
		if (p->failure.code == ERR_NONE)
			client_take_error(f, &p->failure);
		return 0;
	case RPC_HELLO:
	case RPC_CALL:
	case RPC_ANSWER:
	case RPC_CANCEL:
	case RPC_TYPE_END:
	default:
		return err_set(e, ERR_PROTOCOL,
			       "the service sent a message of type %d",
			       (int)f->type);
	}
}

static int take_frames(struct pump *p, struct err *e)
{
	struct client *c = p->c;
	size_t done = 0;
	int rc;

	for (;;) {
		struct rpc_frame f;
		size_t used;

		rc = rpc_decode((const uint8_t *)c->in.data + done,
				c->in.len - done, &f, &used, e);
		if (rc <= 0)
			break;
		done += used;
		rc = take_frame(p, &f, e);
		if (rc != 0 || p->done)
			break;
	}
	buf_consume(&c->in, done);
	return rc;
}

static int receive(struct pump *p, struct err *e)
{
	struct err why = {0};
	ssize_t n = buf_read_fd(&p->c->in, p->c->fd, CLIENT_READ_LEN, &why);

	if (n < 0 && (why.errnum == EAGAIN || why.errnum == EINTR))
		return 0;
	if (n <= 0) {
		p->c->dead = true;
		return err_set(e, ERR_UNAVAILABLE,
			       "the service ended during the call, which may "
			       "be done in part: boxery ls shows what is "
			       "there");
	}
	return take_frames(p, e);
}

/* ---- the loop
 * -------------------------------------------------------------------- */

enum { POLL_SOCKET, POLL_CANCEL, POLL_IN, POLL_OUT, POLL_ERR, POLL_COUNT };

static void set_polls(const struct pump *p, struct pollfd fds[POLL_COUNT])
{
	bool feed = p->in_open && p->credit[RPC_STDIN] > 0 &&
		    waiting(p->c) < CLIENT_OUT_LEN;

	for (int i = 0; i < POLL_COUNT; i++)
		fds[i] = (struct pollfd){.fd = -1};
	if (!p->done)
		fds[POLL_SOCKET] = (struct pollfd){
			.fd = p->c->fd,
			.events = (short)(POLLIN |
					  (waiting(p->c) > 0 ? POLLOUT : 0))};
	if (!p->cancelled)
		fds[POLL_CANCEL] = (struct pollfd){.fd = p->io->cancel_fd,
						   .events = POLLIN};
	if (feed && !p->done)
		fds[POLL_IN] =
			(struct pollfd){.fd = p->io->in_fd, .events = POLLIN};
	if (p->out.bytes.len > 0)
		fds[POLL_OUT] =
			(struct pollfd){.fd = p->out.fd, .events = POLLOUT};
	if (p->err.bytes.len > 0)
		fds[POLL_ERR] =
			(struct pollfd){.fd = p->err.fd, .events = POLLOUT};
}

/* Our patience is over: leave a detached job, cancel anything else. */
static int overdue(struct pump *p, struct err *e)
{
	if (p->cancelled) {
		p->c->dead = true;
		return err_set(e, ERR_TIMEOUT,
			       "the service did not end the call");
	}
	if (p->io->detached && *p->job)
		return err_set(e, ERR_TIMEOUT, "goes on as job %s", p->job);
	p->late = true;
	return cancel(p, OVERTIME_MS, e);
}

static int round_trip(struct pump *p, struct err *e)
{
	struct pollfd fds[POLL_COUNT];
	struct err why = {0};

	set_polls(p, fds);
	if (deadline_poll(fds, POLL_COUNT, p->until, "waiting", &why) < 0) {
		if (why.code == ERR_TIMEOUT)
			return overdue(p, e);
		*e = why;
		return -1;
	}
	if (fds[POLL_CANCEL].revents && cancel(p, CANCEL_MS, e) != 0)
		return -1;
	if (fds[POLL_OUT].revents)
		drain(p, &p->out, RPC_STDOUT, e);
	if (fds[POLL_ERR].revents)
		drain(p, &p->err, RPC_STDERR, e);
	if (fds[POLL_IN].revents && feed_stdin(p, e) != 0)
		return -1;
	if (fds[POLL_SOCKET].revents & (POLLIN | POLLHUP | POLLERR) &&
	    receive(p, e) != 0)
		return -1;
	if (!p->done && (feed_tree(p, e) != 0 || flush(p->c, e) != 0))
		return -1;
	return 0;
}

static bool finished(const struct pump *p)
{
	return p->done && p->out.bytes.len == 0 && p->err.bytes.len == 0;
}

static int pump_call(struct pump *p, const char *op, const json_t *args,
		     struct err *e)
{
	if (send_call(p, op, args, e) != 0 || feed_tree(p, e) != 0 ||
	    flush(p->c, e) != 0)
		return -1;
	while (!finished(p)) {
		if (round_trip(p, e) != 0)
			return -1;
	}
	if (p->late && !p->result)
		return err_set(e, ERR_TIMEOUT, "%s took too long", op);
	if (p->failure.code != ERR_NONE) {
		*e = p->failure;
		return -1;
	}
	return 0;
}

int client_call(struct client *c, const char *op, const json_t *args,
		const struct client_io *io, json_t **ret_result, struct err *e)
{
	const struct op *row = op_find(op);
	auto_json json_t *valid = NULL;
	struct err why = {0};
	struct pump p = {.c = c,
			 .io = io,
			 .out.fd = io->out_fd,
			 .err.fd = io->err_fd,
			 .until = io->deadline};
	int rc = -1;

	if (!row)
		return err_set(e, ERR_INVALID, "unknown operation \"%.64s\"",
			       op);
	if (c->dead)
		return err_set(e, ERR_UNAVAILABLE,
			       "the connection to the service is lost");
	valid = validate_args(row, args, c->agent, e);
	/* NULL means "anywhere" below: not for an agent, whoever forgot it */
	if (valid && c->agent && !io->copy_root &&
	    validate_is_local(row, valid))
		return err_set(e, ERR_DENIED,
			       "%s: an agent's copies with this computer need "
			       "a directory to be confined to",
			       op);
	if (!valid || localtree_for_call(op, valid, io->copy_root, c->home,
					 &p.tree, e) != 0)
		return -1;
	/* 0 is the connection itself */
	if (++c->last_call == 0)
		c->last_call = 1;
	p.id = c->last_call;
	p.tree_open = p.tree != NULL;
	for (int i = 0; i < RPC_STREAM_COUNT; i++)
		p.credit[i] = LIMIT_RPC_WINDOW_LEN;
	buf_init(&p.out.bytes, LIMIT_RPC_WINDOW_LEN);
	buf_init(&p.err.bytes, LIMIT_RPC_WINDOW_LEN);
	rc = pump_call(&p, op, args, &why);
	if (rc == 0)
		*ret_result = TAKE_PTR(p.result);
	else if (e)
		*e = why;
	/* after anything else than an answer the stream's state is unknown */
	if (rc != 0 && !p.done && !(io->detached && *p.job))
		c->dead = true;
	json_decref(p.result);
	localtree_free(p.tree);
	buf_finish(&p.out.bytes);
	buf_finish(&p.err.bytes);
	return rc;
}
