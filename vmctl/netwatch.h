/*
 * netwatch.h - looks at the isolation of every running machine: when the
 * service starts, each half minute, and when libvirtd is there again
 *
 * Machines that are being started are looked at by whoever starts them, too.
 *
 * Threads: one of its own. netwatch_free() waits for a look that is under way.
 */
#ifndef VMCTL_NETWATCH_H
#define VMCTL_NETWATCH_H

#include "base/err.h"

struct netwatch;
struct service;

int netwatch_new(struct service *s, struct netwatch **ret, struct err *e)
	__attribute__((warn_unused_result));
void netwatch_free(struct netwatch *w);

#endif
