/*
 * tarstream.h - writes the few kinds of tar entries that a copy needs
 *
 * Many small files reach a guest as one archive for its tar: one process
 * instead of three for each file. Only files and symbolic links, with modes
 * and times to the nanosecond.
 *
 * Shapes:  entries are appended to a buf; the archive ends with
 *          tarstream_end(). Names are relative and good already.
 * Units:   bytes; lengths up to the 8 GiB that a header's octal digits hold.
 * Errors:  ERR_LIMIT by out's cap.
 * Threads: no shared state.
 * Source:  POSIX.1-2017 pax (ustar, extended headers); GNU tar 1.34 for the
 *          "L" and "K" headers of long names.
 */
#ifndef VMCTL_TARSTREAM_H
#define VMCTL_TARSTREAM_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define TARSTREAM_BLOCK_LEN 512
/* all that is put around a file's bytes, with two longest names */
#define TARSTREAM_OVERHEAD_LEN ((size_t)(2 * (4096 + 1024) + 4 * 512))

struct tarstream_entry {
	const char *name;
	const char *target; /* a link's; NULL: a file */
	const void *bytes;
	int64_t mtime_s;
	uint32_t mtime_ns;
	uint16_t mode;
	size_t len;
};

int tarstream_add(struct buf *out, const struct tarstream_entry *n,
		  struct err *e) __attribute__((warn_unused_result));
int tarstream_end(struct buf *out, struct err *e)
	__attribute__((warn_unused_result));

#endif
