/*
 * instance.h - one service per home
 *
 * Shapes:  state/host.lock is held (flock) as long as the service lives, so a
 *          socket found under the lock is a dead one's and is replaced.
 * Errors:  ERR_BUSY naming the pid of the one that runs.
 * Threads: main thread, once.
 */
#ifndef VMCTL_INSTANCE_H
#define VMCTL_INSTANCE_H

#include "base/deadline.h"
#include "base/err.h"
#include "base/home.h"

/* The lock's fd, to be kept open. A predecessor that is just ending is waited
 * for. */
int instance_lock(const struct home *h, struct deadline d, struct err *e)
	__attribute__((warn_unused_result));
/* The listening socket at home.socket, non-blocking, 0600. Under the lock. */
int instance_listen(const struct home *h, struct err *e)
	__attribute__((warn_unused_result));

#endif
