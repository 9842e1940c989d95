/*
 * guest_dial.h - an ssh connection up to the end of the key exchange, before
 * which nothing is known of who answers, and nothing sent
 *
 * guest_session.c goes on from there when the key is the pinned one;
 * guest_probe.c stops there.
 *
 * Shapes:  dial (a socket that is connecting), then guest_dial_ssh() once it
 *          is writable, then guest_dial_step() whenever it is readable. `name`
 *          is the machine's, for messages.
 * Errors:  ERR_UNAVAILABLE not answering, ERR_STATE no address, ERR_DENIED
 *          "Host key verification failed" when it offers no ed25519 key.
 * Threads: a libssh session stays on the thread that made it.
 * Source:  RFC 4253; libssh 0.10.
 */
#ifndef VMCTL_GUEST_DIAL_H
#define VMCTL_GUEST_DIAL_H

#include "base/err.h"

struct ssh_session_struct;

/* The fd, non-blocking, or -1. */
int guest_dial(const char *name, const char *address, unsigned port,
	       struct err *e) __attribute__((warn_unused_result));
/* Takes the fd when it succeeds. */
struct ssh_session_struct *guest_dial_ssh(const char *name, const char *user,
					  int fd, struct err *e);
/* 1: the keys are exchanged; 0: not yet; -1. */
int guest_dial_step(const char *name, struct ssh_session_struct *ssh,
		    struct err *e) __attribute__((warn_unused_result));
/* The base64 of the ed25519 key that it proved to have (free()), or NULL. */
char *guest_dial_key(struct ssh_session_struct *ssh);

#endif
