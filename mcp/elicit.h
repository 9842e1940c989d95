/*
 * elicit.h - what a client can be asked, and asking one that has a session
 *
 * While a call runs, it may need something of its client: mostly that its
 * person fills in a form. Before 2026-07-28 that is a request of ours on the
 * stream of the call, and a response that comes like any other message; this is
 * where the one waits for the other. (Later revisions: rounds.h.)
 *
 * Shapes:  requests are {KEY: {method, params}}, KEY being a name for the asker
 *          alone; answers are {KEY: result}, each result as the client gave it:
 *          nothing about it was checked, and it may be any JSON.
 *          Too many at once are not put: their askers get NULL.
 *          A request has an id of ours, "boxery-N". What comes under any other
 *          id, or late, or a second time, is an answer to nobody.
 * Errors:  none: what was not answered is not in the answers. NULL: nothing
 *          was.
 * Threads: any. Answers arrive on one, askers wait on theirs.
 * Source:  MCP 2025-06-18 and 2025-11-25, "Elicitation", "Cancellation".
 */
#ifndef MCP_ELICIT_H
#define MCP_ELICIT_H

#include "base/deadline.h"
#include "mcp/jsonrpc.h"

#include <stdbool.h>

/* What a client says that it can be asked. */
enum elicit_ability {
	ELICIT_FORM = 1 << 0,
	ELICIT_SAMPLING = 1 << 1,
	ELICIT_ROOTS = 1 << 2,
};
/* capabilities: of the client, or NULL. */
unsigned elicit_abilities(const json_t *capabilities);
/* An answer of a client's, new; one that is too long is null, which no form
 * gives. */
json_t *elicit_capped(const json_t *answer);
/* The ability that a request needs; 0: it is none that we may send. */
unsigned elicit_needs(const json_t *request);
/* Of abilities, as a client would declare them. */
json_t *elicit_declared(unsigned abilities);

struct elicit; /* the open requests to one client */

struct elicit *elicit_new(void);
void elicit_free(struct elicit *t); /* when nobody asks */

struct elicit_ask {
	unsigned abilities;
	bool has_modes; /* the client knows what "mode" is */
	/* Takes the message over; a whole one, to be sent as it is. */
	void (*send)(void *ctx, json_t *message);
	void *ctx;
	int cancel_fd; /* readable: the call is to end */
	struct deadline until;
};
/*
 * Ask for one after the other. A request that is given up (time, cancellation,
 * elicit_end()) is withdrawn, so that its dialog does not stand there for
 * nothing.
 */
json_t *elicit_ask(struct elicit *t, const struct elicit_ask *a,
		   const json_t *requests);
/* A response from the client; m is left to the caller. */
void elicit_take(struct elicit *t, const struct jsonrpc_msg *m);
/* Nothing comes from the client any more: who waits or will, waits no longer. */
void elicit_end(struct elicit *t);

#endif
