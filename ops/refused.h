/*
 * refused.h - the folders that no agent copies to or from and that no grant
 *             gives away: ~/.ssh, ~/.gnupg, ~/.pi and boxery's own
 *
 * Two tests for each. An opened folder is compared by device and inode, which
 * no spelling, link or bind mount escapes. One that does not exist has no
 * inode: there the real path is compared, so that an agent cannot make
 * ~/.gnupg either. Homes are both $HOME and what the password database says.
 *
 * Shapes:  a snapshot of what exists when it is made: make one a use. What the
 *          functions return is the refused folder's path, NULL when none is
 *          met; it lives as long as the snapshot.
 * Errors:  err_sys() when the folders above one cannot be looked at.
 * Threads: read-only once made.
 */
#ifndef OPS_REFUSED_H
#define OPS_REFUSED_H

#include "base/cleanup.h"
#include "base/err.h"
#include "base/home.h"

struct refused;

struct refused *refused_new(const struct home *h)
	__attribute__((returns_nonnull));
void refused_free(struct refused *r);

/* Is this folder a refused one, or by its path beneath one? */
const char *refused_dir(const struct refused *r, int dir_fd);
/* Is it, or any folder above it? *ret_dir: the refused one or NULL. */
int refused_above(const struct refused *r, int dir_fd, const char **ret_dir,
		  struct err *e) __attribute__((warn_unused_result));
/* Is this real path that of a refused folder, there or not? */
const char *refused_name(const struct refused *r, const char *path);
/* Is this path, there or not, a refused folder or beneath one? */
const char *refused_beneath(const struct refused *r, const char *path);

CLEANUP_DEFINE(refused, struct refused, refused_free)
#define auto_refused __attribute__((cleanup(cleanup_refused_)))

#endif
