/*
 * inflight.h - the calls of one client that are not answered yet
 *
 * Shapes:  a call is known by its request's id (1 and "1" are two ids). It is
 *          begun where requests are read, cancelled from there, and ended by
 *          the thread that ran it.
 * Units:   counts.
 * Errors:  ERR_EXISTS for an id in use, ERR_LIMIT for too many calls.
 * Threads: any.
 */
#ifndef MCP_INFLIGHT_H
#define MCP_INFLIGHT_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

struct inflight;
struct inflight_call;

int inflight_new(struct inflight **ret, struct err *e)
	__attribute__((warn_unused_result));
void inflight_free(struct inflight *f); /* when nothing is in flight */

/* waits: only its asker has something of it (inflight_cancel_waits()) */
int inflight_begin(struct inflight *f, const json_t *id, bool waits,
		   struct inflight_call **ret, struct err *e)
	__attribute__((warn_unused_result));
/*
 * The answer is about to be sent: from here on the id is free for another
 * call and cancelling comes too late. False: it was cancelled before.
 */
bool inflight_settle(struct inflight *f, struct inflight_call *c);
/* The thread of the call is done with all of it, settled or not. */
void inflight_end(struct inflight *f, struct inflight_call *c);
/* Tell the call with that id to stop; one that is unknown has ended. */
void inflight_cancel(struct inflight *f, const json_t *id);
/* Tell all to stop that nobody has anything of once the client is gone. */
void inflight_cancel_waits(struct inflight *f);

/* Its work is to stop as if it had been cancelled, but its answer is wanted. */
void inflight_stop_work(struct inflight_call *c);

/* An eventfd that becomes readable when the call is cancelled, or its work to
 * be stopped. */
int inflight_cancel_fd(const struct inflight_call *c);
bool inflight_is_cancelled(const struct inflight_call *c);

unsigned inflight_count(struct inflight *f);
/* An eventfd that counts up at each inflight_end(). */
int inflight_ended_fd(const struct inflight *f);

#endif
