/*
 * session_impl.h - what session.c and session_call.c share
 *
 * Shapes:  as session.h.
 * Errors:  jsonrpc faults.
 * Threads: as session.h; session_call() from the thread that reads.
 */
#ifndef MCP_SESSION_IMPL_H
#define MCP_SESSION_IMPL_H

#include "mcp/elicit.h"
#include "mcp/inflight.h"
#include "mcp/protocol_legacy.h"
#include "mcp/session.h"

#include <stdatomic.h>

struct session {
	const struct protocol_server *server;
	struct toolset tools;
	struct inflight *inflight;
	struct listening *listening;
	struct elicit *elicit; /* what a legacy client was asked */
	struct protocol_legacy legacy;
	atomic_int level; /* enum protocol_level, of logging/setLevel */
	bool was_modern;  /* a request named its own version before */
};

/* result: taken over. */
void session_send_result(const struct session *s, const struct session_io *io,
			 bool modern, const json_t *id, enum ask_kind kind,
			 json_t *result);
/* f: finished. */
void session_send_fault(const struct session_io *io, const json_t *id,
			struct jsonrpc_fault *f);
void session_end_message(const struct session_io *io);

/* True: the call has been begun, and ends the message. tool: NULL for what a
 * library answers. */
bool session_call(struct session *s, const struct session_io *io,
		  struct jsonrpc_msg *m, const struct ask *ask, bool modern,
		  const void *tool);

#endif
