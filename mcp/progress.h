/*
 * progress.h - the service's reports as MCP progress notifications
 *
 * Shapes:  one struct progress per call that asked for progress. What goes out
 *          rises strictly, whatever comes in (a job has phases, each of which
 *          counts from zero), and at most ten times a second.
 * Units:   milliseconds of a monotonic clock; done and total as the service
 *          counts them.
 * Errors:  none.
 * Threads: the caller serialises.
 * Source:  MCP 2025-11-25 "Progress".
 */
#ifndef MCP_PROGRESS_H
#define MCP_PROGRESS_H

#include "ops/client.h"

#include <jansson.h>
#include <stdint.h>

struct progress {
	json_t *token; /* owned; NULL: nothing is ever sent */
	double sent;   /* the last value that went out; -1: none */
	int64_t next_ms;
	char text[128]; /* what went with it */
};

void progress_init(struct progress *p, const json_t *token);
void progress_finish(struct progress *p);
/* The params of notifications/progress, or NULL when nothing is to be sent. */
json_t *progress_report(struct progress *p, const struct client_progress *c,
			int64_t now_ms);

#endif
