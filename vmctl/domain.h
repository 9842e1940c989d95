/*
 * domain.h - the XML that libvirt is given: machines and their network
 *
 * Shapes:  pure text functions. What goes in is borrowed and escaped; what
 *          libvirt says is searched with domain_find_attr(), which knows
 *          libvirt's own output (single quotes, one tag per element) and no
 *          other XML.
 * Units:   bytes.
 * Errors:  ERR_INVALID for text that XML cannot carry (control characters).
 * Threads: no shared state.
 * Source:  libvirt.org/formatdomain.html, formatnetwork.html (9.0).
 */
#ifndef VMCTL_DOMAIN_H
#define VMCTL_DOMAIN_H

#include "base/buf.h"
#include "base/err.h"
#include "vmctl/backend.h"

#include <stdbool.h>
#include <stddef.h>

/* Room for "boxery-", an instance and a machine's name. */
#define DOMAIN_NAME_SIZE 160

/* "boxery-INSTANCE-NAME" */
void domain_name(char ret[DOMAIN_NAME_SIZE], const char *instance,
		 const char *name);
/* The machine's name within it, or NULL when it is not of this instance. */
const char *domain_name_parse(const char *full, const char *instance);

struct domain_host {
	const char *instance;
	const char *network; /* libvirt's name of it */
	const char *gateway; /* the host's address on it */
	const char *loader;  /* UEFI firmware, when the machine wants UEFI */
	bool kvm;
};
int domain_xml(const struct machine_spec *s, const struct domain_host *h,
	       struct buf *out, struct err *e)
	__attribute__((warn_unused_result));

struct domain_network {
	const char *name;
	const char *gateway;	  /* the host's address */
	const char *first, *last; /* DHCP range */
};
/* A NAT network of a /24, as libvirt's own `default` is. */
int domain_network_xml(const struct domain_network *n, struct buf *out,
		       struct err *e) __attribute__((warn_unused_result));
/* The DHCP entry that gives a machine its address. */
int domain_lease_xml(const char *mac, const char *address, struct buf *out,
		     struct err *e) __attribute__((warn_unused_result));

/*
 * Copy the value of attr in the first tag that starts with `tag` ("<ip ")
 * at or after `from`. false when there is none or it does not fit.
 */
bool domain_find_attr(const char *from, const char *tag, const char *attr,
		      char *ret, size_t size);

#endif
