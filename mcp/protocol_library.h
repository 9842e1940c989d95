/*
 * protocol_library.h - what a client asks of resources, prompts and completion
 *
 * Shapes:  as protocol_read_common(): the same in both eras.
 * Errors:  jsonrpc faults.
 * Threads: no state.
 * Source:  MCP 2025-11-25 and 2026-07-28, "Resources", "Prompts",
 *          "Completion".
 */
#ifndef MCP_PROTOCOL_LIBRARY_H
#define MCP_PROTOCOL_LIBRARY_H

#include "mcp/protocol.h"

int protocol_library_read(const struct jsonrpc_msg *m, struct ask *ret,
			  struct jsonrpc_fault *f)
	__attribute__((warn_unused_result));
/* subscriptions/listen's parameters. */
int protocol_library_listen(const struct jsonrpc_msg *m, struct ask *ret,
			    struct jsonrpc_fault *f)
	__attribute__((warn_unused_result));

#endif
