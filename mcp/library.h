/*
 * library.h - what a server offers beside tools: resources, prompts, completion
 *
 * Shapes:  struct library is what a session sees of any; shelves.h has the one
 *          that asks the service. Results are neutral: the members that all
 *          revisions share.
 * Units:   answer_by is absolute, monotonic.
 * Errors:  jsonrpc faults. A resource that is none has JSONRPC_INVALID_PARAMS
 *          and its uri in data; library_not_found() makes that.
 * Threads: any.
 */
#ifndef MCP_LIBRARY_H
#define MCP_LIBRARY_H

#include "base/deadline.h"
#include "mcp/feed.h"
#include "mcp/protocol.h"

struct library_ask {
	const struct ask *ask;
	int cancel_fd; /* readable: stop; -1: none */
	struct deadline answer_by;
	/* As tools_call.ask. */
	json_t *(*elicit)(void *ctx, const json_t *requests);
	void *ctx;
};

struct library {
	void *ctx;
	/* One of the asks that a library answers: a new result, or NULL. */
	json_t *(*answer)(void *ctx, const struct library_ask *a,
			  struct jsonrpc_fault *f);
	/* Is it the URI of something that may change? */
	bool (*may_watch)(void *ctx, const char *uri);
	struct feed *feed; /* what tells of changes */
};

/* Fills *f; returns NULL. */
json_t *library_not_found(struct jsonrpc_fault *f, const char *uri);

#endif
