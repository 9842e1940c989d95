#include "desktop/keysym.h"

#include "tests/support/unit.h"

#include <string.h>

#define CTRL 0xffe3
#define SHIFT 0xffe1
#define ALT 0xffe9
#define SUPER 0xffeb
#define ALTGR 0xfe03

static void chords(void **state)
{
	static const struct {
		const char *text;
		uint32_t mods[4];
		uint32_t key;
	} cases[] = {
		{"Return", {0}, 0xff0d},
		{"enter", {0}, 0xff0d},
		{"ENTER", {0}, 0xff0d},
		{"Esc", {0}, 0xff1b},
		{"pgdn", {0}, 0xff56},
		{"PgUp", {0}, 0xff55},
		{"Page_Up", {0}, 0xff55},
		{"page_up", {0}, 0xff55},
		{"f5", {0}, 0xffc2},
		{"space", {0}, ' '},
		{"KP_1", {0}, 0xffb1},
		{"kp_add", {0}, 0xffab},
		{"plus", {0}, '+'},
		{"+", {0}, '+'},
		{"-", {0}, '-'},
		{"minus", {0}, '-'},
		{"question", {0}, '?'},
		{"a", {0}, 'a'},
		{"A", {0}, 'A'},
		{"é", {0}, 0xe9},
		{"中", {0}, 0x01004e2d},
		{"😀", {0}, 0x0101f600},
		{"eacute", {0}, 0xe9},
		{"EuroSign", {0}, 0x010020ac},
		{"Cyrillic_a", {0}, 0x01000430},
		{"XF86AudioPlay", {0}, 0x1008ff14},
		{"U20AC", {0}, 0x010020ac},
		{"ctrl+c", {CTRL}, 'c'},
		{"Ctrl+C", {CTRL}, 'c'},
		{"CTRL+SHIFT+T", {CTRL, SHIFT}, 't'},
		{"shift+A", {SHIFT}, 'A'},
		{"altgr+E", {ALTGR}, 'E'},
		{"ctrl+alt+Delete", {CTRL, ALT}, 0xffff},
		{"ctrl++", {CTRL}, '+'},
		{"ctrl+plus", {CTRL}, '+'},
		{"ctrl+-", {CTRL}, '-'},
		{"cmd+space", {SUPER}, ' '},
		{"super", {SUPER}, 0},
		{"win", {SUPER}, 0},
		{"Super_L+control_l", {SUPER, CTRL}, 0},
		{"alt+F4", {ALT}, 0xffc1},
		{"ctrl+ctrl+a", {CTRL}, 'a'},
		{"  Tab ", {0}, 0xff09},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct keysym_chord c[KEYSYM_CHORDS_COUNT];
		struct err e = {0};
		unsigned count, mods = 0;

		print_message("%s\n", cases[i].text);
		assert_ok(keysym_parse_chords(cases[i].text, c, &count, &e),
			  &e);
		assert_int_equal(count, 1);
		assert_int_equal(c[0].key, cases[i].key);
		while (mods < 4 && cases[i].mods[mods])
			mods++;
		assert_int_equal(c[0].mods_count, mods);
		assert_memory_equal(c[0].mods, cases[i].mods,
				    mods * sizeof(uint32_t));
	}
}

static void bad_chords(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"", "space"},
		{"   ", "space"},
		{"Retrun", "did you mean Return"},
		{"Pge_Up", "did you mean Page_Up"},
		{"ctlr+c", "did you mean ctrl"},
		{"Backspac", "did you mean BackSpace"},
		{"xyzzyplugh", "unknown key \"xyzzyplugh\": use"},
		{"ctrl+", "lacks its last key"},
		{"a+b", "only modifiers"},
		{"ctrl+a+b", "only modifiers"},
		{"a+", "lacks its last key"},
		{"+a", "unknown key \"+a\""},
		{"\t", "unknown key"},
		{"\xff\xfe", "unknown key"},
	};
	char longest[300];

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct keysym_chord c[KEYSYM_CHORDS_COUNT];
		struct err e = {0};
		unsigned count;

		assert_fails(keysym_parse_chords(cases[i].text, c, &count, &e),
			     &e, ERR_INVALID, cases[i].says);
	}
	struct keysym_chord c[KEYSYM_CHORDS_COUNT];
	struct err e = {0};
	unsigned count;
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_fails(keysym_parse_chords(longest, c, &count, &e), &e,
		     ERR_INVALID, "unknown key");
	for (size_t i = 0; i + 1 < sizeof(longest); i++)
		longest[i] = i % 2 ? ' ' : 'a';
	assert_fails(keysym_parse_chords(longest, c, &count, &e), &e, ERR_LIMIT,
		     "128");
}

static void sequences(void **state)
{
	struct keysym_chord c[KEYSYM_CHORDS_COUNT];
	struct err e = {0};
	unsigned count;

	(void)state;
	assert_ok(keysym_parse_chords("ctrl+a Delete  + h", c, &count, &e), &e);
	assert_int_equal(count, 4);
	assert_int_equal(c[1].key, 0xffff);
	assert_int_equal(c[2].key, '+');
	assert_int_equal(c[3].key, 'h');
}

static void modifiers(void **state)
{
	struct keysym_chord c;
	struct err e = {0};

	(void)state;
	assert_ok(keysym_parse_modifiers("ctrl+shift", &c, &e), &e);
	assert_int_equal(c.mods_count, 2);
	assert_fails(keysym_parse_modifiers("ctrl+a", &c, &e), &e, ERR_INVALID,
		     "modifiers");
	assert_fails(keysym_parse_modifiers("", &c, &e), &e, ERR_INVALID,
		     "modifiers");
}

static void text(void **state)
{
	static const struct {
		const char *text;
		uint32_t keysyms[8];
		size_t count;
	} cases[] = {
		{"aA ~", {'a', 'A', ' ', '~'}, 4},
		{"a\nb", {'a', 0xff0d, 'b'}, 3},
		{"a\r\nb", {'a', 0xff0d, 'b'}, 3},
		{"\r\r\n\n", {0xff0d, 0xff0d, 0xff0d}, 3},
		{"\t", {0xff09}, 1},
		{"é€", {0xe9, 0x010020ac}, 2},
		{"e\xcc\x81", {'e', 0x01000301}, 2},
		{"中😀ש", {0x01004e2d, 0x0101f600, 0x010005e9}, 3},
		{"", {0}, 0},
	};
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"ab\x1b[", "character 3 is control character U+001B"},
		{"\x7f", "U+007F"},
		{"\xc2\x9b", "U+009B"},
		{"ok\xff", "byte 2"},
		{"\xed\xa0\x80", "byte 0"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		uint32_t k[32];
		struct err e = {0};
		size_t count;

		assert_ok(keysym_from_text(cases[i].text, strlen(cases[i].text),
					   k, &count, &e),
			  &e);
		assert_int_equal(count, cases[i].count);
		assert_memory_equal(k, cases[i].keysyms, count * sizeof(k[0]));
	}
	for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
		uint32_t k[32];
		struct err e = {0};
		size_t count;

		assert_fails(keysym_from_text(bad[i].text, strlen(bad[i].text),
					      k, &count, &e),
			     &e, ERR_INVALID, bad[i].says);
	}
}

static void normal_forms(void **state)
{
	static const uint32_t pairs[][2] = {
		{0, 0},
		{'a', 'a'},
		{0x6c1, 0x01000430},  /* Cyrillic_a */
		{0x20ac, 0x010020ac}, /* EuroSign */
		{0x01000430, 0x01000430},
		{0x010000e9, 0xe9}, /* a Latin-1 letter as Unicode */
		{0xffb1, 0xffb1},   /* KP_1 is not 1 */
		{0xfe51, 0xfe51},   /* dead_acute is no accent */
		{0xff0d, 0xff0d},
		{0x1008ff14, 0x1008ff14},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(pairs); i++)
		assert_int_equal(keysym_normal(pairs[i][0]), pairs[i][1]);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(chords),    cmocka_unit_test(bad_chords),
	cmocka_unit_test(sequences), cmocka_unit_test(modifiers),
	cmocka_unit_test(text),	     cmocka_unit_test(normal_forms),
};

UNIT_MAIN(tests)
