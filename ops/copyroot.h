/*
 * copyroot.h - what a copy may name on the computer that asked
 *
 * A person names what they like. An agent is held to one directory, the copy
 * root: paths are followed to where they really lead, must end up beneath it,
 * and are then opened again from it without following a link, so that what
 * was checked is what is used. Within and around the root, in both
 * directions, boxery's own folders, ~/.ssh, ~/.gnupg and ~/.pi are refused:
 * by device and inode of opened directories, so that no spelling, link or
 * bind mount hides them, and by name where they do not exist yet.
 *
 * Shapes:  struct copyroot is made once per copy. A place is a directory fd
 *          and a name in it, or the directory itself.
 * Errors:  ERR_DENIED for what is refused (the message names the path and the
 *          rule), ERR_NOT_FOUND, err_sys().
 * Threads: read-only once made.
 */
#ifndef OPS_COPYROOT_H
#define OPS_COPYROOT_H

#include "base/cleanup.h"
#include "base/err.h"
#include "base/home.h"

#include <limits.h>
#include <stdbool.h>

struct copyroot;

/*
 * dir: where an agent's paths must lie, NULL for a person. $HOME, "/" and
 * what lies between are no copy root: ERR_DENIED says what to do.
 */
int copyroot_new(const char *dir, const struct home *h, struct copyroot **ret,
		 struct err *e) __attribute__((warn_unused_result));
void copyroot_free(struct copyroot *c);

struct copyroot_place {
	int dir_fd;		 /* O_PATH, the caller's to close */
	char name[NAME_MAX + 1]; /* in it; "": the directory itself */
	char kind;		 /* 'd' 'f' 'l', '?' special, '-' missing */
};

/*
 * Where path leads, relative to the root or the current directory. Links are
 * followed but for a last component that follow_last leaves alone (a path
 * that ends in "/", "/." or "/.." is followed always). A directory comes as
 * itself, without a name. A missing last component is kind '-'.
 */
int copyroot_find(const struct copyroot *c, const char *path, bool follow_last,
		  struct copyroot_place *ret, struct err *e)
	__attribute__((warn_unused_result));

/* May this directory be entered? ERR_DENIED when it is a refused one. The
 * caller comes from above: what holds dir_fd was asked before. */
int copyroot_check_dir(const struct copyroot *c, int dir_fd, struct err *e)
	__attribute__((warn_unused_result));
/* May a file or directory of this name be made in dir_fd? */
int copyroot_check_name(const struct copyroot *c, int dir_fd, const char *name,
			struct err *e) __attribute__((warn_unused_result));

CLEANUP_DEFINE(copyroot, struct copyroot, copyroot_free)
#define auto_copyroot __attribute__((cleanup(cleanup_copyroot_)))

#endif
