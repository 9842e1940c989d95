/* What the proxy reads at each request (E13, E14, E24). */
#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/path.h"
#include "grants/edge.h"
#include "grants/terms.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct edge sample(void)
{
	struct edge x = {0};

	edge_add(&x,
		 &(struct edge_grant){.id = "abcdefghijkl",
				      .kind = GRANT_LLM,
				      .end_s = 1000,
				      .uses = 5},
		 "openai");
	edge_add(&x,
		 &(struct edge_grant){.id = "mnopqrstuvwx",
				      .kind = GRANT_GITHUB,
				      .uses = TERMS_USES_ANY},
		 "a/b:ro");
	edge_add(&x,
		 &(struct edge_grant){.id = "yyyyyyyyyyyy",
				      .kind = GRANT_GITHUB,
				      .uses = TERMS_USES_ANY},
		 "");
	return x;
}

static void round_trip(void **state)
{
	struct edge x = sample();
	struct edge back = {0};
	struct err e = {0};
	autofree char *text = edge_print("demo", &x);

	(void)state;
	assert_string_equal(
		text,
		"{\"v\":1,\"vm\":\"demo\",\"grants\":["
		"{\"id\":\"abcdefghijkl\",\"kind\":\"llm\",\"provider\":"
		"\"openai\",\"until\":1000,\"uses\":5},"
		"{\"id\":\"mnopqrstuvwx\",\"kind\":\"github\",\"provider\":"
		"\"a/b:ro\",\"until\":null,\"uses\":null},"
		"{\"id\":\"yyyyyyyyyyyy\",\"kind\":\"github\",\"provider\":"
		"\"\",\"until\":null,\"uses\":null}]}");
	assert_ok(edge_parse(text, strlen(text), "demo", &back, &e), &e);
	autofree char *again = edge_print("demo", &back);
	assert_string_equal(again, text);
	assert_string_equal(edge_find(&back, GRANT_LLM, "openai", 999)->id,
			    "abcdefghijkl");
	assert_null(edge_find(&back, GRANT_LLM, "openai", 1000));
	assert_null(edge_find(&back, GRANT_LLM, "anthropic", 1));
	assert_null(edge_find(&back, GRANT_HTTP, "openai", 1));
	assert_non_null(edge_find(&back, GRANT_GITHUB, "", 1LL << 40));
	edge_finish(&back);
	edge_finish(&x);
}

#define GRANT(rest) "{\"v\":1,\"vm\":\"demo\",\"grants\":[{" rest "}]}"
static const struct {
	const char *text, *why; /* why NULL: no grants */
} rows[] = {
	{"{\"v\":2,\"vm\":\"demo\",\"grants\":[{}]}", NULL},
	{"{\"v\":1,\"vm\":\"demo\",\"grants\":[]}", NULL},
	{"", "JSON"},
	{"[]", "v: expected"},
	{"{}", "v: expected"},
	{"{\"v\":\"1\"}", "v: expected"},
	{"{\"v\":1,\"vm\":\"other\",\"grants\":[]}", "is of the VM other"},
	{"{\"v\":1,\"grants\":[]}", "vm: expected"},
	{"{\"v\":1,\"vm\":\"demo\"}", "grants: must be"},
	{"{\"v\":1,\"vm\":\"demo\",\"grants\":[1]}", "5 members"},
	{GRANT("\"id\":\"abcdefghijkl\",\"kind\":\"llm\",\"provider\":"
	       "\"openai\",\"until\":null"),
	 "5 members"},
	{GRANT("\"id\":\"abcdefghijkl\",\"kind\":\"llm\",\"provider\":"
	       "\"openai\",\"until\":null,\"Uses\":1"),
	 "is wrong"},
	{GRANT("\"id\":\"short\",\"kind\":\"llm\",\"provider\":"
	       "\"openai\",\"until\":null,\"uses\":null"),
	 "is wrong"},
	{GRANT("\"id\":\"abcdefghijkl\",\"kind\":\"llm\",\"provider\":"
	       "\"openai\",\"until\":0,\"uses\":null"),
	 "is wrong"},
	{GRANT("\"id\":\"abcdefghijkl\",\"kind\":\"llm\",\"provider\":"
	       "\"openai\",\"until\":null,\"uses\":-1"),
	 "is wrong"},
	{GRANT("\"id\":\"abcdefghijkl\",\"kind\":\"llm\",\"provider\":"
	       "\"openai\",\"until\":\"1\",\"uses\":null"),
	 "until: expected"},
	{GRANT("\"id\":\"abcdefghijkl\",\"kind\":\"llm\",\"provider\":"
	       "\"all\",\"until\":null,\"uses\":null"),
	 "the providers are"},
	{GRANT("\"id\":\"abcdefghijkl\",\"kind\":\"env\",\"provider\":"
	       "\"A\",\"until\":null,\"uses\":null"),
	 "not for the proxy"},
};

static void strict(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		struct edge x = {0};
		struct err e = {0};
		int rc = edge_parse(rows[i].text, strlen(rows[i].text), "demo",
				    &x, &e);

		if (rows[i].why)
			assert_fails(rc, &e, ERR_INVALID, rows[i].why);
		else
			assert_ok(rc, &e);
		assert_int_equal(x.count, 0);
		edge_finish(&x);
	}
}

static void files(void **state)
{
	struct home h = {.config = alloc_str(unit_path(""))};
	struct edge x = sample();
	struct edge back = {0};
	struct err e = {0};
	struct stat st;

	(void)state;
	assert_ok(edge_read(&h, "demo", &back, &e), &e);
	assert_int_equal(back.count, 0);
	assert_ok(edge_write(&h, "demo", &x, &e), &e);
	assert_int_equal(stat(unit_path("edge/demo.json"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(unit_path("edge"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_ok(edge_read(&h, "demo", &back, &e), &e);
	assert_int_equal(back.count, 3);
	edge_finish(&back);
	assert_ok(
		path_write_file(unit_path("edge/demo.json"), "{", 1, 0600, &e),
		&e);
	assert_fails(edge_read(&h, "demo", &back, &e), &e, ERR_INVALID,
		     "demo.json");
	assert_ok(edge_remove(&h, "demo", &e), &e);
	assert_ok(edge_remove(&h, "demo", &e), &e);
	assert_int_not_equal(stat(unit_path("edge/demo.json"), &st), 0);
	edge_finish(&x);
	free(h.config);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(round_trip),
	cmocka_unit_test(strict),
	cmocka_unit_test(files),
};
UNIT_MAIN(tests)
