/*
 * event.h - what happens to grants, as the audit keeps it: who asked for what,
 *           what a person answered and by which front-end, and what became of
 *           it
 *
 *	{"event":"answered", "vm":"demo", "grants":["llm:openai"],
 *	 "client":"1000:stdio", "agent":true, "terms":"--for 2h",
 *	 "way":"dialog", "outcome":"yes"}
 *
 * The audit adds the time. What does not apply is left out.
 *
 * Shapes:  grants are texts, never values; the agent's own words are not kept
 *          (they may hold anything).
 * Threads: no state.
 */
#ifndef GRANTS_EVENT_H
#define GRANTS_EVENT_H

#include "grants/grantset.h"

#include <jansson.h>
#include <stdbool.h>

enum event_what {
	EVENT_ASKED,	/* way: how a person will be asked, or "pending" */
	EVENT_ANSWERED, /* outcome: confirm_verdict_name() */
	EVENT_GRANTED,
	EVENT_APPLIED,	 /* outcome: "ok", or an error's code */
	EVENT_WITHDRAWN, /* from the guest; outcome the same */
	EVENT_USED,	 /* outcome: "ok" or "denied" */
	EVENT_EXPIRED,
	EVENT_REVOKED,
	EVENT_TOKEN, /* outcome: "minted" or "revoked" */
};

struct event {
	enum event_what what;
	const char *vm;
	/* one of them, or for a token neither */
	const struct grantset *set;
	const char *text;
	/* who caused it; NULL: the service itself, as time went by */
	const char *client;
	bool agent;
	/* or NULL */
	const char *terms, *way, *outcome;
	const char *approval; /* an id */
};

json_t *event_json(const struct event *ev) __attribute__((returns_nonnull));

#endif
