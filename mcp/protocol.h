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
#define PROTOCOL_META_CLIENT_INFO "io.modelcontextprotocol/clientInfo"
#define PROTOCOL_META_SERVER_INFO "io.modelcontextprotocol/serverInfo"
#define PROTOCOL_META_LOG_LEVEL "io.modelcontextprotocol/logLevel"
#define PROTOCOL_META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

/* Who we say we are. */
struct protocol_server {
	const char *name;
	const char *title;
	const char *version;
	const char *instructions;
	const char *icon; /* a data: URL of an image/png, or NULL */
	bool has_library; /* resources, prompts, completion (library.h) */
	bool tools_change, prompts_change; /* while it runs */
};

/* How bad what is logged is, worst last. */
enum protocol_level {
	LEVEL_NONE, /* nothing was asked for */
	LEVEL_DEBUG,
	LEVEL_INFO,
	LEVEL_NOTICE,
	LEVEL_WARNING,
	LEVEL_ERROR,
	LEVEL_CRITICAL,
	LEVEL_ALERT,
	LEVEL_EMERGENCY,
};

enum ask_kind {
	ASK_NOTHING, /* a notification that needs no work */
	ASK_HELLO,   /* initialize, server/discover: result is complete */
	ASK_PING,
	ASK_TOOLS_LIST,
	ASK_TOOL_CALL,
	ASK_CANCEL,
	/* what a library answers */
	ASK_RESOURCES_LIST,
	ASK_TEMPLATES_LIST,
	ASK_RESOURCE_READ,
	ASK_PROMPTS_LIST,
	ASK_PROMPT_GET,
	ASK_COMPLETE,
	/* to be told of changes */
	ASK_SUBSCRIBE,
	ASK_UNSUBSCRIBE,
	ASK_LISTEN,
	ASK_SET_LEVEL,
};

/* completion/complete: the value of which argument of what. */
struct ask_complete {
	bool of_prompt;	  /* … else of a resource template */
	const char *of;	  /* the prompt's name, the template's URI */
	const char *name; /* of the argument */
	const char *value;
};

/* subscriptions/listen: what a client wants to hear of. */
struct ask_listen {
	bool tools, prompts, resources; /* that their lists changed */
	const json_t *uris;		/* array of strings, or NULL */
};

struct ask {
	enum ask_kind kind;
	/* of a modern request, which says it itself: */
	unsigned abilities;	      /* what the client can be asked */
	const json_t *client_info;    /* or NULL */
	const json_t *request_state, *input_responses; /* rounds.h; or NULL */
	json_t *result;		      /* ASK_HELLO: owned, to be taken */
	const char *tool;	      /* ASK_TOOL_CALL */
	const json_t *args;	      /* its arguments; NULL: none given. Of
				       * ASK_PROMPT_GET: an object of strings */
	const json_t *progress_token; /* of any request; NULL: none wanted */
	const json_t *cancel_id;      /* ASK_CANCEL */
	const char *uri;    /* ASK_RESOURCE_READ, ASK_SUBSCRIBE, its undoing */
	const char *prompt; /* ASK_PROMPT_GET */
	const char *cursor; /* ASK_RESOURCES_LIST; NULL: from the beginning */
	struct ask_complete complete;
	struct ask_listen listen;
	enum protocol_level level; /* ASK_SET_LEVEL; of a modern request: what
				    * is to be logged about it */
};

/* Does the message name its protocol version itself, as modern ones do? */
bool protocol_is_modern(const struct jsonrpc_msg *m);
json_t *protocol_server_info(const struct protocol_server *server);
/* The same with what is shown to a person once. */
json_t *protocol_server_card(const struct protocol_server *server);
/* What this server can do: the same in both eras, but for subscriptions. */
json_t *protocol_capabilities(const struct protocol_server *server);
/* LEVEL_NONE: there is none of that name. */
enum protocol_level protocol_level(const char *name);
const char *protocol_level_name(enum protocol_level level);

/* What a client calls itself, "NAME VERSION", by its clientInfo; NULL: it does
 * not say. free() */
char *protocol_client_name(const json_t *info);

/* The requests that both eras spell alike: 1 when it was one of them, 0 when
 * not, -1 with *f. */
int protocol_read_common(const struct protocol_server *server,
			 const struct jsonrpc_msg *m, struct ask *ret,
			 struct jsonrpc_fault *f)
	__attribute__((warn_unused_result));
/* A member of the parameters that must be a string, not too long. */
int protocol_read_string(const json_t *from, const char *key, const char **ret,
			 struct jsonrpc_fault *f)
	__attribute__((warn_unused_result));
int protocol_unknown_method(const struct jsonrpc_msg *m,
			    struct jsonrpc_fault *f);

#endif
