/*
 * pin.h - the host key that a machine is known by, learnt anew
 *
 * new pins the key that it makes, so this is for machines whose pin was lost,
 * or whose guest got another key. Two ways: the guest agent, which nobody but
 * the machine itself can answer through; and whoever answers at the machine's
 * address, which only a person may choose.
 *
 * Shapes:  the machine is locked by the caller (machine_lock). Where the key
 *          changes, sessions and desktop of the old one are dropped.
 * Errors:  ERR_UNAVAILABLE when nobody answers; ERR_STATE when the agent
 *          refuses; ERR_PROTOCOL, ERR_INVALID, ERR_LIMIT for an answer that is
 *          no key. What was pinned stays then.
 * Threads: the call's.
 */
#ifndef VMCTL_PIN_H
#define VMCTL_PIN_H

#include "base/deadline.h"
#include "base/err.h"
#include "vmctl/hostkey.h"
#include "vmctl/machines.h"

#include <stdbool.h>

struct vm_record;

struct pin_change {
	char now[HOSTKEY_FINGERPRINT_SIZE];
	char before[HOSTKEY_FINGERPRINT_SIZE]; /* "": there was none */
};

/* Is there nothing on record? A record that cannot be read is not nothing. */
bool pin_is_missing(struct service *s, const char *name);
int pin_through_agent(struct service *s, struct machine *m, struct deadline d,
		      struct pin_change *ret, struct err *e)
	__attribute__((warn_unused_result));
/* Trust on first use. cancel_fd -1: none. */
int pin_from_guest(struct service *s, struct machine *m,
		   const struct vm_record *v, int cancel_fd,
		   struct pin_change *ret, struct err *e)
	__attribute__((warn_unused_result));

#endif
