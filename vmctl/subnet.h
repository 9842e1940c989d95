/*
 * subnet.h - addresses on libvirt's network: a free range for it where it is
 * missing, a free one for each machine, and the MAC that goes with that
 *
 * Shapes:  addresses are in host byte order, or text.
 * Errors:  ERR_UNAVAILABLE when every candidate is taken.
 * Threads: no shared state.
 * Source:  RFC 1918; /proc/net/route (proc(5)).
 */
#ifndef VMCTL_SUBNET_H
#define VMCTL_SUBNET_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SUBNET_ADDRESS_SIZE 16 /* "255.255.255.255" */
#define SUBNET_MAC_SIZE 18

struct subnet_range {
	uint32_t address, mask;
};

/* A private /24 that overlaps no range: 192.168.122.0 when that is free. */
int subnet_choose(const struct subnet_range *taken, size_t count,
		  uint32_t *ret, struct err *e)
	__attribute__((warn_unused_result));
/* The ranges of /proc/net/route's text but for the default route; how many
 * were stored, at most max. Lines that are not routes are skipped. */
size_t subnet_parse_routes(const char *text, struct subnet_range *ret,
			   size_t max);
/* "A.B.C.D" with a netmask ("255.255.0.0") or a prefix length ("16"). */
bool subnet_parse_range(const char *address, const char *mask,
			struct subnet_range *ret);
void subnet_format(uint32_t address, char ret[SUBNET_ADDRESS_SIZE]);
/* A free machine's address: `wanted`, when it is one of the network and not
 * taken, or else the lowest. net->address is the host's own. ERR_LIMIT when
 * all are taken. */
int subnet_pick(const struct subnet_range *net, const char *wanted,
		bool (*taken)(void *ctx, const char *address), void *ctx,
		char ret[SUBNET_ADDRESS_SIZE], struct err *e)
	__attribute__((warn_unused_result));
/*
 * The MAC follows from instance and address: 52:54, two bytes of the instance's
 * hash, the address's last two. dnsmasq gives a fixed address away only
 * once no other MAC holds a lease on it, and the lease of a removed VM outlives
 * it by up to an hour; so a home's next VM at an address has to look like the
 * one before. And it tells a home's own DHCP entries from all others.
 */
int subnet_mac(const char *instance, const char *address,
	       char ret[SUBNET_MAC_SIZE], struct err *e)
	__attribute__((warn_unused_result));

#endif
