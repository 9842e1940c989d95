/*
 * copy_look.h - what is already there, where a copy goes in a guest
 *
 * Shapes:  struct copy_look is what the target path is and how the guest's
 *          tools are; copy_look_status() then asks for each entry.
 * Errors:  ERR_PROTOCOL for a guest that answers something else.
 * Threads: one owner at a time.
 */
#ifndef VMCTL_COPY_LOOK_H
#define VMCTL_COPY_LOOK_H

#include "ops/manifest.h"
#include "vmctl/copy.h"
#include "vmctl/copytext.h"

#include <stdbool.h>

struct copy_look {
	char kind; /* 'd' 'f' '?' '-' */
	bool tar;  /* GNU tar is there */
};
int copy_look_target(const struct copy_side *s, const char *path,
		     struct copy_look *ret, struct err *e)
	__attribute__((warn_unused_result));

/* Names relative to dir, in order, each followed by a NUL; fn is called for
 * each that exists, in the same order. */
typedef int copy_look_fn(void *ctx, const struct copytext_stat *st,
			 struct err *e);
int copy_look_status(const struct copy_side *s, const char *dir,
		     const struct buf *names, copy_look_fn *fn, void *ctx,
		     struct err *e) __attribute__((warn_unused_result));

#endif
