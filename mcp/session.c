/*
 * The reading thread answers at once what needs no waiting (hello, ping, the
 * list, errors) and turns each tools/call, and what a library answers, into a
 * call, which a lent thread runs (session_call.c).
 */
#include "mcp/session_impl.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "mcp/listening.h"
#include "mcp/protocol_modern.h"

#include <string.h>

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

void session_send_result(const struct session *s, const struct session_io *io,
			 bool modern, const json_t *id, enum ask_kind kind,
			 json_t *result)
{
	if (modern)
		protocol_modern_dress(s->server, kind, result);
	session_send(io, jsonrpc_result(id, result), &as_answer);
}

void session_send_fault(const struct session_io *io, const json_t *id,
			struct jsonrpc_fault *f)
{
	struct session_out as = {
		.is_answer = true, .fault = f->code, .refused = f->refused};

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

void session_end_message(const struct session_io *io)
{
	if (io->end)
		io->end(io->ctx);
}

static bool on_tool_call(struct session *s, const struct session_io *io,
			 struct jsonrpc_msg *m, const struct ask *ask,
			 bool modern)
{
	const void *tool = s->tools.find(s->tools.ctx, ask->tool);
	struct jsonrpc_fault f = {0};

	if (tool)
		return session_call(s, io, m, ask, modern, tool);
	jsonrpc_fault_set(&f, JSONRPC_INVALID_PARAMS, "unknown tool: %.100s",
			  ask->tool);
	session_send_fault(io, m->id, &f);
	return false;
}

/* True: it goes on. */
static bool on_listen(struct session *s, const struct session_io *io,
		      const struct jsonrpc_msg *m, const struct ask *ask)
{
	struct jsonrpc_fault f = {0};

	if (listening_begin(s->listening, io, m->id, &ask->listen, &f) == 0)
		return true;
	session_send_fault(io, m->id, &f);
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
		return session_call(s, io, m, ask, modern, NULL);
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
		session_send_result(s, io, modern, m->id, ask->kind, result);
	else
		session_send_fault(io, m->id, &f);
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
		session_send_fault(io, m->id, &f);
	if (!going_on)
		session_end_message(io);
}

void session_message(struct session *s, const struct session_io *io,
		     const char *text, size_t len)
{
	struct jsonrpc_msg m = {0};
	struct jsonrpc_fault f = {0};

	if (jsonrpc_parse(text, len, &m, &f) != 0) {
		session_send_fault(io, f.id, &f);
		session_end_message(io);
		return;
	}
	session_take(s, io, &m, m.kind != JSONRPC_RESPONSE && pick_era(s, &m));
	jsonrpc_msg_finish(&m);
}

void session_too_long(const struct session_io *io)
{
	struct jsonrpc_fault f = {0};

	jsonrpc_fault_set(&f, JSONRPC_INVALID_REQUEST,
			  "a message may have %ld bytes at most",
			  LIMIT_MCP_MESSAGE_LEN);
	session_send_fault(io, NULL, &f);
}
