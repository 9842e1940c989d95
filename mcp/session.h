/*
 * session.h - one client's conversation: messages in, answers out
 *
 * A transport gives session_message() what it read, carries away what
 * send() is given, and lends threads for calls. All else (eras, calls in
 * flight, progress, cancellation) is here.
 *
 * Shapes:  opaque. What send() gets is one whole JSON message without a
 *          newline in it.
 * Units:   calls have LIMIT_ANSWER_MS from their arrival.
 * Errors:  none: what is wrong with a message is answered to the client.
 * Threads: one thread calls session_message(); send() comes from that one and
 *          from those of start(), one message at a time per call, so the
 *          transport must lock.
 */
#ifndef MCP_SESSION_H
#define MCP_SESSION_H

#include "base/err.h"
#include "mcp/protocol.h"
#include "mcp/tools.h"

#include <stddef.h>

struct session;

struct session_io {
	void *ctx;
	void (*send)(void *ctx, const char *text, size_t len);
	/* Run work(arg) on another thread; in order per lane (callpool.h). */
	int (*start)(void *ctx, const char *lane, void (*work)(void *arg),
		     void *arg, struct err *e);
};

/* server, tools and what io holds must outlive the session. */
int session_new(const struct protocol_server *server, const struct tools *tools,
		const struct session_io *io, struct session **ret,
		struct err *e) __attribute__((warn_unused_result));
/* When session_busy() is 0. */
void session_free(struct session *s);

void session_message(struct session *s, const char *text, size_t len);
/* A message that was longer than what the transport accepts. */
void session_too_long(struct session *s);

/* Calls not answered yet; the fd counts up whenever one ends. */
unsigned session_busy(struct session *s);
int session_ended_fd(const struct session *s);

#endif
