/*
 * exchange.h - one message of a client over HTTP, and how it is answered
 *
 * Shapes:  struct exchange is what all of them share; whoever makes it owns
 *          its members. Each function takes a message that was judged to be
 *          good, and fills in an answer (endpoint.h).
 * Errors:  none: they are answers.
 * Threads: any; one per message.
 * Source:  MCP 2025-11-25 and 2026-07-28, "Streamable HTTP".
 */
#ifndef MCP_EXCHANGE_H
#define MCP_EXCHANGE_H

#include "mcp/callpool.h"
#include "mcp/endpoint.h"

#include <stdatomic.h>

struct exchange {
	struct watch *watch;
	struct callpool *pool;
	/* Calls under way. exchange_streamed() gives back the place that its
	 * caller took for one. */
	atomic_uint calls_count;
	atomic_uint streams_count; /* that somebody reads */
};

/* m is taken over by the call that it begins; else it is left. */
void exchange_whole(struct exchange *ex, const struct endpoint_request *r,
		    struct httpsession *s, struct jsonrpc_msg *m, bool modern,
		    struct endpoint_answer *ret);
void exchange_streamed(struct exchange *ex, const struct endpoint_request *r,
		       struct httpsession *session, struct jsonrpc_msg *m,
		       bool modern, struct endpoint_answer *ret);
/* What is answered only at its end: a subscription of the modern era. */
void exchange_listen(struct exchange *ex, const struct endpoint_request *r,
		     struct httpsession *session, struct jsonrpc_msg *m,
		     struct endpoint_answer *ret);

struct exchange_reading {
	struct httpsession *session; /* both references are taken over */
	struct ssestream *stream;
	const json_t *cancel_id; /* of the call that ends with its reader, or
				  * NULL; copied */
	struct ssereader_opts opts;
};
/* A stream to be read. */
void exchange_read(struct exchange *ex, const struct endpoint_request *r,
		   const struct exchange_reading *reading,
		   struct endpoint_answer *ret);
/* Does this client know events without data? */
bool exchange_may_prime(const struct httpsession *s);

/* As ssereader_read(). */
ssize_t exchange_stream_read(struct exchange_stream *s, char *p, size_t max);
/* The client has all of it, or is gone: then its call may be cancelled. */
void exchange_stream_free(struct exchange_stream *s);

#endif
