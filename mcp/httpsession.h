/*
 * httpsession.h - the conversations that HTTP clients have with us
 *
 * Shapes:  a listed session is one of the revisions before 2026-07-28: it has
 *          an id that its client sends with each request, streams that can be
 *          resumed, and ends by DELETE, by being idle, or with its token. The
 *          other kind has no id, belongs to one connection, and knows nothing
 *          from one request to the next.
 *          Both are counted: the table, the connection, each request under
 *          way and each reader have a reference.
 * Units:   counts, milliseconds.
 * Errors:  ERR_LIMIT when there are too many.
 * Threads: any.
 * Source:  MCP 2025-11-25, "Session Management", "Resumability".
 */
#ifndef MCP_HTTPSESSION_H
#define MCP_HTTPSESSION_H

#include "mcp/auth.h"
#include "mcp/httphead.h"
#include "mcp/session.h"
#include "mcp/ssestream.h"

#include <pthread.h>

struct httpsessions;

struct httpsession {
	/* what others read */
	char id[HTTPHEAD_ID_LEN + 1]; /* "": not listed */
	struct session *session;
	struct principal *who;
	/* its own */
	struct httpsessions *table;
	struct httpsession *prev, *next; /* of all, under the table's lock */
	struct httpsession *chain;	 /* of the same bucket */
	atomic_uint refs;
	atomic_llong seen_ms;
	atomic_bool ended;
	pthread_mutex_t lock; /* of what follows */
	struct ssestream *general;
	struct ssestream **streams; /* of requests, oldest first */
	unsigned stream_count;
	uint64_t last_number;
};

struct httpsessions *httpsessions_new(unsigned max, int64_t idle_ms);
void httpsessions_free(struct httpsessions *t); /* when there are none */

/* A new one, with a reference for the caller. */
int httpsession_open(struct httpsessions *t, struct principal *who, bool listed,
		     struct httpsession **ret, struct err *e)
	__attribute__((warn_unused_result));
/* The listed one of that id which is this principal's, or NULL. */
struct httpsession *httpsession_find(struct httpsessions *t, const char *id,
				     const struct principal *who);
struct httpsession *httpsession_ref(struct httpsession *s);
void httpsession_unref(struct httpsession *s);
/* It is no longer found, its readers are sent away, and what only its client
 * waited for ends. */
void httpsession_end(struct httpsession *s);

/* A stream for the answers to one request, kept for later readers. */
struct ssestream *httpsession_stream(struct httpsession *s);
/* The one for what is no answer to anything. Both: a new reference. */
struct ssestream *httpsession_general(struct httpsession *s);
/* The stream of that number, or NULL. A new reference. */
struct ssestream *httpsession_find_stream(struct httpsession *s,
					  uint64_t number);

/* End what is idle, and what has lost its token. */
void httpsessions_tick(struct httpsessions *t);
/* End all: readers leave, waits end. */
void httpsessions_end_all(struct httpsessions *t);
/* How many calls are under way. */
unsigned httpsessions_busy(struct httpsessions *t);

#endif
