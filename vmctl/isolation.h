/*
 * isolation.h - is a machine held back from what it must not reach?
 *
 * Theory: the filter is libvirt's to apply, so nothing is believed of it. What
 * libvirt says of a running machine's port (its definition, what was applied,
 * the filter's own definition) is held against our record, and the host's packet
 * filter, where we can read it, against what the filter must have become. A
 * machine whose port is found wrong for the same reason several times in a row
 * loses its power; one look is not enough, for libvirt rebuilds chains when it
 * is reloaded. A filter that is not ours any more (of another version of
 * boxery, or edited) is defined anew first.
 *
 * Shapes:  records are borrowed.
 * Errors:  ERR_STATE naming the chain: it is off now. Others: it could not be
 *          found out.
 * Threads: any; blocks for a second or two, so never a guest's thread.
 */
#ifndef VMCTL_ISOLATION_H
#define VMCTL_ISOLATION_H

#include "base/err.h"
#include "vmctl/netread.h"
#include "vmctl/registry.h"
#include "vmctl/service.h"

#include <stdbool.h>

enum isolation {
	ISOLATION_IDLE,	      /* it does not run */
	ISOLATION_ON,
	ISOLATION_UNVERIFIED, /* as far as libvirt says */
	ISOLATION_OFF,	      /* the person's wish */
	ISOLATION_LATER,      /* off until it is booted again */
	ISOLATION_WRONG,
};

/* BOXERY_NET_ISOLATION of host.env; on when it is not there. */
int isolation_wanted(const struct home *h, bool *ret, struct err *e)
	__attribute__((warn_unused_result));

/* The host's packet filter as it is at one moment, for several looks. */
struct isolation_chains {
	bool readable;
	struct netread r;
	struct err why; /* not readable */
};
void isolation_read(struct isolation_chains *ret);
void isolation_chains_finish(struct isolation_chains *c);

struct isolation_look {
	enum isolation is;
	int id;		/* of this boot, for backend's cut() */
	bool other_filter; /* libvirt's of that name is not ours */
	struct err why; /* of ISOLATION_WRONG, ISOLATION_UNVERIFIED */
};
/* One look. chains: read before; NULL: only what libvirt says is asked. */
int isolation_look(struct service *s, const struct vm_record *v,
		   const struct isolation_chains *chains,
		   struct isolation_look *ret, struct err *e)
	__attribute__((warn_unused_result));
/* Looks, as often as it needs to be sure; what is wrong then is powered off,
 * recorded, audited, and is the error. */
int isolation_enforce(struct service *s, const char *name, struct err *e)
	__attribute__((warn_unused_result));

/* ERR_STATE with the reason when that is how v's machine came to be off. */
int isolation_check_stopped(const struct vm_record *v, struct err *e)
	__attribute__((warn_unused_result));

/* In words, for a person: "on", "off", "not verified", … */
const char *isolation_text(enum isolation is);

#endif
