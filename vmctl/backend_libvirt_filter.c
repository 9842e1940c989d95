/*
 * The network filters as libvirt knows them, and what it says of a machine's
 * port. Filters are one for all homes of a host: whoever boots a machine sees
 * to it that they are ours. libvirt rebuilds the chains of running machines
 * when a filter changes, so it is defined only when it differs.
 */
#include "base/alloc.h"
#include "base/path.h"
#include "vmctl/backend_libvirt_impl.h"
#include "vmctl/domain.h"
#include "vmctl/xmlsame.h"

#include <libvirt/virterror.h>
#include <stdio.h>
#include <string.h>

#define XML_CAP ((size_t)256 * 1024)

static const enum net_mode modes[] = {NET_NAT, NET_NONE};

/* -- definitions ------------------------------------------------------------- */

/* f may be NULL: not there. */
static int is_ours(enum net_mode m, virNWFilterPtr f, bool *ret, struct err *e)
{
	autofree char *xml = f ? virNWFilterGetXMLDesc(f, 0) : NULL;
	struct buf ours;
	int rc;

	if (f && !xml)
		return bl_fail(e, "reading the filter", netfilter_name(m));
	buf_init(&ours, XML_CAP);
	rc = netfilter_xml(m, NULL, &ours, e);
	if (rc == 0)
		*ret = xml && xmlsame(xml, ours.data);
	buf_finish(&ours);
	return rc;
}

static virNWFilterPtr look_up(virConnectPtr c, enum net_mode m, struct err *e)
{
	virNWFilterPtr f = virNWFilterLookupByName(c, netfilter_name(m));

	if (!f && virGetLastErrorCode() == VIR_ERR_NO_NWFILTER)
		err_set(e, ERR_NOT_FOUND,
			"libvirt has no filter %s: boxery init",
			netfilter_name(m));
	else if (!f)
		(void)!bl_fail(e, "looking for the filter", netfilter_name(m));
	return f;
}

static int define(virConnectPtr c, enum net_mode m, virNWFilterPtr old,
		  struct err *e)
{
	char uuid[VIR_UUID_STRING_BUFLEN];
	auto_filter f = NULL;
	struct buf xml;
	bool ours = false;
	int rc = 0;

	if (old && virNWFilterGetUUIDString(old, uuid) < 0)
		return bl_fail(e, "reading the filter", netfilter_name(m));
	buf_init(&xml, XML_CAP);
	rc = netfilter_xml(m, old ? uuid : NULL, &xml, e);
	if (rc == 0) {
		f = virNWFilterDefineXML(c, xml.data);
		if (!f)
			rc = bl_fail(e, "defining the filter",
				     netfilter_name(m));
	}
	buf_finish(&xml);
	if (rc == 0)
		rc = is_ours(m, f, &ours, e);
	if (rc == 0 && !ours)
		rc = err_set(e, ERR_STATE,
			     "libvirt's filter %s is not what boxery defined: "
			     "somebody else changes it (virsh nwfilter-dumpxml "
			     "%s)",
			     netfilter_name(m), netfilter_name(m));
	return rc;
}

static int ensure(virConnectPtr c, enum net_mode m, struct err *e)
{
	struct err why = {0};
	auto_filter f = look_up(c, m, &why);
	bool ours = false;

	if (!f && why.code != ERR_NOT_FOUND) {
		if (e)
			*e = why;
		return -1;
	}
	if (is_ours(m, f, &ours, e))
		return -1;
	return ours ? 0 : define(c, m, f, e);
}

int bl_filters_ensure(struct backend_libvirt *l, virConnectPtr c,
		      struct err *e)
{
	int rc = 0;

	/* two that define it at once would be two filters to libvirt */
	pthread_mutex_lock(&l->network_lock);
	for (size_t i = 0; rc == 0 && i < ARRAY_COUNT(modes); i++) {
		rc = ensure(c, modes[i], e);
		/* another home's service may have been faster */
		if (rc)
			rc = ensure(c, modes[i], e);
	}
	pthread_mutex_unlock(&l->network_lock);
	return rc;
}

/* *ret: libvirt knows a filter of that name, and it says what ours does. */
static int named_is_ours(virConnectPtr c, const char *name, bool *ret,
			 struct err *e)
{
	*ret = false;
	for (size_t i = 0; i < ARRAY_COUNT(modes); i++) {
		struct err why = {0};
		auto_filter f = NULL;

		if (strcmp(netfilter_name(modes[i]), name) != 0)
			continue;
		f = look_up(c, modes[i], &why);
		if (f)
			return is_ours(modes[i], f, ret, e);
		if (why.code == ERR_NOT_FOUND)
			return 0;
		if (e)
			*e = why;
		return -1;
	}
	return 0;
}

void bl_filters_doctor(virConnectPtr c, backend_say *say, void *ctx)
{
	struct err why = {0};

	for (size_t i = 0; i < ARRAY_COUNT(modes); i++) {
		struct err e = {0};
		auto_filter f = look_up(c, modes[i], &e);
		bool ours = false;

		if (f && is_ours(modes[i], f, &ours, &e) == 0 && !ours)
			err_set(&e, ERR_STATE,
				"libvirt's filter %s is not boxery's: boxery "
				"init",
				netfilter_name(modes[i]));
		if (!ours) {
			say(ctx, "filters", false, err_msg(&e));
			return;
		}
	}
	if (bl_filters_fit(&why))
		say(ctx, "filters", false, err_msg(&why));
	else
		say(ctx, "filters", true, "both are defined");
}

/* -- the host's ports -------------------------------------------------------- */

#define OWN_PORTS "/proc/sys/net/ipv4/ip_local_port_range"

int bl_filters_fit(struct err *e)
{
	autofree char *text = NULL;
	size_t len;

	if (path_read_file(OWN_PORTS, 256, &text, &len, e))
		return -1;
	return netfilter_check_host(text, e);
}

/* -- a machine's port -------------------------------------------------------- */

/* The text between the first `from` and the `to` behind it, or NULL. */
static char *cut_out(const char *xml, const char *from, const char *to)
{
	const char *start = strstr(xml, from);
	const char *end = start ? strstr(start, to) : NULL;

	return end ? alloc_strn(start, (size_t)(end - start)) : NULL;
}

static unsigned count_of(const char *xml, const char *tag)
{
	unsigned count = 0;

	for (; (xml = strstr(xml, tag)); xml++)
		count++;
	return count;
}

/* A parameter that is there once; else "". */
static void get_parameter(const char *xml, const char *name, char *ret,
			  size_t size)
{
	unsigned found = 0;

	for (; (xml = strstr(xml, "<parameter ")); xml++) {
		char its[64];

		if (!domain_find_attr(xml, "<parameter ", "name", its,
				      sizeof(its)) ||
		    strcmp(its, name) != 0)
			continue;
		if (!domain_find_attr(xml, "<parameter ", "value", ret, size) ||
		    found++ > 0)
			*ret = '\0';
	}
}

static void get_filter(const char *xml, struct machine_port *ret)
{
	(void)!domain_find_attr(xml, "<filterref ", "filter", ret->filter,
				sizeof(ret->filter));
	if (count_of(xml, "<parameter ") != 2)
		return;
	get_parameter(xml, "IP", ret->address, sizeof(ret->address));
	get_parameter(xml, "GATEWAY", ret->gateway, sizeof(ret->gateway));
}

/* *ret: what libvirt has applied to the device is what the machine's definition
 * says. That there is nothing is an answer, that libvirt has none is not. */
static int is_applied(virConnectPtr c, const struct machine_port *p, bool *ret,
		      struct err *e)
{
	auto_binding b = virNWFilterBindingLookupByPortDev(c, p->dev);
	autofree char *xml = b ? virNWFilterBindingGetXMLDesc(b, 0) : NULL;
	char filter[64] = "", mac[18] = "", mac_parameter[18] = "",
	     address[16] = "", gateway[16] = "";

	*ret = false;
	if (!xml)
		return virGetLastErrorCode() == VIR_ERR_NO_NWFILTER_BINDING
			       ? 0
			       : bl_fail(e, "reading what filter is applied to",
					 p->dev);
	if (count_of(xml, "<parameter ") != 3)
		return 0;
	(void)!domain_find_attr(xml, "<filterref ", "filter", filter,
				sizeof(filter));
	(void)!domain_find_attr(xml, "<mac ", "address", mac, sizeof(mac));
	get_parameter(xml, "MAC", mac_parameter, sizeof(mac_parameter));
	get_parameter(xml, "IP", address, sizeof(address));
	get_parameter(xml, "GATEWAY", gateway, sizeof(gateway));
	*ret = strcmp(filter, p->filter) == 0 && strcmp(mac, p->mac) == 0 &&
	       strcmp(mac_parameter, p->mac) == 0 &&
	       strcmp(address, p->address) == 0 &&
	       strcmp(gateway, p->gateway) == 0;
	return 0;
}

/* Its bridge is the one that it was plugged into, whatever the network of that
 * name has become since. */
static bool is_on(const struct bl_network *n, const char *interface)
{
	char network[64] = "", bridge[16] = "";

	return domain_find_attr(interface, "<source ", "network", network,
				sizeof(network)) &&
	       domain_find_attr(interface, "<source ", "bridge", bridge,
				sizeof(bridge)) &&
	       strcmp(network, BL_NETWORK) == 0 &&
	       strcmp(bridge, n->bridge) == 0;
}

int bl_port_read(virConnectPtr c, const char *xml, struct machine_port *ret,
		 struct err *e)
{
	autofree char *interface =
		cut_out(xml, "<interface ", "</interface>");
	struct bl_network network;

	ret->count = count_of(xml, "<interface ");
	if (!interface)
		return 0;
	(void)!domain_find_attr(interface, "<target ", "dev", ret->dev,
				sizeof(ret->dev));
	(void)!domain_find_attr(interface, "<mac ", "address", ret->mac,
				sizeof(ret->mac));
	get_filter(interface, ret);
	if (!*ret->filter)
		return 0;
	if (bl_network_read(c, &network, e))
		return -1;
	memcpy(ret->host, network.gateway, sizeof(ret->host));
	memcpy(ret->bridge, network.bridge, sizeof(ret->bridge));
	ret->on_network = is_on(&network, interface);
	return is_applied(c, ret, &ret->applied, e) ||
			       named_is_ours(c, ret->filter,
					     &ret->filter_is_ours, e)
		       ? -1
		       : 0;
}
