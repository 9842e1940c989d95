#include "vmctl/textfile.h"

#include "base/limits.h"
#include "tests/support/unit.h"

#include <string.h>

static void pages(void **state)
{
	static const struct {
		const char *text;
		uint64_t first, limit;
		const char *want;
		uint64_t lines;
		bool more;
	} cases[] = {
		{"", 1, 10, "", 0, false},
		{"a", 1, 10, "a", 1, false},
		{"a\n", 1, 10, "a\n", 1, false},
		{"a\nb\nc\n", 1, 2, "a\nb\n", 2, true},
		{"a\nb\nc\n", 2, 1, "b\n", 1, true},
		{"a\nb\nc\n", 3, 9, "c\n", 1, false},
		{"a\nb\nc", 3, 1, "c", 1, false},
		{"a\n\n\nb", 2, 2, "\n\n", 2, true},
		{"a\nb\n", 3, 1, "", 0, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		size_t len = strlen(cases[i].text);

		/* in pieces of any size the page is the same */
		for (size_t step = 1; step <= len + 1; step++) {
			struct textpage t;

			textpage_init(&t, cases[i].first, cases[i].limit);
			for (size_t at = 0; at < len; at += step)
				textpage_feed(&t, cases[i].text + at,
					      len - at < step ? len - at
							      : step);
			assert_string_equal(t.text.data, cases[i].want);
			assert_int_equal(t.lines, cases[i].lines);
			assert_int_equal(t.more, cases[i].more);
			assert_false(t.cut);
			textpage_finish(&t);
		}
	}
}

static void a_page_ends_with_a_line(void **state)
{
	static char text[LIMIT_TEXT_PAGE_LEN * 2];
	struct textpage t;

	(void)state;
	memset(text, 'x', sizeof(text));
	for (size_t at = 999; at < sizeof(text); at += 1000)
		text[at] = '\n';
	for (size_t step = 1; step < sizeof(text); step = step * 7 + 1) {
		textpage_init(&t, 1, 10000);
		for (size_t at = 0; at < sizeof(text); at += step)
			textpage_feed(&t, text + at,
				      sizeof(text) - at < step
					      ? sizeof(text) - at
					      : step);
		assert_int_equal(t.lines, LIMIT_TEXT_PAGE_LEN / 1000);
		assert_int_equal(t.text.len, t.lines * 1000);
		assert_true(t.more);
		assert_false(t.cut);
		textpage_finish(&t);
	}
}

/* One line that is longer than a page: its beginning, not half a character. */
static void a_long_line_is_cut(void **state)
{
	static char text[LIMIT_TEXT_PAGE_LEN + 100];
	struct textpage t;

	(void)state;
	memset(text, '\n', sizeof(text));
	for (size_t i = 0; i + 3 < sizeof(text); i += 3)
		memcpy(text + i, "€", 3);
	textpage_init(&t, 1, 5);
	textpage_feed(&t, text, sizeof(text));
	textpage_feed(&t, "next\n", 5);
	assert_true(t.cut);
	assert_int_equal(t.lines, 1);
	assert_int_equal(t.text.len % 3, 0);
	assert_in_range(t.text.len, LIMIT_TEXT_PAGE_LEN - 3,
			LIMIT_TEXT_PAGE_LEN);
	textpage_finish(&t);
}

static void what_is_text(void **state)
{
	struct err e = {0};

	(void)state;
	assert_ok(textfile_check("f", "a\xc3\xa4\n", 4, true, &e), &e);
	assert_ok(textfile_check("f", "\xff", 1, false, &e), &e);
	assert_fails(textfile_check("f", "ab\0c", 4, false, &e), &e,
		     ERR_INVALID, "byte 3 is NUL");
	e = (struct err){0};
	assert_fails(textfile_check("f", "a\xff", 2, true, &e), &e, ERR_INVALID,
		     "not UTF-8 (byte 2)");
}

static void replacing(void **state)
{
	static const struct {
		const char *text, *from, *to;
		bool all;
		const char *want; /* NULL: refused with `says` */
		const char *says;
		uint64_t count;
	} cases[] = {
		{"a b c", "b", "X", false, "a X c", NULL, 1},
		{"abc", "abc", "", false, "", NULL, 1},
		{"aaa", "a", "bb", true, "bbbbbb", NULL, 3},
		{"aaa", "aa", "b", true, "ba", NULL, 1},
		{"x", "y", "z", false, NULL, "occurs 0 times", 0},
		{"x", "y", "z", true, NULL, "occurs 0 times", 0},
		{"", "y", "z", true, NULL, "occurs 0 times", 0},
		{"abab", "ab", "z", false, NULL, "occurs 2 times", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		const struct textfile_change c = {.old_text = cases[i].from,
						  .new_text = cases[i].to,
						  .all = cases[i].all};
		struct buf text, out;
		uint64_t count = 99;
		struct err e = {0};

		buf_init(&text, 100);
		buf_init(&out, 100);
		assert_ok(buf_add_str(&text, cases[i].text, &e), &e);
		if (cases[i].want) {
			assert_ok(textfile_replace("f", &text, &c, &out, &count,
						   &e),
				  &e);
			assert_string_equal(out.data, cases[i].want);
			assert_int_equal(count, cases[i].count);
		} else {
			assert_fails(textfile_replace("f", &text, &c, &out,
						      &count, &e),
				     &e, ERR_INVALID, cases[i].says);
			assert_int_equal(count, 99);
		}
		buf_finish(&text);
		buf_finish(&out);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(pages),
	cmocka_unit_test(a_page_ends_with_a_line),
	cmocka_unit_test(a_long_line_is_cut),
	cmocka_unit_test(what_is_text),
	cmocka_unit_test(replacing),
};
UNIT_MAIN(tests)
