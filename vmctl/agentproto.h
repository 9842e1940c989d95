/*
 * agentproto.h - the ssh agent protocol, as much of it as a guest may speak
 *
 * A guest may list keys and have things signed. Everything else, which is
 * adding, removing, locking and every extension, is answered with a failure
 * here and never reaches the agent.
 *
 * Shapes:  a message is u32 length (of what follows), u8 type, the rest.
 *          Strings are u32 length and bytes, all big endian. Pointers that are
 *          returned lead into the message.
 * Units:   bytes; AGENTPROTO_LEN is a message's cap, that of OpenSSH's agent.
 * Errors:  ERR_PROTOCOL for what is no message; its sender is cut off.
 * Threads: no state.
 * Source:  draft-ietf-sshm-ssh-agent-03, sections 3 and 5.
 */
#ifndef VMCTL_AGENTPROTO_H
#define VMCTL_AGENTPROTO_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AGENTPROTO_LEN ((size_t)256 * 1024)

struct buf;

enum agentproto_what {
	AGENTPROTO_LIST,
	AGENTPROTO_SIGN,  /* key is set */
	AGENTPROTO_OTHER, /* to be refused */
};

struct agentproto_request {
	enum agentproto_what what;
	const uint8_t *key; /* the public key's blob */
	size_t key_len;
};

/* The length of the first message of p, 0: not whole yet, -1. */
int agentproto_frame(const uint8_t *p, size_t len, size_t *ret_len,
		     struct err *e) __attribute__((warn_unused_result));
/* A whole message. */
int agentproto_parse(const uint8_t *p, size_t len,
		     struct agentproto_request *ret, struct err *e)
	__attribute__((warn_unused_result));
/* The answer to what is refused. */
int agentproto_failure(struct buf *out, struct err *e)
	__attribute__((warn_unused_result));

/* Which keys a guest may know of: lines of public keys, as ssh-add -L prints
 * them. NULL text: all. */
bool agentproto_allows(const char *text, const uint8_t *key, size_t key_len);
/* The agent's answer to a list, without the keys that are not allowed. */
int agentproto_filter(const uint8_t *p, size_t len, const char *text,
		      struct buf *out, struct err *e)
	__attribute__((warn_unused_result));

#endif
