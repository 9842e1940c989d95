/* Tokens of boxery-mcp --http: what is kept, what lets in, and what not. */
#include "base/alloc.h"
#include "base/json.h"
#include "base/path.h"
#include "ops/mcptoken.h"

#include "tests/support/tree.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct home home;

static int set_up(void **state)
{
	(void)state;
	home = (struct home){.config = alloc_str(unit_path("config")),
			     .state = alloc_str(unit_path("state")),
			     .run = alloc_str(unit_path("run"))};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(home.config);
	free(home.state);
	free(home.run);
	return 0;
}

/* Adds a token; its text, to be freed. */
static char *add(const char *name, bool read_only, const char *vms)
{
	auto_json json_t *list = vms ? json_loads(vms, 0, NULL) : NULL;
	struct mcptoken_scope scope = {read_only, list};
	auto_secret struct secret *text = NULL;
	struct err e = {0};

	assert_ok(mcptoken_add(&home, name, &scope, &text, &e), &e);
	return alloc_strn(secret_const_bytes(text), secret_len(text));
}

static const struct mcptoken *find(const struct mcptokens *t, const char *text)
{
	return mcptoken_find(t, text, strlen(text));
}

static void a_token_lets_in_until_it_is_revoked(void **state)
{
	struct mcptokens t, later;
	struct err e = {0};
	autofree char *one = add("one", false, NULL);
	autofree char *two = add("two", true, "[\"a\",\"b\"]");
	const struct mcptoken *found;

	(void)state;
	assert_ok(mcptoken_load(&home, &t, &e), &e);
	assert_int_equal(t.count, 2);
	found = find(&t, one);
	assert_non_null(found);
	assert_string_equal(found->name, "one");
	assert_false(found->read_only);
	assert_null(found->vms);
	found = find(&t, two);
	assert_string_equal(found->name, "two");
	assert_true(found->read_only);
	assert_string_equal(found->vms[1], "b");
	assert_null(found->vms[2]);
	assert_null(find(&t, ""));
	assert_null(find(&t, "bxm_"));
	one[8] ^= 1;
	assert_null(find(&t, one));
	one[8] ^= 1;

	assert_false(mcptoken_is_stale(&home, &t));
	assert_ok(mcptoken_revoke(&home, "one", &e), &e);
	assert_true(mcptoken_is_stale(&home, &t));
	assert_ok(mcptoken_load(&home, &later, &e), &e);
	assert_null(find(&later, one));
	assert_non_null(find(&later, two));
	assert_fails(mcptoken_revoke(&home, "one", &e), &e, ERR_NOT_FOUND, "no token one");
	mcptoken_finish(&later);
	mcptoken_finish(&t);
}

static void the_token_itself_is_not_kept(void **state)
{
	autofree char *text = add("one", false, NULL);
	autofree char *kept = tree_read(unit_path("config/mcp-tokens.json"));
	struct stat st;

	(void)state;
	assert_null(strstr(kept, text));
	assert_null(strstr(kept, text + 4));
	assert_int_equal(stat(unit_path("config/mcp-tokens.json"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(stat(unit_path("config"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
}

static void bad_names_and_scopes_are_refused(void **state)
{
	autofree char *one = add("one", false, NULL);
	static const struct {
		const char *name, *vms;
		enum err_code code;
	} rows[] = {
		{"one", NULL, ERR_EXISTS},	  {"", NULL, ERR_INVALID},
		{"cli", NULL, ERR_INVALID},	  {"stdio", NULL, ERR_INVALID},
		{"a b", NULL, ERR_INVALID},	  {"a/b", NULL, ERR_INVALID},
		{"a", "[\"A\"]", ERR_INVALID},	  {"a", "[\"\"]", ERR_INVALID},
		{"a", "[\"local\"]", ERR_INVALID}, {"a", "[7]", ERR_PROTOCOL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		auto_json json_t *vms =
			rows[i].vms ? json_loads(rows[i].vms, 0, NULL) : NULL;
		struct mcptoken_scope scope = {false, vms};
		struct secret *text = NULL;
		struct err e = {0};

		assert_fails(mcptoken_add(&home, rows[i].name, &scope, &text,
					  &e),
			     &e, rows[i].code, "");
		assert_null(text);
	}
}

/* A store that cannot be understood lets nobody in, and is not overwritten. */
static void a_broken_store_is_an_error(void **state)
{
	static const char *const texts[] = {
		"", "{", "[]", "{\"v\":2,\"tokens\":[]}", "{\"v\":1}",
		"{\"v\":1,\"tokens\":[{}]}",
		"{\"v\":1,\"tokens\":[{\"name\":\"a\",\"sha256\":\"00\","
		"\"made_s\":1}]}",
#define SHA "\"sha256\":\"" ZEROS "\""
#define ZEROS \
	"0000000000000000000000000000000000000000000000000000000000000000"
		"{\"v\":1,\"tokens\":[{\"name\":\"a\"," SHA
		",\"made_s\":1,\"vms\":[]}]}",
		"{\"v\":1,\"tokens\":[{\"name\":\"a\"," SHA
		",\"made_s\":1,\"vms\":\"x\"}]}",
		"{\"v\":1,\"tokens\":[{\"name\":\"a\"," SHA
		",\"made_s\":1,\"read_only\":\"yes\"}]}",
		"{\"v\":1,\"tokens\":[{\"name\":\"a b\"," SHA
		",\"made_s\":1}]}",
	};

	(void)state;
	tree_dir(unit_path("config"), 0700);
	for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
		static const struct mcptoken_scope all = {0};
		autofree char *kept = NULL;
		struct mcptokens t = {0};
		struct secret *text = NULL;
		struct err e = {0};
		char *path = NULL;

		tree_text(unit_path("config/mcp-tokens.json"), texts[i]);
		if (mcptoken_load(&home, &t, &e) == 0)
			fail_msg("taken: %s", texts[i]);
		t = mcptoken_none(&home);
		assert_false(mcptoken_is_stale(&home, &t));
		assert_int_equal(mcptoken_add(&home, "x", &all, &text, &e), -1);
		assert_int_equal(mcptoken_first(&home, &path, &e), -1);
		kept = tree_read(unit_path("config/mcp-tokens.json"));
		assert_string_equal(kept, texts[i]);
	}
}

static void the_first_token_is_made_once(void **state)
{
	autofree char *path = NULL;
	autofree char *text = NULL;
	char *again = NULL;
	struct mcptokens t;
	struct err e = {0};
	struct stat st;

	(void)state;
	assert_ok(mcptoken_first(&home, &path, &e), &e);
	assert_string_equal(path, unit_path("config/mcp-client-token"));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	text = tree_read(path);
	assert_ok(mcptoken_load(&home, &t, &e), &e);
	assert_string_equal(find(&t, text)->name, "default");
	mcptoken_finish(&t);

	/* not even when all have been revoked */
	assert_ok(mcptoken_revoke(&home, "default", &e), &e);
	assert_ok(mcptoken_first(&home, &again, &e), &e);
	assert_null(again);
	assert_ok(mcptoken_load(&home, &t, &e), &e);
	assert_int_equal(t.count, 0);
	assert_false(t.missing);
	mcptoken_finish(&t);
}

static void use_is_on_record(void **state)
{
	autofree char *one = add("one", true, "[\"a\",\"b\"]");
	auto_json json_t *used = json_pack("{s:i}", "one", 86400);
	auto_json json_t *more = json_pack("{s:i}", "two", 86401);
	auto_json json_t *rows = NULL;
	const json_t *row;
	struct err e = {0};

	(void)state;
	assert_ok(mcptoken_note_use(&home, used, &e), &e);
	assert_ok(mcptoken_note_use(&home, more, &e), &e);
	assert_ok(mcptoken_rows(&home, &rows, &e), &e);
	row = json_array_get(json_object_get(rows, "rows"), 0);
	assert_string_equal(json_string_value(json_object_get(row, "used")),
			    "1970-01-02 00:00:00Z");
	assert_string_equal(json_string_value(json_object_get(row, "vms")),
			    "a,b");
	assert_string_equal(json_string_value(json_object_get(row, "scope")),
			    "read-only");
	assert_null(json_object_get(row, "sha256"));
}

static void *add_some(void *arg)
{
	for (int i = 0; i < 5; i++) {
		static const struct mcptoken_scope all = {0};
		autofree char *name = alloc_printf("%s%d", (char *)arg, i);
		auto_secret struct secret *text = NULL;
		struct err e = {0};

		if (mcptoken_add(&home, name, &all, &text, &e) != 0)
			return arg;
	}
	return NULL;
}

static void writers_do_not_lose_each_others(void **state)
{
	static char names[4][2] = {"a", "b", "c", "d"};
	pthread_t threads[4];
	struct mcptokens t;
	struct err e = {0};

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_some,
						names[i]),
				 0);
	for (int i = 0; i < 4; i++) {
		void *failed;

		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	assert_ok(mcptoken_load(&home, &t, &e), &e);
	assert_int_equal(t.count, 20);
	mcptoken_finish(&t);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

static const struct CMUnitTest tests[] = {
	CASE(a_token_lets_in_until_it_is_revoked),
	CASE(the_token_itself_is_not_kept),
	CASE(bad_names_and_scopes_are_refused),
	CASE(a_broken_store_is_an_error),
	CASE(the_first_token_is_made_once),
	CASE(use_is_on_record),
	CASE(writers_do_not_lose_each_others),
};

UNIT_MAIN(tests)
