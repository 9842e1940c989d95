/*
 * rounds.h - asking a client that knows no requests of ours (2026-07-28)
 *
 * A call that needs something of its client is answered with what is asked and
 * a state, and ends. The client makes the same call again, with the state and
 * the answers; it runs anew, asks the same, and finds them. Nothing is held
 * meanwhile, and whatever else may have changed since is looked at again.
 *
 *	round_open(&r, rounds, &asked, &fault)	what came with the call
 *	answers = round_ask(&r, requests)	while it runs; NULL: not there
 *	if (round_must_ask(&r))			then stop it, and answer
 *		result = round_result(&r);
 *
 * The state is in the client's hands, so it is sealed: a MAC over who was
 * asked, until when it is good, the digest of the call, which questions it put
 * (their digests: an answer counts for the very words that were shown), and
 * what was answered in rounds before. It is used up by the call that brings it:
 * only states that are known to be out are taken.
 *
 * Shapes:  requests and answers as elicit.h. struct rounds is one principal's,
 *          with a key of its own that dies with the process.
 * Units:   milliseconds of a monotonic clock.
 * Errors:  JSONRPC_INVALID_PARAMS for a state or answers that are no good.
 * Threads: struct rounds: any. struct round: its call's.
 * Source:  MCP 2026-07-28, "Multi round-trip requests".
 */
#ifndef MCP_ROUNDS_H
#define MCP_ROUNDS_H

#include "mcp/jsonrpc.h"

#include <stdbool.h>
#include <stdint.h>

#define ROUNDS_DIGEST_SIZE 65

struct rounds;

/* who: the principal's name; copied. life_ms: how long a client may take. */
struct rounds *rounds_new(const char *who, int64_t life_ms);
void rounds_free(struct rounds *s);

struct round {
	struct rounds *rounds; /* NULL: nobody can be asked */
	unsigned abilities;    /* of the client (elicit.h) */
	char digest[ROUNDS_DIGEST_SIZE]; /* of the call */
	int number;
	json_t *asked;	  /* KEY: digest, by the round before */
	json_t *responses; /* KEY: what came for it */
	json_t *answered; /* KEY: {of: digest, answer}, of all rounds */
	json_t *missing;  /* requests still to be answered, or NULL */
};

struct round_call {
	const char *method, *name;
	const json_t *args; /* NULL: none */
	unsigned abilities;
	/* as they came, or NULL. Responses without a state are to nothing that
	 * we asked. */
	const json_t *state, *responses;
};

/* 0 with *r to be finished, or -1 with *f. */
int round_open(struct round *r, struct rounds *s, const struct round_call *c,
	       struct jsonrpc_fault *f) __attribute__((warn_unused_result));
void round_finish(struct round *r);
/* A new reference; only what the client can be asked is in it. NULL: there are
 * no answers, and there will be some only if round_must_ask(). */
json_t *round_ask(struct round *r, const json_t *requests);
bool round_must_ask(const struct round *r);
/* The neutral result that asks. NULL: it cannot be sealed. */
json_t *round_result(const struct round *r, struct err *e)
	__attribute__((warn_unused_result));

#endif
