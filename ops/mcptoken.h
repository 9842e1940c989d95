/*
 * mcptoken.h - who may use `boxery-mcp --http`: named bearer tokens
 *
 * Kept in config/mcp-tokens.json as SHA-256 of each, never the token itself,
 * which is 40 random characters and so needs no salt; what was used last is
 * in state/mcp-token-use.json, which a server writes, so that the first file
 * changes only by a person's hand. A server reads the file anew whenever it
 * has been replaced: that is how a revoked token ends at once.
 *
 * Shapes:  struct mcptokens owns its list; a missing file is an empty one that
 *          says so. Names are those of clients (validate_client_name()),
 *          since the service knows a client by its token's name.
 * Units:   _s seconds since the epoch; 0: never.
 * Errors:  ERR_EXISTS, ERR_NOT_FOUND, ERR_LIMIT; ERR_PROTOCOL for a file that
 *          is not ours: it lets nobody in.
 * Threads: no shared state; writers, in whatever process, wait for one another
 *          (config/mcp-tokens.lock).
 * Source:  docs/FORMATS.md, "MCP tokens".
 */
#ifndef OPS_MCPTOKEN_H
#define OPS_MCPTOKEN_H

#include "base/crypto.h"
#include "base/err.h"
#include "base/home.h"
#include "base/secret.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct mcptoken {
	char *name;
	uint8_t digest[CRYPTO_SHA256_LEN];
	int64_t made_s;
	bool read_only; /* tools that only read */
	char **vms;	/* NULL-terminated; NULL: all */
};

struct mcptokens {
	struct mcptoken *list;
	size_t count;
	bool missing;
	struct stat stamp; /* of the file that was read */
};

int mcptoken_load(const struct home *h, struct mcptokens *ret, struct err *e)
	__attribute__((warn_unused_result));
/* One without tokens, until the file changes: where it cannot be read. */
struct mcptokens mcptoken_none(const struct home *h);
void mcptoken_finish(struct mcptokens *t);
/* Is what was read no longer what there is? */
bool mcptoken_is_stale(const struct home *h, const struct mcptokens *t);

/* The token that this text is, or NULL. Takes the same time for all that are
 * not. */
const struct mcptoken *mcptoken_find(const struct mcptokens *t,
				     const char *text, size_t len);

struct mcptoken_scope {
	bool read_only;
	const json_t *vms; /* array of names, checked; NULL or empty: all */
};

int mcptoken_add(const struct home *h, const char *name,
		 const struct mcptoken_scope *scope, struct secret **ret_text,
		 struct err *e) __attribute__((warn_unused_result));
int mcptoken_revoke(const struct home *h, const char *name, struct err *e)
	__attribute__((warn_unused_result));
/* {rows:[{name, scope, vms, made, used}]}; the times as UTC text. */
int mcptoken_rows(const struct home *h, json_t **ret, struct err *e)
	__attribute__((warn_unused_result));

/*
 * Where there has never been a token, make `default` and leave it in clear in
 * config/mcp-client-token (0600). *ret_path is that file, to be freed, or NULL
 * when there was nothing to do.
 */
int mcptoken_first(const struct home *h, char **ret_path, struct err *e)
	__attribute__((warn_unused_result));

/* used: {NAME: _s}, added to what is on record. */
int mcptoken_note_use(const struct home *h, const json_t *used, struct err *e)
	__attribute__((warn_unused_result));

#endif
