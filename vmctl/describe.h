/*
 * describe.h - a machine in words, for ls and info
 *
 * Shapes:  new JSON objects, the caller's.
 * Threads: any; asks libvirt and, for info, the host's packet filter.
 */
#ifndef VMCTL_DESCRIBE_H
#define VMCTL_DESCRIBE_H

#include "vmctl/backend.h"
#include "vmctl/registry.h"
#include "vmctl/service.h"

#include <jansson.h>

/* The phase, until it is made; then what the hypervisor says. */
const char *describe_state(enum vm_phase phase, enum machine_state state);
/* ls: one row. isolation is there only when it is not on. */
json_t *describe_row(struct service *s, const struct vm_record *v,
		     enum machine_state state);
/* info: all that is known. */
json_t *describe_vm(struct service *s, const struct vm_record *v,
		    enum machine_state state);

#endif
