/*
 * completion.h - scripts that complete boxery's command line in a shell
 *
 * Shapes:  made from the table; names of VMs are asked of `boxery completion
 *          vms`, which never starts the service.
 * Errors:  ERR_INVALID for a shell we do not know.
 * Threads: no shared state.
 */
#ifndef OPS_COMPLETION_H
#define OPS_COMPLETION_H

#include "base/buf.h"
#include "base/err.h"

int completion_script(struct buf *out, const char *shell, struct err *e)
	__attribute__((warn_unused_result));

#endif
