/*
 * asking.h - what one call may ask its client, whichever revision that speaks
 *
 *	asking_open(&a, &opts, &fault)		with the request
 *	answers = asking_ask(&a, &how, requests)	while it runs
 *	result = asking_result(&a, result)	what it is answered with
 *
 * Shapes:  requests and answers as elicit.h. A legacy client is asked while the
 *          call waits; a modern one by the call's own result, and then
 *          asking_ask() gives NULL and asking_ends_call() is true.
 * Errors:  jsonrpc faults, for a request that cannot be what it says.
 * Threads: asking_open() on the thread that reads, the others on the call's.
 */
#ifndef MCP_ASKING_H
#define MCP_ASKING_H

#include "mcp/elicit.h"
#include "mcp/protocol.h"
#include "mcp/protocol_legacy.h"
#include "mcp/rounds.h"

struct asking {
	struct elicit *elicit; /* of a legacy client's session */
	unsigned abilities;
	bool has_modes;
	struct round round; /* of a modern call */
	char *client;	    /* what the client calls itself, or NULL */
};

struct asking_opts {
	const struct ask *ask;
	/* of a legacy client, or NULL */
	const struct protocol_legacy *legacy;
	struct elicit *elicit;
	struct rounds *rounds; /* of a modern one */
	unsigned needs;	       /* what it must be able to be asked */
	bool can_ask;	       /* a request of ours gets through */
};

/* 0 with *a to be finished, or -1 with *f. */
int asking_open(struct asking *a, const struct asking_opts *o,
		struct jsonrpc_fault *f) __attribute__((warn_unused_result));
void asking_finish(struct asking *a);

/* how: all but what is the client's. */
json_t *asking_ask(struct asking *a, const struct elicit_ask *how,
		   const json_t *requests);
/* Is the call to stop, since it will be answered with a question? */
bool asking_ends_call(const struct asking *a);
/* The question instead of what was given (NULL: nothing), if there is one. */
json_t *asking_result(struct asking *a, json_t *given,
		      struct jsonrpc_fault *f);

#endif
