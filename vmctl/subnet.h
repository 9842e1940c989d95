/*
 * subnet.h - choosing a /24 for our network, and addresses in it
 *
 * Shapes:  a subnet is its network address, host byte order. .1 is the
 *          host's, .2 to .254 are machines'.
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
#define SUBNET_FIRST_HOST 2
#define SUBNET_LAST_HOST 254

struct subnet_range {
	uint32_t address, mask;
};

/*
 * A private /24 that overlaps no range. `hint` (the instance) makes several
 * instances on one host start their search at different places.
 */
int subnet_choose(const struct subnet_range *taken, size_t count,
		  const char *hint, uint32_t *ret, struct err *e)
	__attribute__((warn_unused_result));
/* The ranges of /proc/net/route's text but for the default route; how many
 * were stored, at most max. Lines that are not routes are skipped. */
size_t subnet_parse_routes(const char *text, struct subnet_range *ret,
			   size_t max);
/* "A.B.C.D" with a netmask ("255.255.0.0") or a prefix length ("16"). */
bool subnet_parse_range(const char *address, const char *mask,
			struct subnet_range *ret);
void subnet_format(uint32_t subnet, unsigned host,
		   char ret[SUBNET_ADDRESS_SIZE]);
/* The host part of an address in the subnet, or 0. */
unsigned subnet_host(uint32_t subnet, const char *address);
/* A free machine's address: `wanted`, when it is one of the subnet and not
 * taken, or else the lowest. ERR_LIMIT when all are taken. */
int subnet_pick(uint32_t subnet, const char *wanted,
		bool (*taken)(void *ctx, const char *address), void *ctx,
		char ret[SUBNET_ADDRESS_SIZE], struct err *e)
	__attribute__((warn_unused_result));

#endif
