/*
 * protocol_legacy.h - MCP 2024-11-05 to 2025-11-25: initialize, then sessions
 *
 * Shapes:  struct protocol_legacy is what initialize settled for a session.
 *          A request that comes before it is served all the same, as the
 *          newest of these revisions.
 * Errors:  jsonrpc faults.
 * Threads: the caller serialises calls on one state.
 * Source:  modelcontextprotocol.io, revision 2025-11-25, "Lifecycle".
 */
#ifndef MCP_PROTOCOL_LEGACY_H
#define MCP_PROTOCOL_LEGACY_H

#include "mcp/protocol.h"

struct protocol_legacy {
	const char *version; /* static; NULL before initialize */
	unsigned abilities;  /* what the client can be asked (elicit.h) */
	char *client;	     /* what it calls itself; NULL: it does not say */
};
void protocol_legacy_finish(struct protocol_legacy *state);

/* Is it one of these revisions? */
bool protocol_legacy_speaks(const char *version);

int protocol_legacy_read(struct protocol_legacy *state,
			 const struct protocol_server *server,
			 const struct jsonrpc_msg *m, struct ask *ret,
			 struct jsonrpc_fault *f)
	__attribute__((warn_unused_result));

#endif
