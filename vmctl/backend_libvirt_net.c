/*
 * The network of all machines: libvirt's `default`, a NAT network that other
 * homes' and other people's machines are on as well. It is made only where
 * it is missing, and of what is in it only this home's entries are touched.
 *
 * Each machine has a fixed address, an entry in the network's DHCP. Who wants
 * one looks at every entry and lease, whoever's they are, and adds its own;
 * libvirt refuses an entry whose address or MAC is taken, so of two homes
 * that want the same address one picks again. An entry is this home's when its
 * MAC is the one that subnet_mac() gives for its address; so one that a dead
 * service left behind is found and used again.
 */
#include "base/alloc.h"
#include "base/log.h"
#include "base/path.h"
#include "vmctl/backend_libvirt_impl.h"
#include "vmctl/domain.h"

#include <libvirt/virterror.h>
#include <stdio.h>
#include <string.h>

#define XML_CAP ((size_t)64 * 1024)
#define ROUTES_CAP ((size_t)4 * 1024 * 1024)
#define RANGES_MAX 1024
#define RESERVE_TRIES 50

/* -- reading it -------------------------------------------------------------- */

/* Its IPv4 address: the host's, and with it the range. */
static bool find_range(const char *xml, struct subnet_range *ret)
{
	for (const char *at = xml; (at = strstr(at, "<ip ")); at++) {
		char address[64], mask[64];

		if (domain_find_attr(at, "<ip ", "address", address,
				     sizeof(address)) &&
		    (domain_find_attr(at, "<ip ", "netmask", mask,
				      sizeof(mask)) ||
		     domain_find_attr(at, "<ip ", "prefix", mask,
				      sizeof(mask))) &&
		    subnet_parse_range(address, mask, ret))
			return true;
	}
	return false;
}

static int read_network(virNetworkPtr n, struct bl_network *ret, struct err *e)
{
	autofree char *xml = virNetworkGetXMLDesc(n, 0);
	char mode[32] = "none";

	*ret = (struct bl_network){.bridge = ""};
	if (!xml)
		return bl_fail(e, "reading the network", BL_NETWORK);
	(void)!domain_find_attr(xml, "<bridge ", "name", ret->bridge,
				sizeof(ret->bridge));
	(void)!domain_find_attr(xml, "<forward ", "mode", mode, sizeof(mode));
	if (strcmp(mode, "nat") != 0)
		return err_set(e, ERR_STATE,
			       "libvirt's network " BL_NETWORK " has forward "
			       "mode %s, and VMs need nat: virsh net-edit "
			       BL_NETWORK ", or remove it (virsh net-destroy "
			       BL_NETWORK "; virsh net-undefine " BL_NETWORK
			       "), then boxery init",
			       mode);
	if (!find_range(xml, &ret->range) || !strstr(xml, "<dhcp>"))
		return err_set(e, ERR_STATE,
			       "libvirt's network " BL_NETWORK " gives no IPv4 "
			       "addresses by DHCP: virsh net-edit " BL_NETWORK
			       ", or remove it (virsh net-destroy " BL_NETWORK
			       "; virsh net-undefine " BL_NETWORK
			       "), then boxery init");
	subnet_format(ret->range.address, ret->gateway);
	return 0;
}

int bl_network_read(virConnectPtr c, struct bl_network *ret, struct err *e)
{
	auto_network n = virNetworkLookupByName(c, BL_NETWORK);

	if (!n)
		return bl_fail(e, "looking for the network", BL_NETWORK);
	return read_network(n, ret, e);
}

/* -- making it --------------------------------------------------------------- */

static size_t add_networks(virConnectPtr c, struct subnet_range *ret,
			   size_t max)
{
	virNetworkPtr *all = NULL;
	int count = virConnectListAllNetworks(c, &all, 0);
	size_t used = 0;

	for (int i = 0; i < count; i++) {
		autofree char *xml = virNetworkGetXMLDesc(all[i], 0);

		if (xml && used < max && find_range(xml, &ret[used]))
			used++;
		virNetworkFree(all[i]);
	}
	free(all);
	return used;
}

static int choose(virConnectPtr c, uint32_t *ret, struct err *e)
{
	autofree struct subnet_range *taken =
		alloc_array(RANGES_MAX, sizeof(*taken));
	autofree char *routes = NULL;
	size_t count, len;

	if (path_read_file("/proc/net/route", ROUTES_CAP, &routes, &len, e))
		return -1;
	count = subnet_parse_routes(routes, taken, RANGES_MAX);
	count += add_networks(c, taken + count, RANGES_MAX - count);
	return subnet_choose(taken, count, ret, e);
}

static virNetworkPtr define(virConnectPtr c, struct err *e)
{
	char gateway[SUBNET_ADDRESS_SIZE], first[SUBNET_ADDRESS_SIZE],
		last[SUBNET_ADDRESS_SIZE];
	const struct domain_network config = {BL_NETWORK, gateway, first, last};
	virNetworkPtr n = NULL;
	struct buf xml;
	uint32_t subnet;

	if (choose(c, &subnet, e))
		return NULL;
	subnet_format(subnet | 1, gateway);
	subnet_format(subnet | 2, first);
	subnet_format(subnet | 254, last);
	buf_init(&xml, XML_CAP);
	if (domain_network_xml(&config, &xml, e) == 0) {
		n = virNetworkDefineXML(c, xml.data);
		if (n)
			log_info("network " BL_NETWORK ": %s/24", gateway);
		else
			(void)!bl_fail(e, "defining the network", BL_NETWORK);
	}
	buf_finish(&xml);
	return n;
}

static virNetworkPtr find_or_define(virConnectPtr c, struct err *e)
{
	virNetworkPtr n = virNetworkLookupByName(c, BL_NETWORK);

	if (n)
		return n;
	if (virGetLastErrorCode() != VIR_ERR_NO_NETWORK) {
		(void)!bl_fail(e, "looking for the network", BL_NETWORK);
		return NULL;
	}
	n = define(c, e);
	/* another home may have been faster */
	return n ? n : virNetworkLookupByName(c, BL_NETWORK);
}

static int fail_start(const struct bl_network *info, struct err *e)
{
	const char *why = virGetLastErrorMessage();

	if (strstr(why, "already in use"))
		return err_set(e, ERR_STATE,
			       "libvirt's network " BL_NETWORK " does not "
			       "start, since this host uses %s and what is "
			       "beside it already (%s): give it another range "
			       "(virsh net-edit " BL_NETWORK "), or let "
			       "boxery choose one (virsh net-undefine "
			       BL_NETWORK "), then boxery init",
			       info->gateway, why);
	return bl_fail(e, "starting the network", BL_NETWORK);
}

static int activate(virNetworkPtr n, const struct bl_network *info,
		    struct err *e)
{
	struct err why = {0};

	if (virNetworkIsActive(n) == 1 || virNetworkCreate(n) == 0)
		return 0;
	(void)!fail_start(info, &why);
	/* another home may have been faster */
	if (virNetworkIsActive(n) == 1)
		return 0;
	if (e)
		*e = why;
	return -1;
}

/* One that was undefined while it is active would be gone with the host's next
 * start, and our entries with it. */
static int keep(virConnectPtr c, virNetworkPtr n, struct err *e)
{
	autofree char *xml = NULL;
	auto_network kept = NULL;

	if (virNetworkIsPersistent(n) != 0)
		return 0;
	xml = virNetworkGetXMLDesc(n, 0);
	kept = xml ? virNetworkDefineXML(c, xml) : NULL;
	return kept ? 0 : bl_fail(e, "keeping the network", BL_NETWORK);
}

static virNetworkPtr ensure(virConnectPtr c, struct bl_network *ret,
			    struct err *e)
{
	virNetworkPtr n = find_or_define(c, e);

	if (n && (read_network(n, ret, e) || activate(n, ret, e) ||
		  keep(c, n, e))) {
		virNetworkFree(n);
		return NULL;
	}
	return n;
}

int bl_network_ensure(struct backend_libvirt *l, virConnectPtr c,
		      struct bl_network *ret, struct err *e)
{
	auto_network n = NULL;

	pthread_mutex_lock(&l->network_lock);
	n = ensure(c, ret, e);
	pthread_mutex_unlock(&l->network_lock);
	return n ? 0 : -1;
}

int bl_network_init(struct backend_libvirt *l, virConnectPtr c, struct err *e)
{
	struct bl_network info;
	auto_network n = NULL;
	int autostart = 0;

	pthread_mutex_lock(&l->network_lock);
	n = ensure(c, &info, e);
	pthread_mutex_unlock(&l->network_lock);
	if (!n)
		return -1;
	if (virNetworkGetAutostart(n, &autostart) == 0 && !autostart &&
	    virNetworkSetAutostart(n, 1) < 0)
		return bl_fail(e, "starting with the host: the network",
			       BL_NETWORK);
	return 0;
}

/* -- the network that each home had ------------------------------------------ */

static bool uses(virDomainPtr d, const char *source)
{
	autofree char *live = virDomainGetXMLDesc(d, 0);
	autofree char *next =
		virDomainGetXMLDesc(d, VIR_DOMAIN_XML_INACTIVE);

	return (live && strstr(live, source)) || (next && strstr(next, source));
}

static bool is_used(virConnectPtr c, const char *network)
{
	autofree char *source = alloc_printf("<source network='%s'", network);
	virDomainPtr *all = NULL;
	int count = virConnectListAllDomains(c, &all, 0);
	bool used = count < 0;

	for (int i = 0; i < count; i++) {
		used = used || uses(all[i], source);
		virDomainFree(all[i]);
	}
	free(all);
	return used;
}

int bl_retire(struct backend *b, struct err *e)
{
	struct backend_libvirt *l = bl_of(b);
	auto_conn c = bl_connect(l, e);
	autofree char *name = alloc_printf("boxery-%s", l->home->instance);
	auto_network n = c ? virNetworkLookupByName(c, name) : NULL;

	if (!c)
		return -1;
	if (!n || is_used(c, name))
		return 0;
	if ((virNetworkIsActive(n) == 1 && virNetworkDestroy(n) < 0) ||
	    virNetworkUndefine(n) < 0)
		return bl_fail(e, "removing the network", name);
	log_info("network %s is removed: nothing uses it", name);
	return 0;
}

/* -- fixed addresses --------------------------------------------------------- */

/* Who has an address: an entry of the running network or of its definition
 * (usually both), or a lease. */
enum { LIVE = 1, CONFIG = 2, LEASE = 4 };
struct holder {
	unsigned where;
	char mac[SUBNET_MAC_SIZE];
	char address[SUBNET_ADDRESS_SIZE];
};
struct holders {
	struct holder *list;
	size_t count;
};

static void add_holder(struct holders *h, unsigned where, const char *mac,
		       const char *address)
{
	struct holder *new;

	h->list = alloc_resize(h->list, h->count + 1, sizeof(*new));
	new = &h->list[h->count++];
	*new = (struct holder){.where = where};
	snprintf(new->mac, sizeof(new->mac), "%s", mac);
	snprintf(new->address, sizeof(new->address), "%s", address);
}

static int add_entries(struct holders *h, virNetworkPtr n, unsigned where,
		       struct err *e)
{
	unsigned flags = where == CONFIG ? VIR_NETWORK_XML_INACTIVE : 0;
	autofree char *xml = virNetworkGetXMLDesc(n, flags);

	if (!xml)
		return bl_fail(e, "reading the network", BL_NETWORK);
	for (const char *at = xml; (at = strstr(at, "<host ")); at++) {
		char mac[SUBNET_MAC_SIZE] = "";
		char address[SUBNET_ADDRESS_SIZE];

		if (!domain_find_attr(at, "<host ", "ip", address,
				      sizeof(address)))
			continue;
		(void)!domain_find_attr(at, "<host ", "mac", mac, sizeof(mac));
		add_holder(h, where, mac, address);
	}
	return 0;
}

static int add_leases(struct holders *h, virNetworkPtr n, struct err *e)
{
	virNetworkDHCPLeasePtr *leases = NULL;
	int count = virNetworkGetDHCPLeases(n, NULL, &leases, 0);

	if (count < 0)
		return bl_fail(e, "reading the leases of", BL_NETWORK);
	for (int i = 0; i < count; i++) {
		if (leases[i]->mac && leases[i]->ipaddr)
			add_holder(h, LEASE, leases[i]->mac, leases[i]->ipaddr);
		virNetworkDHCPLeaseFree(leases[i]);
	}
	free(leases);
	return 0;
}

/* One machine's search for an address. */
struct search {
	struct backend_libvirt *l;
	struct holders all;
	bool (*taken)(void *ctx, const char *address);
	void *ctx;
	struct err *e;
};

static bool is_taken(void *ctx, const char *address)
{
	struct search *s = ctx;
	char ours[SUBNET_MAC_SIZE];

	if (s->taken(s->ctx, address) ||
	    subnet_mac(s->l->home->instance, address, ours, s->e))
		return true;
	for (size_t i = 0; i < s->all.count; i++) {
		const struct holder *h = &s->all.list[i];
		bool same_address = strcmp(h->address, address) == 0;
		bool same_mac = strcasecmp(h->mac, ours) == 0;

		/* a lease of ours on another address just runs out */
		if (same_address != same_mac &&
		    (same_address || h->where != LEASE))
			return true;
	}
	return false;
}

static int update(virNetworkPtr n, unsigned command, unsigned where,
		  const struct machine_address *a, struct err *e)
{
	unsigned flags = (where & LIVE ? VIR_NETWORK_UPDATE_AFFECT_LIVE : 0) |
			 (where & CONFIG ? VIR_NETWORK_UPDATE_AFFECT_CONFIG : 0);
	struct buf xml;
	int rc;

	buf_init(&xml, XML_CAP);
	rc = domain_lease_xml(a->mac, a->address, &xml, e);
	if (rc == 0 &&
	    virNetworkUpdate(n, command, VIR_NETWORK_SECTION_IP_DHCP_HOST, -1,
			     xml.data, flags) < 0)
		rc = bl_fail(e, "the fixed address", a->address);
	buf_finish(&xml);
	return rc;
}

/* Where the entry stands already. */
static unsigned find_entry(const struct holders *h,
			   const struct machine_address *a)
{
	unsigned where = 0;

	for (size_t i = 0; i < h->count; i++) {
		if (strcmp(h->list[i].address, a->address) == 0 &&
		    strcasecmp(h->list[i].mac, a->mac) == 0)
			where |= h->list[i].where;
	}
	return where;
}

/* Read, pick, add: 1 when somebody else was faster. */
static int try_reserve(struct search *s, virNetworkPtr n,
		       const struct subnet_range *range, const char *wanted,
		       struct machine_address *ret)
{
	struct machine_address a;
	struct err why = {0};
	unsigned missing;

	s->all.count = 0;
	if (add_entries(&s->all, n, LIVE, s->e) ||
	    add_entries(&s->all, n, CONFIG, s->e) ||
	    add_leases(&s->all, n, s->e) ||
	    subnet_pick(range, wanted, is_taken, s, a.address, s->e) ||
	    subnet_mac(s->l->home->instance, a.address, a.mac, s->e))
		return -1;
	missing = (LIVE | CONFIG) & ~find_entry(&s->all, &a);
	if (missing && update(n, VIR_NETWORK_UPDATE_COMMAND_ADD_LAST, missing,
			      &a, &why)) {
		if (virGetLastErrorCode() == VIR_ERR_OPERATION_INVALID)
			return 1;
		if (s->e)
			*s->e = why;
		return -1;
	}
	*ret = a;
	return 0;
}

int bl_reserve(struct backend *b, const char *wanted,
	       bool (*taken)(void *ctx, const char *address), void *ctx,
	       struct machine_address *ret, struct err *e)
{
	struct backend_libvirt *l = bl_of(b);
	struct search s = {.l = l, .taken = taken, .ctx = ctx, .e = e};
	auto_conn c = bl_connect(l, e);
	struct bl_network info;
	auto_network n = NULL;
	int rc = -1;

	if (!c)
		return -1;
	pthread_mutex_lock(&l->network_lock);
	n = ensure(c, &info, e);
	for (int i = 0; n && i < RESERVE_TRIES; i++) {
		rc = try_reserve(&s, n, &info.range, wanted, ret);
		if (rc != 1)
			break;
	}
	pthread_mutex_unlock(&l->network_lock);
	free(s.all.list);
	if (rc == 1)
		return err_set(e, ERR_UNAVAILABLE,
			       "each address of libvirt's network " BL_NETWORK
			       " that looked free was taken meanwhile: try "
			       "again");
	return rc;
}

static int release(struct backend_libvirt *l, virNetworkPtr n, const char *mac,
		   struct err *e)
{
	unsigned places = virNetworkIsActive(n) == 1 ? LIVE | CONFIG : CONFIG;
	struct holders all = {NULL, 0};
	char ours[SUBNET_MAC_SIZE];
	int rc = 0;

	if ((places & LIVE && add_entries(&all, n, LIVE, e)) ||
	    add_entries(&all, n, CONFIG, e))
		rc = -1;
	for (size_t i = 0; rc == 0 && i < all.count; i++) {
		const struct holder *h = &all.list[i];
		struct machine_address a;

		if (strcasecmp(h->mac, mac) != 0 ||
		    subnet_mac(l->home->instance, h->address, ours, NULL) ||
		    strcasecmp(h->mac, ours) != 0)
			continue;
		memcpy(a.mac, h->mac, sizeof(a.mac));
		memcpy(a.address, h->address, sizeof(a.address));
		rc = update(n, VIR_NETWORK_UPDATE_COMMAND_DELETE, h->where, &a,
			    e);
	}
	free(all.list);
	return rc;
}

int bl_release(struct backend_libvirt *l, virConnectPtr c, const char *mac,
	       struct err *e)
{
	auto_network n = NULL;
	int rc = 0;

	pthread_mutex_lock(&l->network_lock);
	n = virNetworkLookupByName(c, BL_NETWORK);
	if (n)
		rc = release(l, n, mac, e);
	pthread_mutex_unlock(&l->network_lock);
	return rc;
}

void bl_network_doctor(virConnectPtr c, backend_say *say, void *ctx)
{
	auto_network n = virNetworkLookupByName(c, BL_NETWORK);
	autofree char *text = NULL;
	struct bl_network info;
	struct err e = {0};

	if (!n || virNetworkIsActive(n) != 1) {
		text = alloc_printf("libvirt's network " BL_NETWORK
				    " is %s: boxery init",
				    n ? "not active" : "not there");
		say(ctx, "network", false, text);
		return;
	}
	if (read_network(n, &info, &e)) {
		say(ctx, "network", false, err_msg(&e));
		return;
	}
	text = alloc_printf("libvirt's " BL_NETWORK ", NAT, the host is %s",
			    info.gateway);
	say(ctx, "network", true, text);
}
