/*
 * stock.h - what the service has that can be read as a resource
 *
 * Shapes:  all there are is an object of MCP's resource records, by URI. Names
 *          that are no VM's of ours (orphans may have any) are left out, so a
 *          name in a URI is one.
 * Units:   answer_by is absolute, monotonic.
 * Errors:  the service's.
 * Threads: those of the client.
 */
#ifndef MCP_STOCK_H
#define MCP_STOCK_H

#include "mcp/copied.h"
#include "ops/client.h"

/* Whom to ask, and for how long. */
struct stock_asking {
	struct client *client;
	int cancel_fd; /* -1: none */
	struct deadline answer_by;
};

/* args: taken over. image may be NULL. A new reference, or NULL. */
json_t *stock_call(const struct stock_asking *a, const char *op, json_t *args,
		   struct buf *image, struct err *e);
json_t *stock_vms(const struct stock_asking *a, struct err *e);
json_t *stock_console(const struct stock_asking *a, const char *vm,
		      struct err *e);
/* The name of a row of stock_vms(), or NULL: it is no VM's of ours. */
const char *stock_name(const json_t *row);
/* By what a path ends with. */
const char *stock_mime(const char *path);

/* All there are, by URI; or NULL. */
json_t *stock_collect(struct copied *copied, const struct stock_asking *a,
		      struct err *e);
/* The URIs of that in order, ended by NULL; free() */
const char **stock_uris(const json_t *all);

#endif
