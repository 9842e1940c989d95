/*
 * protocol.h - what a client asked, whichever revision of MCP it speaks
 *
 * protocol_legacy and protocol_modern turn a JSON-RPC message into a struct
 * ask and dress a result for the wire; what lies behind (session, tools) knows
 * neither era.
 *
 * Shapes:  struct ask borrows from the message it was read from. Results
 *          inside are neutral: the members that all revisions share.
 * Errors:  struct jsonrpc_fault (jsonrpc.h).
 * Threads: no state but what the caller passes.
 * Source:  MCP 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25 ("legacy") and
 *          2026-07-28 ("modern").
 */
#ifndef MCP_PROTOCOL_H
#define MCP_PROTOCOL_H

#include "mcp/jsonrpc.h"

#include <stdbool.h>

#define PROTOCOL_MODERN_VERSION "2026-07-28"
#define PROTOCOL_META_VERSION "io.modelcontextprotocol/protocolVersion"
#define PROTOCOL_META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define PROTOCOL_META_SERVER_INFO "io.modelcontextprotocol/serverInfo"

/* Who we say we are. */
struct protocol_server {
	const char *name;
	const char *title;
	const char *version;
	const char *instructions;
};

enum ask_kind {
	ASK_NOTHING, /* a notification that needs no work */
	ASK_HELLO,   /* initialize, server/discover: result is complete */
	ASK_PING,
	ASK_TOOLS_LIST,
	ASK_TOOL_CALL,
	ASK_CANCEL,
};

struct ask {
	enum ask_kind kind;
	json_t *result;		      /* ASK_HELLO: owned, to be taken */
	const char *tool;	      /* ASK_TOOL_CALL */
	const json_t *args;	      /* its arguments; NULL: none given */
	const json_t *progress_token; /* of any request; NULL: none wanted */
	const json_t *cancel_id;      /* ASK_CANCEL */
};

/* Does the message name its protocol version itself, as modern ones do? */
bool protocol_is_modern(const struct jsonrpc_msg *m);
json_t *protocol_server_info(const struct protocol_server *server);
/* What this server can do: the same in both eras. */
json_t *protocol_capabilities(void);

/* The requests that both eras spell alike: 1 when it was one of them, 0 when
 * not, -1 with *f. */
int protocol_read_common(const struct jsonrpc_msg *m, struct ask *ret,
			 struct jsonrpc_fault *f)
	__attribute__((warn_unused_result));
int protocol_unknown_method(const struct jsonrpc_msg *m,
			    struct jsonrpc_fault *f);

#endif
