/*
 * One table of what a guest may send and be sent. Each row knows how to be
 * written twice: as a rule of libvirt's XML, and as the lines that
 * ebtables-save and iptables-save then show for the guest's port. libvirt
 * (virNWFilter's ebiptables driver) translates so:
 *
 *   FRAME, ARP, IP4  FROM a guest: a rule of chain libvirt-I-DEV, which the
 *                    nat table's PREROUTING jumps to for frames that enter by
 *                    DEV; TO it: of libvirt-O-DEV, from POSTROUTING. The
 *                    first rule that matches decides.
 *   TRACKED          in three chains. FI-DEV: forwarded packets from the
 *                    guest; HI-DEV: packets from it for the host; FO-DEV:
 *                    bridged packets to it. A drop stands in all three, with
 *                    the sides swapped in the ones of the other direction;
 *                    an accept that names its states only in its own.
 *
 * Rows are written with one state list each: without, libvirt would add an
 * accept for the answers to FO-DEV, open to a neighbour who forges them.
 *
 * Which chain does the work: what a guest may send is settled in
 * libvirt-I-DEV, but for "an answer to the host's ssh" (HI-DEV). What it may
 * be sent by its neighbours on the bridge: FO-DEV; by others: libvirt-O-DEV,
 * and LIBVIRT_FWI of libvirt's network, which lets only answers in.
 */
#include "vmctl/netfilter.h"

#include "base/cleanup.h"

#include <string.h>

enum side { FROM, TO };
enum level { FRAME, ARP, IP4, TRACKED };
enum action { DROP, ACCEPT };

struct row {
	unsigned modes;
	enum side side;
	enum action action;
	enum level level;
	bool other; /* any source but this one */
	const char *mac, *src, *dst;
	const char *protocol;
	const char *sport, *dport;
	const char *states;
};

#define NAT (1U << NET_NAT)
#define NONE (1U << NET_NONE)
#define BOTH (NAT | NONE)
#define GUEST "$IP"
#define GATEWAY "$GATEWAY"
#define NEW "NEW,ESTABLISHED"

/* private, shared, loopback, link-local (cloud metadata): what a host's other
 * networks and its other guests use */
#define DROP_TO(range)                               \
	{                                            \
		NAT, FROM, DROP, IP4, .dst = (range) \
	}
#define DROP_FROM(range)                           \
	{                                          \
		NAT, TO, DROP, IP4, .src = (range) \
	}

/* all that no row before has settled */
#define REST(modes, side, action, level)                   \
	{                                                  \
		modes, side, action, level, .other = false \
	}

static const struct row rows[] = {
	{BOTH, FROM, DROP, FRAME, .other = true, .mac = "$MAC"},
	{BOTH, FROM, ACCEPT, ARP, .mac = "$MAC", .src = GUEST},
	{BOTH, FROM, ACCEPT, IP4, .src = "0.0.0.0", .dst = "255.255.255.255",
	 .protocol = "udp", .sport = "68", .dport = "67"},
	{BOTH, FROM, DROP, IP4, .other = true, .src = GUEST},
	{BOTH, FROM, ACCEPT, IP4, .dst = GATEWAY, .protocol = "udp",
	 .dport = "67"},
	{NAT, FROM, ACCEPT, IP4, .dst = GATEWAY, .protocol = "udp",
	 .dport = "53"},
	{NAT, FROM, ACCEPT, IP4, .dst = GATEWAY, .protocol = "tcp",
	 .dport = "53"},
	{BOTH, FROM, ACCEPT, IP4, .dst = GATEWAY, .protocol = "tcp",
	 .sport = "22"},
	DROP_TO(GATEWAY), /* it may lie elsewhere */
	DROP_TO("0.0.0.0/8"),
	DROP_TO("10.0.0.0/8"),
	DROP_TO("100.64.0.0/10"),
	DROP_TO("127.0.0.0/8"),
	DROP_TO("169.254.0.0/16"),
	DROP_TO("172.16.0.0/12"),
	DROP_TO("192.168.0.0/16"),
	DROP_TO("224.0.0.0/3"),
	REST(NAT, FROM, ACCEPT, IP4),
	REST(BOTH, FROM, DROP, FRAME), /* IPv6, VLANs, RARP, … */

	{BOTH, TO, ACCEPT, ARP, .src = GATEWAY},
	{BOTH, TO, ACCEPT, IP4, .src = GATEWAY, .protocol = "udp",
	 .sport = "67", .dport = "68"},
	{NAT, TO, ACCEPT, IP4, .src = GATEWAY, .protocol = "udp",
	 .sport = "53"},
	{NAT, TO, ACCEPT, IP4, .src = GATEWAY, .protocol = "tcp",
	 .sport = "53"},
	{BOTH, TO, ACCEPT, IP4, .src = GATEWAY, .protocol = "tcp",
	 .dport = "22"},
	/* a path's MTU, from any router: the guest cannot answer private ones
	 */
	{NAT, TO, ACCEPT, IP4, .protocol = "icmp"},
	{NAT, TO, DROP, IP4, .dst = "224.0.0.0/3"},
	DROP_FROM(GATEWAY),
	DROP_FROM("0.0.0.0/8"),
	DROP_FROM("10.0.0.0/8"),
	DROP_FROM("100.64.0.0/10"),
	DROP_FROM("127.0.0.0/8"),
	DROP_FROM("169.254.0.0/16"),
	DROP_FROM("172.16.0.0/12"),
	DROP_FROM("192.168.0.0/16"),
	DROP_FROM("224.0.0.0/3"),
	REST(NAT, TO, ACCEPT, IP4),
	REST(BOTH, TO, DROP, FRAME),

	{BOTH, FROM, ACCEPT, TRACKED, .dst = GATEWAY, .protocol = "tcp",
	 .sport = "22", .states = "ESTABLISHED"},
	{BOTH, FROM, ACCEPT, TRACKED, .dst = GATEWAY, .protocol = "udp",
	 .dport = "67", .states = NEW},
	{NAT, FROM, ACCEPT, TRACKED, .dst = GATEWAY, .protocol = "udp",
	 .dport = "53", .states = NEW},
	{NAT, FROM, ACCEPT, TRACKED, .dst = GATEWAY, .protocol = "tcp",
	 .dport = "53", .states = NEW},
	{NAT, FROM, DROP, TRACKED, .dst = GATEWAY},
	{NAT, FROM, ACCEPT, TRACKED, .states = "NEW,RELATED,ESTABLISHED"},
	{NONE, FROM, ACCEPT, TRACKED, .dst = "255.255.255.255",
	 .protocol = "udp", .sport = "68", .dport = "67", .states = NEW},
	REST(BOTH, TO, DROP, TRACKED),
};

/* -- names -------------------------------------------------------------------
 */

static const struct {
	const char *mode, *filter;
} names[] = {
	[NET_NAT] = {"nat", "boxery-guest-isolation"},
	[NET_NONE] = {"none", "boxery-guest-none"},
};

const char *net_mode_name(enum net_mode m)
{
	return names[m].mode;
}

bool net_mode_parse(const char *name, enum net_mode *ret)
{
	for (unsigned i = 0; i < ARRAY_COUNT(names); i++) {
		if (strcmp(names[i].mode, name) == 0) {
			*ret = (enum net_mode)i;
			return true;
		}
	}
	return false;
}

const char *netfilter_name(enum net_mode m)
{
	return names[m].filter;
}

/* -- the filter --------------------------------------------------------------
 */

static int add_attr(struct buf *out, const char *name, const char *value,
		    struct err *e)
{
	return value ? buf_printf(out, e, " %s='%s'", name, value) : 0;
}

/* "10.0.0.0/8": libvirt wants address and mask apart. */
static int add_address(struct buf *out, const char *side, const char *address,
		       struct err *e)
{
	size_t len;

	if (!address)
		return 0;
	len = strcspn(address, "/");
	if (buf_printf(out, e, " %sipaddr='%.*s'", side, (int)len, address))
		return -1;
	return address[len] ? buf_printf(out, e, " %sipmask='%s'", side,
					 address + len + 1)
			    : 0;
}

static const char *element(const struct row *r)
{
	switch (r->level) {
	case FRAME:
		return "mac";
	case ARP:
		return "arp";
	case IP4:
		return "ip";
	case TRACKED:
		break;
	}
	return r->protocol ? r->protocol : "all";
}

static int add_match(const struct row *r, struct buf *out, struct err *e)
{
	bool arp = r->level == ARP;

	if (buf_printf(out, e, "<%s%s", element(r),
		       r->other ? " match='no'" : "") ||
	    add_attr(out, arp ? "arpsrcmacaddr" : "srcmacaddr", r->mac, e) ||
	    add_address(out, arp ? "arpsrc" : "src", r->src, e) ||
	    add_address(out, "dst", r->dst, e))
		return -1;
	if (r->level == IP4 && add_attr(out, "protocol", r->protocol, e))
		return -1;
	if (add_attr(out, "srcportstart", r->sport, e) ||
	    add_attr(out, "dstportstart", r->dport, e) ||
	    add_attr(out, "state", r->states, e))
		return -1;
	return buf_add_str(out, "/>", e);
}

/* Each rule has a priority of its own: libvirt keeps the order of no others. */
#define PRIORITY_LINK (-900)
#define PRIORITY_TRACKED 100

int netfilter_xml(enum net_mode m, const char *uuid, struct buf *out,
		  struct err *e)
{
	if (buf_printf(out, e, "<filter name='%s' chain='root'>\n",
		       netfilter_name(m)) ||
	    (uuid && buf_printf(out, e, "  <uuid>%s</uuid>\n", uuid)))
		return -1;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		const struct row *r = &rows[i];
		int priority = (int)i + (r->level == TRACKED ? PRIORITY_TRACKED
							     : PRIORITY_LINK);

		if (!(r->modes & 1U << m))
			continue;
		if (buf_printf(out, e,
			       "  <rule action='%s' direction='%s' "
			       "priority='%d'>",
			       r->action == ACCEPT ? "accept" : "drop",
			       r->side == FROM ? "out" : "in", priority) ||
		    add_match(r, out, e) || buf_add_str(out, "</rule>\n", e))
			return -1;
	}
	return buf_add_str(out, "</filter>\n", e);
}
