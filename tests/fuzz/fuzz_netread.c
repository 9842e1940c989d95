/*
 * What the helper prints: what is accepted is two texts without a NUL, and the
 * check of a guest's filter comes to an end on them.
 */
#include "vmctl/netfilter.h"
#include "vmctl/netread.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct netfilter_port p = {.dev = "vnet0",
				   .mac = "52:54:00:aa:bb:01",
				   .address = "192.168.122.50",
				   .gateway = "192.168.122.1",
				   .bridge = "virbr0"};
	struct netfilter_applied a = {.bridge_calls_iptables = true,
				      .port_forwards_all = true};
	struct netread r = {0};
	struct err e = {0};

	if (netread_parse((const char *)data, len, &r, &e) != 0) {
		if (r.ebtables || r.iptables || e.code != ERR_PROTOCOL)
			abort();
		return 0;
	}
	if (strlen(r.ebtables) + strlen(r.iptables) > len)
		abort();
	a.ebtables = r.ebtables;
	a.iptables = r.iptables;
	for (p.mode = NET_NAT; p.mode <= NET_NONE; p.mode++) {
		if (netfilter_check(&p, &a, &e) != 0 && e.code != ERR_STATE &&
		    e.code != ERR_PROTOCOL)
			abort();
	}
	netread_finish(&r);
	return 0;
}
