/*
 * token.h - the secret by which a VM shows the proxy which one it is
 *
 * A token is NAME:SECRET. The secret is known to the guest alone: it is minted
 * here, handed out once, and only its SHA-256 is kept, in the database and in
 * config/tokens.json, which the proxy reads:
 *
 *	{"v":1, "tokens":{"demo":"9f86d0…"}}
 *
 *	struct secret *s;
 *	token_mint(db, h, "demo", now_s, &s, e);	new, fork, reset, ready:
 *							the one before is void
 *	token_check(text, len, presented, n, vm);	the proxy, each request
 *	token_revoke(db, h, "demo", e);			rm, lease reset
 *	token_reconcile(db, h, e);			once, as the service
 *starts
 *
 * Shapes:  the file is written before the database commits: when either
 *          fails, the new secret is known to nobody and the old one is void.
 * Errors:  as db.h and path.h. No message holds a secret or a hash.
 * Threads: any; the database serialises.
 */
#ifndef GRANTS_TOKEN_H
#define GRANTS_TOKEN_H

#include "base/db.h"
#include "base/err.h"
#include "base/home.h"
#include "base/limits.h"
#include "base/secret.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOKEN_SECRET_LEN 48 /* of [a-z0-9]: 248 bits */
#define TOKEN_FILE_CAP (1 << 20)

/* *ret: the SECRET part, TOKEN_SECRET_LEN bytes without a NUL. */
int token_mint(struct db *db, const struct home *h, const char *vm,
	       int64_t now_s, struct secret **ret, struct err *e)
	__attribute__((warn_unused_result));
/* A VM that has none is success. */
int token_revoke(struct db *db, const struct home *h, const char *vm,
		 struct err *e) __attribute__((warn_unused_result));
int token_reconcile(struct db *db, const struct home *h, struct err *e)
	__attribute__((warn_unused_result));

/*
 * Does the file's text know this NAME:SECRET? Then ret_vm is the name. The
 * comparison takes the same time wherever they differ, and for a name that is
 * not there.
 */
bool token_check(const char *file, size_t file_len, const char *presented,
		 size_t len, char ret_vm[LIMIT_NAME_LEN + 1])
	__attribute__((warn_unused_result));

#endif
