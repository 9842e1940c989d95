/*
 * One client's socket, non-blocking. Frames come in on the I/O thread and are
 * handed to the calls they name; frames go out through `out`, which whoever
 * adds to it flushes at once as far as the socket takes it. What is left is
 * watched for by epoll, and while too much is left the client is not read
 * from: one that asks and never reads costs a bounded amount of memory and
 * nobody else's time.
 *
 * States: not greeted (only HELLO is legal, within LIMIT_HELLO_MS), greeted,
 * closed (fd -1; jobs may still hold a reference and send into the void).
 */
#include "vmctl/conn.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/version.h"
#include "ops/validate.h"
#include "vmctl/serve.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* header and length of a frame (base/rpc.h) */
#define FRAME_CAP (LIMIT_RPC_FRAME_LEN + 16)
#define READ_LEN ((size_t)256 * 1024)
/* an input buffer that grew over this is let go when it is empty */
#define IDLE_LEN ((size_t)64 * 1024)
#define IOV_COUNT 16

struct conn *conn_new(struct serve *s, int epoll_fd, int fd, uid_t uid)
{
	struct conn *c = ALLOC_NEW(struct conn);
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = c};

	c->serve = s;
	c->fd = fd;
	c->epoll_fd = epoll_fd;
	c->events = ev.events;
	c->uid = uid;
	c->refs = 1;
	c->opened_ms = deadline_now_ms();
	buf_init(&c->in, FRAME_CAP + READ_LEN);
	pthread_mutex_init(&c->lock, NULL);
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev) != 0) {
		log_warn("a client could not be watched: errno %d", errno);
		conn_close(c);
		return NULL;
	}
	return c;
}

void conn_unref(struct conn *c)
{
	unsigned left;

	pthread_mutex_lock(&c->lock);
	left = --c->refs;
	pthread_mutex_unlock(&c->lock);
	if (left > 0)
		return;
	buf_finish(&c->in);
	chunks_finish(&c->out);
	pthread_mutex_destroy(&c->lock);
	for (char **v = c->vms; v && *v; v++)
		free(*v);
	free(c->vms);
	free(c->identity);
	free(c);
}

void conn_close(struct conn *c)
{
	pthread_mutex_lock(&c->lock);
	/* closing it would not do: a child between fork and exec has it too,
	 * and epoll would go on naming a connection that is gone */
	epoll_ctl(c->epoll_fd, EPOLL_CTL_DEL, c->fd, NULL);
	close(c->fd);
	c->fd = -1;
	chunks_finish(&c->out);
	for (struct call *call = c->calls; call; call = call->next)
		call_lose(call);
	pthread_mutex_unlock(&c->lock);
	conn_unref(c);
}

/* ---- out ------------------------------------------------------------------
 */

/* Watch for what is of use now. Lock held. */
static void watch(struct conn *c)
{
	struct epoll_event ev = {.data.ptr = c};

	if (c->out.len < LIMIT_OUT_LEN)
		ev.events |= EPOLLIN;
	if (c->out.len > 0)
		ev.events |= EPOLLOUT;
	if (ev.events == c->events)
		return;
	if (epoll_ctl(c->epoll_fd, EPOLL_CTL_MOD, c->fd, &ev) == 0)
		c->events = ev.events;
}

/* Send what the socket takes. Lock held. An error is left to epoll, which
 * reports the hang-up to the I/O thread. */
static void flush_out(struct conn *c)
{
	while (c->out.len > 0) {
		struct iovec iov[IOV_COUNT];
		struct msghdr msg = {.msg_iov = iov};
		ssize_t n;

		msg.msg_iovlen = (size_t)chunks_peek(&c->out, iov, IOV_COUNT);
		n = sendmsg(c->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		chunks_drop(&c->out, (size_t)n);
	}
	watch(c);
}

void conn_push(struct conn *c, struct buf *frame)
{
	size_t len = frame->len;

	if (c->fd < 0) {
		buf_reset(frame);
		return;
	}
	chunks_add_taken(&c->out, buf_take(frame), len);
	/* with bytes waiting already, the socket is known to be full */
	if (c->out.len == len)
		flush_out(c);
}

void conn_send_json(struct conn *c, enum rpc_type type, uint32_t call,
		    const json_t *payload)
{
	struct err e = {0};
	struct buf frame;

	buf_init(&frame, FRAME_CAP);
	if (rpc_encode_json(&frame, type, call, payload, &e) != 0) {
		log_error("a frame of type %d was not sent: %s", (int)type,
			  err_msg(&e));
		buf_finish(&frame);
		return;
	}
	pthread_mutex_lock(&c->lock);
	conn_push(c, &frame);
	pthread_mutex_unlock(&c->lock);
	buf_finish(&frame);
}

static void send_error(struct conn *c, uint32_t call, const struct err *why)
{
	auto_json json_t *body =
		json_pack("{s:s, s:s}", "code", err_code_name(why->code),
			  "message", err_msg(why));

	conn_send_json(c, RPC_ERROR, call, body);
}

void conn_refuse(struct conn *c, const struct err *why)
{
	log_info("client %s dropped: %s", c->identity ? c->identity : "(new)",
		 err_msg(why));
	send_error(c, 0, why);
}

/* ---- hello ----------------------------------------------------------------
 */

static int take_scope(struct conn *c, const json_t *vms, struct err *e)
{
	size_t count = json_array_size(vms);

	if (!vms || json_is_null(vms))
		return 0;
	if (!json_is_array(vms) || count > LIMIT_SCOPE_COUNT)
		return err_set(
			e, ERR_PROTOCOL,
			"hello: vms must be an array of at most %d names",
			LIMIT_SCOPE_COUNT);
	c->vms = alloc_array(count + 1, sizeof(*c->vms));
	for (size_t i = 0; i < count; i++) {
		const char *name = json_string_value(json_array_get(vms, i));

		if (!name)
			return err_set(e, ERR_PROTOCOL,
				       "hello: vms must hold strings");
		if (validate_vm_name(name, e) != 0)
			return -1;
		c->vms[i] = alloc_str(name);
	}
	return 0;
}

/* However many agents there are, a person can still say "stop". */
static int check_room(const struct conn *c, struct err *e)
{
	const unsigned max = LIMIT_CLIENTS_COUNT - LIMIT_CLIENTS_PEOPLE_COUNT;

	if (c->agent && serve_counts(c->serve).clients > max)
		return err_set(e, ERR_LIMIT,
			       "the service has %u clients: agents must wait "
			       "until some have left",
			       max);
	return 0;
}

static int take_hello(struct conn *c, const struct rpc_frame *f, struct err *e)
{
	auto_json json_t *hello = NULL;
	auto_json json_t *reply = NULL;
	const char *name = "cli";
	int64_t version;

	if (f->type != RPC_HELLO || f->call != 0)
		return err_set(e, ERR_PROTOCOL,
			       "the first message must be a hello");
	hello = rpc_payload_json(f, e);
	if (!hello || json_get_int(hello, "version", &version, e) != 0)
		return -1;
	if (version != RPC_VERSION)
		return err_set(e, ERR_STATE,
			       "the service (boxery-host %s) speaks version %d "
			       "and this client version %lld: run boxery "
			       "service restart",
			       version_string(), RPC_VERSION,
			       (long long)version);
	if (json_opt_str(hello, "client", &name, e) != 0 ||
	    json_opt_bool(hello, "agent", &c->agent, e) != 0 ||
	    json_opt_bool(hello, "high_tier", &c->high_tier, e) != 0 ||
	    validate_client_name(name, e) != 0 ||
	    take_scope(c, json_object_get(hello, "vms"), e) != 0 ||
	    check_room(c, e) != 0)
		return -1;
	c->identity = alloc_printf("%u:%s", (unsigned)c->uid, name);
	c->greeted = true;
	reply = json_pack("{s:i, s:s, s:I}", "version", RPC_VERSION, "program",
			  version_string(), "pid", (json_int_t)getpid());
	conn_send_json(c, RPC_HELLO, 0, reply);
	return 0;
}

/* ---- in -------------------------------------------------------------------
 */

static struct call *find_call(struct conn *c, uint32_t id)
{
	for (struct call *call = c->calls; call; call = call->next) {
		if (call->id == id)
			return call;
	}
	return NULL;
}

static int take_call(struct conn *c, const struct rpc_frame *f, struct err *e)
{
	struct err refused = {0};
	struct call *call;
	bool taken;

	pthread_mutex_lock(&c->lock);
	taken = find_call(c, f->call) != NULL;
	pthread_mutex_unlock(&c->lock);
	if (taken)
		return err_set(e, ERR_PROTOCOL, "call id %u is in use",
			       (unsigned)f->call);
	call = call_new(c, f->call, f->payload, f->payload_len);
	if (serve_begin_call(c->serve, call, &refused) != 0) {
		call_unlink(call);
		call_free(call);
		send_error(c, f->call, &refused);
	}
	return 0;
}

/* What a front-end got from its person, out of body: a value belongs to one
 * thread. NULL: nobody to ask. */
static int take_answer(json_t *body, json_t **ret, struct err *e)
{
	json_t *answer = json_object_get(body, "answer");

	if (!answer)
		return err_set(e, ERR_PROTOCOL, "an answer has none in it");
	*ret = json_is_null(answer) ? NULL : json_incref(answer);
	json_object_del(body, "answer");
	return 0;
}

/* What concerns a call that runs. One that just ended may still be sent to:
 * that is dropped. */
static int take_for_call(struct conn *c, const struct rpc_frame *f,
			 struct err *e)
{
	auto_json json_t *body = NULL;
	enum rpc_stream stream = RPC_STDIN;
	const uint8_t *bytes = NULL;
	size_t len = 0;
	uint32_t credit = 0;
	json_t *answer = NULL;
	struct call *call;
	int rc = 0;

	if (f->type == RPC_DATA)
		rc = rpc_payload_data(f, &stream, &bytes, &len, e);
	else if (f->type == RPC_CREDIT)
		rc = rpc_payload_credit(f, &stream, &credit, e);
	else if (!(body = rpc_payload_json(f, e)))
		rc = -1;
	if (rc != 0)
		return -1;
	if (f->type == RPC_ANSWER && take_answer(body, &answer, e) != 0)
		return -1;

	pthread_mutex_lock(&c->lock);
	call = find_call(c, f->call);
	if (call && f->type == RPC_DATA)
		rc = call_feed(call, stream, bytes, len, e);
	else if (call && f->type == RPC_CREDIT)
		rc = call_grant(call, stream, credit, e);
	else if (call && f->type == RPC_ANSWER)
		call_answered(call, TAKE_PTR(answer));
	else if (call)
		call_cancel(call);
	pthread_mutex_unlock(&c->lock);
	json_decref(answer);
	return rc;
}

static int take_frame(struct conn *c, const struct rpc_frame *f, struct err *e)
{
	if (!c->greeted)
		return take_hello(c, f, e);
	switch (f->type) {
	case RPC_CALL:
		return take_call(c, f, e);
	case RPC_DATA:
	case RPC_CREDIT:
	case RPC_ANSWER:
	case RPC_CANCEL:
		return take_for_call(c, f, e);
	case RPC_HELLO:
	case RPC_PROGRESS:
	case RPC_CONFIRM:
	case RPC_RESULT:
	case RPC_ERROR:
	case RPC_TYPE_END:
	default:
		return err_set(e, ERR_PROTOCOL,
			       "a client does not send messages of type %d",
			       (int)f->type);
	}
}

static int take_frames(struct conn *c, struct err *e)
{
	size_t done = 0;
	int rc = 0;

	for (;;) {
		struct rpc_frame f;
		size_t used;

		rc = rpc_decode((const uint8_t *)c->in.data + done,
				c->in.len - done, &f, &used, e);
		if (rc <= 0)
			break;
		rc = take_frame(c, &f, e);
		if (rc != 0)
			break;
		done += used;
	}
	buf_consume(&c->in, done);
	if (c->in.len == 0 && c->in.size > IDLE_LEN) {
		size_t cap = c->in.cap;

		buf_finish(&c->in);
		buf_init(&c->in, cap);
	}
	return rc;
}

/* One read a time, so that a busy client takes its turn like others. */
static bool read_in(struct conn *c)
{
	struct err e = {0};
	ssize_t n = buf_read_fd(&c->in, c->fd, READ_LEN, &e);

	if (n < 0)
		return e.errnum == EAGAIN || e.errnum == EINTR;
	if (n == 0)
		return false;
	if (take_frames(c, &e) != 0) {
		conn_refuse(c, &e);
		return false;
	}
	return true;
}

bool conn_event(struct conn *c, uint32_t events)
{
	if (events & EPOLLOUT) {
		pthread_mutex_lock(&c->lock);
		flush_out(c);
		/* streams may go on */
		for (struct call *call = c->calls; call; call = call->next)
			pthread_cond_broadcast(&call->changed);
		pthread_mutex_unlock(&c->lock);
	}
	if (events & EPOLLIN)
		return read_in(c);
	return !(events & (EPOLLHUP | EPOLLERR));
}
