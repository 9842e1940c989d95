/*
 * policy.h - what no front-end may grant, and the way to a granted file
 *
 * The same for a person and an agent: nothing out of ~/.ssh, ~/.gnupg, ~/.pi
 * and boxery's own folders (the list of ops/refused.h), no variable of
 * boxery's own or that the guest sets for itself. An agent may not ask for an
 * http: grant whose secret a command of the host makes. Nothing switches these
 * off, GRANT_CONFIRM neither.
 *
 *	struct grantset set = {0};
 *	if (grantset_parse(texts, &set, e) < 0 ||
 *	    policy_check(&(struct policy_ask){.home = h, .agent = true}, &set,
 *			 &terms, e) < 0)
 *		...
 *	(the question, the answer, store_add)
 *	policy_read_file(h, set.grants[i].name, &content, e);	each apply
 *
 * Shapes:  policy_check() turns each file's path into its real one, which is
 *          what is asked, stored and shown. policy_read_file() takes only such
 *          a path: whatever became a symbolic link since is no longer what was
 *          approved. Every folder on the way up from the opened parent is held
 *          against the list by device and inode, before the file is opened and
 *          after, and what is read comes from the one fd that was checked.
 *          A hard link is not told from the file: who makes one could as well
 *          have copied it, and so could who moves ~/.ssh itself away.
 * Units:   bytes; caps LIMIT_GRANT_FILE_LEN, LIMIT_GRANT_ENV_LEN.
 * Errors:  ERR_DENIED for what these rules refuse, ERR_INVALID for what can
 *          be no grant (a folder, a socket, a FIFO, a device, /proc),
 *          ERR_LIMIT, ERR_NOT_FOUND. No message holds a value.
 * Threads: no shared state.
 */
#ifndef GRANTS_POLICY_H
#define GRANTS_POLICY_H

#include "base/err.h"
#include "base/home.h"
#include "base/secret.h"
#include "grants/grantset.h"
#include "grants/terms.h"

#include <stdbool.h>
#include <stddef.h>

struct policy_ask {
	const struct home *home;
	bool agent;
	bool with_cmd; /* http: with a command that gives the secret */
};

int policy_check(const struct policy_ask *a, struct grantset *set,
		 const struct terms *t, struct err *e)
	__attribute__((warn_unused_result));

/*
 * What was typed, in the one spelling that a grant of it has, to take it back:
 * a file by its real path, whether it is there (any more) or not. What is no
 * grant, such as an id, stays as it is. free()
 */
char *policy_spelling(const char *typed) __attribute__((returns_nonnull));

/* The content of a file by its real path, as policy_check() made it. */
int policy_read_file(const struct home *h, const char *path,
		     struct secret **ret, struct err *e)
	__attribute__((warn_unused_result));
/* May this be the value of an env: grant? */
int policy_check_value(const char *name, const char *value, size_t len,
		       struct err *e) __attribute__((warn_unused_result));

#endif
