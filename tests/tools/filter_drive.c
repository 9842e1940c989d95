/*
 * The network filter's parts by hand, for the lab.
 *
 *   filter_drive xml MODE [UUID]                         the filter
 *   filter_drive check MODE DEV MAC ADDRESS GATEWAY BRIDGE
 *                          reads this host's packet filter: "ok", or why not;
 *                          root needs boxery-netread beside it
 */
#include "base/cleanup.h"
#include "vmctl/netfilter.h"
#include "vmctl/netread.h"

#include <stdio.h>
#include <string.h>

#define READ_MS 10000

static int print_xml(enum net_mode m, const char *uuid, struct err *e)
{
	struct buf xml;
	int rc;

	buf_init(&xml, 64 << 10);
	rc = netfilter_xml(m, uuid, &xml, e);
	if (rc == 0)
		fputs(xml.data, stdout);
	buf_finish(&xml);
	return rc;
}

static int check(const struct netfilter_port *p, struct err *e)
{
	struct netread r = {0};
	int rc = netread(deadline_in_ms(READ_MS), &r, e);

	if (rc == 0) {
		const struct netfilter_applied a = {
			r.ebtables, r.iptables, r.bridge_calls_iptables,
			netread_port(p->dev)};

		rc = netfilter_check(p, &a, e);
	}
	if (rc == 0)
		puts("ok");
	netread_finish(&r);
	return rc;
}

int main(int argc, char *argv[])
{
	struct netfilter_port p;
	struct err e = {0};
	int rc = -1;

	if ((argc == 3 || argc == 4) && strcmp(argv[1], "xml") == 0 &&
	    net_mode_parse(argv[2], &p.mode)) {
		rc = print_xml(p.mode, argv[3], &e);
	} else if (argc == 8 && strcmp(argv[1], "check") == 0 &&
		   net_mode_parse(argv[2], &p.mode)) {
		p.dev = argv[3];
		p.mac = argv[4];
		p.address = argv[5];
		p.gateway = argv[6];
		p.bridge = argv[7];
		rc = check(&p, &e);
	} else {
		fputs("usage: see filter_drive.c\n", stderr);
		return 2;
	}
	if (rc != 0)
		fprintf(stderr, "%s: %s\n", err_code_name(e.code),
			err_msg(&e));
	return rc == 0 ? 0 : 1;
}
