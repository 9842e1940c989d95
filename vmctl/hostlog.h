/*
 * hostlog.h - state/host.log: the log of a service that runs in the background
 *
 * Shapes:  the file is file descriptor 2, so that what libraries print lands
 *          there too. Over LIMIT_LOG_LEN it is renamed to PATH.1.
 * Errors:  err_sys(); a failing rotation keeps the file it has.
 * Threads: hostlog_rotate() from one thread at a time.
 */
#ifndef VMCTL_HOSTLOG_H
#define VMCTL_HOSTLOG_H

#include "base/err.h"

int hostlog_open(const char *path, struct err *e)
	__attribute__((warn_unused_result));
/* Called now and then. */
void hostlog_rotate(const char *path);

#endif
