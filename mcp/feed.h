/*
 * feed.h - who is to be told what has changed
 *
 * Shapes:  a feed has listeners, each with what it wants to hear of. What
 *          changes by itself is looked at by the source, on a thread of the
 *          feed and only while somebody listens to it; all else is told by
 *          feed_tell().
 * Units:   counts.
 * Errors:  none: without a thread nothing is seen to change.
 * Threads: any. tell() runs on whatever thread noticed, one at a time, never
 *          after feed_leave() has returned; it must not call back in here.
 */
#ifndef MCP_FEED_H
#define MCP_FEED_H

#include <jansson.h>
#include <stdbool.h>

struct feed;
struct feed_listener;

enum feed_topic {
	FEED_TOOLS = 1,
	FEED_PROMPTS = 2,
	FEED_RESOURCES = 4, /* the list of them */
	FEED_UPDATED = 8,   /* the resource of that URI */
};

struct feed_source {
	void *ctx;
	/* Looks once at the list, if asked to, and at the resources of these
	 * URIs (an array of strings); feed_tell()s what is not as it was when
	 * it looked last. Returns soon once stop_fd is readable. */
	void (*look)(void *ctx, struct feed *f, bool list, const json_t *uris,
		     int stop_fd);
	int every_ms;
};

/* source: NULL, or what is copied. */
struct feed *feed_new(const struct feed_source *source);
/* When nobody listens. */
void feed_free(struct feed *f);

struct feed_want {
	unsigned topics;    /* enum feed_topic, together */
	const json_t *uris; /* of FEED_UPDATED: an array of strings; copied */
	/* uri: NULL but for FEED_UPDATED */
	void (*tell)(void *ctx, enum feed_topic topic, const char *uri);
	void *ctx;
};

struct feed_listener *feed_listen(struct feed *f, const struct feed_want *want);
void feed_leave(struct feed_listener *l);
void feed_tell(struct feed *f, enum feed_topic topic, const char *uri);

#endif
