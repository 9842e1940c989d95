/*
 * grantset.h - the grants of one request: what is asked, answered and applied
 *              as one
 *
 * Shapes:  sorted by their text and each once, so that the same request has
 *          one spelling whatever the order it was made in. JSON is an array
 *          of texts. No two of them may land in the same place of the guest
 *          (grant_slot).
 * Errors:  ERR_INVALID, ERR_LIMIT over LIMIT_GRANTS_ASKED_COUNT.
 * Threads: no shared state.
 */
#ifndef GRANTS_GRANTSET_H
#define GRANTS_GRANTSET_H

#include "base/err.h"
#include "grants/grant.h"

#include <jansson.h>
#include <stddef.h>

struct grantset {
	struct grant *grants;
	size_t count;
};

/* An empty array is ERR_INVALID: there is nothing to ask. */
int grantset_parse(const json_t *texts, struct grantset *ret, struct err *e)
	__attribute__((warn_unused_result));
/* Sort and check after a change of the grants (policy gave real paths). */
int grantset_normalize(struct grantset *s, struct err *e)
	__attribute__((warn_unused_result));
json_t *grantset_json(const struct grantset *s);
void grantset_finish(struct grantset *s);

#endif
