/*
 * treesource.h - reads a local file or tree for a copy
 *
 * Links are copied as links, also when the path names one (as cp -R -P has
 * it); a path that ends in "/" is followed. Special files and our own partial
 * files are left out, the former with a warning. A file that is not what the
 * manifest said, when it is opened or after it was read, is an error for that
 * file and the copy.
 *
 * Shapes, driving: see ops/localtree.h.
 * Errors:  treesource_new as copyroot_find(), ERR_INVALID for a special file.
 * Threads: one owner at a time.
 */
#ifndef OPS_TREESOURCE_H
#define OPS_TREESOURCE_H

#include "base/err.h"
#include "ops/copyroot.h"

#include <stdbool.h>
#include <stddef.h>

struct treesource;

/* root is borrowed and must outlive the source. */
int treesource_new(const struct copyroot *root, const char *path,
		   struct treesource **ret, struct err *e)
	__attribute__((warn_unused_result));
void treesource_free(struct treesource *s);

void treesource_feed(struct treesource *s, const void *p, size_t len);
size_t treesource_produce(struct treesource *s, void *p, size_t max);
bool treesource_ended(const struct treesource *s);

#endif
