/*
 * treesink.h - writes a copy's files beneath a local directory
 *
 * The records may come from a hostile guest. Everything is opened beneath the
 * target's directory without following a link; files are written under a
 * fresh name of ours and renamed into place, so nothing that exists is ever
 * opened for writing (a hard link or a device stays what it was), and each
 * file is there whole or not at all. Links are made last. A partial file
 * stays when the copy is cut off, and is continued by the next run.
 *
 * Files are not synced one by one: a power cut may lose the last seconds of a
 * copy, as with cp(1); the next run finds the lengths wrong and copies again.
 *
 * Shapes, driving: see ops/localtree.h.
 * Errors:  treesink_new as copyroot_find().
 * Threads: one owner at a time.
 */
#ifndef OPS_TREESINK_H
#define OPS_TREESINK_H

#include "base/err.h"
#include "ops/copyroot.h"

#include <stdbool.h>
#include <stddef.h>

struct treesink;

/* root is borrowed and must outlive the sink. */
int treesink_new(const struct copyroot *root, const char *path,
		 struct treesink **ret, struct err *e)
	__attribute__((warn_unused_result));
void treesink_free(struct treesink *t);

void treesink_feed(struct treesink *t, const void *p, size_t len);
size_t treesink_produce(struct treesink *t, void *p, size_t max);
bool treesink_ended(const struct treesink *t);

#endif
