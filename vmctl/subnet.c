#include "vmctl/subnet.h"

#include "base/cleanup.h"
#include "base/crypto.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MASK_24 0xffffff00u
#define NET(a, b, c)                                                           \
	(((uint32_t)(a) << 24) | ((uint32_t)(b) << 16) | ((uint32_t)(c) << 8))

/* libvirt's own choice; then in the order of what home networks use least. */
static const struct {
	uint32_t first;
	unsigned count;
} blocks[] = {
	{NET(192, 168, 122), 1},
	{NET(192, 168, 130), 120},
	{NET(10, 213, 0), 250},
	{NET(172, 27, 0), 250},
};

static bool overlaps(uint32_t candidate, const struct subnet_range *r)
{
	uint32_t mask = r->mask & MASK_24;

	return (candidate & mask) == (r->address & mask);
}

static bool is_free(uint32_t candidate, const struct subnet_range *taken,
		    size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (overlaps(candidate, &taken[i]))
			return false;
	}
	return true;
}

int subnet_choose(const struct subnet_range *taken, size_t count,
		  uint32_t *ret, struct err *e)
{
	for (size_t b = 0; b < ARRAY_COUNT(blocks); b++) {
		for (unsigned i = 0; i < blocks[b].count; i++) {
			uint32_t candidate = blocks[b].first + (i << 8);

			if (!is_free(candidate, taken, count))
				continue;
			*ret = candidate;
			return 0;
		}
	}
	return err_set(e, ERR_UNAVAILABLE,
		       "no private /24 is free on this host: its routes and "
		       "libvirt's networks cover all that boxery would use");
}

/* Field number `at` (from 0) of a line, as hexadecimal. */
static bool hex_field(const char *line, unsigned at, uint32_t *ret)
{
	const char *p = line + strspn(line, " \t");
	char *end;

	for (; at > 0; at--) {
		p += strcspn(p, " \t\n");
		p += strspn(p, " \t");
	}
	if (!isxdigit((unsigned char)*p))
		return false;
	*ret = (uint32_t)strtoul(p, &end, 16);
	return *end == '\0' || strchr(" \t\n", *end);
}

size_t subnet_parse_routes(const char *text, struct subnet_range *ret,
			   size_t max)
{
	size_t count = 0;

	while (*text && count < max) {
		uint32_t dest, mask;

		/* Iface Destination Gateway Flags RefCnt Use Metric Mask */
		if (hex_field(text, 1, &dest) && hex_field(text, 7, &mask) &&
		    mask != 0) {
			ret[count].address = ntohl(dest);
			ret[count].mask = ntohl(mask);
			count++;
		}
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return count;
}

bool subnet_parse_range(const char *address, const char *mask,
			struct subnet_range *ret)
{
	struct in_addr a, m;
	unsigned long prefix;
	char *end;

	if (inet_pton(AF_INET, address, &a) != 1)
		return false;
	if (inet_pton(AF_INET, mask, &m) != 1) {
		prefix = strtoul(mask, &end, 10);
		if (end == mask || *end || prefix > 32)
			return false;
		m.s_addr = htonl(prefix ? ~0u << (32 - prefix) : 0);
	}
	ret->address = ntohl(a.s_addr);
	ret->mask = ntohl(m.s_addr);
	return true;
}

void subnet_format(uint32_t address, char ret[SUBNET_ADDRESS_SIZE])
{
	struct in_addr a = {.s_addr = htonl(address)};

	inet_ntop(AF_INET, &a, ret, SUBNET_ADDRESS_SIZE);
}

/* Any of the network's, but its own, the broadcast's and the host's. */
static bool is_guests(const struct subnet_range *net, uint32_t address)
{
	uint32_t first = net->address & net->mask;

	return (address & net->mask) == first && address != first &&
	       address != (first | ~net->mask) && address != net->address;
}

int subnet_pick(const struct subnet_range *net, const char *wanted,
		bool (*taken)(void *ctx, const char *address), void *ctx,
		char ret[SUBNET_ADDRESS_SIZE], struct err *e)
{
	uint32_t first = net->address & net->mask;
	uint32_t last = first | ~net->mask;
	char address[SUBNET_ADDRESS_SIZE];
	struct in_addr a;

	if (inet_pton(AF_INET, wanted, &a) == 1 &&
	    is_guests(net, ntohl(a.s_addr)) && !taken(ctx, wanted)) {
		subnet_format(ntohl(a.s_addr), ret);
		return 0;
	}
	for (uint32_t at = first; at < last; at++) {
		if (!is_guests(net, at))
			continue;
		subnet_format(at, address);
		if (!taken(ctx, address)) {
			subnet_format(at, ret);
			return 0;
		}
	}
	return err_set(e, ERR_LIMIT,
		       "every address of libvirt's network is taken: remove a "
		       "VM (boxery rm)");
}

int subnet_mac(const char *instance, const char *address,
	       char ret[SUBNET_MAC_SIZE], struct err *e)
{
	uint8_t digest[CRYPTO_SHA256_LEN];
	struct in_addr a;
	uint32_t host;

	if (crypto_sha256(instance, strlen(instance), digest, e))
		return -1;
	if (inet_pton(AF_INET, address, &a) != 1)
		return err_set(e, ERR_INTERNAL, "%s is no address", address);
	host = ntohl(a.s_addr);
	snprintf(ret, SUBNET_MAC_SIZE, "52:54:%02x:%02x:%02x:%02x", digest[0],
		 digest[1], host >> 8 & 0xff, host & 0xff);
	return 0;
}
