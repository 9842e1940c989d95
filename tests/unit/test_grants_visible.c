/* Text of an agent beside a question: nothing hides, nothing marks up. */
#include "tests/support/unit.h"

#include "grants/visible.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *in, *terminal, *dialog; /* dialog NULL: the same */
} rows[] = {
	{"", "", NULL},
	{"plain words, 'quoted' - and 100%", "plain words, 'quoted' - and 100%",
	 NULL},
	{"Grüße, 日本語 🙂 é", "Grüße, 日本語 🙂 é", NULL},
	/* one line, no terminal control */
	{"a\nApproved: yes\r\n", "a\\nApproved: yes\\u{000D}\\n", NULL},
	{"\x1b[2J\x07\x7f", "\\u{001B}[2J\\u{0007}\\u{007F}",
	 "\\u{001B}\\[2J\\u{0007}\\u{007F}"},
	{"c1 \xc2\x9b"
	 "31m",
	 "c1 \\u{009B}31m", NULL},
	{"tab\t", "tab\\t", NULL},
	{"back\\slash \\u{202E}", "back\\\\slash \\\\u{202E}", NULL},
	/* direction */
	{"\xe2\x80\xae"
	 "seY",
	 "\\u{202E}seY", NULL},
	{"a\xe2\x81\xa6 b\xe2\x81\xa9", "a\\u{2066} b\\u{2069}", NULL},
	{"\xd8\x9c\xe2\x80\x8f", "\\u{061C}\\u{200F}", NULL},
	/* nothing to see */
	{"y\xe2\x80\x8b"
	 "e\xe2\x81\xa0s\xef\xbb\xbf",
	 "y\\u{200B}e\\u{2060}s\\u{FEFF}", NULL},
	{"\xc2\xad\xe1\x85\x9f\xe3\x85\xa4\xe2\xa0\x80",
	 "\\u{00AD}\\u{115F}\\u{3164}\\u{2800}", NULL},
	{"\xf3\xa0\x81\x81", "\\u{E0041}", NULL}, /* tag letter A */
	{"\xef\xb8\x8f", "\\u{FE0F}", NULL},
	{"a\xc2\xa0\xe3\x80\x80"
	 "b",
	 "a\\u{00A0}\\u{3000}b", NULL},
	{"\xe2\x80\xa8\xe2\x80\xa9", "\\u{2028}\\u{2029}", NULL},
	{"\xee\x80\x80", "\\u{E000}", NULL}, /* private use */
	/* marks that pile up, or sit on our own quote */
	{"\xcc\x80"
	 "a",
	 "\\u{0300}a", NULL},
	{"a\xcc\x80\xcc\x81\xcc\x82\xcc\x83"
	 "b\xcc\x80",
	 "a\xcc\x80\xcc\x81\\u{0302}\\u{0303}b\xcc\x80", NULL},
	/* no UTF-8: overlong, cut off, surrogate */
	{"\xff\xc0\xaf", "\\xFF\\xC0\\xAF", NULL},
	{"\xe2\x80", "\\xE2\\x80", NULL},
	{"\xed\xa0\x80", "\\xED\\xA0\\x80", NULL},
	/* markup */
	{"**bold** `code` ~~x~~", "**bold** `code` ~~x~~",
	 "\\*\\*bold\\*\\* \\`code\\` \\~\\~x\\~\\~"},
	{"[yes](https://e.x/) ![i](u)", "[yes](https://e.x/) ![i](u)",
	 "\\[yes\\](https\\://e.x/) !\\[i\\](u)"},
	{"<b>&#x202e;</b> # h | t", "<b>&#x202e;</b> # h | t",
	 "\\<b\\>\\&#x202e;\\</b\\> # h \\| t"},
	{"www.x.org a@b.c $x$", "www.x.org a@b.c $x$",
	 "www\\.x.org a\\@b.c \\$x\\$"},
	{"my_file _x_ a__b x_", "my_file _x_ a__b x_",
	 "my_file \\_x\\_ a\\_\\_b x\\_"},
	{"note: mailto:a", "note: mailto:a", "note: mailto\\:a"},
	{"# head", "# head", "\\# head"},
	{"- item", "- item", "\\- item"},
	{"now. llm:openai (one) c++ #5 a-b!",
	 "now. llm:openai (one) c++ #5 a-b!", NULL},
};

static void texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		const char *want =
			rows[i].dialog ? rows[i].dialog : rows[i].terminal;
		autofree char *t = visible_text(rows[i].in, strlen(rows[i].in),
						1000, VISIBLE_TERMINAL);
		autofree char *d = visible_text(rows[i].in, strlen(rows[i].in),
						1000, VISIBLE_DIALOG);

		assert_string_equal(t, rows[i].terminal);
		assert_string_equal(d, want);
	}
}

static void nul(void **state)
{
	autofree char *t = visible_text("a\0b", 3, 10, VISIBLE_DIALOG);

	(void)state;
	assert_string_equal(t, "a\\u{0000}b");
}

static void caps(void **state)
{
	static const struct {
		size_t max;
		const char *want;
	} cut[] = {
		{4, "äöü!"},
		{3, "äöü… (1 more bytes)"},
		{2, "äö… (3 more bytes)"},
		{0, "… (7 more bytes)"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cut); i++) {
		autofree char *t = visible_text("äöü!", strlen("äöü!"),
						cut[i].max, VISIBLE_TERMINAL);

		assert_string_equal(t, cut[i].want);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(texts),
	cmocka_unit_test(nul),
	cmocka_unit_test(caps),
};
UNIT_MAIN(tests)
