#include "base/json.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "tests/support/unit.h"

#include <string.h>

static void parses_strictly(void **state)
{
	static const struct {
		const char *in;
		size_t len; /* 0: strlen */
		const char *why; /* NULL: fine */
	} rows[] = {
		{"{}", 0, NULL},
		{" [1, 2.5, true, null, \"x\"] \n", 0, NULL},
		{"\"any value\"", 0, NULL},
		{"{\"a\":[{\"b\":\"[[[[{{{{\\\"\"}]}", 0, NULL},
		{"", 0, "not valid JSON"},
		{"{", 0, "not valid JSON"},
		{"{\"a\":1,\"a\":2}", 0, "duplicate"},
		{"{} {}", 0, "end of file"},
		{"{}x", 0, "end of file"},
		{"{}\0", 3, "end of file"},
		{"\"a\0b\"", 5, "control character"},
		{"\"a\\u0000b\"", 0, "\\u0000"},
		{"\"\xff\"", 0, "decode byte"},
		{"\"\\ud800\"", 0, "Unicode"},
		{"9223372036854775808", 0, "big"},
		{"1e999", 0, "real"},
		{"NaN", 0, "not valid JSON"},
		{"{'a':1}", 0, "not valid JSON"},
		{"[1,]", 0, "not valid JSON"},
		{"\"open", 0, "not valid JSON"},
		{"\"open\\", 0, "not valid JSON"},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		size_t len = rows[i].len ? rows[i].len : strlen(rows[i].in);
		struct err e = {0};
		auto_json json_t *v = json_parse(rows[i].in, len, &e);

		if (rows[i].why)
			assert_fails(v ? 0 : -1, &e, ERR_INVALID, rows[i].why);
		else
			assert_ok(v ? 0 : -1, &e);
	}
}

static void depth_is_capped(void **state)
{
	char text[4 * LIMIT_JSON_DEPTH];

	(void)state;
	for (int depth = LIMIT_JSON_DEPTH; depth <= LIMIT_JSON_DEPTH + 1;
	     depth++) {
		size_t n = (size_t)depth;
		struct err e = {0};

		memset(text, '[', n);
		memset(text + n, ']', n);
		auto_json json_t *v = json_parse(text, 2 * n, &e);
		if (depth > LIMIT_JSON_DEPTH)
			assert_fails(v ? 0 : -1, &e, ERR_INVALID, "deeper");
		else
			assert_ok(v ? 0 : -1, &e);
	}
}

static void getters(void **state)
{
	static const char text[] = "{\"s\":\"text\",\"i\":-7,\"r\":1.0,"
				   "\"t\":true,\"f\":false,\"n\":null}";
	struct err e = {0};
	auto_json json_t *v = json_parse(text, strlen(text), &e);
	const char *s = "before";
	int64_t i = 99;
	bool b = false;

	(void)state;
	assert_non_null(v);
	assert_ok(json_get_str(v, "s", &s, &e), &e);
	assert_string_equal(s, "text");
	assert_ok(json_get_int(v, "i", &i, &e), &e);
	assert_int_equal(i, -7);
	assert_ok(json_opt_bool(v, "t", &b, &e), &e);
	assert_true(b);
	assert_ok(json_opt_bool(v, "f", &b, &e), &e);
	assert_false(b);

	/* what is not there leaves things as they were */
	s = "before";
	i = 99;
	b = true;
	assert_ok(json_opt_str(v, "absent", &s, &e), &e);
	assert_ok(json_opt_str(v, "n", &s, &e), &e);
	assert_ok(json_opt_int(v, "absent", &i, &e), &e);
	assert_ok(json_opt_int(v, "n", &i, &e), &e);
	assert_ok(json_opt_bool(v, "n", &b, &e), &e);
	assert_fails(json_get_str(v, "absent", &s, &e), &e, ERR_INVALID,
		     "absent: expected a string");
	assert_fails(json_get_str(v, "n", &s, &e), &e, ERR_INVALID, "n:");
	assert_fails(json_get_int(v, "r", &i, &e), &e, ERR_INVALID,
		     "r: expected an integer");
	assert_fails(json_get_int(v, "s", &i, &e), &e, ERR_INVALID, "s:");
	assert_fails(json_opt_int(v, "s", &i, &e), &e, ERR_INVALID, "s:");
	assert_fails(json_opt_str(v, "i", &s, &e), &e, ERR_INVALID, "i:");
	assert_fails(json_opt_bool(v, "i", &b, &e), &e, ERR_INVALID,
		     "i: expected true or false");
	/* of something that is no object at all */
	assert_fails(json_get_str(json_object_get(v, "s"), "x", &s, &e), &e,
		     ERR_INVALID, "x:");
	assert_fails(json_get_str(NULL, "x", &s, &e), &e, ERR_INVALID, "x:");
	assert_string_equal(s, "before");
	assert_int_equal(i, 99);
	assert_true(b);
}

static void a_nul_does_not_shorten(void **state)
{
	struct err e = {0};
	auto_json json_t *v = json_pack("{s:s%}", "k", "a\0b", (size_t)3);
	const char *s = NULL;

	(void)state;
	assert_fails(json_get_str(v, "k", &s, &e), &e, ERR_INVALID, "NUL");
}

static void lossy(void **state)
{
	static const struct {
		const char *in;
		size_t len;
		const char *want;
	} rows[] = {
		{"plain", 5, "plain"},
		{"", 0, ""},
		{"zwölf 箱", 10, "zwölf 箱"},
		{"a\xff"
		 "b",
		 3, "a\xef\xbf\xbd"
		    "b"},
		{"\0", 1, "\xef\xbf\xbd"},
		{"\xe7\xae", 2, "\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"\033[0m\n", 5, "\033[0m\n"},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		struct err e = {0};
		auto_json json_t *v = json_lossy(rows[i].in, rows[i].len);
		autofree char *text = json_print(v);
		auto_json json_t *back = json_parse(text, strlen(text), &e);

		assert_string_equal(json_string_value(v), rows[i].want);
		assert_null(strchr(text, '\n'));
		assert_non_null(back);
		assert_true(json_equal(v, back));
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(parses_strictly),
	cmocka_unit_test(depth_is_capped),
	cmocka_unit_test(getters),
	cmocka_unit_test(a_nul_does_not_shorten),
	cmocka_unit_test(lossy),
};

UNIT_MAIN(tests)
