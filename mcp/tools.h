/*
 * tools.h - the rows of the operations table that are open to agents, as MCP
 * tools
 *
 * Shapes:  tools_list() is the array of tools/list, the same for every asker,
 *          in the order of the table. tools_call() gives a neutral result
 *          (present.h): bad arguments and failures are results with isError,
 *          which a model can read and act upon.
 * Units:   answer_by is absolute, monotonic.
 * Errors:  none reach the caller but inside results.
 * Threads: any; struct tools is read-only.
 */
#ifndef MCP_TOOLS_H
#define MCP_TOOLS_H

#include "mcp/links.h"
#include "ops/op.h"

struct tools {
	struct links *links;
	const char *copy_root;	       /* local: paths lie here, or NULL: */
	const char *copy_root_refusal; /* what is said instead */
};

struct tools_call {
	const struct op *op;
	const json_t *args; /* as the client sent them; NULL: none */
	int cancel_fd;	    /* readable: stop; -1: none */
	struct deadline answer_by;
	void (*progress)(void *ctx, const struct client_progress *p);
	void *ctx;
};

json_t *tools_list(void);
/* The tool's row, or NULL: no such tool, or not for agents. */
const struct op *tools_find(const char *name);
/*
 * What must not be overtaken by a later call: the VM whose desktop takes this
 * input, or NULL. Points into args.
 */
const char *tools_lane(const struct op *op, const json_t *args);
json_t *tools_call(const struct tools *t, const struct tools_call *c);

#endif
