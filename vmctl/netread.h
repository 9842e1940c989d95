/*
 * netread.h - reads the host's packet filter, which only root may
 *
 * Root runs ebtables-save and iptables-save; anybody else runs boxery-netread,
 * a helper with CAP_NET_ADMIN for members of group libvirt that prints the
 * same and takes no argument (`boxery init` installs it).
 *
 * Errors:  ERR_UNAVAILABLE, naming the command that mends it, when they cannot
 *          be read here: the chains are then "not verified".
 * Threads: any; blocks, so never from a guest's thread.
 */
#ifndef VMCTL_NETREAD_H
#define VMCTL_NETREAD_H

#include "base/deadline.h"
#include "base/err.h"

#include <stdbool.h>

struct netread {
	char *ebtables, *iptables; /* as netfilter.h's struct netfilter_applied */
	bool bridge_calls_iptables;
};
int netread(struct deadline d, struct netread *ret, struct err *e)
	__attribute__((warn_unused_result));
void netread_finish(struct netread *r);

#endif
