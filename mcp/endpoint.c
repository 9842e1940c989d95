/*
 * The order of the checks: what a web page could not have sent by accident
 * (Host, Origin), then what is public (404, /healthz), then the token and the
 * login, then the method, then the body.
 */
#include "mcp/endpoint.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/json.h"
#include "base/limits.h"
#include "mcp/callpool.h"
#include "mcp/exchange.h"
#include "mcp/jsonrpc.h"
#include "mcp/protocol_legacy.h"

#include <pthread.h>
#include <string.h>
#include <strings.h>

struct endpoint {
	struct endpoint_opts opts;
	struct httpsessions *sessions;
	struct exchange ex;
	atomic_bool stopping;
};

struct endpoint *endpoint_new(const struct endpoint_opts *o)
{
	struct endpoint *ep = ALLOC_NEW(struct endpoint);

	ep->opts = *o;
	ep->sessions = httpsessions_new(LIMIT_HTTP_SESSIONS_COUNT,
					o->session_idle_ms);
	ep->ex.watch = o->watch;
	ep->ex.pool = callpool_new(LIMIT_HTTP_CALLS_COUNT, LIMIT_HTTP_CALLS_COUNT);
	return ep;
}

void endpoint_free(struct endpoint *ep)
{
	callpool_free(ep->ex.pool);
	httpsessions_free(ep->sessions);
	free(ep);
}

void endpoint_tick(struct endpoint *ep)
{
	auth_tick(ep->opts.auth);
	httpsessions_tick(ep->sessions);
}

void endpoint_stop(struct endpoint *ep)
{
	atomic_store(&ep->stopping, true);
	httpsessions_end_all(ep->sessions);
}

unsigned endpoint_busy(struct endpoint *ep)
{
	return httpsessions_busy(ep->sessions);
}

unsigned endpoint_streams(const struct endpoint *ep)
{
	return atomic_load(&ep->ex.streams_count);
}

/* -- answers --------------------------------------------------------------- */

static void answer_error(struct endpoint_answer *ret, int status, int code,
			 const json_t *id, const char *message)
{
	auto_json json_t *m = jsonrpc_error(id, code, message, NULL);

	ret->status = status;
	ret->text = json_print(m);
	ret->len = strlen(ret->text);
}

/* What is wrong with the request before it is one of JSON-RPC. */
static void refuse(struct endpoint_answer *ret, int status, const char *message)
{
	answer_error(ret, status, JSONRPC_INVALID_REQUEST, NULL, message);
}

static void answer_fault(struct endpoint_answer *ret, int status,
			 const json_t *id, struct jsonrpc_fault *f)
{
	answer_error(ret, status, f->code, id, err_msg(&f->why));
	jsonrpc_fault_finish(f);
}

void endpoint_too_long(struct endpoint_answer *ret)
{
	struct err e = {0};

	err_set(&e, ERR_LIMIT, "a message may have %ld bytes at most",
		LIMIT_MCP_MESSAGE_LEN);
	refuse(ret, 413, err_msg(&e));
	ret->close = true;
}

void endpoint_too_many(struct endpoint_answer *ret)
{
	struct err e = {0};

	err_set(&e, ERR_LIMIT,
		"%d connections are open: close some, or try again",
		LIMIT_HTTP_CONNECTIONS_COUNT);
	refuse(ret, 503, err_msg(&e));
	ret->retry_later = true;
	ret->close = true;
}

/* -- the head -------------------------------------------------------------- */

static bool check_names(const struct endpoint *ep,
			const struct endpoint_request *r,
			struct endpoint_answer *ret)
{
	const struct endpoint_headers *h = &r->h;

	if (h->repeated || (h->content_length && h->transfer_encoding)) {
		refuse(ret, 400, "a header came twice, or contradicts another");
		ret->close = true;
		return false;
	}
	if (!httphead_host_is_ours(&ep->opts.names, h->host)) {
		refuse(ret, 403,
		       "Host: not a name of this server (boxery-mcp "
		       "--public-url adds one)");
		return false;
	}
	if (!httphead_origin_is_ours(&ep->opts.names, h->origin, h->host)) {
		refuse(ret, 403, "Origin: not for pages of other servers");
		return false;
	}
	return true;
}

static bool check_path(const struct endpoint_request *r,
		       struct endpoint_answer *ret)
{
	if (strcmp(r->path, "/mcp") == 0)
		return true;
	if (strcmp(r->path, "/healthz") != 0) {
		refuse(ret, 404, "not found: the endpoint is /mcp");
		return false;
	}
	if (strcmp(r->method, "GET") != 0 && strcmp(r->method, "HEAD") != 0) {
		refuse(ret, 405, "only GET here");
		ret->allow = "GET, HEAD";
		return false;
	}
	ret->status = 200;
	ret->text = alloc_str("{\"status\":\"ok\"}");
	ret->len = strlen(ret->text);
	return false;
}

/*
 * The header says what the proxy says: nobody else can reach us from loopback
 * with a token, and without a proxy there is no header.
 */
static bool check_user(const struct endpoint *ep,
		       const struct endpoint_request *r,
		       struct endpoint_answer *ret)
{
	const char *const *user = ep->opts.allow_users;

	if (!user)
		return true;
	for (; r->from_loopback && r->h.user && *user; user++) {
		if (strcmp(*user, r->h.user) == 0)
			return true;
	}
	refuse(ret, 403,
	       "the login is not one of boxery-mcp --allow-user, or did not "
	       "come through tailscale serve on this computer");
	return false;
}

static bool check_who(struct endpoint *ep, struct endpoint_request *r,
		      struct endpoint_answer *ret)
{
	struct err e = {0};

	if (auth_check(ep->opts.auth, r->h.authorization, &r->who, &e) != 0) {
		if (e.code == ERR_DENIED) {
			refuse(ret, 403, err_msg(&e));
			return false;
		}
		refuse(ret, 401, err_msg(&e));
		ret->authenticate = r->h.authorization
					    ? "Bearer realm=\"boxery\", "
					      "error=\"invalid_token\""
					    : "Bearer realm=\"boxery\"";
		return false;
	}
	return check_user(ep, r, ret);
}

static bool check_body(const struct endpoint_request *r,
		       struct endpoint_answer *ret)
{
	const char *type = r->h.content_type;
	const char *length = r->h.content_length;

	/* what a form on a web page can send is not this */
	if (type && strncasecmp(type, "application/json",
				strlen("application/json")) != 0) {
		refuse(ret, 415, "Content-Type: must be application/json");
		return false;
	}
	/* more than is worth reading: seven digits pass, of 16 MiB */
	if (length && (strlen(length) > 8 ||
		       strtol(length, NULL, 10) > LIMIT_HTTP_DRAIN_LEN)) {
		endpoint_too_long(ret);
		return false;
	}
	return true;
}

static void on_get(struct endpoint *ep, struct endpoint_request *r,
		   struct endpoint_answer *ret);
static void on_delete(struct endpoint *ep, struct endpoint_request *r,
		      struct endpoint_answer *ret);

bool endpoint_head(struct endpoint *ep, struct endpoint_request *r,
		   struct endpoint_answer *ret)
{
	*ret = (struct endpoint_answer){0};
	if (!check_names(ep, r, ret) || !check_path(r, ret) ||
	    !check_who(ep, r, ret))
		return true;
	if (atomic_load(&ep->stopping)) {
		refuse(ret, 503, "the server is stopping");
		ret->retry_later = true;
		ret->close = true;
		return true;
	}
	if (strcmp(r->method, "POST") == 0)
		return !check_body(r, ret);
	if (strcmp(r->method, "GET") == 0)
		on_get(ep, r, ret);
	else if (strcmp(r->method, "DELETE") == 0)
		on_delete(ep, r, ret);
	else {
		refuse(ret, 405, "only POST, GET and DELETE here");
		ret->allow = "POST, GET, DELETE";
	}
	return true;
}

void endpoint_request_finish(struct endpoint_request *r)
{
	auth_unref(r->who);
	r->who = NULL;
}

/* -- sessions -------------------------------------------------------------- */

static bool is_legacy_version(const char *version)
{
	return !version || protocol_legacy_speaks(version);
}

/* The session that the head names, with a reference; or NULL and the answer. */
static struct httpsession *named_session(struct endpoint *ep,
					 const struct endpoint_request *r,
					 struct endpoint_answer *ret)
{
	struct httpsession *s;

	if (!is_legacy_version(r->h.mcp.version)) {
		refuse(ret, 400, "MCP-Protocol-Version: not one that this "
				 "server speaks with sessions");
		return NULL;
	}
	if (!r->h.session_id) {
		refuse(ret, 400,
		       "Mcp-Session-Id: missing (initialize gives one)");
		return NULL;
	}
	s = httphead_is_session_id(r->h.session_id)
		    ? httpsession_find(ep->sessions, r->h.session_id, r->who)
		    : NULL;
	if (!s)
		refuse(ret, 404,
		       "Mcp-Session-Id: no such session, or it has expired: "
		       "initialize anew");
	return s;
}

static bool is_modern_only(const struct endpoint_request *r,
			   struct endpoint_answer *ret)
{
	if (!r->h.mcp.version ||
	    strcmp(r->h.mcp.version, PROTOCOL_MODERN_VERSION) != 0)
		return false;
	refuse(ret, 405, "only POST in revision " PROTOCOL_MODERN_VERSION);
	ret->allow = "POST";
	return true;
}

static void on_delete(struct endpoint *ep, struct endpoint_request *r,
		      struct endpoint_answer *ret)
{
	struct httpsession *s;

	if (is_modern_only(r, ret))
		return;
	s = named_session(ep, r, ret);
	if (!s)
		return;
	httpsession_end(s);
	httpsession_unref(s);
	ret->status = 204;
}

static void on_get(struct endpoint *ep, struct endpoint_request *r,
		   struct endpoint_answer *ret)
{
	struct exchange_reading reading = {
		.opts = {.comment_ms = LIMIT_HTTP_COMMENT_MS}};
	struct httpsession *s;
	uint64_t number;

	if (is_modern_only(r, ret))
		return;
	s = named_session(ep, r, ret);
	if (!s)
		return;
	if (!r->h.last_event_id) {
		reading.stream = httpsession_general(s);
		/* what an earlier reader has had is not said again */
		reading.opts.after = ssestream_taken(reading.stream);
	} else if (httphead_event_id(r->h.last_event_id, &number,
				     &reading.opts.after)) {
		reading.stream = httpsession_find_stream(s, number);
	}
	if (!reading.stream) {
		refuse(ret, 400,
		       "Last-Event-ID: that stream cannot be resumed any more");
		httpsession_unref(s);
		return;
	}
	reading.session = s;
	reading.opts.prime = exchange_may_prime(s);
	exchange_read(&ep->ex, r, &reading, ret);
}

/* -- messages -------------------------------------------------------------- */

static bool is_request(const struct jsonrpc_msg *m, const char *method)
{
	return m->id && m->method && strcmp(m->method, method) == 0;
}

static bool is_tool_call(const struct jsonrpc_msg *m)
{
	return is_request(m, "tools/call");
}

/* May the service be asked for it? */
static bool is_call(const struct jsonrpc_msg *m)
{
	return is_tool_call(m) || is_request(m, "resources/list") ||
	       is_request(m, "resources/read") ||
	       is_request(m, "prompts/get") ||
	       is_request(m, "completion/complete");
}

/* Is this call better answered step by step? */
static bool wants_stream(const struct endpoint_request *r,
			 const struct httpsession *s,
			 const struct jsonrpc_msg *m, bool modern)
{
	const struct toolset *tools = &r->who->tools;
	const json_t *meta = json_object_get(m->params, "_meta");
	const char *name =
		json_string_value(json_object_get(m->params, "name"));
	unsigned takes = httphead_accept(r->h.accept);
	const void *tool = name && is_tool_call(m)
				   ? tools->find(tools->ctx, name)
				   : NULL;

	if (!tool || !(takes & HTTPHEAD_SSE))
		return false;
	return !(takes & HTTPHEAD_JSON) ||
	       json_object_get(meta, "progressToken") ||
	       session_wants_log(s->session, m, modern) ||
	       tools->is_long(tools->ctx, tool);
}

/* Takes place among the calls under way, or answers that there is none. */
static bool take_place(struct endpoint *ep, const json_t *id,
		       struct endpoint_answer *ret)
{
	if (atomic_fetch_add(&ep->ex.calls_count, 1) < LIMIT_HTTP_CALLS_COUNT)
		return true;
	atomic_fetch_sub(&ep->ex.calls_count, 1);
	answer_error(ret, 503, JSONRPC_INTERNAL_ERROR, id,
		     "too many calls are under way: wait for some to end");
	ret->retry_later = true;
	return false;
}

static void answer_message(struct endpoint *ep,
			   const struct endpoint_request *r,
			   struct httpsession *s, struct jsonrpc_msg *m,
			   bool modern, struct endpoint_answer *ret)
{
	if (modern && is_request(m, "subscriptions/listen")) {
		exchange_listen(&ep->ex, r, s, m, ret);
		return;
	}
	if (!is_call(m)) {
		exchange_whole(&ep->ex, r, s, m, modern, ret);
		return;
	}
	if (!take_place(ep, m->id, ret))
		return;
	if (wants_stream(r, s, m, modern)) {
		exchange_streamed(&ep->ex, r, s, m, modern, ret);
		return;
	}
	exchange_whole(&ep->ex, r, s, m, modern, ret);
	atomic_fetch_sub(&ep->ex.calls_count, 1);
}

/* The headers that a tool's parameters are repeated in. */
static int check_params(const struct endpoint_request *r,
			const struct jsonrpc_msg *m, struct jsonrpc_fault *f)
{
	const struct toolset *tools = &r->who->tools;
	const json_t *args = json_object_get(m->params, "arguments");
	const char *name =
		json_string_value(json_object_get(m->params, "name"));
	const void *tool = tools->headers && is_tool_call(m) && name
				   ? tools->find(tools->ctx, name)
				   : NULL;
	const struct toolset_header *row =
		tool ? tools->headers(tools->ctx, tool) : NULL;

	for (; row && row->name; row++) {
		autofree char *header = alloc_printf("Mcp-Param-%s", row->name);

		if (httphead_check_param(header, r->header(r->ctx, header),
					 json_object_get(args, row->param),
					 f) != 0)
			return -1;
	}
	return 0;
}

static void on_modern(struct endpoint *ep, struct endpoint_request *r,
		      struct jsonrpc_msg *m, struct endpoint_answer *ret)
{
	struct jsonrpc_fault f = {0};
	struct err e = {0};

	if (m->method && (httphead_check(&r->h.mcp, m, &f) != 0 ||
			  check_params(r, m, &f) != 0)) {
		answer_fault(ret, 400, m->id, &f);
		return;
	}
	if (*r->own && (*r->own)->who != r->who) {
		httpsession_unref(*r->own);
		*r->own = NULL;
	}
	if (!*r->own && httpsession_open(ep->sessions, r->who, false, r->own,
					 &e) != 0) {
		answer_error(ret, 503, JSONRPC_INTERNAL_ERROR, m->id,
			     err_msg(&e));
		return;
	}
	answer_message(ep, r, *r->own, m, true, ret);
}

static void on_initialize(struct endpoint *ep, struct endpoint_request *r,
			  struct jsonrpc_msg *m, struct endpoint_answer *ret)
{
	struct httpsession *s;
	struct err e = {0};

	if (httpsession_open(ep->sessions, r->who, true, &s, &e) != 0) {
		answer_error(ret, 503, JSONRPC_INTERNAL_ERROR, m->id,
			     err_msg(&e));
		ret->retry_later = true;
		return;
	}
	exchange_whole(&ep->ex, r, s, m, false, ret);
	if (session_version(s->session))
		memcpy(ret->session_id, s->id, sizeof(s->id));
	else /* it was no good */
		httpsession_end(s);
	httpsession_unref(s);
}

static void on_legacy(struct endpoint *ep, struct endpoint_request *r,
		      struct jsonrpc_msg *m, struct endpoint_answer *ret)
{
	struct httpsession *s;

	if (m->id && m->method && strcmp(m->method, "initialize") == 0) {
		on_initialize(ep, r, m, ret);
		return;
	}
	s = named_session(ep, r, ret);
	if (!s)
		return;
	answer_message(ep, r, s, m, false, ret);
	httpsession_unref(s);
}

/* For a client that takes nothing else. */
static void wrap_in_event(struct endpoint_answer *ret)
{
	char *event = alloc_printf("event: message\ndata: %s\n\n", ret->text);

	free(ret->text);
	ret->text = event;
	ret->len = strlen(event);
	ret->is_event = true;
}

void endpoint_body(struct endpoint *ep, struct endpoint_request *r,
		   const char *body, size_t len, struct endpoint_answer *ret)
{
	struct jsonrpc_fault f = {0};
	struct jsonrpc_msg m = {0};

	*ret = (struct endpoint_answer){0};
	if (jsonrpc_parse(body, len, &m, &f) != 0) {
		auto_json json_t *id = TAKE_PTR(f.id);

		answer_fault(ret, 400, id, &f);
		return;
	}
	if (httphead_is_modern(&r->h.mcp, &m))
		on_modern(ep, r, &m, ret);
	else
		on_legacy(ep, r, &m, ret);
	jsonrpc_msg_finish(&m);
	if (ret->text && ret->status == 200 &&
	    httphead_accept(r->h.accept) == HTTPHEAD_SSE)
		wrap_in_event(ret);
}
