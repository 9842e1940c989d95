/*
 * seed.h - the small disk that tells a guest who it is
 *
 * Shapes:  a FAT file system labelled CIDATA. boxery/ on it is for our own
 *          images (guest/layers/base); user-data and meta-data, filled in from
 *          guest/seed/, are for cloud-init's NoCloud. It holds the private
 *          host key: mode 0640, group QEMU's, in a folder closed to others.
 * Errors:  ERR_NOT_FOUND when mtools are not installed.
 * Threads: no shared state.
 * Source:  cloud-init docs, "NoCloud"; mtools(1).
 */
#ifndef VMCTL_SEED_H
#define VMCTL_SEED_H

#include "base/buf.h"
#include "base/deadline.h"
#include "base/err.h"
#include "vmctl/hostkey.h"

struct seed {
	const char *template_dir; /* guest/seed */
	const char *hostname;
	const char *instance_id;
	const struct hostkey *keys;
};

int seed_write(const struct seed *s, const char *path, struct deadline d,
	       struct err *e) __attribute__((warn_unused_result));
/* A template with its @NAMES@ filled in; further lines of a value get the
 * placeholder's indentation. An unknown name is ERR_INVALID. */
int seed_fill(const struct seed *s, const char *template, struct buf *out,
	      struct err *e) __attribute__((warn_unused_result));

#endif
