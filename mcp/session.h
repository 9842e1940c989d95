/*
 * session.h - one client's conversation: messages in, answers out
 *
 * A transport gives session_message() what it read, carries away what
 * send() is given, and lends threads for calls. All else (eras, calls in
 * flight, progress, cancellation) is here.
 *
 * Shapes:  opaque. A struct session_io comes with each message and is where
 *          everything about that message goes; it is copied. What send() gets
 *          is one whole JSON message without a newline in it.
 * Units:   calls have LIMIT_ANSWER_MS from their arrival.
 * Errors:  none: what is wrong with a message is answered to the client.
 * Threads: session_message() and session_take() may come from several threads
 *          as far as they are about different messages, but for initialize,
 *          which is first; send() and end() come from that thread or from
 *          those of start(), one at a time per message.
 */
#ifndef MCP_SESSION_H
#define MCP_SESSION_H

#include "base/err.h"
#include "mcp/protocol.h"
#include "mcp/tools.h"

#include <stddef.h>

struct session;

struct session_out {
	const char *text;
	size_t len;
	bool is_answer; /* the last about this message, but for end() */
	bool may_drop;	/* rather than to wait for who does not read */
	bool is_request; /* of ours: it must arrive, its answer is waited for */
	int fault;	/* the JSON-RPC code of an answer that is an error */
	bool refused;	/* … which says that the request as such is no good */
};

struct session_io {
	void *ctx;
	void (*send)(void *ctx, const struct session_out *out);
	/* Run work(arg) on another thread; in order per lane (callpool.h). */
	int (*start)(void *ctx, const char *lane, void (*work)(void *arg),
		     void *arg, struct err *e);
	/* A request of ours gets to the client while the call runs. */
	bool can_ask;
	/* What comes next comes later (tools_call.pause). NULL: no matter. */
	void (*pause)(void *ctx);
	/* Nothing more comes about this message, whether it was answered or
	 * not; the last use of ctx, and of the session by this message. NULL:
	 * nobody asks. */
	void (*end)(void *ctx);
};

/* server and what tools hold must outlive the session. */
int session_new(const struct protocol_server *server,
		const struct toolset *tools, struct session **ret,
		struct err *e) __attribute__((warn_unused_result));
/* When session_busy() is 0. */
void session_free(struct session *s);

/* Where what is no answer goes, of the revisions before 2026-07-28: set before
 * the first message. Without it, nothing does. */
void session_notes(struct session *s,
		   void (*note)(void *ctx, const struct session_out *out),
		   void *ctx);

/* One message as it was read. */
void session_message(struct session *s, const struct session_io *io,
		     const char *text, size_t len);
/* The same for a transport that parses, and that knows the era; m is left to
 * be finished. */
void session_take(struct session *s, const struct session_io *io,
		  struct jsonrpc_msg *m, bool modern);
/* A message that was longer than what the transport accepts. */
void session_too_long(const struct session_io *io);

/* What a message's answer goes through: message is taken over. */
void session_send(const struct session_io *io, json_t *message,
		  const struct session_out *as);

/* Has the client asked for what is logged about this request? */
bool session_wants_log(const struct session *s, const struct jsonrpc_msg *m,
		       bool modern);

/* The revision that initialize settled, or NULL. */
const char *session_version(const struct session *s);

/* The client no longer wants what it asked under this id. */
void session_cancel(struct session *s, const json_t *id);
/* Nothing more will be told to who listens, and they are told that. */
void session_end_listening(struct session *s);
/* The client is gone: what only it waited for ends, jobs go on. */
void session_end_waits(struct session *s);

/* Nothing is read from the client any more: what it was asked stays without
 * an answer. */
void session_end_asks(struct session *s);

/* Calls not answered yet; the fd counts up whenever one ends. */
unsigned session_busy(struct session *s);
int session_ended_fd(const struct session *s);

#endif
