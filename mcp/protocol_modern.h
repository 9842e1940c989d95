/*
 * protocol_modern.h - MCP 2026-07-28: every request says all about itself
 *
 * Shapes:  stateless. A request carries protocol version and the client's
 *          capabilities in _meta; a result says its type, who served it, and
 *          for how long it may be kept.
 * Units:   ttlMs in milliseconds.
 * Errors:  jsonrpc faults; JSONRPC_UNSUPPORTED_VERSION lists what we speak.
 * Threads: no state.
 * Source:  modelcontextprotocol.io, revision 2026-07-28, "Base protocol",
 *          "Discovery", "Caching".
 */
#ifndef MCP_PROTOCOL_MODERN_H
#define MCP_PROTOCOL_MODERN_H

#include "mcp/protocol.h"

int protocol_modern_read(const struct protocol_server *server,
			 const struct jsonrpc_msg *m, struct ask *ret,
			 struct jsonrpc_fault *f)
	__attribute__((warn_unused_result));
/* Add to a neutral result what this revision demands. */
void protocol_modern_dress(const struct protocol_server *server,
			   enum ask_kind kind, json_t *result);

#endif
