/*
 * nettable.h - reads a table of the host's packet filter as ebtables-save and
 * iptables-save print it, and answers what it does with a kind of packets
 *
 * Shapes:  struct nettable borrows the text. A rule is what stands behind its
 *          chain's name: "-i vnet0 -j DROP". In a struct nettable_packet NULL
 *          means any, and "" none (of a packet that leaves by no interface,
 *          or came by none that a rule would name).
 * Errors:  ERR_PROTOCOL for a line that is not understood; ERR_STATE for no
 *          such table, and else naming the chain and the rule.
 * Threads: pure.
 * Source:  ebtables(8), iptables(8), iptables-extensions(8).
 */
#ifndef VMCTL_NETTABLE_H
#define VMCTL_NETTABLE_H

#include "base/err.h"

struct nettable {
	const char *rules; /* behind the table's name */
	const char *name;
};

/* Every line is understood: "*NAME", then chains, rules, remarks. */
int nettable_parse(const char *text, const char *name, struct nettable *ret,
		   struct err *e) __attribute__((warn_unused_result));

/* The chain holds these rules, one a line, in this order, and no others. */
int nettable_expect(const struct nettable *t, const char *chain,
		    const char *lines, struct err *e)
	__attribute__((warn_unused_result));

/* The first packet of a connection, or one of none. */
struct nettable_packet {
	const char *in, *out;	      /* interfaces; in ebtables a port */
	const char *port_in, *port_out; /* ports of a bridge */
	const char *bridge;
	const char *src, *dst; /* IPv4 addresses */
	const char *const *not_src; /* src NULL: in none of these ranges */
	const char *protocol;
	const char *sports, *dports; /* "22", "1024:65535" */
};

/*
 * Such packets come to this rule of the chain: it is there, and no rule
 * before it may let one pass, or take it past the rule. Rules that drop are
 * somebody else's right. Packets NULL: it is there.
 */
int nettable_reaches(const struct nettable *t, const struct nettable_packet *p,
		     const char *chain, const char *rule, struct err *e)
	__attribute__((warn_unused_result));

#endif
