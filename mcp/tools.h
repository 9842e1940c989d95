/*
 * tools.h - the rows of the operations table that are open to agents, as MCP
 * tools
 *
 * Shapes:  struct toolset is what a session sees of any set of tools; struct
 *          tools is the one that asks the service. list() is the text of
 *          tools/list's array, the same for every call, in the order of the
 *          table. call() gives a neutral result (present.h): bad arguments
 *          and failures are results with isError, which a model can read and
 *          act upon.
 * Units:   answer_by is absolute, monotonic.
 * Errors:  none reach the caller but inside results.
 * Threads: any; a struct tools is read-only once tools_init() was called.
 */
#ifndef MCP_TOOLS_H
#define MCP_TOOLS_H

#include "mcp/library.h"
#include "mcp/links.h"
#include "mcp/rounds.h"
#include "mcp/shelves.h"
#include "ops/op.h"

struct tools_call {
	const void *tool;   /* of find() */
	const json_t *args; /* as the client sent them; NULL: none */
	int cancel_fd;	    /* readable: stop; -1: none */
	struct deadline answer_by;
	void (*progress)(void *ctx, const struct client_progress *p);
	/*
	 * Ask the client: requests and answers as elicit.h has them; a new
	 * reference. NULL: nobody answered, or nobody can be asked; then, when
	 * cancel_fd is readable, this call is to end, and what it returns is
	 * not looked at.
	 */
	json_t *(*ask)(void *ctx, const json_t *requests);
	const char *client; /* what the client calls itself, or NULL */
	/* The client may hang up and come again for the rest, if it can: for
	 * work that is known to take long. */
	void (*pause)(void *ctx);
	/* For whoever asked to see what is logged. */
	void (*log)(void *ctx, enum protocol_level level, const char *text);
	void *ctx;
};

/* A parameter that arrives also as the header Mcp-Param-NAME. */
struct toolset_header {
	const char *param, *name;
};

struct toolset {
	void *ctx;
	/* The text of a JSON array; the toolset keeps it. */
	const char *(*list)(void *ctx);
	/* What stands for the tool in the other three, or NULL: there is none
	 * of that name for this asker. */
	const void *(*find)(void *ctx, const char *name);
	/* May a call take so long that its asker should hear of it meanwhile? */
	bool (*is_long)(void *ctx, const void *tool);
	/* What must not be overtaken by a later call: the VM whose desktop
	 * takes this input, or NULL. Points into args. */
	const char *(*lane)(void *ctx, const void *tool, const json_t *args);
	json_t *(*call)(void *ctx, const struct tools_call *c);
	/* Ended by one without a name; NULL: no tool has any. */
	const struct toolset_header *(*headers)(void *ctx, const void *tool);
	/* What a client must be able to be asked for that tool to be called
	 * (elicit.h). NULL: nothing. */
	unsigned (*needs)(void *ctx, const void *tool);
	/* What modern clients are asked; NULL: nothing. */
	struct rounds *rounds;
	/* What there is beside tools; its feed tells of theirs, too. */
	struct library library;
};

struct tools {
	struct links *links;
	const char *copy_root;	       /* local: paths lie here, or NULL: */
	const char *copy_root_refusal; /* what is said instead */
	bool read_only;		       /* only tools that change nothing */
	const char *asker;	       /* whose tools these are, or NULL */
	struct rounds *rounds;	       /* by tools_init(); owned */
	/* by tools_init(); owned */
	char *list;
	struct copied *copied;
	struct shelves *shelves;
};

void tools_init(struct tools *t);
void tools_finish(struct tools *t);
/* t must outlive what is returned. */
struct toolset tools_set(struct tools *t);

#endif
