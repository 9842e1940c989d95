/*
 * agentfwd.h - a person's ssh agent, lent to one guest while that is granted
 *
 * A command in the guest holds an ssh session of its own on which agent
 * forwarding was asked for: the guest's sshd makes the socket (0600), and opens
 * a stream to us for each program that connects to it. Every message is looked
 * at (agentproto.h) before it goes to the person's agent, each signature is
 * taken from the grant's uses, and when the struct is freed the session is cut.
 *
 * Shapes:  one thread each; it connects again when the session was lost, for
 *          as long as it lives.
 * Errors:  what is wrong is told by agentfwd_state().
 * Threads: any; agentfwd_free() joins its thread, which never waits long.
 * Source:  OpenSSH's PROTOCOL, auth-agent@openssh.com.
 */
#ifndef VMCTL_AGENTFWD_H
#define VMCTL_AGENTFWD_H

#include "base/err.h"

#include <stdbool.h>

struct agentfwd;
struct service;

/* Is it a socket of this user's own? */
int agentfwd_check_socket(const char *path, struct err *e)
	__attribute__((warn_unused_result));
struct agentfwd *agentfwd_new(struct service *s, const char *vm,
			      const char *socket, const char *grant_id)
	__attribute__((returns_nonnull));
void agentfwd_free(struct agentfwd *f); /* NULL is fine */
bool agentfwd_is_for(const struct agentfwd *f, const char *socket,
		     const char *grant_id);
/* Connect now, should it be waiting. */
void agentfwd_retry(struct agentfwd *f);
/* Is it there in the guest? Else why not; free(). */
bool agentfwd_state(struct agentfwd *f, char **ret_why);

#endif
