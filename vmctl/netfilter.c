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

#include "base/alloc.h"
#include "base/cleanup.h"
#include "vmctl/nettable.h"

#include <stdlib.h>
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
	const char *dport_end; /* of a range that begins with dport */
	const char *states;
};

#define NAT (1U << NET_NAT)
#define NONE (1U << NET_NONE)
#define BOTH (NAT | NONE)
#define GUEST "$IP"
#define GATEWAY "$GATEWAY"
#define NEW "NEW,ESTABLISHED"

/*
 * What the host's ssh may be answered at. Link-layer rules cannot tell an
 * answer from a packet that opens a connection, so the tracked ones do, and
 * these ports alone get so far: Linux' own choice for who connects, and no
 * place for a service. Else HI-DEV alone would stand before the host's
 * services, and nothing before a port that the host passes on to another
 * machine: a container's is changed before HI-DEV, and so never seen there.
 */
#define ANSWER_FIRST "32768"
#define ANSWER_LAST "65535"
#define ANSWERS ANSWER_FIRST ":" ANSWER_LAST

/* private, shared, loopback, link-local (cloud metadata): what a host's other
 * networks and its other guests use; multicast */
#define RANGES(make)                                                       \
	make("0.0.0.0/8"), make("10.0.0.0/8"), make("100.64.0.0/10"),      \
		make("127.0.0.0/8"), make("169.254.0.0/16"),               \
		make("172.16.0.0/12"), make("192.168.0.0/16"),             \
		make("224.0.0.0/3")
#define DROP_TO(range) {NAT, FROM, DROP, IP4, .dst = (range)}
#define DROP_FROM(range) {NAT, TO, DROP, IP4, .src = (range)}
/* all that no row before has settled */
#define REST(modes, side, action, level) \
	{modes, side, action, level, .other = false}

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
	 .sport = "22", .dport = ANSWER_FIRST, .dport_end = ANSWER_LAST},
	DROP_TO(GATEWAY), /* it may lie elsewhere */
	RANGES(DROP_TO),
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
	/* a path's MTU, from any router: private ones it cannot answer */
	{NAT, TO, ACCEPT, IP4, .protocol = "icmp"},
	{NAT, TO, DROP, IP4, .dst = "224.0.0.0/3"},
	DROP_FROM(GATEWAY),
	RANGES(DROP_FROM),
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
	/* for the bridge's address once, which the host has changed */
	{NAT, FROM, DROP, TRACKED, .protocol = "tcp", .sport = "22"},
	{NAT, FROM, ACCEPT, TRACKED, .states = "NEW,RELATED,ESTABLISHED"},
	{NONE, FROM, ACCEPT, TRACKED, .dst = "255.255.255.255",
	 .protocol = "udp", .sport = "68", .dport = "67", .states = NEW},
	REST(BOTH, TO, DROP, TRACKED),
};

/* -- names ----------------------------------------------------------------- */

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

int netfilter_check_host(const char *text, struct err *e)
{
	char *end;
	unsigned long first = strtoul(text, &end, 10);

	if (end == text)
		return err_set(e, ERR_PROTOCOL,
			       "net.ipv4.ip_local_port_range says nothing");
	if (first >= strtoul(ANSWER_FIRST, NULL, 10))
		return 0;
	return err_set(e, ERR_STATE,
		       "this host connects from ports from %lu on, and a VM's "
		       "filter lets its ssh answer from " ANSWER_FIRST " on: "
		       "sudo sysctl -w net.ipv4.ip_local_port_range="
		       "'" ANSWER_FIRST " 60999'",
		       first);
}

/* -- the filter ------------------------------------------------------------ */

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
	    add_attr(out, "dstportend", r->dport_end, e) ||
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

/* -- the lines it must become ---------------------------------------------- */

#define LINES_CAP ((size_t)64 * 1024)

static int add_option(struct buf *out, const char *option, const char *value,
		      struct err *e)
{
	return value ? buf_printf(out, e, "%s %s ", option, value) : 0;
}

static int add_target(struct buf *out, const struct row *r, const char *accept,
		      struct err *e)
{
	return buf_printf(out, e, "-j %s\n",
			  r->action == ACCEPT ? accept : "DROP");
}

static int add_ports(struct buf *out, const struct row *r, struct err *e)
{
	if (!r->dport_end)
		return add_option(out, "--ip-dport", r->dport, e);
	return buf_printf(out, e, "--ip-dport %s:%s ", r->dport, r->dport_end);
}

static int add_link_line(const struct row *r, struct buf *out, struct err *e)
{
	const char *not = r->other ? "! " : "";

	if (r->level == FRAME) {
		if (r->mac && buf_printf(out, e, "-s %s%s ", not, r->mac))
			return -1;
	} else if (r->level == ARP) {
		if (buf_printf(out, e, "-p ARP --arp-ip-src %s ", r->src) ||
		    add_option(out, "--arp-mac-src", r->mac, e))
			return -1;
	} else if (buf_add_str(out, "-p IPv4 ", e) ||
		   (r->src &&
		    buf_printf(out, e, "--ip-src %s%s ", not, r->src)) ||
		   add_option(out, "--ip-dst", r->dst, e) ||
		   add_option(out, "--ip-proto", r->protocol, e) ||
		   add_option(out, "--ip-sport", r->sport, e) ||
		   add_ports(out, r, e)) {
		return -1;
	}
	return add_target(out, r, "ACCEPT", e);
}

/* side: whose packets the chain sees. */
static int add_tracked_line(const struct row *r, enum side side,
			    struct buf *out, struct err *e)
{
	bool swapped = r->side != side;
	const char *src = swapped ? r->dst : r->src;
	const char *dst = swapped ? r->src : r->dst;

	if (swapped && r->action == ACCEPT)
		return 0;
	if ((src && buf_printf(out, e, "-s %s/32 ", src)) ||
	    (dst && buf_printf(out, e, "-d %s/32 ", dst)) ||
	    (r->protocol && buf_printf(out, e, "-p %s -m %s ", r->protocol,
				       r->protocol)) ||
	    add_option(out, swapped ? "--dport" : "--sport", r->sport, e) ||
	    add_option(out, swapped ? "--sport" : "--dport", r->dport, e) ||
	    (r->states && buf_printf(out, e, "-m conntrack --ctstate %s ",
				     r->states)))
		return -1;
	return add_target(out, r, side == FROM ? "RETURN" : "ACCEPT", e);
}

/* With the port's values in place of their names. */
static int expand(const char *text, const struct netfilter_port *p,
		  struct buf *out, struct err *e)
{
	const struct {
		const char *name, *value;
	} names_of[] = {
		{"$MAC", p->mac},	 {"$IP", p->address},
		{"$GATEWAY", p->gateway}, {"$BRIDGE", p->bridge},
		{"$DEV", p->dev},
	};

	while (*text) {
		size_t len = strcspn(text, "$"), i = 0;

		if (buf_add(out, text, len, e))
			return -1;
		text += len;
		if (!*text)
			break;
		while (i < ARRAY_COUNT(names_of) &&
		       strncmp(text, names_of[i].name,
			       strlen(names_of[i].name)) != 0)
			i++;
		if (i == ARRAY_COUNT(names_of))
			return err_set(e, ERR_INTERNAL, "no value of %s", text);
		if (buf_add_str(out, names_of[i].value, e))
			return -1;
		text += strlen(names_of[i].name);
	}
	return 0;
}

static char *expanded(const char *text, const struct netfilter_port *p,
		      struct err *e)
{
	struct buf out;
	char *ret = NULL;

	buf_init(&out, LINES_CAP);
	if (expand(text, p, &out, e) == 0)
		ret = buf_take(&out);
	buf_finish(&out);
	return ret;
}

/* -- the check ------------------------------------------------------------- */

struct chain {
	bool link; /* ebtables' */
	enum side side;
	const char *name;
};

static int write_lines(const struct chain *c, enum net_mode mode,
		       struct buf *out, struct err *e)
{
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		const struct row *r = &rows[i];
		bool link = r->level != TRACKED;

		if (!(r->modes & 1U << mode) || link != c->link ||
		    (link && r->side != c->side))
			continue;
		if (link ? add_link_line(r, out, e)
			 : add_tracked_line(r, c->side, out, e))
			return -1;
	}
	return 0;
}

static int check_chain(const struct chain *c, const struct netfilter_port *p,
		       const struct nettable *t, struct err *e)
{
	autofree char *name = expanded(c->name, p, e);
	autofree char *lines = NULL;
	struct buf out;

	buf_init(&out, LINES_CAP);
	if (name && write_lines(c, p->mode, &out, e) == 0)
		lines = expanded(out.data, p, e);
	buf_finish(&out);
	return lines ? nettable_expect(t, name, lines, e) : -1;
}

static int check_chains(const struct netfilter_port *p,
			const struct nettable *nat,
			const struct nettable *filter, struct err *e)
{
	static const struct chain chains[] = {
		{true, FROM, "libvirt-I-$DEV"}, {true, TO, "libvirt-O-$DEV"},
		{false, FROM, "HI-$DEV"},	{false, TO, "FO-$DEV"},
		{false, FROM, "FI-$DEV"},
	};

	for (size_t i = 0; i < ARRAY_COUNT(chains); i++) {
		if (check_chain(&chains[i], p, chains[i].link ? nat : filter,
				e))
			return -1;
	}
	return 0;
}

/*
 * The way to the chains. ANY: wherever it stands, for FI-DEV has nothing to
 * add to libvirt-I-DEV.
 */
enum packets {
	ANY,
	FRAME_FROM,
	FRAME_TO,
	FOR_HOST,
	FROM_NEIGHBOUR, /* with a public address, */
	AS_GATEWAY, /* or the bridge's: of others libvirt-O-DEV lets only pings in */
	ROUTED_TO,
};
#define TO_NEIGHBOUR \
	"-m physdev --physdev-out $DEV --physdev-is-bridged -g FO-$DEV"
static const struct hook {
	unsigned modes;
	enum packets packets;
	const char *chain, *rule;
} hooks[] = {
	{BOTH, FRAME_FROM, "PREROUTING", "-i $DEV -j libvirt-I-$DEV"},
	{BOTH, FRAME_TO, "POSTROUTING", "-o $DEV -j libvirt-O-$DEV"},
	{BOTH, FOR_HOST, "INPUT", "-j libvirt-host-in"},
	{BOTH, FOR_HOST, "libvirt-host-in",
	 "-m physdev --physdev-in $DEV -g HI-$DEV"},
	{NAT, FROM_NEIGHBOUR, "FORWARD", "-j libvirt-out"},
	{NAT, FROM_NEIGHBOUR, "libvirt-out", TO_NEIGHBOUR},
	{BOTH, AS_GATEWAY, "FORWARD", "-j libvirt-out"},
	{BOTH, AS_GATEWAY, "libvirt-out", TO_NEIGHBOUR},
	{BOTH, ANY, "FORWARD", "-j libvirt-in"},
	{BOTH, ANY, "libvirt-in", "-m physdev --physdev-in $DEV -g FI-$DEV"},
	/* libvirt's own, of a network with NAT: answers only */
	{NAT, ROUTED_TO, "FORWARD", "-j LIBVIRT_FWI"},
	{NAT, ROUTED_TO, "LIBVIRT_FWI",
	 "-o $BRIDGE -j REJECT --reject-with icmp-port-unreachable"},
};

static bool is_link(const struct hook *h)
{
	return h->packets == FRAME_FROM || h->packets == FRAME_TO;
}

static struct nettable_packet packet(enum packets what,
				     const struct netfilter_port *p)
{
	static const char *const ranges[] = {RANGES(), NULL};

	switch (what) {
	case FRAME_FROM:
		return (struct nettable_packet){.in = p->dev,
						.bridge = p->bridge};
	case FRAME_TO:
		return (struct nettable_packet){.out = p->dev,
						.bridge = p->bridge};
	case FOR_HOST:
		/* All else is settled in libvirt-I-DEV. So LIBVIRT_INP, which
		 * accepts DNS and DHCP, may come first, as it does when
		 * libvirt's networks start last; and so may the rules of the
		 * host's owner for services of lower ports. */
		return (struct nettable_packet){.in = p->bridge,
						.out = "",
						.port_in = p->dev,
						.port_out = "",
						.src = p->address,
						.dst = p->gateway,
						.protocol = "tcp",
						.sports = "22",
						.dports = ANSWERS};
	case FROM_NEIGHBOUR:
	case AS_GATEWAY:
		return (struct nettable_packet){
			.in = p->bridge,
			.out = p->bridge,
			.port_out = p->dev,
			.src = what == AS_GATEWAY ? p->gateway : NULL,
			.not_src = ranges,
			.dst = p->address};
	case ROUTED_TO:
	case ANY: break;
	}
	/* from another bridge or uplink: rules that name those, or private
	 * sources, say what the host's owner lets out of them */
	return (struct nettable_packet){.in = "",
					.out = p->bridge,
					.port_in = "",
					.port_out = "",
					.not_src = ranges,
					.dst = p->address};
}

static int check_hooks(const struct netfilter_port *p,
		       const struct nettable *nat,
		       const struct nettable *filter, struct err *e)
{
	for (size_t i = 0; i < ARRAY_COUNT(hooks); i++) {
		const struct nettable_packet k = packet(hooks[i].packets, p);
		autofree char *rule = NULL;

		if (!(hooks[i].modes & 1U << p->mode))
			continue;
		rule = expanded(hooks[i].rule, p, e);
		if (!rule ||
		    nettable_reaches(is_link(&hooks[i]) ? nat : filter,
				     hooks[i].packets == ANY ? NULL : &k,
				     hooks[i].chain, rule, e))
			return -1;
	}
	return 0;
}

int netfilter_check(const struct netfilter_port *p,
		    const struct netfilter_applied *a, struct err *e)
{
	struct nettable nat, filter;

	if (nettable_parse(a->ebtables, "nat", &nat, e) ||
	    nettable_parse(a->iptables, "filter", &filter, e) ||
	    check_chains(p, &nat, &filter, e) ||
	    check_hooks(p, &nat, &filter, e))
		return -1;
	if (!a->bridge_calls_iptables)
		return err_set(e, ERR_STATE,
			       "the host's packet filter does not see bridged "
			       "packets, so chain HI-%s is idle: sudo sysctl "
			       "-w net.bridge.bridge-nf-call-iptables=1",
			       p->dev);
	if (!a->port_forwards_all)
		return err_set(e, ERR_STATE,
			       "frames of %s for 01:80:c2:00:00:0x pass by chain "
			       "libvirt-I-%s: sudo ip link set %s type "
			       "bridge_slave group_fwd_mask 0xfffd",
			       p->dev, p->dev, p->dev);
	return 0;
}
