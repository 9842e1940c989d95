/*
 * path.h - names of files: joined, checked, opened beneath a root, written
 *          whole or not at all
 *
 * Shapes:  a relative path "a/b/c" from a peer is checked with
 *          path_check_relative() and then opened with path_open_beneath(),
 *          never by string concatenation.
 * Errors:  ERR_DENIED for what would leave the root or follow a symlink
 *          (openat2 RESOLVE_BENEATH|RESOLVE_NO_SYMLINKS|NO_MAGICLINKS),
 *          ERR_INVALID for a malformed name, else err_sys().
 * Threads: no shared state.
 * Source:  openat2(2).
 */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

char *path_join(const char *dir, const char *name); /* free() */
/* Rejects "", absolute, empty/"."/".." components, NUL, control characters
 * are allowed (they are legal in names), depth and length over limits.h. */
int path_check_relative(const char *rel, struct err *e)
	__attribute__((warn_unused_result));
/* mkdir -p; directories made get mode. */
int path_make_dirs(const char *dir, mode_t mode, struct err *e)
	__attribute__((warn_unused_result));
int path_open_dir(const char *dir, struct err *e) /* O_PATH|O_DIRECTORY fd */
	__attribute__((warn_unused_result));
int path_open_beneath(int root_fd, const char *rel, int flags, mode_t mode,
		      struct err *e) __attribute__((warn_unused_result));
/* Opens the parent directory of rel beneath root, made on the way when
 * make_parents; *ret_base points into rel. Returns the fd. */
int path_open_parent(int root_fd, const char *rel, bool make_parents,
		     const char **ret_base, struct err *e)
	__attribute__((warn_unused_result));
/* Write-temp, fsync, rename, fsync dir. */
int path_write_file(const char *path, const void *p, size_t len, mode_t mode,
		    struct err *e) __attribute__((warn_unused_result));
/* Whole file, at most cap bytes; data is NUL-terminated, free(). */
int path_read_file(const char *path, size_t cap, char **ret_data,
		   size_t *ret_len, struct err *e)
	__attribute__((warn_unused_result));
/* rm -rf beneath a directory of ours; a missing one is success. Symlinks are
 * removed, never followed. */
int path_remove_tree(const char *path, struct err *e)
	__attribute__((warn_unused_result));
/* path with symlinks resolved, as realpath(3), but parts that do not exist
 * (yet) are kept, and a dangling link is followed to what it names. NULL with
 * errno when it cannot be told. free() */
char *path_real(const char *path);
/* Is path (real, symlinks resolved) equal to or beneath dir (real)?
 * By path_real(): either may not exist yet. */
bool path_is_beneath(const char *path, const char *dir);
/* The first of places, relative to where this program lies, that exists: its
 * real path, free(). NULL: none. */
char *path_beside_program(const char *const places[], size_t count);
/* The path the kernel knows an fd by; NULL when it has none. free() */
char *path_of_fd(int fd);
/*
 * Calls fn for the directory dir_fd and each above it up to "/", until fn
 * gives other than 0, which is returned.
 */
int path_each_above(int dir_fd, int (*fn)(int fd, void *ctx), void *ctx,
		    struct err *e) __attribute__((warn_unused_result));

#endif
