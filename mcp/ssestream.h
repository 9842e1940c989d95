/*
 * ssestream.h - messages on their way to one client, as server-sent events
 *
 * What writes never waits for who reads: a stream keeps what is not read yet,
 * and as long as it lives also what is, for a reader that comes again.
 *
 * Shapes:  counted: whoever writes, whoever reads and whoever keeps it have
 *          one reference each. A stream that is `kept` numbers its events
 *          ("id: STREAM-EVENT") and can be read again from any that it still
 *          has; another is read once, and forgets.
 *          A note may be dropped when the reader is slow; an answer never is.
 * Units:   bytes, milliseconds.
 * Errors:  none.
 * Threads: any may write; a reader belongs to one thread. A new reader of the
 *          same stream ends the one before it.
 * Source:  HTML Living Standard, "Server-sent events"; MCP 2025-11-25
 *          "Resumability and Redelivery".
 */
#ifndef MCP_SSESTREAM_H
#define MCP_SSESTREAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ssestream;
struct ssereader;

/* number: what event ids begin with, when it is kept; else 0. */
struct ssestream *ssestream_new(uint64_t number);
struct ssestream *ssestream_ref(struct ssestream *s);
void ssestream_unref(struct ssestream *s);
uint64_t ssestream_number(const struct ssestream *s);

void ssestream_add(struct ssestream *s, const char *text, size_t len,
		   bool is_note);
/* Nothing more will be added. */
void ssestream_end(struct ssestream *s);

/* The reader that there is, if any, is to leave. */
void ssestream_send_away(struct ssestream *s);

/* Since when it has ended, on deadline_now_ms()'s clock, or 0; and what it
 * holds. */
int64_t ssestream_ended_ms(struct ssestream *s);
size_t ssestream_len(struct ssestream *s);
/* The number of the last event that any reader has taken; 0: none. */
uint64_t ssestream_taken(struct ssestream *s);
bool ssestream_has_reader(struct ssestream *s);

struct ssereader_opts {
	uint64_t after; /* only events after this one; 0: from the first */
	bool prime;	/* say an event id at once, and when to come again */
	int64_t comment_ms;
	/* the stream is no longer this reader's to have; NULL: never */
	const atomic_bool *cut;
};

/* Takes a reference of its own. */
struct ssereader *ssereader_new(struct ssestream *s,
				const struct ssereader_opts *o);
void ssereader_free(struct ssereader *r);
/*
 * The next bytes, at most max, waited for: never 0. -1: all was read, or the
 * reader was told to leave.
 */
ssize_t ssereader_read(struct ssereader *r, char *p, size_t max);
/* Was everything read up to the stream's end? */
bool ssereader_is_done(const struct ssereader *r);
/* From any thread: let ssereader_read() return -1 now and from now on. */
void ssereader_leave(struct ssereader *r);

#endif
