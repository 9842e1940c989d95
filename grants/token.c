#include "grants/token.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/crypto.h"
#include "base/json.h"
#include "base/path.h"
#include "ops/validate.h"

#include <string.h>

#define VERSION 1
#define HEX_LEN (CRYPTO_SHA256_HEX_SIZE - 1)

/* -- the file -------------------------------------------------------------- */

static int take_row(sqlite3_stmt *row, void *ctx, struct err *e)
{
	(void)e;
	json_object_set_new(
		ctx, (const char *)sqlite3_column_text(row, 0),
		json_string((const char *)sqlite3_column_text(row, 1)));
	return 0;
}

/* In a transaction, so that a later state is never overwritten by this one. */
static int write_file(struct db *db, const struct home *h, struct err *e)
{
	json_t *tokens = json_object();
	auto_json json_t *file =
		json_pack("{s:i, s:o}", "v", VERSION, "tokens", tokens);
	autofree char *path = path_join(h->config, "tokens.json");
	autofree char *text = NULL;

	if (db_query(db, take_row, tokens, e,
		     "SELECT vm, sha256 FROM vm_token ORDER BY vm", "") < 0)
		return -1;
	text = json_print(file);
	return path_write_file(path, text, strlen(text), 0600, e);
}

struct change {
	const struct home *home;
	const char *vm;
	char sha256[CRYPTO_SHA256_HEX_SIZE]; /* "": none any more */
	int64_t now_s;
};

static int change(struct db *db, void *ctx, struct err *e)
{
	const struct change *c = ctx;
	int rc;

	if (c->sha256[0])
		rc = db_exec(db, e,
			     "INSERT INTO vm_token (vm, sha256, minted_s) "
			     "VALUES (?1, ?2, ?3) ON CONFLICT (vm) DO UPDATE "
			     "SET sha256 = ?2, minted_s = ?3",
			     "ssi", c->vm, c->sha256, c->now_s);
	else
		rc = db_exec(db, e, "DELETE FROM vm_token WHERE vm = ?1", "s",
			     c->vm);
	return rc < 0 ? -1 : write_file(db, c->home, e);
}

int token_mint(struct db *db, const struct home *h, const char *vm,
	       int64_t now_s, struct secret **ret, struct err *e)
{
	struct change c = {.home = h, .vm = vm, .now_s = now_s};
	/* crypto_random_name() ends it with a NUL */
	auto_secret struct secret *text = secret_new(TOKEN_SECRET_LEN + 1);

	if (crypto_random_name(secret_bytes(text), TOKEN_SECRET_LEN, e) < 0 ||
	    crypto_sha256_hex(secret_bytes(text), TOKEN_SECRET_LEN, c.sha256,
			      e) < 0 ||
	    db_transaction(db, change, &c, e) < 0)
		return -1;
	*ret = secret_copy(secret_bytes(text), TOKEN_SECRET_LEN);
	return 0;
}

int token_revoke(struct db *db, const struct home *h, const char *vm,
		 struct err *e)
{
	struct change c = {.home = h, .vm = vm};

	return db_transaction(db, change, &c, e);
}

static int rewrite(struct db *db, void *ctx, struct err *e)
{
	const struct home *h = ctx;

	return write_file(db, h, e);
}

int token_reconcile(struct db *db, const struct home *h, struct err *e)
{
	struct home same = *h;

	return db_transaction(db, rewrite, &same, e);
}

/* -- who presents one ------------------------------------------------------ */

/* The hash of that VM's token in the file, or NULL. */
static const char *find_hash(const json_t *file, const char *vm)
{
	const json_t *tokens = json_object_get(file, "tokens");
	const json_t *version = json_object_get(file, "v");
	const json_t *hash = json_object_get(tokens, vm);

	if (!json_is_integer(version) || json_integer_value(version) != VERSION)
		return NULL;
	return json_string_length(hash) == HEX_LEN ? json_string_value(hash)
						   : NULL;
}

bool token_check(const char *file, size_t file_len, const char *presented,
		 size_t len, char ret_vm[LIMIT_NAME_LEN + 1])
{
	static const char nobody[HEX_LEN + 1] = "";
	auto_json json_t *v = json_parse(file, file_len, NULL);
	const char *colon = memchr(presented, ':', len);
	char vm[LIMIT_NAME_LEN + 1] = "";
	char hex[CRYPTO_SHA256_HEX_SIZE];
	const char *hash;
	size_t name_len;
	bool same;

	if (!v || !colon)
		return false;
	name_len = (size_t)(colon - presented);
	if (name_len > LIMIT_NAME_LEN || len - name_len - 1 != TOKEN_SECRET_LEN)
		return false;
	memcpy(vm, presented, name_len);
	if (strlen(vm) != name_len || validate_vm_name(vm, NULL) < 0 ||
	    crypto_sha256_hex(colon + 1, TOKEN_SECRET_LEN, hex, NULL) < 0)
		return false;
	hash = find_hash(v, vm);
	same = crypto_equal(hash ? hash : nobody, hex, HEX_LEN);
	if (!hash || !same)
		return false;
	memcpy(ret_vm, vm, sizeof(vm));
	return true;
}
