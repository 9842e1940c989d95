/*
 * copied.h - the files that a client's vm_copy brought out of VMs
 *
 * Shapes:  noted is where a copy was sent, when it begins; found are the files
 *          that are there now: that one, or the ones beside one another in the
 *          directory that was copied. Paths are relative to the copy root and
 *          confined to it as a copy is (ops/copyroot.h).
 * Units:   bytes.
 * Errors:  ERR_NOT_FOUND for what was not copied out, or is gone; ERR_LIMIT.
 * Threads: any.
 */
#ifndef MCP_COPIED_H
#define MCP_COPIED_H

#include "base/buf.h"
#include "base/home.h"

struct copied;

/* root: the copy root, or NULL: nothing is ever copied out. Both outlive it. */
struct copied *copied_new(const char *root, const struct home *home);
void copied_free(struct copied *c);

/* vm_copy's endpoints. */
void copied_note(struct copied *c, const char *from, const char *to);
/* Each path and size. */
void copied_each(struct copied *c,
		 void (*each)(void *ctx, const char *path, long long size),
		 void *ctx);
/* One of those, whole; it must fit buf. */
int copied_read(struct copied *c, const char *path, struct buf *ret,
		struct err *e) __attribute__((warn_unused_result));

#endif
