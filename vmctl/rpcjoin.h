/*
 * rpcjoin.h - `boxery-host rpc`: a client elsewhere reaches this host's service
 * through ssh, whose stdio is joined to the service's socket
 *
 * Shapes:  bytes both ways, unread: the service sees a client like any other.
 *          The end of either side ends it.
 * Errors:  as ops/client_start.h, which starts the service when need be.
 * Threads: the caller's.
 */
#ifndef VMCTL_RPCJOIN_H
#define VMCTL_RPCJOIN_H

#include "base/err.h"
#include "base/home.h"

int rpcjoin_run(const struct home *h, int in_fd, int out_fd, struct err *e)
	__attribute__((warn_unused_result));

#endif
