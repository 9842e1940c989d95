/*
 * A call between its handler's thread, which blocks, and the I/O thread, which
 * never does. Both meet under conn->lock; the handler waits on `changed`.
 *
 * Credit: each side may send LIMIT_RPC_WINDOW_LEN bytes on a stream before
 * the other has read any; what was read is granted anew in quarters of that.
 */
#include "vmctl/call.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/log.h"
#include "vmctl/conn.h"
#include "vmctl/job.h"
#include "vmctl/serve.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* one frame of a stream: large enough to be cheap, small enough to share */
#define SLICE_LEN ((size_t)128 * 1024)
#define GRANT_LEN (LIMIT_RPC_WINDOW_LEN / 4)
/* progress: this many at once, then one each interval */
#define PROGRESS_BURST 8
#define PROGRESS_INTERVAL_MS 100
#define PROGRESS_TEXT_SIZE 256

struct call *call_new(struct conn *conn, uint32_t id, const void *payload,
		      size_t len)
{
	struct call *c = ALLOC_NEW(struct call);
	pthread_condattr_t attr;

	c->conn = conn;
	c->id = id;
	c->payload = alloc_array(len + 1, 1);
	memcpy(c->payload, payload, len);
	c->payload_len = len;
	c->cancel_fd = -1;
	c->progress_tokens = PROGRESS_BURST;
	for (int i = 0; i < RPC_STREAM_COUNT; i++) {
		c->in[i].room = LIMIT_RPC_WINDOW_LEN;
		c->in[i].ready_fd = -1;
		c->credit[i] = LIMIT_RPC_WINDOW_LEN;
	}
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->changed, &attr);
	pthread_condattr_destroy(&attr);

	pthread_mutex_lock(&conn->lock);
	conn->refs++;
	c->next = conn->calls;
	conn->calls = c;
	pthread_mutex_unlock(&conn->lock);
	return c;
}

void call_unlink(struct call *c)
{
	struct conn *conn = c->conn;

	pthread_mutex_lock(&conn->lock);
	for (struct call **p = &conn->calls; *p; p = &(*p)->next) {
		if (*p == c) {
			*p = c->next;
			break;
		}
	}
	pthread_mutex_unlock(&conn->lock);
}

void call_free(struct call *c)
{
	struct conn *conn = c->conn;

	for (int i = 0; i < RPC_STREAM_COUNT; i++) {
		chunks_finish(&c->in[i].bytes);
		if (c->in[i].ready_fd >= 0)
			close(c->in[i].ready_fd);
	}
	if (c->cancel_fd >= 0)
		close(c->cancel_fd);
	pthread_cond_destroy(&c->changed);
	free(c->payload);
	json_decref(c->answer);
	free(c->ended);
	free(c);
	conn_unref(conn);
}

/* ---- from the I/O thread, lock held ----------------------------------------
 */

static void signal_fd(int fd)
{
	uint64_t one = 1;

	/* a full counter is as readable as can be */
	if (fd >= 0 && write(fd, &one, sizeof(one)) < 0)
		log_debug("an event was not signalled");
}

static void clear_fd(int fd)
{
	uint64_t n;

	if (fd >= 0 && read(fd, &n, sizeof(n)) < 0)
		log_debug("an event was not pending");
}

void call_cancel(struct call *c)
{
	if (c->cancelled)
		return;
	c->cancelled = true;
	signal_fd(c->cancel_fd);
	for (int i = 0; i < RPC_STREAM_COUNT; i++)
		signal_fd(c->in[i].ready_fd);
	pthread_cond_broadcast(&c->changed);
}

void call_lose(struct call *c)
{
	c->lost = true;
	if (c->settled && !c->survives)
		call_cancel(c);
	for (int i = 0; i < RPC_STREAM_COUNT; i++)
		signal_fd(c->in[i].ready_fd);
	pthread_cond_broadcast(&c->changed);
}

static bool is_clients(enum rpc_stream s)
{
	return s == RPC_STDIN || s == RPC_TREE_UP;
}

int call_feed(struct call *c, enum rpc_stream s, const void *p, size_t len,
	      struct err *e)
{
	struct call_in *in = &c->in[s];

	if (!is_clients(s))
		return err_set(e, ERR_PROTOCOL,
			       "stream %d is the service's to write", (int)s);
	if (in->ended)
		return err_set(e, ERR_PROTOCOL, "stream %d had ended", (int)s);
	if (len > in->room)
		return err_set(e, ERR_PROTOCOL,
			       "stream %d: more was sent than granted", (int)s);
	in->room -= len;
	if (len == 0)
		in->ended = true;
	chunks_add(&in->bytes, p, len);
	signal_fd(in->ready_fd);
	pthread_cond_broadcast(&c->changed);
	return 0;
}

int call_grant(struct call *c, enum rpc_stream s, uint32_t credit,
	       struct err *e)
{
	if (is_clients(s))
		return err_set(e, ERR_PROTOCOL,
			       "stream %d is the client's to write", (int)s);
	if (credit > LIMIT_RPC_WINDOW_LEN - c->credit[s])
		return err_set(e, ERR_PROTOCOL,
			       "stream %d: more was granted than read", (int)s);
	c->credit[s] += credit;
	pthread_cond_broadcast(&c->changed);
	return 0;
}

void call_answered(struct call *c, json_t *answer)
{
	if (c->asking != ASKING) {
		json_decref(answer);
		return;
	}
	c->asking = ASKING_ANSWERED;
	c->answer = answer;
	pthread_cond_broadcast(&c->changed);
}

void call_set_survives(struct call *c, bool survives)
{
	pthread_mutex_lock(&c->conn->lock);
	c->survives = survives;
	c->settled = true;
	if (c->lost && !survives)
		call_cancel(c);
	pthread_mutex_unlock(&c->conn->lock);
}

/* ---- for handlers -----------------------------------------------------------
 */

struct service *call_service(struct call *c)
{
	return serve_opts(c->conn->serve)->service;
}

const struct op *call_op(const struct call *c)
{
	return c->op;
}

const char *call_client(const struct call *c)
{
	return c->conn->identity;
}

bool call_from_agent(const struct call *c)
{
	return c->conn->agent;
}

bool call_high_tier(const struct call *c)
{
	return c->conn->high_tier;
}

const char *const *call_scope(const struct call *c)
{
	return (const char *const *)c->conn->vms;
}

bool call_may_use_vm(const struct call *c, const char *vm)
{
	if (!c->conn->vms)
		return true;
	for (char **v = c->conn->vms; *v; v++) {
		if (strcmp(*v, vm) == 0)
			return true;
	}
	return false;
}

const char *call_job(const struct call *c)
{
	return c->job ? job_id(c->job) : "";
}

bool call_streams(const struct call *c)
{
	return c->streams;
}

struct deadline call_deadline(const struct call *c)
{
	return c->deadline;
}

int call_cancel_fd(const struct call *c)
{
	/* made when first asked for: most calls never are */
	struct call *mine = (struct call *)(uintptr_t)c;

	pthread_mutex_lock(&c->conn->lock);
	if (mine->cancel_fd < 0) {
		mine->cancel_fd = eventfd(c->cancelled ? 1 : 0,
					  EFD_CLOEXEC | EFD_NONBLOCK);
		if (mine->cancel_fd < 0)
			log_error("out of file descriptors");
	}
	pthread_mutex_unlock(&c->conn->lock);
	return c->cancel_fd;
}

bool call_cancelled(const struct call *c)
{
	bool cancelled;

	pthread_mutex_lock(&c->conn->lock);
	cancelled = c->cancelled;
	pthread_mutex_unlock(&c->conn->lock);
	return cancelled;
}

static int check_locked(const struct call *c, struct err *e)
{
	if (c->ended)
		return err_set(e, ERR_CANCELLED, "%s", c->ended);
	if (c->cancelled)
		return err_set(e, ERR_CANCELLED, "%s",
			       c->lost ? "the client left" : "cancelled");
	return deadline_check(c->deadline, c->op->summary, e);
}

int call_check(const struct call *c, struct err *e)
{
	int rc;

	pthread_mutex_lock(&c->conn->lock);
	rc = check_locked(c, e);
	pthread_mutex_unlock(&c->conn->lock);
	return rc;
}

void call_end(struct call *c, const char *why)
{
	pthread_mutex_lock(&c->conn->lock);
	if (!c->cancelled) {
		c->ended = alloc_str(why);
		call_cancel(c);
	}
	pthread_mutex_unlock(&c->conn->lock);
}

void call_explain_end(struct call *c, struct err *e)
{
	pthread_mutex_lock(&c->conn->lock);
	/* its client did not cancel it, so nobody may be told so */
	if (c->ended && e->code == ERR_CANCELLED)
		err_set(e, ERR_STATE, "%s", c->ended);
	else if (c->ended && !strstr(err_msg(e), c->ended))
		err_set(e, ERR_STATE, "%s (%s)", c->ended, err_msg(e));
	pthread_mutex_unlock(&c->conn->lock);
}

/* Until something changes; the caller looks what. */
static void wait_locked(struct call *c)
{
	struct timespec until = deadline_timespec(c->deadline);

	pthread_cond_timedwait(&c->changed, &c->conn->lock, &until);
}

/* May another progress message go now? Lock held. */
static bool may_tell(struct call *c, int64_t now_ms)
{
	int64_t fresh = (now_ms - c->progress_ms) / PROGRESS_INTERVAL_MS;

	if (fresh > 0) {
		c->progress_ms = now_ms;
		c->progress_tokens =
			c->progress_tokens + fresh > PROGRESS_BURST
				? PROGRESS_BURST
				: c->progress_tokens + (unsigned)fresh;
	}
	if (c->progress_tokens == 0 || c->conn->fd < 0 ||
	    c->conn->out.len > LIMIT_OUT_STREAM_LEN / 2)
		return false;
	c->progress_tokens--;
	return true;
}

void call_progress(struct call *c, int64_t done, int64_t total, const char *fmt,
		   ...)
{
	auto_json json_t *body = NULL;
	char text[PROGRESS_TEXT_SIZE];
	va_list ap;
	bool tell;

	va_start(ap, fmt);
	if (vsnprintf(text, sizeof(text), fmt, ap) < 0)
		text[0] = '\0';
	va_end(ap);
	if (c->job)
		job_progress(c->job, done, total, text);
	pthread_mutex_lock(&c->conn->lock);
	tell = may_tell(c, deadline_now_ms());
	pthread_mutex_unlock(&c->conn->lock);
	if (!tell)
		return;
	body = json_pack("{s:I, s:I, s:o}", "done", (json_int_t)done, "total",
			 (json_int_t)total, "text",
			 json_lossy(text, strlen(text)));
	conn_send_json(c->conn, RPC_PROGRESS, c->id, body);
}

/* ---- streams
 * ------------------------------------------------------------------ */

/* Wait until a slice may be sent: its length, 0 when nobody is there to read
 * it any more, -1. Lock held. */
static ssize_t wait_credit(struct call *c, enum rpc_stream s, size_t len,
			   struct err *e)
{
	for (;;) {
		if (check_locked(c, e) != 0)
			return -1;
		if (c->lost)
			return 0;
		if (c->conn->out.len < LIMIT_OUT_STREAM_LEN &&
		    (c->credit[s] > 0 || len == 0)) {
			if (len > SLICE_LEN)
				len = SLICE_LEN;
			return (ssize_t)(len < c->credit[s] ? len
							    : c->credit[s]);
		}
		wait_locked(c);
	}
}

static int write_slice(struct call *c, enum rpc_stream s, const void *p,
		       size_t *len, struct err *e)
{
	struct buf frame;
	ssize_t n;
	int rc = 0;

	buf_init(&frame, SLICE_LEN + 64);
	pthread_mutex_lock(&c->conn->lock);
	n = wait_credit(c, s, *len, e);
	if (n < 0) {
		rc = -1;
	} else if (!c->lost) {
		rc = rpc_encode_data(&frame, c->id, s, p, (size_t)n, e);
		if (rc == 0) {
			c->credit[s] -= (size_t)n;
			conn_push(c->conn, &frame);
			*len = (size_t)n;
		}
	}
	pthread_mutex_unlock(&c->conn->lock);
	buf_finish(&frame);
	return rc;
}

int call_write(struct call *c, enum rpc_stream s, const void *p, size_t len,
	       struct err *e)
{
	const char *from = p;

	do {
		size_t n = len;

		if (write_slice(c, s, from, &n, e) != 0)
			return -1;
		from += n;
		len -= n;
	} while (len > 0);
	return 0;
}

/* What the handler took is granted anew. Lock held. */
static void grant_read(struct call *c, enum rpc_stream s, size_t len)
{
	struct call_in *in = &c->in[s];
	struct buf frame;

	in->owed += len;
	if (in->owed < GRANT_LEN || in->ended)
		return;
	buf_init(&frame, 64);
	if (rpc_encode_credit(&frame, c->id, s, (uint32_t)in->owed, NULL) ==
	    0) {
		in->room += in->owed;
		in->owed = 0;
		conn_push(c->conn, &frame);
	}
	buf_finish(&frame);
}

ssize_t call_read(struct call *c, enum rpc_stream s, void *p, size_t max,
		  struct err *e)
{
	struct call_in *in = &c->in[s];
	ssize_t n = -1;

	pthread_mutex_lock(&c->conn->lock);
	for (;;) {
		if (check_locked(c, e) != 0)
			break;
		if (in->bytes.len > 0 || in->ended) {
			n = (ssize_t)chunks_take(&in->bytes, p, max);
			grant_read(c, s, (size_t)n);
			if (in->bytes.len == 0 && !in->ended && !c->lost)
				clear_fd(in->ready_fd);
			break;
		}
		if (c->lost) {
			err_set(e, ERR_CANCELLED, "the client left");
			break;
		}
		wait_locked(c);
	}
	pthread_mutex_unlock(&c->conn->lock);
	return n;
}

int call_read_fd(struct call *c, enum rpc_stream s)
{
	struct call_in *in = &c->in[s];
	bool ready;

	pthread_mutex_lock(&c->conn->lock);
	if (in->ready_fd < 0) {
		ready = in->bytes.len > 0 || in->ended || c->lost ||
			c->cancelled;
		in->ready_fd =
			eventfd(ready ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (in->ready_fd < 0)
			log_error("out of file descriptors");
	}
	pthread_mutex_unlock(&c->conn->lock);
	return in->ready_fd;
}

/* ---- a person
 * ------------------------------------------------------------------ */

int call_confirm(struct call *c, const json_t *question, json_t **ret_answer,
		 struct err *e)
{
	auto_json json_t *body = json_pack("{s:O}", "question", question);
	int rc = -1;

	pthread_mutex_lock(&c->conn->lock);
	c->asking = ASKING;
	pthread_mutex_unlock(&c->conn->lock);
	conn_send_json(c->conn, RPC_CONFIRM, c->id, body);
	pthread_mutex_lock(&c->conn->lock);
	for (;;) {
		if (c->asking == ASKING_ANSWERED) {
			*ret_answer = TAKE_PTR(c->answer);
			rc = 0;
			break;
		}
		if (c->lost) {
			err_set(e, ERR_DENIED,
				"not confirmed: the client left");
			break;
		}
		if (check_locked(c, e) != 0)
			break;
		wait_locked(c);
	}
	c->asking = ASKING_NOTHING;
	pthread_mutex_unlock(&c->conn->lock);
	return rc;
}
