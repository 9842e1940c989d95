/* E12, E25: a VM's secret, known to the guest alone. */
#include "tests/support/tree.h"
#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/crypto.h"
#include "grants/tables.h"
#include "grants/token.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const migrations[] = {tables_grants_1, NULL};
static struct db *db;
static struct home home;

static int set_up(void **state)
{
	struct err e = {0};

	(void)state;
	home.config = alloc_str(unit_path("."));
	assert_ok(db_open(unit_path("boxery.db"), migrations, &db, &e), &e);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	db_close(db);
	free(home.config);
	return 0;
}

/* NAME:SECRET, free() */
static char *mint(const char *vm)
{
	auto_secret struct secret *s = NULL;
	struct err e = {0};

	assert_ok(token_mint(db, &home, vm, 1000, &s, &e), &e);
	assert_int_equal(secret_len(s), TOKEN_SECRET_LEN);
	return alloc_printf("%s:%.*s", vm, TOKEN_SECRET_LEN,
			    (const char *)secret_const_bytes(s));
}

static bool known(const char *presented, const char *want_vm)
{
	autofree char *file = tree_read(unit_path("tokens.json"));
	char vm[LIMIT_NAME_LEN + 1] = "untouched";
	bool ok = token_check(file, strlen(file), presented, strlen(presented),
			      vm);

	assert_string_equal(vm, ok ? want_vm : "untouched");
	return ok;
}

static void life(void **state)
{
	autofree char *demo = mint("demo");
	autofree char *other = mint("other");
	struct err e = {0};
	struct stat st;

	(void)state;
	assert_true(known(demo, "demo"));
	assert_true(known(other, "other"));
	assert_int_equal(stat(unit_path("tokens.json"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	/* no secret lies anywhere: it is known to who was given it */
	static const char *const files[] = {"tokens.json", "boxery.db",
					    "boxery.db-wal"};
	for (size_t i = 0; i < ARRAY_COUNT(files); i++) {
		FILE *f = fopen(unit_path(files[i]), "re");
		autofree char *all = alloc_zero(1 << 20);
		size_t len;

		assert_non_null(f);
		len = fread(all, 1, 1 << 20, f);
		fclose(f);
		assert_null(memmem(all, len, demo + 5, TOKEN_SECRET_LEN));
		/* the search finds what is there */
		assert_true(i == 1 || memmem(all, len, "demo", 4));
	}
	/* rotated: the one before is void */
	autofree char *again = mint("demo");
	assert_string_not_equal(again, demo);
	assert_false(known(demo, "demo"));
	assert_true(known(again, "demo"));
	/* revoked, and again */
	assert_ok(token_revoke(db, &home, "demo", &e), &e);
	assert_ok(token_revoke(db, &home, "demo", &e), &e);
	assert_false(known(again, "demo"));
	assert_true(known(other, "other"));
	/* the file follows the database */
	assert_ok(db_exec(db, &e, "DELETE FROM vm_token", ""), &e);
	assert_true(known(other, "other"));
	assert_ok(token_reconcile(db, &home, &e), &e);
	assert_false(known(other, "other"));
}

/* A file that cannot be written: the old token stays, the new one is nobody's.
 */
static void failing(void **state)
{
	autofree char *demo = mint("demo");
	struct secret *s = NULL;
	struct err e = {0};

	(void)state;
	free(home.config);
	home.config = alloc_str(unit_path("missing"));
	assert_fails(token_mint(db, &home, "demo", 1, &s, &e), &e,
		     ERR_NOT_FOUND, "tokens.json");
	assert_null(s);
	free(home.config);
	home.config = alloc_str(unit_path("."));
	assert_ok(token_reconcile(db, &home, &e), &e);
	assert_true(known(demo, "demo"));
}

static void forged(void **state)
{
	autofree char *demo = mint("demo");
	autofree char *other = mint("other");
	const char *secret = demo + strlen("demo:");
	autofree char *borrowed = alloc_printf("other:%s", secret);
	autofree char *nobody = alloc_printf("nobody:%s", secret);
	autofree char *longer = alloc_printf("%sx", demo);
	autofree char *no_name = alloc_printf(":%s", secret);
	autofree char *upper = alloc_printf("Demo:%s", secret);
	const char *const rows[] = {"",	      ":",    secret, "demo",  "demo:",
				    borrowed, nobody, longer, no_name, upper};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
		assert_false(known(rows[i], ""));
	for (size_t i = 0; i < TOKEN_SECRET_LEN; i++) {
		autofree char *changed = alloc_str(demo);

		changed[strlen("demo:") + i] ^= 1;
		assert_false(known(changed, ""));
	}
	/* a NUL in the name */
	autofree char *file = tree_read(unit_path("tokens.json"));
	char vm[LIMIT_NAME_LEN + 1];
	demo[4] = '\0';
	assert_false(token_check(file, strlen(file), demo, 5 + TOKEN_SECRET_LEN,
				 vm));
}

/* A file that is not ours, or of another version, knows nobody. */
static void foreign_files(void **state)
{
	static const char secret[] =
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	char hex[CRYPTO_SHA256_HEX_SIZE];
	char vm[LIMIT_NAME_LEN + 1];
	struct err e = {0};
	static const struct {
		const char *head, *tail;
		int hex_len;
		bool want;
	} rows[] = {
		{"{\"v\":1,\"tokens\":{\"a\":\"", "\"}}", 64, true},
		{"{\"v\":2,\"tokens\":{\"a\":\"", "\"}}", 64, false},
		{"{\"tokens\":{\"a\":\"", "\"}}", 64, false},
		{"{\"v\":1,\"tokens\":{\"b\":\"", "\"}}", 64, false},
		{"{\"v\":1,\"tokens\":{\"a\":[\"", "\"]}}", 64, false},
		{"{\"v\":1,\"tokens\":{\"a\":\"", "\"}}", 63, false},
		{"{\"v\":1,\"tokens\":{\"a\":\"", "\"}}", 0, false},
		{"{\"v\":1,\"tokens\":{\"a\":\"", "\"}", 64, false},
		{"[\"", "\"]", 64, false},
	};
	autofree char *presented = alloc_printf("a:%s", secret);

	(void)state;
	assert_ok(crypto_sha256_hex(secret, TOKEN_SECRET_LEN, hex, &e), &e);
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		autofree char *file =
			alloc_printf("%s%.*s%s", rows[i].head, rows[i].hex_len,
				     hex, rows[i].tail);

		if (token_check(file, strlen(file), presented,
				strlen(presented), vm) != rows[i].want)
			fail_msg("%s", file);
	}
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
static const struct CMUnitTest tests[] = {
	TEST(life),
	TEST(failing),
	TEST(forged),
	TEST(foreign_files),
};
UNIT_MAIN(tests)
