/*
 * terms.h - for how long, and how often
 *
 *	--for 2h	N of s m h d w, counted from the person's yes
 *	--until T	2026-12-24T18:00:00Z, or with an offset (+01:00)
 *	--uses N	so many requests or signatures
 *
 * Shapes:  struct terms is what was asked; zero means "without". An agent that
 *          asks again asks for the same terms, though time went by: so --for
 *          stays a duration until somebody agreed (terms_end).
 * Units:   seconds; of the epoch for until_s.
 * Errors:  ERR_INVALID with the rule.
 * Threads: no state.
 * Source:  RFC 3339 for T, but that seconds may be left out.
 */
#ifndef GRANTS_TERMS_H
#define GRANTS_TERMS_H

#include "base/err.h"
#include "grants/grant.h"

#include <stdbool.h>
#include <stdint.h>

struct terms {
	int64_t for_s, until_s; /* never both */
	int64_t uses;
};

#define TERMS_USES_ANY (-1) /* uses left without a limit */

/* Either text may be NULL; uses 0: not given. */
int terms_parse(const char *for_text, const char *until_text, int64_t uses,
		int64_t now_s, struct terms *ret, struct err *e)
	__attribute__((warn_unused_result));
/* Uses cannot be counted of what lies in the guest: env and file. */
int terms_check(const struct terms *t, const struct grant *g, struct err *e)
	__attribute__((warn_unused_result));
/* When it ends if it starts now; 0: never. */
int64_t terms_end(const struct terms *t, int64_t now_s);
/* Is what is asked no more than what is held until end_s (0: without end) with
 * uses_left (or TERMS_USES_ANY)? Then nobody has to be asked. */
bool terms_within(const struct terms *t, int64_t end_s, int64_t uses_left,
		  int64_t now_s);

/* "--for 2h --uses 5", or "". free() */
char *terms_print(const struct terms *t) __attribute__((returns_nonnull));
/* "For 2 hours from your yes, at most 5 times." free() */
char *terms_words(const struct terms *t) __attribute__((returns_nonnull));

/* One duration or time: "2h"; "2026-12-24T18:00:00Z". */
int terms_parse_duration(const char *text, int64_t *ret_s, struct err *e)
	__attribute__((warn_unused_result));
int terms_parse_time(const char *text, int64_t *ret_s, struct err *e)
	__attribute__((warn_unused_result));
#define TERMS_TIME_SIZE 32
const char *terms_print_time(int64_t s, char ret[TERMS_TIME_SIZE]);

#endif
