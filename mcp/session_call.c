/*
 * A call owns its parsed message, so nothing of jansson's is shared between
 * threads. Its lock keeps order on the wire: progress is sent under it and only
 * before `answered`, the answer sets that under it.
 *
 * A cancelled call is not answered; the id is free again once it has ended.
 */
#include "mcp/session_impl.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "mcp/asking.h"
#include "mcp/listening.h"
#include "mcp/progress.h"

#include <pthread.h>
#include <string.h>

struct call {
	struct session *session;
	struct session_io io;
	struct inflight_call *flight;
	struct jsonrpc_msg msg; /* owned */
	struct ask ask;		/* borrows from msg */
	bool modern;
	const void *tool; /* of ASK_TOOL_CALL */
	struct deadline answer_by;
	pthread_mutex_t lock;
	bool answered;
	struct progress progress;
	struct asking asking;
};

static const struct session_out as_note = {0};
static const struct session_out as_request = {.is_request = true};

static void call_free(struct call *c)
{
	progress_finish(&c->progress);
	asking_finish(&c->asking);
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
			session_send(&c->io,
				     jsonrpc_notification(
					     "notifications/progress", params),
				     &as_note);
	}
	pthread_mutex_unlock(&c->lock);
}

/* How bad it must be for the asker to see it, or LEVEL_NONE. */
static enum protocol_level threshold(const struct call *c)
{
	return c->modern ? c->ask.level
			 : (enum protocol_level)atomic_load(&c->session->level);
}

static void on_log(void *ctx, enum protocol_level level, const char *text)
{
	struct call *c = ctx;
	enum protocol_level least = threshold(c);
	json_t *params;

	if (least == LEVEL_NONE || level < least)
		return;
	params = json_object();
	json_object_set_new(params, "level",
			    json_string(protocol_level_name(level)));
	json_object_set_new(params, "logger",
			    json_string(c->session->server->name));
	json_object_set_new(params, "data", json_lossy(text, strlen(text)));
	pthread_mutex_lock(&c->lock);
	if (!c->answered && !inflight_is_cancelled(c->flight))
		session_send(
			&c->io,
			jsonrpc_notification("notifications/message", params),
			&as_note);
	else
		json_decref(params);
	pthread_mutex_unlock(&c->lock);
}

static void on_pause(void *ctx)
{
	const struct call *c = ctx;

	if (c->io.pause)
		c->io.pause(c->io.ctx);
}

static void send_request(void *ctx, json_t *message)
{
	struct call *c = ctx;

	pthread_mutex_lock(&c->lock);
	session_send(&c->io, message, &as_request);
	pthread_mutex_unlock(&c->lock);
}

static json_t *on_ask(void *ctx, const json_t *requests)
{
	struct call *c = ctx;
	struct elicit_ask how = {
		.send = send_request,
		.ctx = c,
		.cancel_fd = inflight_cancel_fd(c->flight),
		.until = c->answer_by,
	};
	json_t *answers;

	how.until.at_ms -= LIMIT_ELICIT_SLACK_MS;
	answers = asking_ask(&c->asking, &how, requests);
	if (asking_ends_call(&c->asking))
		inflight_stop_work(c->flight);
	return answers;
}

/* result: taken over; NULL: f says why there is none. */
static void answer_call(struct call *c, json_t *result, struct jsonrpc_fault *f)
{
	pthread_mutex_lock(&c->lock);
	c->answered = true;
	/* before it is sent: its reader may use the id again at once */
	if (!inflight_settle(c->session->inflight, c->flight)) {
		json_decref(result);
		jsonrpc_fault_finish(f);
	} else if (result) {
		session_send_result(c->session, &c->io, c->modern, c->msg.id,
				    c->ask.kind, result);
	} else {
		session_send_fault(&c->io, c->msg.id, f);
	}
	pthread_mutex_unlock(&c->lock);
}

static json_t *call_tool(struct call *c)
{
	struct toolset *tools = &c->session->tools;
	struct tools_call t = {
		.tool = c->tool,
		.args = c->ask.args,
		.cancel_fd = inflight_cancel_fd(c->flight),
		.answer_by = c->answer_by,
		.progress = on_progress,
		.ask = on_ask,
		.client = c->asking.client,
		.pause = on_pause,
		.log = on_log,
		.ctx = c,
	};

	/* cppcheck-suppress returnDanglingLifetime ; it borrows nothing of t */
	return tools->call(tools->ctx, &t);
}

/* A revision before 2026-07-28 has a code of its own for it. */
static void age_fault(struct call *c, struct jsonrpc_fault *f)
{
	if (!c->modern && f->data && f->code == JSONRPC_INVALID_PARAMS)
		f->code = JSONRPC_RESOURCE_NOT_FOUND;
}

static json_t *ask_library(struct call *c, struct jsonrpc_fault *f)
{
	struct library *library = &c->session->tools.library;
	struct library_ask a = {
		.ask = &c->ask,
		.cancel_fd = inflight_cancel_fd(c->flight),
		.answer_by = c->answer_by,
		.elicit = on_ask,
		.ctx = c,
	};
	json_t *result = library->answer(library->ctx, &a, f);

	if (!result)
		age_fault(c, f);
	/* what it has now may change from now on */
	else if (c->ask.kind == ASK_RESOURCES_LIST && !c->modern)
		listening_hear(c->session->listening, FEED_RESOURCES);
	/* cppcheck-suppress returnDanglingLifetime ; it borrows nothing of a */
	return result;
}

static void call_work(void *arg)
{
	struct call *c = arg;
	struct session *s = c->session;
	struct session_io io = c->io;
	struct inflight_call *flight = c->flight;
	struct jsonrpc_fault f = {0};
	json_t *result;

	/* one that was cancelled in line is not begun */
	if (!inflight_is_cancelled(flight)) {
		result = c->ask.kind == ASK_TOOL_CALL ? call_tool(c)
						      : ask_library(c, &f);
		result = asking_result(&c->asking, result, &f);
		answer_call(c, result, &f);
	}
	call_free(c);
	/* last: the session may be freed once nothing is in flight */
	inflight_end(s->inflight, flight);
	session_end_message(&io);
}

static int begin_call(struct session *s, const struct session_io *io,
		      struct jsonrpc_msg *m, struct call *c, struct err *e)
{
	bool waits = !c->tool || !s->tools.is_long(s->tools.ctx, c->tool);
	const char *lane =
		c->tool ? s->tools.lane(s->tools.ctx, c->tool, c->ask.args)
			: NULL;

	if (inflight_begin(s->inflight, m->id, waits, &c->flight, e) != 0)
		return -1;
	c->session = s;
	c->io = *io;
	c->answer_by = deadline_in_ms(LIMIT_ANSWER_MS);
	pthread_mutex_init(&c->lock, NULL);
	progress_init(&c->progress, c->ask.progress_token);
	c->msg = *m;
	*m = (struct jsonrpc_msg){0};
	if (io->start(io->ctx, lane, call_work, c, e) == 0)
		return 0;
	*m = c->msg; /* still the caller's */
	inflight_end(s->inflight, c->flight);
	progress_finish(&c->progress);
	pthread_mutex_destroy(&c->lock);
	return -1;
}

static int open_asking(struct session *s, const struct session_io *io,
		       struct call *c, struct jsonrpc_fault *f)
{
	const struct asking_opts o = {
		.ask = &c->ask,
		.legacy = c->modern ? NULL : &s->legacy,
		.elicit = s->elicit,
		.rounds = s->tools.rounds,
		.needs = c->tool && s->tools.needs
				 ? s->tools.needs(s->tools.ctx, c->tool)
				 : 0,
		.can_ask = io->can_ask,
	};

	return asking_open(&c->asking, &o, f);
}

bool session_call(struct session *s, const struct session_io *io,
		  struct jsonrpc_msg *m, const struct ask *ask, bool modern,
		  const void *tool)
{
	struct call *c = ALLOC_NEW(struct call);
	struct jsonrpc_fault f = {0};
	struct err e = {0};

	c->ask = *ask;
	c->modern = modern;
	c->tool = tool;
	if (open_asking(s, io, c, &f) != 0) {
		free(c);
		session_send_fault(io, m->id, &f);
		return false;
	}
	if (begin_call(s, io, m, c, &e) == 0)
		return true;
	asking_finish(&c->asking);
	free(c);
	jsonrpc_fault_set(&f,
			  e.code == ERR_EXISTS ? JSONRPC_INVALID_REQUEST
					       : JSONRPC_INTERNAL_ERROR,
			  "%s", err_msg(&e));
	session_send_fault(io, m->id, &f);
	return false;
}
