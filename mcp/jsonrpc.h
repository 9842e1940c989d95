/*
 * jsonrpc.h - one JSON-RPC 2.0 message: bytes to a typed message, and back
 *
 * Shapes:  struct jsonrpc_msg owns the parsed tree (root); all else in it
 *          points into that. An id is a JSON string or a JSON integer and is
 *          echoed with its type; null and fractions are no ids to MCP.
 * Errors:  struct jsonrpc_fault is what goes back to the peer: bad JSON gives
 *          JSONRPC_PARSE_ERROR, batches and everything else that is no
 *          message JSONRPC_INVALID_REQUEST. Messages are escaped (err.h).
 * Threads: no shared state. jansson's reference counts are not relied on to be
 *          atomic: what crosses a thread is copied.
 * Source:  JSON-RPC 2.0; MCP 2025-11-25 and 2026-07-28, "Base protocol".
 */
#ifndef MCP_JSONRPC_H
#define MCP_JSONRPC_H

#include "base/err.h"
#include "base/json.h"

#include <stddef.h>

#define JSONRPC_PARSE_ERROR (-32700)
#define JSONRPC_INVALID_REQUEST (-32600)
#define JSONRPC_METHOD_NOT_FOUND (-32601)
#define JSONRPC_INVALID_PARAMS (-32602)
#define JSONRPC_INTERNAL_ERROR (-32603)
/* MCP before 2026-07-28 */
#define JSONRPC_RESOURCE_NOT_FOUND (-32002)
/* MCP 2026-07-28 */
#define JSONRPC_HEADER_MISMATCH (-32020)
#define JSONRPC_MISSING_CAPABILITY (-32021)
#define JSONRPC_UNSUPPORTED_VERSION (-32022)

enum jsonrpc_kind {
	JSONRPC_REQUEST,      /* method and id: must be answered */
	JSONRPC_NOTIFICATION, /* method, no id: is never answered */
	JSONRPC_RESPONSE,     /* id and result or error */
};

struct jsonrpc_msg {
	enum jsonrpc_kind kind;
	json_t *root;	    /* owned */
	json_t *id;	    /* NULL in a notification */
	const char *method; /* NULL in a response */
	json_t *params;	    /* an object, or NULL when absent */
	json_t *result;	    /* of a response; NULL when it is an error */
	json_t *error;
};

struct jsonrpc_fault {
	int code;	 /* JSON-RPC's, not err.h's */
	struct err why;	 /* its msg goes to the peer */
	json_t *data;	 /* owned, or NULL */
	json_t *id;	 /* owned: what to answer; NULL: null */
	bool unanswered; /* it was a notification: say nothing */
	bool refused;	 /* no request of its revision: HTTP says 400 */
};

/*
 * Parse one message (a line without its newline). 0 with *ret to be finished,
 * or -1 with *ret_fault to be finished.
 */
int jsonrpc_parse(const char *text, size_t len, struct jsonrpc_msg *ret,
		  struct jsonrpc_fault *ret_fault)
	__attribute__((warn_unused_result));
void jsonrpc_msg_finish(struct jsonrpc_msg *m);
void jsonrpc_fault_finish(struct jsonrpc_fault *f);
/* Fills code and message; returns -1. data and id are left as they are. */
int jsonrpc_fault_set(struct jsonrpc_fault *f, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* A request's id or a progress token: a string or an integer. */
bool jsonrpc_is_id(const json_t *v);

/*
 * Messages of ours, new references. id is copied (NULL: null); result, data
 * and params are taken over.
 */
json_t *jsonrpc_result(const json_t *id, json_t *result);
json_t *jsonrpc_error(const json_t *id, int code, const char *message,
		      json_t *data);
json_t *jsonrpc_notification(const char *method, json_t *params);

#endif
