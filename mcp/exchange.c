/*
 * A request that is no call is answered at once. A call is answered in one of
 * two ways:
 *
 *	whole	 the thread of the connection makes it (or waits for it, when it
 *		 must keep its place in a lane) and the answer is one JSON text
 *	streamed a thread of the pool makes it and puts what it says into a
 *		 stream, which the connection's thread reads; chosen for what
 *		 may take long or reports progress, if the client takes SSE
 *
 * In both ways a modern client that hangs up cancels its call; one of an
 * earlier revision does not, and may come again for the stream.
 */
#include "mcp/exchange.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/limits.h"

#include <pthread.h>
#include <string.h>

struct exchange_stream {
	struct exchange *ex;
	struct ssereader *reader;
	struct httpsession *session;
	struct watched *watched;
	json_t *cancel_id; /* of the call that ends with its reader, or NULL */
};

bool exchange_may_prime(const struct httpsession *s)
{
	const char *version = session_version(s->session);

	return *s->id && version && strcmp(version, "2025-11-25") >= 0;
}

/* -- streams --------------------------------------------------------------- */

static void on_stream_gone(void *arg)
{
	struct exchange_stream *s = arg;

	if (s->cancel_id)
		session_cancel(s->session->session, s->cancel_id);
	ssereader_leave(s->reader);
}

void exchange_read(struct exchange *ex, const struct endpoint_request *r,
		   const struct exchange_reading *reading,
		   struct endpoint_answer *ret)
{
	struct exchange_stream *s = ALLOC_NEW(struct exchange_stream);

	s->ex = ex;
	s->session = reading->session;
	s->watched = r->watched;
	s->cancel_id =
		reading->cancel_id ? json_deep_copy(reading->cancel_id) : NULL;
	s->reader = ssereader_new(reading->stream, &reading->opts);
	ssestream_unref(reading->stream);
	watch_arm(ex->watch, s->watched, on_stream_gone, s,
		  &s->session->who->revoked);
	atomic_fetch_add(&ex->streams_count, 1);
	ret->status = 200;
	ret->stream = s;
	if (atomic_load(&s->session->ended))
		ssereader_leave(s->reader);
}

ssize_t exchange_stream_read(struct exchange_stream *s, char *p, size_t max)
{
	return ssereader_read(s->reader, p, max);
}

void exchange_stream_free(struct exchange_stream *s)
{
	watch_disarm(s->ex->watch, s->watched);
	/* one that could not be written to has left as well */
	if (s->cancel_id && !ssereader_is_done(s->reader))
		session_cancel(s->session->session, s->cancel_id);
	ssereader_free(s->reader);
	atomic_fetch_sub(&s->ex->streams_count, 1);
	atomic_store(&s->session->seen_ms, deadline_now_ms());
	httpsession_unref(s->session);
	json_decref(s->cancel_id);
	free(s);
}

/* -- whole answers --------------------------------------------------------- */

/* A request whose answer is waited for here. */
struct whole {
	struct exchange *ex;
	const struct endpoint_request *r;
	struct httpsession *session;
	json_t *cancel_id; /* or NULL */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool over;
	char *text;
	size_t len;
	int fault;
	bool refused;
};

static void whole_send(void *ctx, const struct session_out *out)
{
	struct whole *w = ctx;

	/* progress has no place in it */
	if (!out->is_answer)
		return;
	free(w->text);
	w->text = alloc_strn(out->text, out->len);
	w->len = out->len;
	w->fault = out->fault;
	w->refused = out->refused;
}

static void whole_end(void *ctx)
{
	struct whole *w = ctx;

	pthread_mutex_lock(&w->lock);
	w->over = true;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

static void on_whole_gone(void *arg)
{
	struct whole *w = arg;

	if (w->cancel_id)
		session_cancel(w->session->session, w->cancel_id);
}

/* The call is known by its id from here on, so it can be cancelled. */
static int whole_start(void *ctx, const char *lane, void (*work)(void *arg),
		       void *arg, struct err *e)
{
	struct whole *w = ctx;

	watch_arm(w->ex->watch, w->r->watched, on_whole_gone, w,
		  &w->session->who->revoked);
	if (lane)
		return callpool_submit(w->ex->pool, lane, work, arg, e);
	work(arg);
	return 0;
}

static int status_of(bool modern, int fault, bool refused)
{
	if (refused)
		return 400;
	if (modern && fault == JSONRPC_METHOD_NOT_FOUND)
		return 404;
	return 200;
}

/* What runs on a thread of ours has its own time limit, so this ends. */
void exchange_whole(struct exchange *ex, const struct endpoint_request *r,
		    struct httpsession *s, struct jsonrpc_msg *m, bool modern,
		    struct endpoint_answer *ret)
{
	struct whole w = {.ex = ex,
			  .r = r,
			  .session = s,
			  .lock = PTHREAD_MUTEX_INITIALIZER,
			  .changed = PTHREAD_COND_INITIALIZER};
	/* one answer and nothing before it: no question either */
	struct session_io io = {.ctx = &w,
				.send = whole_send,
				.start = whole_start,
				.end = whole_end};

	if (modern && m->id)
		w.cancel_id = json_deep_copy(m->id);
	session_take(s->session, &io, m, modern);
	pthread_mutex_lock(&w.lock);
	while (!w.over)
		pthread_cond_wait(&w.changed, &w.lock);
	pthread_mutex_unlock(&w.lock);
	watch_disarm(ex->watch, r->watched);
	json_decref(w.cancel_id);
	pthread_cond_destroy(&w.changed);
	pthread_mutex_destroy(&w.lock);
	/* nothing to say: a notification, a response, a cancelled call */
	ret->status = w.text ? status_of(modern, w.fault, w.refused) : 202;
	ret->text = w.text;
	ret->len = w.len;
}

/* -- streamed answers ------------------------------------------------------ */

struct streamed {
	struct exchange *ex;
	struct httpsession *session;
	struct ssestream *stream;
	bool has_place; /* among the calls under way */
	/* Takes a refusal, which is an answer of its own. It comes before the
	 * call is begun, so this is not used from any other thread. */
	struct endpoint_answer *refusal;
};

static void streamed_send(void *ctx, const struct session_out *out)
{
	struct streamed *s = ctx;

	if (out->refused) {
		s->refusal->status = 400;
		s->refusal->text = alloc_strn(out->text, out->len);
		s->refusal->len = out->len;
		return;
	}
	ssestream_add(s->stream, out->text, out->len,
		      !out->is_answer && !out->is_request);
}

static int streamed_start(void *ctx, const char *lane, void (*work)(void *arg),
			  void *arg, struct err *e)
{
	struct streamed *s = ctx;

	return callpool_submit(s->ex->pool, lane, work, arg, e);
}

/* A stream that is kept is closed; its client was told when to come again. */
static void streamed_pause(void *ctx)
{
	struct streamed *s = ctx;

	if (ssestream_number(s->stream) != 0)
		ssestream_send_away(s->stream);
}

static void streamed_end(void *ctx)
{
	struct streamed *s = ctx;

	ssestream_end(s->stream);
	ssestream_unref(s->stream);
	if (s->has_place)
		atomic_fetch_sub(&s->ex->calls_count, 1);
	httpsession_unref(s->session);
	free(s);
}

struct manner {
	bool modern;
	bool has_place; /* of its caller's, to be given back */
	int64_t comment_ms;
};

static void stream(struct exchange *ex, const struct endpoint_request *r,
		   struct httpsession *session, struct jsonrpc_msg *m,
		   const struct manner *how, struct endpoint_answer *ret)
{
	struct ssestream *events = httpsession_stream(session);
	struct streamed *s = ALLOC_NEW(struct streamed);
	struct session_io io = {.ctx = s,
				.send = streamed_send,
				.start = streamed_start,
				.can_ask = true,
				.pause = streamed_pause,
				.end = streamed_end};
	auto_json json_t *id = how->modern ? json_deep_copy(m->id) : NULL;
	struct exchange_reading reading = {
		.stream = events,
		.cancel_id = id,
		.opts = {.comment_ms = how->comment_ms,
			 .prime = exchange_may_prime(session)},
	};

	s->ex = ex;
	s->session = httpsession_ref(session);
	s->stream = ssestream_ref(events);
	s->refusal = ret;
	s->has_place = how->has_place;
	session_take(session->session, &io, m, how->modern);
	if (ret->text) {
		ssestream_unref(events);
		return;
	}
	reading.session = httpsession_ref(session);
	exchange_read(ex, r, &reading, ret);
}

void exchange_streamed(struct exchange *ex, const struct endpoint_request *r,
		       struct httpsession *session, struct jsonrpc_msg *m,
		       bool modern, struct endpoint_answer *ret)
{
	stream(ex, r, session, m,
	       &(struct manner){.modern = modern,
				.has_place = true,
				.comment_ms = modern ? LIMIT_HTTP_NOTICE_MS
						     : LIMIT_HTTP_COMMENT_MS},
	       ret);
}

void exchange_listen(struct exchange *ex, const struct endpoint_request *r,
		     struct httpsession *session, struct jsonrpc_msg *m,
		     struct endpoint_answer *ret)
{
	stream(ex, r, session, m,
	       &(struct manner){.modern = true,
				.comment_ms = LIMIT_HTTP_COMMENT_MS},
	       ret);
}
