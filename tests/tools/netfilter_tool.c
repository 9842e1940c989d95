/*
 * The product's network filter for the lab, where no service runs:
 *
 *   netfilter_tool xml MODE [UUID]      its definition
 *   netfilter_tool check MODE DEV MAC ADDRESS GATEWAY EBTABLES IPTABLES
 *       is the port as it must be? The last two are files of what
 *       ebtables-save -t nat and iptables-save -t filter printed
 */
#include "base/path.h"
#include "vmctl/netfilter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XML_CAP ((size_t)64 * 1024)
#define SAVE_CAP ((size_t)4 * 1024 * 1024)

static int print_xml(enum net_mode mode, const char *uuid, struct err *e)
{
	struct buf xml;
	int result;

	buf_init(&xml, XML_CAP);
	result = netfilter_xml(mode, uuid, &xml, e);
	if (result == 0)
		fwrite(xml.data, 1, xml.len, stdout);
	buf_finish(&xml);
	return result;
}

static int check(enum net_mode mode, char **words, struct err *e)
{
	const struct netfilter_port port = {mode, words[0], words[1], words[2],
					    words[3], "virbr0"};
	struct netfilter_applied applied = {NULL, NULL, true};
	char *ebtables = NULL, *iptables = NULL;
	int result = -1;
	size_t len;

	if (path_read_file(words[4], SAVE_CAP, &ebtables, &len, e) == 0 &&
	    path_read_file(words[5], SAVE_CAP, &iptables, &len, e) == 0) {
		applied.ebtables = ebtables;
		applied.iptables = iptables;
		result = netfilter_check(&port, &applied, e);
	}
	free(ebtables);
	free(iptables);
	return result;
}

int main(int argc, char **argv)
{
	enum net_mode mode;
	struct err e = {0};
	int result;

	if (argc < 3 || !net_mode_parse(argv[2], &mode))
		return 2;
	if (strcmp(argv[1], "xml") == 0)
		result = print_xml(mode, argv[3], &e);
	else if (strcmp(argv[1], "check") == 0 && argc == 9)
		result = check(mode, argv + 3, &e);
	else
		return 2;
	if (result) {
		fprintf(stderr, "%s\n", e.msg);
		return 1;
	}
	return 0;
}
