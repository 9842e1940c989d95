/*
 * The reading thread answers at once what needs no waiting (hello, ping, the
 * list, errors) and turns each tools/call into a struct call, which a lent
 * thread runs. A call owns its parsed message, so nothing of jansson's is
 * shared between threads. Its lock keeps order on the wire: progress is sent
 * under it and only before `answered`, the answer sets that under it.
 *
 * A cancelled call is not answered; the id is free again once it has ended.
 */
#include "mcp/session.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "mcp/inflight.h"
#include "mcp/progress.h"
#include "mcp/protocol_legacy.h"
#include "mcp/protocol_modern.h"

#include <pthread.h>
#include <string.h>

struct session {
	const struct protocol_server *server;
	const struct tools *tools;
	struct session_io io;
	struct inflight *inflight;
	struct protocol_legacy legacy;
	bool was_modern; /* a request named its own version before */
};

struct call {
	struct session *session;
	struct inflight_call *flight;
	struct jsonrpc_msg msg; /* owned */
	struct ask ask;		/* borrows from msg */
	bool modern;
	const struct op *op;
	struct deadline answer_by;
	pthread_mutex_t lock;
	bool answered;
	struct progress progress;
};

int session_new(const struct protocol_server *server, const struct tools *tools,
		const struct session_io *io, struct session **ret,
		struct err *e)
{
	struct inflight *inflight;
	struct session *s;

	if (inflight_new(&inflight, e) != 0)
		return -1;
	s = ALLOC_NEW(struct session);
	s->server = server;
	s->tools = tools;
	s->io = *io;
	s->inflight = inflight;
	*ret = s;
	return 0;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	inflight_free(s->inflight);
	free(s);
}

unsigned session_busy(struct session *s)
{
	return inflight_count(s->inflight);
}

int session_ended_fd(const struct session *s)
{
	return inflight_ended_fd(s->inflight);
}

/* Takes the message over. */
static void send_message(struct session *s, json_t *message)
{
	autofree char *text = json_print(message);

	json_decref(message);
	s->io.send(s->io.ctx, text, strlen(text));
}

static void send_result(struct session *s, bool modern, const json_t *id,
			enum ask_kind kind, json_t *result)
{
	if (modern)
		protocol_modern_dress(s->server, kind, result);
	send_message(s, jsonrpc_result(id, result));
}

static void send_fault(struct session *s, const json_t *id,
		       struct jsonrpc_fault *f)
{
	if (!f->unanswered)
		send_message(s, jsonrpc_error(id, f->code, err_msg(&f->why),
					      TAKE_PTR(f->data)));
	jsonrpc_fault_finish(f);
}

/* -- calls ----------------------------------------------------------------- */

static void call_free(struct call *c)
{
	progress_finish(&c->progress);
	jsonrpc_msg_finish(&c->msg);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static void on_progress(void *ctx, const struct client_progress *p)
{
	struct call *c = ctx;
	json_t *params;

	pthread_mutex_lock(&c->lock);
	if (!c->answered && !inflight_is_cancelled(c->flight)) {
		params = progress_report(&c->progress, p, deadline_now_ms());
		if (params)
			send_message(c->session,
				     jsonrpc_notification(
					     "notifications/progress", params));
	}
	pthread_mutex_unlock(&c->lock);
}

static void answer_call(struct call *c, json_t *result)
{
	pthread_mutex_lock(&c->lock);
	c->answered = true;
	/* before it is sent: its reader may use the id again at once */
	if (inflight_settle(c->session->inflight, c->flight))
		send_result(c->session, c->modern, c->msg.id, ASK_TOOL_CALL,
			    result);
	else
		json_decref(result);
	pthread_mutex_unlock(&c->lock);
}

static void call_work(void *arg)
{
	struct call *c = arg;
	struct tools_call t = {
		.op = c->op,
		.args = c->ask.args,
		.cancel_fd = inflight_cancel_fd(c->flight),
		.answer_by = c->answer_by,
		.progress = on_progress,
		.ctx = c,
	};
	struct session *s = c->session;
	struct inflight_call *flight = c->flight;

	/* one that was cancelled in line is not begun */
	if (!inflight_is_cancelled(flight))
		answer_call(c, tools_call(s->tools, &t));
	call_free(c);
	/* last: the session may be freed once nothing is in flight */
	inflight_end(s->inflight, flight);
}

static int begin_call(struct session *s, struct jsonrpc_msg *m,
		      const struct ask *ask, bool modern, const struct op *op,
		      struct err *e)
{
	struct inflight_call *flight;
	struct call *c;

	if (inflight_begin(s->inflight, m->id, &flight, e) != 0)
		return -1;
	c = ALLOC_NEW(struct call);
	c->session = s;
	c->flight = flight;
	c->ask = *ask;
	c->modern = modern;
	c->op = op;
	c->answer_by = deadline_in_ms(LIMIT_ANSWER_MS);
	pthread_mutex_init(&c->lock, NULL);
	progress_init(&c->progress, ask->progress_token);
	c->msg = *m;
	if (s->io.start(s->io.ctx, tools_lane(op, ask->args), call_work, c,
			e) != 0) {
		c->msg = (struct jsonrpc_msg){0}; /* still the caller's */
		call_free(c);
		inflight_end(s->inflight, flight);
		return -1;
	}
	*m = (struct jsonrpc_msg){0};
	return 0;
}

static void on_tool_call(struct session *s, struct jsonrpc_msg *m,
			 const struct ask *ask, bool modern)
{
	const struct op *op = tools_find(ask->tool);
	struct jsonrpc_fault f = {0};
	struct err e = {0};

	if (!op) {
		jsonrpc_fault_set(&f, JSONRPC_INVALID_PARAMS,
				  "unknown tool: %.100s", ask->tool);
		send_fault(s, m->id, &f);
		return;
	}
	if (begin_call(s, m, ask, modern, op, &e) == 0)
		return;
	jsonrpc_fault_set(&f,
			  e.code == ERR_EXISTS ? JSONRPC_INVALID_REQUEST
					       : JSONRPC_INTERNAL_ERROR,
			  "%s", err_msg(&e));
	send_fault(s, m->id, &f);
}

/* -- messages -------------------------------------------------------------- */

/*
 * Which era a message belongs to is its own to say. One that says nothing is
 * legacy, unless this client has spoken the modern one before: then it forgot
 * what every modern request must carry, and is told so.
 */
static bool pick_era(struct session *s, const struct jsonrpc_msg *m)
{
	if (protocol_is_modern(m)) {
		s->was_modern |= m->kind == JSONRPC_REQUEST;
		return true;
	}
	if (strcmp(m->method, "server/discover") == 0)
		return true;
	if (strcmp(m->method, "initialize") == 0)
		return false;
	return s->was_modern && !s->legacy.version;
}

static void dispatch(struct session *s, struct jsonrpc_msg *m, struct ask *ask,
		     bool modern)
{
	json_t *result = NULL;

	switch (ask->kind) {
	case ASK_NOTHING:
		return;
	case ASK_CANCEL:
		inflight_cancel(s->inflight, ask->cancel_id);
		return;
	case ASK_TOOL_CALL:
		on_tool_call(s, m, ask, modern);
		return;
	case ASK_HELLO:
		result = TAKE_PTR(ask->result);
		break;
	case ASK_PING:
		result = json_object();
		break;
	case ASK_TOOLS_LIST:
		result = json_object();
		json_object_set_new(result, "tools", tools_list());
		break;
	}
	send_result(s, modern, m->id, ask->kind, result);
}

void session_message(struct session *s, const char *text, size_t len)
{
	struct jsonrpc_msg m = {0};
	struct jsonrpc_fault f = {0};
	struct ask ask = {0};
	bool modern;
	int rc;

	if (jsonrpc_parse(text, len, &m, &f) != 0) {
		send_fault(s, f.id, &f);
		return;
	}
	/* we ask the client nothing, so an answer of its is to nobody */
	if (m.kind == JSONRPC_RESPONSE) {
		jsonrpc_msg_finish(&m);
		return;
	}
	modern = pick_era(s, &m);
	rc = modern ? protocol_modern_read(s->server, &m, &ask, &f)
		    : protocol_legacy_read(&s->legacy, s->server, &m, &ask, &f);
	if (rc == 0)
		dispatch(s, &m, &ask, modern);
	else
		send_fault(s, m.id, &f);
	jsonrpc_msg_finish(&m);
}

void session_too_long(struct session *s)
{
	struct jsonrpc_fault f = {0};

	jsonrpc_fault_set(&f, JSONRPC_INVALID_REQUEST,
			  "a message may have %ld bytes at most",
			  LIMIT_MCP_MESSAGE_LEN);
	send_fault(s, NULL, &f);
}
