/*
 * The texts are what a host showed (libvirt 9.0 on Debian 12) that has two of
 * our guests, one of somebody else's with clean-traffic, and a Docker that was
 * started last, so that its rules stand first. Each case tampers with one
 * place of them.
 */
#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/path.h"
#include "vmctl/netfilter.h"
#include "vmctl/netread.h"

#include <stdio.h>
#include <string.h>

#define CAPTURE "tests/fuzz/corpus/netread/containers"

static const struct netfilter_port nat = {NET_NAT,
					  "vnet0",
					  "52:54:00:aa:bb:01",
					  "192.168.122.50",
					  "192.168.122.1",
					  "virbr0"};
static const struct netfilter_port none = {NET_NONE,
					   "vnet2",
					   "52:54:00:aa:bb:03",
					   "192.168.122.52",
					   "192.168.122.1",
					   "virbr0"};

static void load(struct netread *ret)
{
	autofree char *text = NULL;
	struct err e = {0};
	size_t len;

	assert_ok(path_read_file(CAPTURE, 1 << 20, &text, &len, &e), &e);
	assert_ok(netread_parse(text, len, ret, &e), &e);
}

/* Its first `from` becomes `to`. */
static void edit(char **text, const char *from, const char *to)
{
	char *at = strstr(*text, from), *edited;

	if (!at)
		fail_msg("the capture has no \"%s\"", from);
	edited = alloc_printf("%.*s%s%s", (int)(at - *text), *text, to,
			      at + strlen(from));
	free(*text);
	*text = edited;
}

static int check(const struct netfilter_port *p, const struct netread *r,
		 struct err *e)
{
	const struct netfilter_applied a = {r->ebtables, r->iptables, true,
					    true};

	return netfilter_check(p, &a, e);
}

/* B02: both modes as libvirt applies them, on a busy host. B24, B25: the whole
 * policy is these nwfilters, which libvirt applies; no host firewall is ours. */
static void accepts_what_libvirt_applies(void **state)
{
	struct netread r;
	struct err e = {0};

	(void)state;
	load(&r);
	assert_ok(check(&nat, &r, &e), &e);
	assert_ok(check(&none, &r, &e), &e);
	netread_finish(&r);
}

/* -- somebody tampered ----------------------------------------------------- */

enum where { EB, IP };
struct tamper {
	enum where where;
	const char *from, *to;
	const char *says;
};

static void refuses(const struct netfilter_port *p, const struct tamper *t,
		    size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct netread r;
		struct err e = {0};

		load(&r);
		edit(t[i].where == EB ? &r.ebtables : &r.iptables, t[i].from,
		     t[i].to);
		assert_fails(check(p, &r, &e), &e, ERR_STATE, t[i].says);
		netread_finish(&r);
	}
}

/* Every rule of the guest's chains, were it missing. */
static void refuses_each_missing_rule(void **state)
{
	static const struct tamper cases[] = {
		/* B10 */
		{EB, "-A libvirt-I-vnet0 -s ! 52:54:00:aa:bb:01 -j DROP\n", "",
		 "libvirt-I-vnet0 of the host's packet filter: rule 1"},
		/* B12 */
		{EB,
		 "-A libvirt-I-vnet0 -p ARP --arp-ip-src 192.168.122.50 "
		 "--arp-mac-src 52:54:00:aa:bb:01 -j ACCEPT\n",
		 "", "libvirt-I-vnet0 of the host's packet filter: rule 2"},
		/* B11 */
		{EB,
		 "-A libvirt-I-vnet0 -p IPv4 --ip-src ! 192.168.122.50 -j "
		 "DROP\n",
		 "", "libvirt-I-vnet0 of the host's packet filter: rule 4"},
		/* B13 */
		{EB, "-A libvirt-I-vnet0 -p IPv4 --ip-dst 192.168.122.1 -j DROP\n",
		 "", "libvirt-I-vnet0 of the host's packet filter: rule 9"},
		/* B15 to B22 */
		{EB, "-A libvirt-I-vnet0 -p IPv4 --ip-dst 0.0.0.0/8 -j DROP\n",
		 "", "must be \"-p IPv4 --ip-dst 0.0.0.0/8 -j DROP\""},
		{EB, "-A libvirt-I-vnet0 -p IPv4 --ip-dst 10.0.0.0/8 -j DROP\n",
		 "", "must be \"-p IPv4 --ip-dst 10.0.0.0/8 -j DROP\""},
		{EB,
		 "-A libvirt-I-vnet0 -p IPv4 --ip-dst 100.64.0.0/10 -j DROP\n",
		 "", "must be \"-p IPv4 --ip-dst 100.64.0.0/10 -j DROP\""},
		{EB, "-A libvirt-I-vnet0 -p IPv4 --ip-dst 127.0.0.0/8 -j DROP\n",
		 "", "must be \"-p IPv4 --ip-dst 127.0.0.0/8 -j DROP\""},
		{EB,
		 "-A libvirt-I-vnet0 -p IPv4 --ip-dst 169.254.0.0/16 -j DROP\n",
		 "", "must be \"-p IPv4 --ip-dst 169.254.0.0/16 -j DROP\""},
		{EB,
		 "-A libvirt-I-vnet0 -p IPv4 --ip-dst 172.16.0.0/12 -j DROP\n",
		 "", "must be \"-p IPv4 --ip-dst 172.16.0.0/12 -j DROP\""},
		{EB,
		 "-A libvirt-I-vnet0 -p IPv4 --ip-dst 192.168.0.0/16 -j DROP\n",
		 "", "must be \"-p IPv4 --ip-dst 192.168.0.0/16 -j DROP\""},
		{EB, "-A libvirt-I-vnet0 -p IPv4 --ip-dst 224.0.0.0/3 -j DROP\n",
		 "", "must be \"-p IPv4 --ip-dst 224.0.0.0/3 -j DROP\""},
		/* B23: the last one drops all that is not IPv4 */
		{EB, "-A libvirt-I-vnet0 -j DROP\n", "",
		 "libvirt-I-vnet0 of the host's packet filter lacks rule 19"},
		{EB, "-A libvirt-O-vnet0 -j DROP\n", "",
		 "libvirt-O-vnet0 of the host's packet filter lacks rule 18"},
		/* B14 */
		{EB,
		 "-A libvirt-O-vnet0 -p IPv4 --ip-src 192.168.0.0/16 -j DROP\n",
		 "", "must be \"-p IPv4 --ip-src 192.168.0.0/16 -j DROP\""},
		{IP, "-A FO-vnet0 -j DROP\n", "",
		 "FO-vnet0 of the host's packet filter lacks rule 3"},
		{IP, "-A HI-vnet0 -d 192.168.122.1/32 -j DROP\n", "",
		 "HI-vnet0 of the host's packet filter: rule 5"},
		{IP, "-A FI-vnet0 -d 192.168.122.1/32 -j DROP\n", "",
		 "FI-vnet0 of the host's packet filter: rule 5"},
		/* A10: for a port that the host passes on */
		{IP, "-A FI-vnet0 -p tcp -m tcp --sport 22 -j DROP\n", "",
		 "FI-vnet0 of the host's packet filter: rule 6"},
		{EB, "--ip-sport 22 --ip-dport 32768:65535 -j ACCEPT",
		 "--ip-sport 22 -j ACCEPT",
		 "libvirt-I-vnet0 of the host's packet filter: rule 8"},
	};

	(void)state;
	refuses(&nat, cases, ARRAY_COUNT(cases));
}

static void refuses_other_rules(void **state)
{
	static const struct tamper cases[] = {
		/* B11: another address's filter */
		{EB, "--ip-src ! 192.168.122.50", "--ip-src ! 192.168.122.77",
		 "rule 4 must be \"-p IPv4 --ip-src ! 192.168.122.50 -j DROP\", "
		 "but is \"-p IPv4 --ip-src ! 192.168.122.77 -j DROP\""},
		{EB, "-s ! 52:54:00:aa:bb:01", "-s ! 52:54:00:aa:bb:0f",
		 "rule 1"},
		/* one more */
		{EB, "-A libvirt-I-vnet0 -s !",
		 "-A libvirt-I-vnet0 -j ACCEPT\n-A libvirt-I-vnet0 -s !",
		 "but is \"-j ACCEPT\""},
		{IP, "-A HI-vnet0 -j DROP\n",
		 "-A HI-vnet0 -j DROP\n-A HI-vnet0 -j ACCEPT\n",
		 "rule 9 is not ours: \"-j ACCEPT\""},
		{EB,
		 "-A libvirt-O-vnet0 -p ARP --arp-ip-src 192.168.122.1 -j "
		 "ACCEPT",
		 "-A libvirt-O-vnet0 -p ARP -j ACCEPT",
		 "libvirt-O-vnet0 of the host's packet filter: rule 1"},
		/* the order */
		{EB,
		 "-A libvirt-I-vnet0 -p IPv4 --ip-dst 224.0.0.0/3 -j DROP\n"
		 "-A libvirt-I-vnet0 -p IPv4 -j ACCEPT\n",
		 "-A libvirt-I-vnet0 -p IPv4 -j ACCEPT\n"
		 "-A libvirt-I-vnet0 -p IPv4 --ip-dst 224.0.0.0/3 -j DROP\n",
		 "rule 17"},
		/* an answer only */
		{IP,
		 "-A HI-vnet0 -d 192.168.122.1/32 -p tcp -m tcp --sport 22 -m "
		 "conntrack --ctstate ESTABLISHED",
		 "-A HI-vnet0 -d 192.168.122.1/32 -p tcp -m tcp --sport 22 -m "
		 "conntrack --ctstate NEW,ESTABLISHED",
		 "HI-vnet0 of the host's packet filter: rule 1"},
	};

	(void)state;
	refuses(&nat, cases, ARRAY_COUNT(cases));
}

static void refuses_what_stands_before(void **state)
{
	static const struct tamper cases[] = {
		{EB, "-A PREROUTING -i vnet0 -j libvirt-I-vnet0\n", "",
		 "PREROUTING of the host's packet filter lacks \"-i vnet0"},
		{EB, "-A POSTROUTING -o vnet0 -j libvirt-O-vnet0\n", "",
		 "POSTROUTING of the host's packet filter lacks \"-o vnet0"},
		{EB, "-A PREROUTING -i vnet0", "-A PREROUTING -i vnet00",
		 "PREROUTING of the host's packet filter lacks"},
		{EB, "-A PREROUTING -i vnet0",
		 "-A PREROUTING -j ACCEPT\n-A PREROUTING -i vnet0",
		 "PREROUTING of the host's packet filter: rule 1, \"-j ACCEPT\""},
		{EB, "-A PREROUTING -i vnet0",
		 "-A PREROUTING -i vnet+ -j ACCEPT\n-A PREROUTING -i vnet0",
		 "\"-i vnet+ -j ACCEPT\""},
		{EB, "-A PREROUTING -i vnet0",
		 "-A PREROUTING ! -i eth0 -j ACCEPT\n-A PREROUTING -i vnet0",
		 "\"! -i eth0 -j ACCEPT\""},
		{EB, "-A PREROUTING -i vnet0",
		 "-A PREROUTING -i ! eth0 -j ACCEPT\n-A PREROUTING -i vnet0",
		 "\"-i ! eth0 -j ACCEPT\""},
		{EB, "-A PREROUTING -i vnet0",
		 "-A PREROUTING --logical-in virbr0 -j ACCEPT\n"
		 "-A PREROUTING -i vnet0",
		 "logical-in"},
		{EB, "-A POSTROUTING -o vnet0",
		 "-A POSTROUTING -p ARP -j RETURN\n-A POSTROUTING -o vnet0",
		 "POSTROUTING of the host's packet filter: rule 1"},
		{EB, "-A PREROUTING -i vnet0",
		 "-A PREROUTING -j mark --mark-set 1 --mark-target ACCEPT\n"
		 "-A PREROUTING -i vnet0",
		 "-j mark"},
		/* INPUT */
		{IP, "-A INPUT -j libvirt-host-in\n", "",
		 "INPUT of the host's packet filter"},
		{IP, "-A INPUT -j libvirt-host-in",
		 "-A INPUT -p tcp -m tcp --dport 40000 -j ACCEPT\n"
		 "-A INPUT -j libvirt-host-in",
		 "INPUT of the host's packet filter: rule 1"},
		{IP, "-A INPUT -j libvirt-host-in",
		 "-A INPUT -p tcp -m tcp --dport 1024: -j ACCEPT\n"
		 "-A INPUT -j libvirt-host-in",
		 "--dport 1024:"},
		{IP, "-A INPUT -j libvirt-host-in",
		 "-A INPUT -p tcp -m tcp ! --dport 22 -j ACCEPT\n"
		 "-A INPUT -j libvirt-host-in",
		 "! --dport 22"},
		{IP, "-A INPUT -j libvirt-host-in",
		 "-A INPUT -p tcp -m tcp --sport 22 -j ACCEPT\n"
		 "-A INPUT -j libvirt-host-in",
		 "--sport 22"},
		{IP, "-A INPUT -j libvirt-host-in",
		 "-A INPUT -p tcp -m multiport --dports 22,80,32760:32768 -j "
		 "ACCEPT\n-A INPUT -j libvirt-host-in",
		 "--dports 22"},
		/* not understood */
		{IP, "-A INPUT -j libvirt-host-in",
		 "-A INPUT -p tcp -m tcp --dport ssh -j ACCEPT\n"
		 "-A INPUT -j libvirt-host-in",
		 "--dport ssh"},
		{IP, "-A INPUT -j libvirt-host-in",
		 "-A INPUT -p tcp -m multiport --dports 22,,80 -j ACCEPT\n"
		 "-A INPUT -j libvirt-host-in",
		 "--dports 22,,80"},
		{IP, "-A INPUT -j libvirt-host-in",
		 "-A INPUT -s 192.168.122.0/24 -j ACCEPT\n"
		 "-A INPUT -j libvirt-host-in",
		 "INPUT of the host's packet filter: rule 1"},
		{IP, "-A INPUT -j libvirt-host-in",
		 "-A INPUT -i virbr0 -g DOCKER-USER\n"
		 "-A INPUT -j libvirt-host-in",
		 "INPUT of the host's packet filter: rule 1"},
		{IP, "-A INPUT -j libvirt-host-in",
		 "-A INPUT -j NFQUEUE --queue-num 1\n"
		 "-A INPUT -j libvirt-host-in",
		 "NFQUEUE"},
		{IP, "-A INPUT -j libvirt-host-in",
		 "-A INPUT -m conntrack ! --ctstate INVALID -j ACCEPT\n"
		 "-A INPUT -j libvirt-host-in",
		 "! --ctstate INVALID"},
		{IP,
		 "-A libvirt-host-in -m physdev --physdev-in vnet0 -g "
		 "HI-vnet0\n",
		 "", "libvirt-host-in of the host's packet filter lacks"},
		{IP, "-A libvirt-host-in -m physdev --physdev-in vnet0",
		 "-A libvirt-host-in -j RETURN\n"
		 "-A libvirt-host-in -m physdev --physdev-in vnet0",
		 "libvirt-host-in of the host's packet filter: rule 1"},
		/* FORWARD */
		{IP, "-A FORWARD -j libvirt-out\n", "",
		 "FORWARD of the host's packet filter: rule 8, \"-j "
		 "libvirt-in-post\""},
		{IP, "-A FORWARD -j libvirt-in\n", "",
		 "FORWARD of the host's packet filter lacks \"-j libvirt-in\""},
		{IP,
		 "-A libvirt-in -m physdev --physdev-in vnet0 -g FI-vnet0\n", "",
		 "libvirt-in of the host's packet filter lacks"},
		{IP, "-A FORWARD -j DOCKER-USER",
		 "-A FORWARD -j ACCEPT\n-A FORWARD -j DOCKER-USER",
		 "FORWARD of the host's packet filter: rule 1"},
		{IP, "-A DOCKER-USER -j RETURN",
		 "-A DOCKER-USER -i virbr0 -j ACCEPT",
		 "rule 1, \"-j DOCKER-USER\", may let packets past"},
		{IP, "-A FORWARD -j DOCKER-USER",
		 "-A FORWARD -s 192.168.122.0/24 -j ACCEPT\n"
		 "-A FORWARD -j DOCKER-USER",
		 "-s 192.168.122.0/24"},
		{IP, "-A FORWARD -j DOCKER-USER",
		 "-A FORWARD -s 10.0.0.0/7 -j ACCEPT\n"
		 "-A FORWARD -j DOCKER-USER",
		 "-s 10.0.0.0/7"},
		{IP, "-A FORWARD -j DOCKER-USER",
		 "-A FORWARD ! -s 10.88.0.0/16 -j ACCEPT\n"
		 "-A FORWARD -j DOCKER-USER",
		 "! -s 10.88.0.0/16"},
		{IP, "-A FORWARD -j DOCKER-USER",
		 "-A FORWARD -s 8.8.8.0/24 -j ACCEPT\n"
		 "-A FORWARD -j DOCKER-USER",
		 "-s 8.8.8.0/24"},
		{IP, "-A FORWARD -j DOCKER-USER",
		 "-A FORWARD -j LIBVIRT_FWX\n-A FORWARD -j DOCKER-USER",
		 "rule 1, \"-j LIBVIRT_FWX\""},
		{IP, "-A FORWARD -j DOCKER-USER",
		 "-A FORWARD -m mark --mark 0x0 -j ACCEPT\n"
		 "-A FORWARD -j DOCKER-USER",
		 "--mark 0x0"},
		{IP, "-A FORWARD -j DOCKER-USER",
		 "-A FORWARD -m mark ! --mark 0x4/0xff -j ACCEPT\n"
		 "-A FORWARD -j DOCKER-USER",
		 "! --mark 0x4"},
		{IP, "-A FORWARD -j DOCKER-USER",
		 "-A FORWARD -m mark --mark 0x0/0xff0000 -j ACCEPT\n"
		 "-A FORWARD -j DOCKER-USER",
		 "--mark 0x0/"},
		/* B14: answers only */
		{IP, "-A FORWARD -j LIBVIRT_FWI\n", "",
		 "FORWARD of the host's packet filter lacks \"-j LIBVIRT_FWI\""},
		{IP, "-A LIBVIRT_FWI -o virbr0 -j REJECT", "-A LIBVIRT_FWI -j X",
		 "LIBVIRT_FWI"},
		{IP,
		 "-o virbr0 -m conntrack --ctstate RELATED,ESTABLISHED -j "
		 "ACCEPT",
		 "-o virbr0 -j ACCEPT",
		 "LIBVIRT_FWI of the host's packet filter: rule 1"},
	};

	(void)state;
	refuses(&nat, cases, ARRAY_COUNT(cases));
}

/* A host's owner may have rules: these let nothing of the guest pass. */
static void accepts_what_is_no_way_past(void **state)
{
	static const struct tamper cases[] = {
		/* libvirt's networks started behind its filters */
		{IP,
		 "-A INPUT -j libvirt-host-in\n-A INPUT -j LIBVIRT_INP\n",
		 "-A INPUT -j LIBVIRT_INP\n-A INPUT -j libvirt-host-in\n",
		 NULL},
		/* services of the host, which no answer is for */
		{IP, "-A INPUT -j libvirt-host-in",
		 "-A INPUT -p tcp -m tcp --dport 22 -j ACCEPT\n"
		 "-A INPUT -p tcp -m multiport --dports 80,443,:21 -j ACCEPT\n"
		 "-A INPUT -p tcp -m tcp --dport 8000:8100 -j ACCEPT\n"
		 "-A INPUT -p tcp -m tcp --sport 53 -j ACCEPT\n"
		 "-A INPUT -p tcp -m tcp ! --dport 1024:65535 -j ACCEPT\n"
		 "-A INPUT -j libvirt-host-in",
		 NULL},
		/* as a VPN puts them first, in chains of its own */
		{IP, "-A FORWARD -j DOCKER-USER",
		 "-A FORWARD -i tailscale0 -j MARK --set-xmark "
		 "0x40000/0xff0000\n"
		 "-A FORWARD -m mark --mark 0x40000/0xff0000 -j ACCEPT\n"
		 "-A FORWARD -s 100.64.0.0/10 -o tailscale0 -j DROP\n"
		 "-A FORWARD -o tailscale0 -j ACCEPT\n"
		 "-A FORWARD -j DOCKER-USER",
		 NULL},
		{EB, "-A PREROUTING -i vnet0",
		 "-A PREROUTING -i eth0 -j ACCEPT\n-A PREROUTING -i vnet0",
		 NULL},
		{EB, "-A PREROUTING -i vnet0",
		 "-A PREROUTING --logical-in br0 -j ACCEPT\n"
		 "-A PREROUTING -p IPv6 -j DROP\n"
		 "-A PREROUTING --log-level notice --log-prefix \"-j\" -j "
		 "CONTINUE\n-A PREROUTING -i vnet0",
		 NULL},
		{IP, "-A INPUT -j libvirt-host-in",
		 "-A INPUT -i lo -j ACCEPT\n"
		 "-A INPUT ! -i virbr+ -j ACCEPT\n"
		 "-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j "
		 "ACCEPT\n"
		 "-A INPUT -m state --state ESTABLISHED -j ACCEPT\n"
		 "-A INPUT -p icmp -j ACCEPT\n"
		 "-A INPUT -d 224.0.0.251/32 -p udp -m udp --dport 5353 -j "
		 "ACCEPT\n"
		 "-A INPUT -s 10.0.0.0/8 -p tcp -m tcp --dport 22 -j ACCEPT\n"
		 "-A INPUT ! -s 192.168.122.0/24 -j ACCEPT\n"
		 "-A INPUT -i virbr0 -j DROP\n"
		 "-A INPUT -m comment --comment \"-j ACCEPT\"\n"
		 "-A INPUT -j DOCKER-USER\n"
		 "-A INPUT -j libvirt-host-in",
		 NULL},
		/* Podman, a cluster's network: private sources pass by FO-DEV,
		 * and not libvirt-O-DEV */
		{IP, "-A FORWARD -j DOCKER-USER",
		 "-A FORWARD -s 10.88.0.0/16 -j ACCEPT\n"
		 "-A FORWARD -s 10.244.3.7/32 -j ACCEPT\n"
		 "-A FORWARD -s 172.16.0.0/12 -j ACCEPT\n"
		 "-A FORWARD -j DOCKER-USER",
		 NULL},
		/* Docker 28 */
		{IP, "-A FORWARD -j DOCKER-USER",
		 "-A FORWARD -i docker0 -j ACCEPT\n-A FORWARD -j DOCKER-USER",
		 NULL},
		/* what comes behind */
		{IP, "-A FORWARD -j LIBVIRT_FWO",
		 "-A FORWARD -j LIBVIRT_FWO\n-A FORWARD -j ACCEPT", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct netread r;
		struct err e = {0};

		load(&r);
		edit(cases[i].where == EB ? &r.ebtables : &r.iptables,
		     cases[i].from, cases[i].to);
		assert_ok(check(&nat, &r, &e), &e);
		netread_finish(&r);
	}
}

/* A machine without the internet has its own filter and no other. */
static void tells_modes_apart(void **state)
{
	struct netfilter_port p = nat;
	struct netread r;
	struct err e = {0};

	(void)state;
	load(&r);
	p.mode = NET_NONE;
	assert_fails(check(&p, &r, &e), &e, ERR_STATE,
		     "chain libvirt-I-vnet0 of the host's packet filter: rule "
		     "6");
	p = none;
	p.mode = NET_NAT;
	assert_fails(check(&p, &r, &e), &e, ERR_STATE, "libvirt-I-vnet2");
	/* a port that has no filter, and one of somebody else's */
	p = nat;
	p.dev = "vnet7";
	assert_fails(check(&p, &r, &e), &e, ERR_STATE,
		     "chain libvirt-I-vnet7 of the host's packet filter lacks "
		     "rule 1");
	p.dev = "vnet1";
	assert_fails(check(&p, &r, &e), &e, ERR_STATE, "libvirt-I-vnet1");
	netread_finish(&r);
}

static void none_needs_no_nat(void **state)
{
	struct netread r;
	struct err e = {0};

	(void)state;
	load(&r);
	edit(&r.iptables, "-A FORWARD -j LIBVIRT_FWI\n", "");
	assert_ok(check(&none, &r, &e), &e);
	edit(&r.iptables, "-A libvirt-out -m physdev --physdev-out vnet2",
	     "-A libvirt-out -m physdev --physdev-out vnet9");
	assert_fails(check(&none, &r, &e), &e, ERR_STATE,
		     "libvirt-out of the host's packet filter lacks");
	netread_finish(&r);
}

static void wants_bridged_packets_seen(void **state)
{
	struct netfilter_applied a = {0};
	struct netread r;
	struct err e = {0};

	(void)state;
	load(&r);
	a.ebtables = r.ebtables;
	a.iptables = r.iptables;
	assert_fails(netfilter_check(&nat, &a, &e), &e, ERR_STATE,
		     "sudo sysctl -w net.bridge.bridge-nf-call-iptables=1");
	netread_finish(&r);
}

/* A10, B23: what else lets IPv4 and IPv6 pass by the chains. */
static void wants_reserved_frames_forwarded(void **state)
{
	struct netfilter_applied a = {.bridge_calls_iptables = true};
	struct netread r;
	struct err e = {0};

	(void)state;
	load(&r);
	a.ebtables = r.ebtables;
	a.iptables = r.iptables;
	assert_fails(netfilter_check(&nat, &a, &e), &e, ERR_STATE,
		     "pass by chain libvirt-I-vnet");
	netread_finish(&r);
}

/* No table is no filter; of what is not understood nothing is known. */
static void wants_whole_tables(void **state)
{
	static const struct {
		const char *ebtables, *iptables, *says;
	} cases[] = {
		{"", "*filter\n", "has no table nat"},
		{"# nothing\n\n", "*filter\n", "has no table nat"},
		{"*nat\n", "", "has no table filter"},
		{"*nat\n", "*nat\n", "table filter: line 1"},
		{"*nat\n*nat\n", "*filter\n", "table nat: line 2"},
		{"*nat\n-A\n", "*filter\n", "table nat: line 2"},
		{"*nat\n-A PREROUTING\n", "*filter\n", "table nat: line 2"},
		{"*nat\n-A  -j X\n", "*filter\n", "table nat: line 2"},
		{"*nat\n[0:0] -A a -j b\n", "*filter\n", "\"[0:0] -A a"},
		{":a\n*nat\n", "*filter\n", "table nat: line 1"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		const struct netfilter_applied a = {cases[i].ebtables,
						    cases[i].iptables, true, true};
		struct err e = {0};

		assert_fails(netfilter_check(&nat, &a, &e), &e,
			     strstr(cases[i].says, "has no table")
				     ? ERR_STATE
				     : ERR_PROTOCOL,
			     cases[i].says);
	}
}

/* ssh from the host, with the ports that it takes by itself. */
static void fits_the_host(void **state)
{
	static const struct {
		const char *text;
		enum err_code code;
	} cases[] = {
		{"32768\t60999\n", 0},	   {"40000 50000\n", 0},
		{"1024\t65535\n", ERR_STATE}, {"32767\t60999\n", ERR_STATE},
		{"", ERR_PROTOCOL},	   {"\n", ERR_PROTOCOL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct err e = {0};
		int rc = netfilter_check_host(cases[i].text, &e);

		assert_int_equal(rc, cases[i].code ? -1 : 0);
		assert_int_equal(e.code, cases[i].code);
	}
}

/* -- the filters' definitions ---------------------------------------------- */

static unsigned count(const char *text, const char *word)
{
	unsigned n = 0;

	for (; (text = strstr(text, word)); text++)
		n++;
	return n;
}

static void defines_filters(void **state)
{
	struct buf xml;
	struct err e = {0};
	enum net_mode m;

	(void)state;
	assert_true(net_mode_parse("none", &m));
	assert_int_equal(m, NET_NONE);
	assert_true(net_mode_parse("nat", &m));
	assert_int_equal(m, NET_NAT);
	assert_false(net_mode_parse("bridge", &m));
	assert_string_equal(net_mode_name(NET_NONE), "none");
	for (m = NET_NAT; m <= NET_NONE; m++) {
		buf_init(&xml, 64 << 10);
		assert_ok(netfilter_xml(m, "11111111-2222-3333-4444-"
					   "555555555555", &xml, &e), &e);
		assert_non_null(strstr(xml.data, netfilter_name(m)));
		assert_non_null(strstr(xml.data, "<uuid>11111111-2222"));
		/* what came through no rule is dropped, both ways */
		assert_int_equal(count(xml.data, "><mac/></rule>"), 2);
		/* no two rules have one priority */
		for (int p = -1000; p <= 1000; p++) {
			char text[32];

			snprintf(text, sizeof(text), "priority='%d'", p);
			assert_true(count(xml.data, text) <= 1);
		}
		buf_finish(&xml);
	}
	buf_init(&xml, 100);
	assert_fails(netfilter_xml(NET_NAT, NULL, &xml, &e), &e, ERR_LIMIT,
		     "");
	buf_finish(&xml);
}

/* B15 to B22: nothing between is forgotten. */
static void defines_ranges(void **state)
{
	static const char *const ranges[] = {
		"<ip dstipaddr='0.0.0.0' dstipmask='8'/>",
		"<ip dstipaddr='10.0.0.0' dstipmask='8'/>",
		"<ip dstipaddr='100.64.0.0' dstipmask='10'/>",
		"<ip dstipaddr='127.0.0.0' dstipmask='8'/>",
		"<ip dstipaddr='169.254.0.0' dstipmask='16'/>",
		"<ip dstipaddr='172.16.0.0' dstipmask='12'/>",
		"<ip dstipaddr='192.168.0.0' dstipmask='16'/>",
		"<ip dstipaddr='224.0.0.0' dstipmask='3'/>",
	};
	struct buf xml;
	struct err e = {0};

	(void)state;
	buf_init(&xml, 64 << 10);
	assert_ok(netfilter_xml(NET_NAT, NULL, &xml, &e), &e);
	assert_null(strstr(xml.data, "<uuid>"));
	for (size_t i = 0; i < ARRAY_COUNT(ranges); i++)
		assert_non_null(strstr(xml.data, ranges[i]));
	buf_finish(&xml);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(accepts_what_libvirt_applies),
	cmocka_unit_test(refuses_each_missing_rule),
	cmocka_unit_test(refuses_other_rules),
	cmocka_unit_test(refuses_what_stands_before),
	cmocka_unit_test(accepts_what_is_no_way_past),
	cmocka_unit_test(tells_modes_apart),
	cmocka_unit_test(none_needs_no_nat),
	cmocka_unit_test(wants_bridged_packets_seen),
	cmocka_unit_test(wants_reserved_frames_forwarded),
	cmocka_unit_test(wants_whole_tables),
	cmocka_unit_test(fits_the_host),
	cmocka_unit_test(defines_filters),
	cmocka_unit_test(defines_ranges),
};

UNIT_MAIN(tests)
