/*
 * hostkey.h - a machine's two ed25519 keys: its own (host key), and the one
 * that we log in with (client key)
 *
 * Shapes:  config/host-keys/NAME holds the public host key, one line
 *          "ssh-ed25519 AAAA… COMMENT": the pin. config/keys/NAME is the
 *          private client key (0600), NAME.pub its public half. The private
 *          host key exists in memory until the seed is written, and then only
 *          in the seed.
 * Errors:  ERR_NOT_FOUND when a machine has no pin; ERR_INVALID for a line
 *          that is not one key.
 * Threads: no shared state; one creator and remover of a name at a time.
 * Source:  sshd(8) "SSH_KNOWN_HOSTS FILE FORMAT"; RFC 8709 section 4 for the
 *          key's bytes.
 */
#ifndef VMCTL_HOSTKEY_H
#define VMCTL_HOSTKEY_H

#include "base/err.h"
#include "base/home.h"
#include "base/secret.h"

#include <stdbool.h>

struct hostkey {
	struct secret *host_private; /* OpenSSH key file */
	char *host_public;	     /* its line */
	char *client_public;
};

/* Fresh keys for NAME, replacing any that were left behind. */
int hostkey_create(const struct home *h, const char *name,
		   struct hostkey *ret, struct err *e)
	__attribute__((warn_unused_result));
void hostkey_finish(struct hostkey *k);
/* The pinned line, checked, without newline (free()). */
int hostkey_read(const struct home *h, const char *name, char **ret_line,
		 struct err *e) __attribute__((warn_unused_result));
char *hostkey_client_path(const struct home *h, const char *name); /* free() */
/* Pin and client key; those that are not there are fine. */
int hostkey_remove(const struct home *h, const char *name, struct err *e)
	__attribute__((warn_unused_result));
/* Is it one line "ssh-ed25519 BASE64[ COMMENT]" of printable characters, and
 * the base64 that of an ed25519 key? */
int hostkey_check_line(const char *line, struct err *e)
	__attribute__((warn_unused_result));
/* Make it NAME's pin, whole or not at all. Of the line only the key is kept:
 * its comment is the guest's. */
int hostkey_pin(const struct home *h, const char *name, const char *line,
		struct err *e) __attribute__((warn_unused_result));
/* "SHA256:…", as ssh-keygen -l shows it. */
#define HOSTKEY_FINGERPRINT_SIZE 51
int hostkey_fingerprint(const char *line,
			char ret[HOSTKEY_FINGERPRINT_SIZE], struct err *e)
	__attribute__((warn_unused_result));
/* Have two lines the same key? */
bool hostkey_same(const char *a, const char *b);

#endif
