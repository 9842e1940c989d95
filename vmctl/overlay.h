/*
 * overlay.h - qcow2 files: a machine's disk on top of an image
 *
 * Shapes:  chains are ours: an overlay names its backing file by absolute
 *          path, with its format, so that QEMU never guesses one.
 * Units:   bytes.
 * Errors:  ERR_NOSPACE with what is free and what is needed, ERR_NOT_FOUND
 *          when qemu-img is not installed, ERR_INVALID for a foreign image
 *          that we do not open.
 * Threads: no shared state.
 * Source:  qemu-img(1); QEMU docs/interop/qcow2.txt (the header).
 */
#ifndef VMCTL_OVERLAY_H
#define VMCTL_OVERLAY_H

#include "base/deadline.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A new qcow2 at path over base (qcow2), disk_len large, for QEMU's group. */
int overlay_create(const char *base, const char *path, uint64_t disk_len,
		   struct deadline d, struct err *e)
	__attribute__((warn_unused_result));
/* ERR_NOSPACE unless the file system of dir has need_len free. */
int overlay_check_space(const char *dir, uint64_t need_len, const char *what,
			struct err *e) __attribute__((warn_unused_result));

struct overlay_header {
	bool qcow2; /* else taken as raw */
	uint64_t disk_len;
};
#define OVERLAY_HEADER_LEN 104
/*
 * What a foreign image is, from its first bytes, without asking a program
 * that would open what the image names: an image with a backing file, an
 * external data file, encryption or unknown features is ERR_INVALID.
 */
int overlay_parse_header(const void *p, size_t len, uint64_t file_len,
			 struct overlay_header *ret, struct err *e)
	__attribute__((warn_unused_result));
/* A foreign image, checked as above, to a qcow2 of ours. */
int overlay_convert(const char *from, const struct overlay_header *h,
		    const char *to, int cancel_fd, struct deadline d,
		    struct err *e) __attribute__((warn_unused_result));

#endif
