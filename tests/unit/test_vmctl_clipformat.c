#include "vmctl/clipformat.h"

#include "base/json.h"
#include "tests/support/unit.h"

#include <string.h>

static void the_best_is_picked(void **state)
{
	static const struct {
		const char *targets, *want;
	} rows[] = {
		{"TARGETS\nSTRING\nUTF8_STRING\n", "UTF8_STRING"},
		{"TARGETS\nimage/png\nSTRING", "image/png"},
		{"STRING", "STRING"},
		{"text/plain;charset=utf-8\n", "text/plain;charset=utf-8"},
		{"XSTRING\nSTRINGS\n", NULL},
		{"\n\n", NULL},
		{"", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		const struct clipformat *f = clipformat_pick(
			rows[i].targets, strlen(rows[i].targets));

		if (!rows[i].want) {
			assert_null(f);
			continue;
		}
		assert_non_null(f);
		assert_string_equal(f->target, rows[i].want);
	}
}

static void text_is_utf8(void **state)
{
	const struct clipformat utf8 = {0}, latin = {.is_latin = true};
	auto_json json_t *a = clipformat_text(&utf8, "f\xc3\xbcr", 4);
	auto_json json_t *b = clipformat_text(&latin, "f\xfcr", 3);
	auto_json json_t *c = clipformat_text(&utf8, "f\xfcr", 3);

	(void)state;
	assert_string_equal(json_string_value(a), "f\xc3\xbcr");
	assert_string_equal(json_string_value(b), "f\xc3\xbcr");
	assert_string_equal(json_string_value(c), "f\xef\xbf\xbdr");
}

static void a_png_says_its_size(void **state)
{
	static const char png[] =
		"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\x14\0\0\0\x0a";
	const size_t len = sizeof(png) - 1;
	uint32_t width = 0, height = 0;
	struct err e = {0};

	(void)state;
	assert_ok(clipformat_png(png, len, &width, &height, &e), &e);
	assert_int_equal(width, 276);
	assert_int_equal(height, 10);
	for (size_t cut = 0; cut < len; cut++)
		assert_fails(clipformat_png(png, cut, &width, &height, &e), &e,
			     ERR_PROTOCOL, "none");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_best_is_picked),
	cmocka_unit_test(text_is_utf8),
	cmocka_unit_test(a_png_says_its_size),
};

UNIT_MAIN(tests)
