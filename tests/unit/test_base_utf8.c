#include "base/utf8.h"

#include "tests/support/unit.h"

#include <string.h>

static void decodes_strictly(void **state)
{
	static const struct {
		const char *in;
		size_t len;
		size_t want;
		uint32_t cp;
	} rows[] = {
		{"", 0, 0, 0},
		{"\0", 1, 1, 0},
		{"a", 1, 1, 'a'},
		{"\x7f", 1, 1, 0x7f},
		{"\x80", 1, 0, 0},
		{"\xc2\x80", 2, 2, 0x80},
		{"\xc1\xbf", 2, 0, 0},		/* overlong */
		{"\xdf\xbf", 2, 2, 0x7ff},
		{"\xe0\xa0\x80", 3, 3, 0x800},
		{"\xe0\x9f\xbf", 3, 0, 0},	/* overlong */
		{"\xed\x9f\xbf", 3, 3, 0xd7ff},
		{"\xed\xa0\x80", 3, 0, 0},	/* surrogate */
		{"\xee\x80\x80", 3, 3, 0xe000},
		{"\xef\xbf\xbf", 3, 3, 0xffff},
		{"\xf0\x90\x80\x80", 4, 4, 0x10000},
		{"\xf0\x8f\xbf\xbf", 4, 0, 0},	/* overlong */
		{"\xf4\x8f\xbf\xbf", 4, 4, 0x10ffff},
		{"\xf4\x90\x80\x80", 4, 0, 0},	/* too large */
		{"\xf5\x80\x80\x80", 4, 0, 0},
		{"\xff", 1, 0, 0},
		{"\xe7\xae", 2, 0, 0},		/* cut off */
		{"\xe7\xae\xb1", 2, 0, 0},
		{"\xe7"
		 "a\xb1",
		 3, 0, 0},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		uint32_t cp = 12345;
		size_t n = utf8_next(rows[i].in, rows[i].len, &cp);

		assert_int_equal(n, rows[i].want);
		assert_int_equal(cp, n ? rows[i].cp : 12345);
	}
}

static void escape_counts_and_cuts(void **state)
{
	char out[16];

	(void)state;
	assert_int_equal(utf8_escape(out, sizeof(out), "a\0b", 3), 6);
	assert_string_equal(out, "a\\x00b");
	/* 16 bytes: 15 and the NUL */
	assert_int_equal(
		utf8_escape(out, sizeof(out), "0123456789abcdefg", 17), 15);
	assert_string_equal(out, "0123456789abcde");
	assert_int_equal(utf8_escape(out, sizeof(out), "0123456789ab\n", 13),
			 12);
	assert_string_equal(out, "0123456789ab");
	assert_int_equal(utf8_escape(out, 1, "x", 1), 0);
	assert_string_equal(out, "");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(decodes_strictly),
	cmocka_unit_test(escape_counts_and_cuts),
};

UNIT_MAIN(tests)
