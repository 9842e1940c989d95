/*
 * client_start.h - the service as a process: reaching one, starting one that
 * is not there, waiting until one is gone
 *
 * Shapes:  of clients that race to start it, one does (run/start.lock) and the
 *          others find its socket. The program is boxery-host beside the
 *          running executable, else in PATH; it gets its own session, cwd /
 *          and an environment of PATH, HOME, LANG, USER and BOXERY_HOME only: a
 *          client's may hold keys.
 * Errors:  ERR_UNAVAILABLE with what the service said when it failed, and
 *          where its log is.
 * Threads: any; processes too.
 */
#ifndef OPS_CLIENT_START_H
#define OPS_CLIENT_START_H

#include "base/deadline.h"
#include "base/err.h"
#include "base/home.h"

#include <stdbool.h>

/* A connected socket, or -1. may_start false: ERR_UNAVAILABLE when there is
 * no service. */
int client_start(const struct home *h, bool may_start, struct deadline d,
		 struct err *e) __attribute__((warn_unused_result));
/* Until no service holds the instance lock (vmctl/instance.h). */
int client_start_wait_gone(const struct home *h, struct deadline d,
			   struct err *e) __attribute__((warn_unused_result));

#endif
