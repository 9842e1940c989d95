#include "desktop/xprop.h"

#include "tests/support/unit.h"

#include <string.h>

enum { HEAD_LEN = 32, STRING = 31, UTF8_STRING = 300 };

struct reply {
	uint8_t bytes[HEAD_LEN + 64];
	size_t len;
};

static struct reply reply_of(uint8_t format, uint32_t type, const void *p,
			     uint32_t len)
{
	struct reply r = {{1, format}, HEAD_LEN + (len + 3) / 4 * 4};
	uint32_t count = format ? len / (format / 8) : 0;

	memcpy(r.bytes + 8, &type, 4);
	memcpy(r.bytes + 16, &count, 4);
	memcpy(r.bytes + HEAD_LEN, p, len);
	return r;
}

static void texts_become_utf8(void **state)
{
	static const struct {
		uint32_t type, len;
		const char *bytes, *want;
		unsigned skip, size;
	} rows[] = {
		{UTF8_STRING, 4, "f\xc3\xbcr", "f\xc3\xbcr", 0, 32},
		{STRING, 3, "f\xfcr", "f\xc3\xbcr", 0, 32},
		/* says it is UTF-8 and is not */
		{UTF8_STRING, 3, "f\xfcr", "f\xc3\xbcr", 0, 32},
		{UTF8_STRING, 3, "a\xe2\x80", "a\xc3\xa2\xc2\x80", 0, 32},
		/* a class is two pieces */
		{STRING, 12, "xterm\0XTerm\0", "xterm", 0, 32},
		{STRING, 12, "xterm\0XTerm\0", "XTerm", 1, 32},
		{STRING, 5, "xterm", "", 1, 32},
		{STRING, 0, "", "", 0, 32},
		/* cut between characters */
		{UTF8_STRING, 4, "ab\xc3\xbc", "ab", 0, 4},
		{UTF8_STRING, 4, "ab\xc3\xbc", "ab\xc3\xbc", 0, 5},
		{STRING, 3, "abc", "", 0, 1},
	};
	char got[32];

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		struct reply r =
			reply_of(8, rows[i].type, rows[i].bytes, rows[i].len);
		struct xprop v;

		assert_int_equal(xprop_parse(r.bytes, r.len, &v), 0);
		xprop_text(&v, rows[i].skip, got, rows[i].size);
		assert_string_equal(got, rows[i].want);
	}
}

static void words_are_counted(void **state)
{
	const uint32_t given[] = {1, 2, 3};
	struct reply r = reply_of(32, 6, given, sizeof(given));
	struct xprop v;
	uint32_t got[4] = {0};
	char text[8];

	(void)state;
	assert_int_equal(xprop_parse(r.bytes, r.len, &v), 0);
	assert_int_equal(xprop_words(&v, got, 4), 3);
	assert_int_equal(got[2], 3);
	assert_int_equal(xprop_words(&v, got, 2), 2);
	/* of another kind than was asked for: none */
	xprop_text(&v, 0, text, sizeof(text));
	assert_string_equal(text, "");
	r = reply_of(8, STRING, "abcd", 4);
	assert_int_equal(xprop_parse(r.bytes, r.len, &v), 0);
	assert_int_equal(xprop_words(&v, got, 4), 0);
}

static void lies_are_refused(void **state)
{
	struct reply r = reply_of(8, STRING, "abcd", 4);
	struct xprop v;
	uint32_t count = 5;

	(void)state;
	assert_int_equal(xprop_parse(r.bytes, HEAD_LEN - 1, &v), -1);
	memcpy(r.bytes + 16, &count, 4);
	assert_int_equal(xprop_parse(r.bytes, r.len, &v), -1);
	count = 0x40000001; /* wraps in 32 bits */
	r.bytes[1] = 32;
	memcpy(r.bytes + 16, &count, 4);
	assert_int_equal(xprop_parse(r.bytes, r.len, &v), -1);
	r.bytes[1] = 7;
	assert_int_equal(xprop_parse(r.bytes, r.len, &v), -1);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(texts_become_utf8),
	cmocka_unit_test(words_are_counted),
	cmocka_unit_test(lies_are_refused),
};

UNIT_MAIN(tests)
