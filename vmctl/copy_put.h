/*
 * copy_put.h - the commands that write a copy into a guest, through one sh
 *
 * Small files are collected and go in one archive to a staging directory, from
 * where one mv a directory puts them in place; a guest without GNU tar gets
 * them one by one, as the large ones, which grow under a partial name.
 *
 * Shapes:  paths are relative to the base directory. Nothing here waits for
 *          the guest but for room to send; copy_put_finish() tells whether
 *          all of it worked.
 * Errors:  what the first failing command said, at whichever call comes next.
 * Threads: one owner at a time.
 */
#ifndef VMCTL_COPY_PUT_H
#define VMCTL_COPY_PUT_H

#include "base/buf.h"
#include "ops/manifest.h"
#include "vmctl/copy.h"

#include <stdbool.h>

/* A file of at most this goes into an archive. */
#define COPY_PUT_SMALL_LEN ((size_t)128 * 1024)

struct copy_put;

int copy_put_new(const struct copy_side *s, const char *base, bool tar,
		 struct copy_put **ret, struct err *e)
	__attribute__((warn_unused_result));
void copy_put_free(struct copy_put *p);

/* Directories: made (parents first), made writable for now, and at the very
 * end given their mode and time. */
int copy_put_dir(struct copy_put *p, const char *path, struct err *e)
	__attribute__((warn_unused_result));
int copy_put_open_dir(struct copy_put *p, const char *path, struct err *e)
	__attribute__((warn_unused_result));
int copy_put_dir_time(struct copy_put *p, const char *path,
		      const struct manifest_entry *n, struct err *e)
	__attribute__((warn_unused_result));
int copy_put_dir_mode(struct copy_put *p, const char *path,
		      const struct manifest_entry *n, struct err *e)
	__attribute__((warn_unused_result));

/* A whole small file, or a link (n->target), to be in place soon. */
int copy_put_small(struct copy_put *p, const char *path,
		   const struct manifest_entry *n, const char *bytes,
		   struct err *e) __attribute__((warn_unused_result));

/* A large file: begin, its bytes, then keep or drop, or cut in the middle. */
int copy_put_begin(struct copy_put *p, const char *path,
		   const struct manifest_entry *n, uint64_t offset,
		   struct err *e) __attribute__((warn_unused_result));
int copy_put_bytes(struct copy_put *p, const void *bytes, size_t len,
		   struct err *e) __attribute__((warn_unused_result));
int copy_put_keep(struct copy_put *p, const char *path,
		  const struct manifest_entry *n, struct err *e)
	__attribute__((warn_unused_result));
int copy_put_drop(struct copy_put *p, const char *path,
		  const struct manifest_entry *n, struct err *e)
	__attribute__((warn_unused_result));
int copy_put_cut(struct copy_put *p, struct err *e)
	__attribute__((warn_unused_result));

/* Everything that was collected is on its way. */
int copy_put_flush(struct copy_put *p, struct err *e)
	__attribute__((warn_unused_result));
int copy_put_finish(struct copy_put *p, struct err *e)
	__attribute__((warn_unused_result));

#endif
