/*
 * auth.h - who asks over HTTP, and what that client may do
 *
 * Shapes:  a struct principal stands for one token as it is now: the tools and
 *          VMs of its scope, and its own connections to the service, which
 *          knows it by the token's name. It is counted, and lives on for whom
 *          it serves after its token was revoked; `revoked` then says so.
 * Units:   seconds of the wall clock for what is on record.
 * Errors:  ERR_NOT_FOUND for a token that is none, ERR_DENIED for one that has
 *          no VM here.
 * Threads: any. auth_tick() from one at a time.
 */
#ifndef MCP_AUTH_H
#define MCP_AUTH_H

#include "base/home.h"
#include "mcp/protocol.h"
#include "mcp/tools.h"

#include <stdatomic.h>
#include <stdbool.h>

struct auth;

struct principal {
	/* what others read */
	struct protocol_server server;
	struct toolset tools;
	atomic_bool revoked;
	/* auth's own */
	struct principal *next;
	atomic_uint refs;
	char *name;
	bool read_only;
	char **vms; /* of the token, NULL-terminated; NULL: all */
	char **scope; /* of those, the ones of this server; NULL: all */
	char *instructions;
	struct client_opts opts;
	struct tools own_tools;
	atomic_llong used_s; /* last use; 0: none since it was on record */
};

struct auth_opts {
	const struct home *home;
	const struct protocol_server *server; /* but for the instructions */
	const char *const *vms; /* of this server; NULL: all */
	const char *copy_root, *copy_root_refusal;
	bool no_start, high_tier; /* as client_opts has them */
	/* Without tokens, everybody has these: for tests of the protocol. */
	const struct toolset *everybody;
};

/* What o points to must outlive it. */
int auth_new(const struct auth_opts *o, struct auth **ret, struct err *e)
	__attribute__((warn_unused_result));
/* False, and nothing is freed: a call of somebody's still runs. */
bool auth_free(struct auth *a);

/* authorization: the header, or NULL. A token that was revoked a moment ago
 * lets nobody in. */
int auth_check(struct auth *a, const char *authorization,
	       struct principal **ret, struct err *e)
	__attribute__((warn_unused_result));
struct principal *auth_ref(struct principal *p);
void auth_unref(struct principal *p);

/* About once a second: sees what was revoked, records who was there. */
void auth_tick(struct auth *a);
/* Record it now, when the process ends. */
void auth_record(struct auth *a);

#endif
