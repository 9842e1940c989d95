/*
 * ready.h - waiting until a machine that was started can be worked with
 *
 * A DHCP lease or an open port is not readiness: ready means that ssh answered
 * with the pinned key, and for a desktop image that the X socket is there.
 *
 * Shapes:  progress goes to the call ("booting: 12 s").
 * Errors:  ERR_TIMEOUT, ERR_STATE when the machine crashed or went off
 *          meanwhile, ERR_DENIED for a wrong key; the guest's last words on
 *          its console are in the message.
 * Threads: the call's.
 */
#ifndef VMCTL_READY_H
#define VMCTL_READY_H

#include "base/deadline.h"
#include "base/err.h"
#include "vmctl/call.h"
#include "vmctl/machines.h"
#include "vmctl/registry.h"

int ready_wait(struct call *c, struct machine *m, const struct vm_record *v,
	       struct deadline d, struct err *e)
	__attribute__((warn_unused_result));
/* The same, and a machine without a pin gets one through its guest agent on the
 * way. For who has it locked. */
int ready_wait_pinning(struct call *c, struct machine *m,
		       const struct vm_record *v, struct deadline d,
		       struct err *e) __attribute__((warn_unused_result));

#endif
