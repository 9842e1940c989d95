/*
 * audit_read.h - the newest lines of the audit, those that somebody asks for
 *
 * Shapes:  rows are {t, what, vm, outcome, client, agent, grants, terms, way,
 *          job, ms}; what does not apply is left out. `what` is an operation
 *          or an event of a grant (grants/event.h); `vm` and `grants` are
 *          joined by commas. Oldest first.
 * Errors:  as path.h; a file that is not there has no lines, and a line that
 *          is no record of ours is passed over: a full disk cuts one short.
 * Threads: any, also while lines are added.
 */
#ifndef VMCTL_AUDIT_READ_H
#define VMCTL_AUDIT_READ_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

struct audit_want {
	const char *vm;	  /* NULL: any */
	bool grants_only; /* what became of grants, not operations */
	size_t count;	  /* at most so many */
};
/* path as audit_open() got it; the part before it is read too. */
int audit_read(const char *path, const struct audit_want *w, json_t **ret_rows,
	       struct err *e) __attribute__((warn_unused_result));

#endif
