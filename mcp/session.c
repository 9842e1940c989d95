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
#include "mcp/asking.h"
#include "mcp/inflight.h"
#include "mcp/listening.h"
#include "mcp/progress.h"
#include "mcp/protocol_legacy.h"
#include "mcp/protocol_modern.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

struct session {
	const struct protocol_server *server;
	struct toolset tools;
	struct inflight *inflight;
	struct listening *listening;
	struct elicit *elicit; /* what a legacy client was asked */
	struct protocol_legacy legacy;
	atomic_int level; /* enum protocol_level, of logging/setLevel */
	bool was_modern; /* a request named its own version before */
};

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

int session_new(const struct protocol_server *server,
		const struct toolset *tools, struct session **ret,
		struct err *e)
{
	struct inflight *inflight;
	struct session *s;

	if (inflight_new(&inflight, e) != 0)
		return -1;
	s = ALLOC_NEW(struct session);
	s->server = server;
	s->tools = *tools;
	s->inflight = inflight;
	s->elicit = elicit_new();
	s->listening = listening_new(server, &s->tools.library);
	*ret = s;
	return 0;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	listening_free(s->listening);
	inflight_free(s->inflight);
	elicit_free(s->elicit);
	protocol_legacy_finish(&s->legacy);
	free(s);
}

void session_notes(struct session *s,
		   void (*note)(void *ctx, const struct session_out *out),
		   void *ctx)
{
	listening_to(s->listening, note, ctx);
}

unsigned session_busy(struct session *s)
{
	return inflight_count(s->inflight);
}

int session_ended_fd(const struct session *s)
{
	return inflight_ended_fd(s->inflight);
}

const char *session_version(const struct session *s)
{
	return s->legacy.version;
}

void session_cancel(struct session *s, const json_t *id)
{
	if (!listening_cancel(s->listening, id))
		inflight_cancel(s->inflight, id);
}

void session_end_listening(struct session *s)
{
	listening_end_all(s->listening);
}

void session_end_waits(struct session *s)
{
	inflight_cancel_waits(s->inflight);
	listening_end_all(s->listening);
	session_end_asks(s);
}

void session_end_asks(struct session *s)
{
	elicit_end(s->elicit);
}

bool session_wants_log(const struct session *s, const struct jsonrpc_msg *m,
		       bool modern)
{
	const json_t *meta = json_object_get(m->params, "_meta");

	if (modern)
		return json_object_get(meta, PROTOCOL_META_LOG_LEVEL) != NULL;
	return atomic_load(&s->level) != LEVEL_NONE;
}

void session_send(const struct session_io *io, json_t *message,
		  const struct session_out *as)
{
	autofree char *text = json_print(message);
	struct session_out out = *as;

	json_decref(message);
	out.text = text;
	out.len = strlen(text);
	io->send(io->ctx, &out);
}

static const struct session_out as_answer = {.is_answer = true};
static const struct session_out as_note = {0};
static const struct session_out as_request = {.is_request = true};

static void send_result(const struct session *s, const struct session_io *io,
			bool modern, const json_t *id, enum ask_kind kind,
			json_t *result)
{
	if (modern)
		protocol_modern_dress(s->server, kind, result);
	session_send(io, jsonrpc_result(id, result), &as_answer);
}

static void send_fault(const struct session_io *io, const json_t *id,
		       struct jsonrpc_fault *f)
{
	struct session_out as = {.is_answer = true,
				 .fault = f->code,
				 .refused = f->refused};

	if (!f->unanswered)
		session_send(io,
			     jsonrpc_error(id, f->code, err_msg(&f->why),
					   TAKE_PTR(f->data)),
			     &as);
	jsonrpc_fault_finish(f);
}

/*
 * The list is long and never changes, so its text is kept, and put into the
 * answer as it is: an answer's last member is its result, an object, and so
 * its text ends with the two braces that the list is put in front of.
 */
static void send_list(const struct session *s, const struct session_io *io,
		      bool modern, const json_t *id)
{
	json_t *result = json_object();
	auto_json json_t *message = NULL;
	autofree char *text = NULL, *whole = NULL;
	struct session_out out = as_answer;

	if (modern)
		protocol_modern_dress(s->server, ASK_TOOLS_LIST, result);
	message = jsonrpc_result(id, result);
	text = json_print(message);
	text[strlen(text) - 2] = '\0';
	whole = alloc_printf("%s%s\"tools\":%s}}", text,
			     json_object_size(result) > 0 ? "," : "",
			     s->tools.list(s->tools.ctx));
	out.text = whole;
	out.len = strlen(whole);
	io->send(io->ctx, &out);
}

static void end_message(const struct session_io *io)
{
	if (io->end)
		io->end(io->ctx);
}

/* -- calls ----------------------------------------------------------------- */

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
			 : (enum protocol_level)atomic_load(
				   &c->session->level);
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
		session_send(&c->io,
			     jsonrpc_notification("notifications/message",
						  params),
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
		send_result(c->session, &c->io, c->modern, c->msg.id,
			    c->ask.kind, result);
	} else {
		send_fault(&c->io, c->msg.id, f);
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
	end_message(&io);
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

/* True: the call has been begun, and ends the message. tool: NULL for what a
 * library answers. */
static bool start_call(struct session *s, const struct session_io *io,
		       struct jsonrpc_msg *m, const struct ask *ask,
		       bool modern, const void *tool)
{
	struct call *c = ALLOC_NEW(struct call);
	struct jsonrpc_fault f = {0};
	struct err e = {0};

	c->ask = *ask;
	c->modern = modern;
	c->tool = tool;
	if (open_asking(s, io, c, &f) != 0) {
		free(c);
		send_fault(io, m->id, &f);
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
	send_fault(io, m->id, &f);
	return false;
}

static bool on_tool_call(struct session *s, const struct session_io *io,
			 struct jsonrpc_msg *m, const struct ask *ask,
			 bool modern)
{
	const void *tool = s->tools.find(s->tools.ctx, ask->tool);
	struct jsonrpc_fault f = {0};

	if (tool)
		return start_call(s, io, m, ask, modern, tool);
	jsonrpc_fault_set(&f, JSONRPC_INVALID_PARAMS, "unknown tool: %.100s",
			  ask->tool);
	send_fault(io, m->id, &f);
	return false;
}

/* True: it goes on. */
static bool on_listen(struct session *s, const struct session_io *io,
		      const struct jsonrpc_msg *m, const struct ask *ask)
{
	struct jsonrpc_fault f = {0};

	if (listening_begin(s->listening, io, m->id, &ask->listen, &f) == 0)
		return true;
	send_fault(io, m->id, &f);
	return false;
}

/* Lists that a client is told of though it did not ask. */
static void hear_lists(struct session *s)
{
	listening_hear(s->listening,
		       (s->server->tools_change ? FEED_TOOLS : 0) |
			       (s->server->prompts_change ? FEED_PROMPTS : 0));
}

/* What else a session keeps of its client: an empty result, or NULL. */
static json_t *on_setting(struct session *s, const struct ask *ask,
			  struct jsonrpc_fault *f)
{
	if (ask->kind == ASK_SET_LEVEL)
		atomic_store(&s->level, (int)ask->level);
	else if (ask->kind == ASK_UNSUBSCRIBE)
		listening_unsubscribe(s->listening, ask->uri);
	else if (listening_subscribe(s->listening, ask->uri, f) != 0) {
		if (f->data)
			f->code = JSONRPC_RESOURCE_NOT_FOUND;
		return NULL;
	}
	return json_object();
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

/* True: somebody else ends the message. */
static bool dispatch(struct session *s, const struct session_io *io,
		     struct jsonrpc_msg *m, struct ask *ask, bool modern)
{
	struct jsonrpc_fault f = {0};
	json_t *result = NULL;

	switch (ask->kind) {
	case ASK_NOTHING:
		return false;
	case ASK_CANCEL:
		session_cancel(s, ask->cancel_id);
		return false;
	case ASK_TOOL_CALL:
		return on_tool_call(s, io, m, ask, modern);
	case ASK_TOOLS_LIST:
		send_list(s, io, modern, m->id);
		return false;
	case ASK_RESOURCES_LIST:
	case ASK_TEMPLATES_LIST:
	case ASK_RESOURCE_READ:
	case ASK_PROMPTS_LIST:
	case ASK_PROMPT_GET:
	case ASK_COMPLETE:
		return start_call(s, io, m, ask, modern, NULL);
	case ASK_LISTEN:
		return on_listen(s, io, m, ask);
	case ASK_HELLO:
		result = TAKE_PTR(ask->result);
		if (!modern)
			hear_lists(s);
		break;
	case ASK_PING:
		result = json_object();
		break;
	case ASK_SUBSCRIBE:
	case ASK_UNSUBSCRIBE:
	case ASK_SET_LEVEL:
		result = on_setting(s, ask, &f);
		break;
	}
	if (result)
		send_result(s, io, modern, m->id, ask->kind, result);
	else
		send_fault(io, m->id, &f);
	return false;
}

void session_take(struct session *s, const struct session_io *io,
		  struct jsonrpc_msg *m, bool modern)
{
	struct jsonrpc_fault f = {0};
	struct ask ask = {0};
	bool going_on = false;

	if (m->kind == JSONRPC_RESPONSE)
		elicit_take(s->elicit, m);
	else if ((modern ? protocol_modern_read(s->server, m, &ask, &f)
			 : protocol_legacy_read(&s->legacy, s->server, m, &ask,
						&f)) == 0)
		going_on = dispatch(s, io, m, &ask, modern);
	else
		send_fault(io, m->id, &f);
	if (!going_on)
		end_message(io);
}

void session_message(struct session *s, const struct session_io *io,
		     const char *text, size_t len)
{
	struct jsonrpc_msg m = {0};
	struct jsonrpc_fault f = {0};

	if (jsonrpc_parse(text, len, &m, &f) != 0) {
		send_fault(io, f.id, &f);
		end_message(io);
		return;
	}
	session_take(s, io, &m,
		     m.kind != JSONRPC_RESPONSE && pick_era(s, &m));
	jsonrpc_msg_finish(&m);
}

void session_too_long(const struct session_io *io)
{
	struct jsonrpc_fault f = {0};

	jsonrpc_fault_set(&f, JSONRPC_INVALID_REQUEST,
			  "a message may have %ld bytes at most",
			  LIMIT_MCP_MESSAGE_LEN);
	send_fault(io, NULL, &f);
}
