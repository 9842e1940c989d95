/*
 * The network of this home's machines: a bridge of libvirt's without
 * forwarding, a /24 that clashed with nothing when it was chosen, DHCP with
 * one fixed entry a machine. Entries follow the records: they are set before
 * each boot, so a network that somebody removed is simply made again.
 */
#include "base/alloc.h"
#include "base/log.h"
#include "base/path.h"
#include "vmctl/backend_libvirt_impl.h"
#include "vmctl/domain.h"
#include "vmctl/subnet.h"

#include <libvirt/virterror.h>
#include <stdio.h>
#include <string.h>

#define XML_CAP ((size_t)64 * 1024)
#define ROUTES_CAP ((size_t)4 * 1024 * 1024)
#define RANGES_MAX 1024

/* -- choosing ---------------------------------------------------------------- */

static size_t add_networks(virConnectPtr c, struct subnet_range *ret,
			   size_t max)
{
	virNetworkPtr *all = NULL;
	int count = virConnectListAllNetworks(c, &all, 0);
	size_t used = 0;

	for (int i = 0; i < count; i++) {
		autofree char *xml = virNetworkGetXMLDesc(all[i], 0);
		char address[64], mask[64];

		if (xml && used < max &&
		    domain_find_attr(xml, "<ip ", "address", address,
				     sizeof(address)) &&
		    (domain_find_attr(xml, "<ip ", "netmask", mask,
				      sizeof(mask)) ||
		     domain_find_attr(xml, "<ip ", "prefix", mask,
				      sizeof(mask))) &&
		    subnet_parse_range(address, mask, &ret[used]))
			used++;
		virNetworkFree(all[i]);
	}
	free(all);
	return used;
}

static int choose(struct backend_libvirt *l, virConnectPtr c, uint32_t *ret,
		  struct err *e)
{
	autofree struct subnet_range *taken =
		alloc_array(RANGES_MAX, sizeof(*taken));
	autofree char *routes = NULL;
	size_t count, len;

	if (path_read_file("/proc/net/route", ROUTES_CAP, &routes, &len, e))
		return -1;
	count = subnet_parse_routes(routes, taken, RANGES_MAX);
	count += add_networks(c, taken + count, RANGES_MAX - count);
	return subnet_choose(taken, count, l->home->instance, ret, e);
}

/* -- the network ------------------------------------------------------------- */

static virNetworkPtr define(struct backend_libvirt *l, virConnectPtr c,
			    struct err *e)
{
	char gateway[SUBNET_ADDRESS_SIZE], first[SUBNET_ADDRESS_SIZE],
		last[SUBNET_ADDRESS_SIZE];
	const struct domain_network config = {
		l->network, l->bridge, gateway, first, last};
	virNetworkPtr n = NULL;
	struct buf xml;
	uint32_t subnet;

	if (choose(l, c, &subnet, e))
		return NULL;
	subnet_format(subnet, 1, gateway);
	subnet_format(subnet, SUBNET_FIRST_HOST, first);
	subnet_format(subnet, SUBNET_LAST_HOST, last);
	buf_init(&xml, XML_CAP);
	if (domain_network_xml(&config, &xml, e) == 0) {
		n = virNetworkDefineXML(c, xml.data);
		if (!n)
			(void)!bl_fail(e, "defining the network", l->network);
		else
			log_info("network %s: %s/24", l->network, gateway);
	}
	buf_finish(&xml);
	return n;
}

static int read_subnet(virNetworkPtr n, uint32_t *ret, struct err *e)
{
	autofree char *xml = virNetworkGetXMLDesc(n, 0);
	struct subnet_range range;
	char address[SUBNET_ADDRESS_SIZE];

	if (!xml)
		return bl_fail(e, "reading the network", virNetworkGetName(n));
	if (!domain_find_attr(xml, "<ip ", "address", address,
			      sizeof(address)) ||
	    !subnet_parse_range(address, "24", &range))
		return err_set(e, ERR_STATE,
			       "the network %s is not as boxery made it: virsh "
			       "net-undefine %s, then boxery init",
			       virNetworkGetName(n), virNetworkGetName(n));
	*ret = range.address & range.mask;
	return 0;
}

/*
 * A network that cannot be started (its addresses are in use by now) gets
 * other addresses; machines take theirs from it at their next boot.
 */
static virNetworkPtr activate(struct backend_libvirt *l, virConnectPtr c,
			      virNetworkPtr n, struct err *e)
{
	virNetworkPtr other;

	if (virNetworkIsActive(n) == 1 || virNetworkCreate(n) == 0 ||
	    virNetworkIsActive(n) == 1)
		return n;
	log_warn("network %s does not start (%s): choosing other addresses",
		 l->network, virGetLastErrorMessage());
	virNetworkUndefine(n);
	virNetworkFree(n);
	other = define(l, c, e);
	if (other && virNetworkCreate(other) < 0) {
		(void)!bl_fail(e, "starting the network", l->network);
		virNetworkFree(other);
		return NULL;
	}
	return other;
}

static virNetworkPtr ensure(struct backend_libvirt *l, virConnectPtr c,
			    struct err *e)
{
	virNetworkPtr n = virNetworkLookupByName(c, l->network);
	int autostart = 0;

	if (!n && virGetLastErrorCode() != VIR_ERR_NO_NETWORK) {
		(void)!bl_fail(e, "looking for the network", l->network);
		return NULL;
	}
	if (!n)
		n = define(l, c, e);
	if (n)
		n = activate(l, c, n, e);
	if (n && virNetworkGetAutostart(n, &autostart) == 0 && !autostart)
		virNetworkSetAutostart(n, 1);
	return n;
}

int bl_network_ensure(struct backend_libvirt *l, virConnectPtr c,
		      uint32_t *ret_subnet, struct err *e)
{
	auto_network n = NULL;

	pthread_mutex_lock(&l->network_lock);
	n = ensure(l, c, e);
	pthread_mutex_unlock(&l->network_lock);
	return n ? read_subnet(n, ret_subnet, e) : -1;
}

/* -- fixed addresses --------------------------------------------------------- */

static int update(virNetworkPtr n, unsigned command, const char *mac,
		  const char *address, struct err *e)
{
	unsigned flags = VIR_NETWORK_UPDATE_AFFECT_CONFIG;
	struct buf xml;
	int rc;

	if (virNetworkIsActive(n) == 1)
		flags |= VIR_NETWORK_UPDATE_AFFECT_LIVE;
	buf_init(&xml, XML_CAP);
	rc = domain_lease_xml(mac, address, &xml, e);
	if (rc == 0 &&
	    virNetworkUpdate(n, command, VIR_NETWORK_SECTION_IP_DHCP_HOST, -1,
			     xml.data, flags) < 0)
		rc = bl_fail(e, "the fixed address", address);
	buf_finish(&xml);
	return rc;
}

/* Remove entries of this MAC or this address; *ret_there when the very entry
 * is there already, which then stays. */
static int clear(virNetworkPtr n, const char *mac, const char *address,
		 bool *ret_there, struct err *e)
{
	autofree char *xml = virNetworkGetXMLDesc(n, 0);
	const char *at = xml;

	if (!xml)
		return bl_fail(e, "reading the network", virNetworkGetName(n));
	while ((at = strstr(at, "<host "))) {
		char its_mac[32], its_address[SUBNET_ADDRESS_SIZE];
		bool same_mac, same_address;

		if (domain_find_attr(at, "<host ", "mac", its_mac,
				     sizeof(its_mac)) &&
		    domain_find_attr(at, "<host ", "ip", its_address,
				     sizeof(its_address))) {
			same_mac = strcasecmp(mac, its_mac) == 0;
			same_address = strcmp(address, its_address) == 0;
			if (same_mac && same_address)
				*ret_there = true;
			else if ((same_mac || same_address) &&
				 update(n, VIR_NETWORK_UPDATE_COMMAND_DELETE,
					its_mac, its_address, e))
				return -1;
		}
		at++;
	}
	return 0;
}

static int set_lease(struct backend_libvirt *l, virConnectPtr c,
		     const char *mac, const char *address, struct err *e)
{
	auto_network n = ensure(l, c, e);
	bool there = false;

	if (!n || clear(n, mac, address, &there, e))
		return -1;
	if (there)
		return 0;
	return update(n, VIR_NETWORK_UPDATE_COMMAND_ADD_LAST, mac, address, e);
}

int bl_lease_set(struct backend_libvirt *l, virConnectPtr c, const char *mac,
		 const char *address, struct err *e)
{
	int rc;

	pthread_mutex_lock(&l->network_lock);
	rc = set_lease(l, c, mac, address, e);
	pthread_mutex_unlock(&l->network_lock);
	return rc;
}

int bl_lease_remove(struct backend_libvirt *l, virConnectPtr c,
		    const char *mac, struct err *e)
{
	auto_network n = NULL;
	bool there = false;
	int rc = 0;

	pthread_mutex_lock(&l->network_lock);
	n = virNetworkLookupByName(c, l->network);
	/* no address is "", so every entry of the MAC goes */
	if (n)
		rc = clear(n, mac, "", &there, e);
	pthread_mutex_unlock(&l->network_lock);
	return rc;
}

void bl_network_doctor(struct backend_libvirt *l, virConnectPtr c,
		       backend_say *say, void *ctx)
{
	auto_network n = virNetworkLookupByName(c, l->network);
	autofree char *text = NULL;
	char gateway[SUBNET_ADDRESS_SIZE];
	uint32_t subnet = 0;
	struct err e = {0};

	if (!n || virNetworkIsActive(n) != 1) {
		text = alloc_printf("%s is %s: boxery init", l->network,
				    n ? "not active" : "not there");
		say(ctx, "network", false, text);
		return;
	}
	if (read_subnet(n, &subnet, &e)) {
		say(ctx, "network", false, err_msg(&e));
		return;
	}
	subnet_format(subnet, 1, gateway);
	text = alloc_printf("%s, %s/24, no way out", l->network, gateway);
	say(ctx, "network", true, text);
}
