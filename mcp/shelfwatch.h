/*
 * shelfwatch.h - sees what has changed of the resources that clients listen to
 *
 * Shapes:  a look is a feed's (feed.h): it compares with the one before.
 * Errors:  none: what cannot be seen has not changed.
 * Threads: one, the feed's.
 */
#ifndef MCP_SHELFWATCH_H
#define MCP_SHELFWATCH_H

#include "mcp/copied.h"
#include "mcp/feed.h"
#include "ops/client.h"

struct shelfwatch;

/* Both, and what opts points to, outlive it. */
struct shelfwatch *shelfwatch_new(const struct client_opts *opts,
				  struct copied *copied);
void shelfwatch_free(struct shelfwatch *s);
/* ctx: the shelfwatch. */
void shelfwatch_look(void *ctx, struct feed *f, bool list, const json_t *uris,
		     int stop_fd);

#endif
