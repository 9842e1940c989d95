/*
 * copy_list.h - lists a file or tree of a guest, as a manifest and as records
 * for the copy's other side
 *
 * With find, in one round trip; where find cannot print what is needed
 * (busybox), directory by directory over sftp, which knows whole seconds only.
 *
 * Shapes:  fill side to m, call copy_list(), read sftp.
 * Errors:  ERR_NOT_FOUND when there is nothing at path; a directory that
 *          cannot be read is told as TROUBLE and the rest is listed.
 * Threads: the side's.
 */
#ifndef VMCTL_COPY_LIST_H
#define VMCTL_COPY_LIST_H

#include "base/err.h"
#include "ops/manifest.h"
#include "vmctl/copy_impl.h"
#include "vmctl/copysh.h"

#include <stdbool.h>
#include <stdint.h>

struct copy_list {
	const struct copy_side *side;
	struct copy_wire *wire;
	struct copysh *sh;
	const char *path; /* without tilde */
	struct manifest *m;
	bool sftp;
	uint32_t special_count;
	char *special; /* the first */
};

/* Says HEAD to MANIFEST_END. */
int copy_list(struct copy_list *l, struct err *e)
	__attribute__((warn_unused_result));

#endif
