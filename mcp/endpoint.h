/*
 * endpoint.h - the /mcp endpoint: what a request gets, whatever carries it
 *
 * http.c reads requests and writes answers; between the two stands this, which
 * knows no library. A request is judged twice: by its head, before its body is
 * read, and with it.
 *
 * Shapes:  struct endpoint_request borrows from its transport until it is
 *          answered. struct endpoint_answer owns what it holds: a text, or a
 *          stream that the transport reads until its end and then frees.
 * Units:   HTTP statuses.
 * Errors:  none: whatever is wrong is an answer. All but 202 and 204 are JSON.
 * Threads: any; one per request. endpoint_body() returns when the answer is
 *          there, or when it began to come as a stream.
 * Source:  MCP 2025-11-25 and 2026-07-28, "Streamable HTTP"; RFC 9110.
 */
#ifndef MCP_ENDPOINT_H
#define MCP_ENDPOINT_H

#include "mcp/auth.h"
#include "mcp/httpsession.h"
#include "mcp/watch.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct endpoint;
struct exchange_stream;

struct endpoint_opts {
	struct auth *auth;
	struct watch *watch;
	struct httphead_names names;
	const char *const *allow_users; /* NULL: whoever has a token */
	int64_t session_idle_ms;
};

/* Header values, NULL when absent. One that came twice counts as bad. */
struct endpoint_headers {
	const char *host, *origin, *authorization, *accept, *content_type;
	const char *content_length, *transfer_encoding;
	const char *session_id, *last_event_id, *user;
	struct httphead_mcp mcp;
	bool repeated; /* one of these came twice */
};

struct endpoint_request {
	const char *method, *path;
	struct endpoint_headers h;
	/* any other header's value, or NULL */
	const char *(*header)(void *ctx, const char *name);
	void *ctx;
	bool from_loopback;
	struct watched *watched;
	/* of the connection: what serves its modern requests, made and kept
	 * here, given back with httpsession_unref() when it closes */
	struct httpsession **own;
	/* set by endpoint_head(), given back by endpoint_request_finish() */
	struct principal *who;
};

struct endpoint_answer {
	int status;
	char *text; /* JSON; NULL: no body */
	size_t len;
	bool is_event;		/* … in a server-sent event */
	struct exchange_stream *stream; /* instead of text */
	char session_id[HTTPHEAD_ID_LEN + 1]; /* "": none */
	const char *allow;	   /* of 405 */
	const char *authenticate; /* of 401 */
	bool retry_later;	   /* of 503 */
	bool close;		   /* the connection is not worth keeping */
};

struct endpoint *endpoint_new(const struct endpoint_opts *o);
/* When nothing is under way and no connection is left. */
void endpoint_free(struct endpoint *ep);
/* About once a second. */
void endpoint_tick(struct endpoint *ep);
/* Refuse what comes, send readers away, end what is only waited for. */
void endpoint_stop(struct endpoint *ep);
unsigned endpoint_busy(struct endpoint *ep);
/* Streams whose reader has not had, or not taken, their end. */
unsigned endpoint_streams(const struct endpoint *ep);

/* True: *ret is the answer. False: go on with endpoint_body(). */
bool endpoint_head(struct endpoint *ep, struct endpoint_request *r,
		   struct endpoint_answer *ret);
void endpoint_body(struct endpoint *ep, struct endpoint_request *r,
		   const char *body, size_t len, struct endpoint_answer *ret);
void endpoint_too_long(struct endpoint_answer *ret);
void endpoint_too_many(struct endpoint_answer *ret);
void endpoint_request_finish(struct endpoint_request *r);

#endif
