/*
 * netread.h - reads the host's packet filter, which only root may
 *
 * The helper boxery-netread runs ebtables-save and iptables-save, and has the
 * chains apply to all frames of a port (netread/main.c). Root runs the one that
 * was built with this program; anybody else one with CAP_NET_ADMIN for members
 * of group libvirt, which takes no argument (`boxery init` installs it). It is
 * run from NETREAD_PATH and nowhere else, so that one place says who may read:
 * root owns it, and nobody else may write to it.
 *
 * Shapes:  the helper's output is netread/main.c's.
 * Errors:  ERR_UNAVAILABLE, naming the command that mends it, when they cannot
 *          be read here: the chains are then "not verified".
 * Threads: any; blocks, so never from a guest's thread.
 */
#ifndef VMCTL_NETREAD_H
#define VMCTL_NETREAD_H

#include "base/deadline.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define NETREAD_PATH "/usr/local/libexec/boxery-netread"
#define NETREAD_CAPS "cap_net_admin,cap_net_raw=ep" /* as setcap(8) reads it */

/* As netfilter.h's struct netfilter_applied. */
struct netread {
	char *ebtables, *iptables;
	bool bridge_calls_iptables;
};
int netread(struct deadline d, struct netread *ret, struct err *e)
	__attribute__((warn_unused_result));
/* Do a port's frames for reserved addresses take the way of all others? As
 * netfilter.h's port_forwards_all; netread() has told the port to. */
bool netread_port(const char *dev);
void netread_finish(struct netread *r);

/* The helper's output; of ret all but bridge_calls_iptables. ERR_PROTOCOL. */
int netread_parse(const char *text, size_t len, struct netread *ret,
		  struct err *e) __attribute__((warn_unused_result));

/* What root has to do before others can read. */
enum netread_state {
	NETREAD_READY,
	NETREAD_ABSENT,	   /* or outdated, or open to more people */
	NETREAD_POWERLESS, /* without its capabilities */
};
/* ours: the helper that was built with this program. Its place is not
 * NETREAD_PATH, and it has no power: root copies it and gives it some. */
enum netread_state netread_state(const char *ours);
/* Where that is, or NULL; free(). */
char *netread_find_ours(void);

#endif
