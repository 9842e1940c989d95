/*
 * links.h - connections to the service, kept between calls
 *
 * Shapes:  a link is a struct client that one thread has at a time: taken,
 *          used for one call, given back. The first one is made by the first
 *          call, which starts the service if it must; nothing before needs
 *          it.
 * Units:   counts.
 * Errors:  those of client_connect(); ERR_LIMIT when too many are taken.
 * Threads: any.
 */
#ifndef MCP_LINKS_H
#define MCP_LINKS_H

#include "ops/client.h"

struct links;

/* opts and what it points to must outlive the links. */
struct links *links_new(const struct client_opts *opts);
const struct client_opts *links_opts(const struct links *l);
void links_free(struct links *l);     /* when idle */
bool links_are_idle(struct links *l); /* all were given back */
int links_take(struct links *l, struct client **ret, struct err *e)
	__attribute__((warn_unused_result));
void links_give(struct links *l, struct client *c);

#endif
