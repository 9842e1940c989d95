/*
 * guest_probe.h - which key does it have that answers at an address?
 *
 * The key exchange and nothing more: no user's name, no login, no farewell.
 * Whoever answers is taken at its word, so only a person may ask for this.
 *
 * Shapes:  *ret_line is "ssh-ed25519 BASE64" (free()).
 * Errors:  as guest_dial.h; ERR_TIMEOUT, ERR_CANCELLED, ERR_PROTOCOL for one
 *          that talks without end.
 * Threads: the caller's, which it blocks.
 */
#ifndef VMCTL_GUEST_PROBE_H
#define VMCTL_GUEST_PROBE_H

#include "base/deadline.h"
#include "base/err.h"

struct guest_probe {
	const char *name; /* the VM's, for messages */
	const char *address;
	unsigned port;
	int cancel_fd; /* -1: none */
};
int guest_probe_key(const struct guest_probe *p, struct deadline d,
		    char **ret_line, struct err *e)
	__attribute__((warn_unused_result));

#endif
