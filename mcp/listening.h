/*
 * listening.h - what one client has asked to be told of
 *
 * Since 2026-07-28 a client listens by a request that is not answered until
 * the end: each has an id, and what it is told is tagged with that. Before, it
 * is told without asking of lists it has had, and subscribes to resources one
 * by one; that goes wherever what is no answer goes.
 *
 * Shapes:  one struct listening per session.
 * Errors:  jsonrpc faults.
 * Threads: any; listening_free() when no message is under way.
 * Source:  MCP 2026-07-28 "Subscriptions"; 2025-11-25 "Resources:
 *          Subscriptions", "List Changed Notification".
 */
#ifndef MCP_LISTENING_H
#define MCP_LISTENING_H

#include "mcp/library.h"
#include "mcp/session.h"

struct listening;

/* Both must outlive it. */
struct listening *listening_new(const struct protocol_server *server,
				const struct library *library);
void listening_free(struct listening *l);

/* The request of that id: acknowledged, and under way from here on. */
int listening_begin(struct listening *l, const struct session_io *io,
		    const json_t *id, const struct ask_listen *what,
		    struct jsonrpc_fault *f) __attribute__((warn_unused_result));
/* The client wants no more of it: false, there is none of that id. */
bool listening_cancel(struct listening *l, const json_t *id);
/* We end them all, and say so. */
void listening_end_all(struct listening *l);

/* Where it goes before 2026-07-28; the sink must outlive l. */
void listening_to(struct listening *l,
		  void (*note)(void *ctx, const struct session_out *out),
		  void *ctx);
/* Be told of these topics (feed.h) from now on. */
void listening_hear(struct listening *l, unsigned topics);
int listening_subscribe(struct listening *l, const char *uri,
			struct jsonrpc_fault *f)
	__attribute__((warn_unused_result));
void listening_unsubscribe(struct listening *l, const char *uri);

#endif
