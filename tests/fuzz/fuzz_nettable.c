/*
 * One table's text. It is copied to its exact length, so that a word read past
 * its end is seen.
 */
#include "vmctl/nettable.h"

#include "base/alloc.h"
#include "base/cleanup.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const ranges[] = {"10.0.0.0/8", "224.0.0.0/3", NULL};
	static const struct nettable_packet packets[] = {
		{.in = "vnet0", .bridge = "virbr0", .not_src = ranges},
		{.in = "virbr0",
		 .out = "",
		 .port_in = "vnet0",
		 .port_out = "",
		 .src = "192.168.122.50",
		 .dst = "192.168.122.1",
		 .protocol = "tcp",
		 .sports = "22",
		 .dports = "32768:65535"},
	};
	static const char *const rules[] = {"-j libvirt-host-in",
					    "-i vnet0 -j libvirt-I-vnet0"};
	autofree char *text = alloc_strn((const char *)data, len);
	struct nettable t;
	struct err e = {0};

	if (nettable_parse(text, "filter", &t, &e) != 0) {
		if (e.code != ERR_PROTOCOL && e.code != ERR_STATE)
			abort();
		return 0;
	}
	for (size_t i = 0; i < ARRAY_COUNT(packets); i++) {
		if ((nettable_reaches(&t, &packets[i], "INPUT", rules[i],
				      &e) != 0 ||
		     nettable_reaches(&t, &packets[i], "PREROUTING", rules[i],
				      &e) != 0 ||
		     nettable_expect(&t, "INPUT", "-j a\n-j b\n", &e) != 0) &&
		    e.code != ERR_STATE)
			abort();
	}
	return 0;
}
