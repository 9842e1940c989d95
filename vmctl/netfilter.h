/*
 * netfilter.h - what a guest may send and be sent: our nwfilters, and the check
 * that libvirt applied all of one
 *
 * Theory: one table of rules is the source of both the filter's XML, which
 * libvirt is given, and of the lines that the host's packet filter must then
 * show for the guest's port. Rules of layer 2 and 3 become ebtables chains
 * libvirt-I-DEV (from the guest) and libvirt-O-DEV (to it); the one thing that
 * needs a connection's state, "an answer to the host's ssh", becomes iptables
 * chains FI-, FO- and HI-DEV, which see bridged packets only while
 * net.bridge.bridge-nf-call-iptables is 1: that is part of the check.
 *
 * A bridge takes frames for 802.1D's reserved addresses (01:80:c2:00:00:0x) for
 * its host's own, so that IPv4 and IPv6 in them would pass by all chains; its
 * port's group_fwd_mask has them forwarded, which is through the chains.
 *
 * The guest's address is given, not learned: it is the one that the host's
 * DHCP has reserved for the MAC, so the chains are complete before the guest
 * runs its first instruction, and no process of root's parses a guest's DHCP.
 *
 * Shapes:  texts are what ebtables-save and iptables-save print. addresses in
 *          dotted form, MACs in lower case.
 * Errors:  ERR_STATE naming the chain and its first rule that is missing, not
 *          ours, or out of order. ERR_PROTOCOL for texts that are not
 *          understood, of which nothing is known then.
 * Threads: pure.
 * Source:  libvirt formatnwfilter; ebtables-save(8), iptables-save(8).
 */
#ifndef VMCTL_NETFILTER_H
#define VMCTL_NETFILTER_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

/* What a machine may reach. The names are the op's and the record's. */
enum net_mode {
	NET_NAT,  /* the internet, and the host's DNS and DHCP */
	NET_NONE, /* DHCP, and ssh from the host */
};
const char *net_mode_name(enum net_mode m);
bool net_mode_parse(const char *name, enum net_mode *ret);

/* "boxery-guest-isolation", "boxery-guest-none" */
const char *netfilter_name(enum net_mode m);
/* The filter's definition. uuid: of a filter of that name that libvirt has
 * already, or NULL. */
int netfilter_xml(enum net_mode m, const char *uuid, struct buf *out,
		  struct err *e) __attribute__((warn_unused_result));

/*
 * A guest's ssh may answer the host at ports from 32768 on. text: the host's
 * net.ipv4.ip_local_port_range, from which those that connect take theirs.
 * ERR_STATE when lower ones are among them.
 */
int netfilter_check_host(const char *text, struct err *e)
	__attribute__((warn_unused_result));

struct netfilter_port {
	enum net_mode mode;
	const char *dev;     /* "vnet0" */
	const char *mac;
	const char *address; /* the guest's */
	const char *gateway; /* the bridge's */
	const char *bridge;  /* "virbr0" */
};
struct netfilter_applied {
	const char *ebtables; /* ebtables-save -t nat */
	const char *iptables; /* iptables-save -t filter */
	bool bridge_calls_iptables;
	bool port_forwards_all; /* its group_fwd_mask is full */
};
/*
 * Are the port's chains exactly what they must be, and do its packets come to
 * them? What others let out of bridges of their own is not ours to judge.
 * While libvirt rewrites the chains (a filter was redefined, libvirtd starts)
 * they are incomplete for some milliseconds: read twice before acting.
 */
int netfilter_check(const struct netfilter_port *p,
		    const struct netfilter_applied *a, struct err *e)
	__attribute__((warn_unused_result));

#endif
