/* The same request has one spelling. */
#include "tests/support/unit.h"

#include "base/json.h"
#include "base/limits.h"
#include "grants/grantset.h"

#include <string.h>

static const struct {
	const char *in, *out, *why; /* out NULL: refused */
} rows[] = {
	{"[\"llm:openai\"]", "[\"llm:openai\"]", NULL},
	{"[\"ssh-agent\",\"env:B\",\"env:A\"]",
	 "[\"env:A\",\"env:B\",\"ssh-agent\"]", NULL},
	{"[\"file:/a=>/b\",\"file:/a→/b\",\"github:A/B\",\"github:a/b\"]",
	 "[\"file:/a→/b\",\"github:a/b\"]", NULL},
	{"[\"file:/x/a\",\"file:/y/b\"]", "[\"file:/x/a\",\"file:/y/b\"]",
	 NULL},
	{"[\"file:/x/a\",\"file:/y/a\"]", NULL, "file:a: two grants"},
	{"[\"file:/x→/t\",\"file:/y→/t\"]", NULL, "file:/t: two grants"},
	{"[]", NULL, "one text or more"},
	{"{}", NULL, "must be an array"},
	{"[1]", NULL, "array of texts"},
	{"[\"llm:openai\",null]", NULL, "array of texts"},
	{"[\"llm:openai\",\"llm:x\"]", NULL, "the providers are"},
};

static void sets(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		struct grantset s = {0};
		struct err e = {0};
		auto_json json_t *in =
			json_parse(rows[i].in, strlen(rows[i].in), &e);
		int rc = grantset_parse(in, &s, &e);

		if (!rows[i].out) {
			assert_fails(rc, &e, ERR_INVALID, rows[i].why);
			continue;
		}
		assert_ok(rc, &e);
		auto_json json_t *out = grantset_json(&s);
		autofree char *text = json_print(out);
		assert_string_equal(text, rows[i].out);
		grantset_finish(&s);
	}
}

static void too_many(void **state)
{
	auto_json json_t *in = json_array();
	struct grantset s = {0};
	struct err e = {0};

	(void)state;
	for (int i = 0; i < LIMIT_GRANTS_ASKED_COUNT; i++)
		json_array_append_new(in, json_string("llm:openai"));
	assert_ok(grantset_parse(in, &s, &e), &e);
	assert_int_equal(s.count, 1);
	grantset_finish(&s);
	json_array_append_new(in, json_string("llm:openai"));
	assert_fails(grantset_parse(in, &s, &e), &e, ERR_LIMIT, "at most 16");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(sets),
	cmocka_unit_test(too_many),
};
UNIT_MAIN(tests)
