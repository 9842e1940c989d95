/*
 * invocation.h - what a boxery-mcp was started for
 *
 * Shapes:  struct invocation owns its strings. The copy root is a real path, or
 *          NULL with the sentence that a refused copy is answered with.
 * Errors:  ERR_INVALID for a bad command line, in words for stderr.
 * Threads: read-only after invocation_parse().
 */
#ifndef MCP_INVOCATION_H
#define MCP_INVOCATION_H

#include "base/err.h"

#include <stdbool.h>

struct invocation {
	bool help, version;
	bool no_start; /* --no-start: a service that is not there is not started */
	bool high_tier; /* --tier high: larger screenshots */
	char *home;   /* --home, or NULL */
	char *client; /* --client: who this is to the service */
	bool client_given;
	char **vms;   /* --vm, NULL-terminated; NULL: all */
	unsigned vm_count;
	char *copy_root;
	char *copy_root_refusal;
	char *instructions; /* for the client's model */
	/* with --http: */
	char *http;	  /* the address as it was given, or NULL: stdio */
	char *public_url; /* or NULL */
	char **allow_users; /* NULL-terminated; NULL: all */
	unsigned allow_user_count;
	char *tls_cert, *tls_key; /* files, both or neither */
};

/*
 * homes: the person's home directory by all accounts, NULL-terminated. The
 * start directory serves as copy root unless it is, or holds, one of them; as
 * --copy-root such a directory is an error.
 */
int invocation_parse(int argc, char *const argv[], const char *const *homes,
		     struct invocation *ret, struct err *e)
	__attribute__((warn_unused_result));
void invocation_finish(struct invocation *s);
const char *invocation_usage(void);
/* What a model is told first, by a server for these VMs (NULL: all). free() */
char *invocation_instructions(const char *const *vms);

#endif
