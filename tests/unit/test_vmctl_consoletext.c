#include "vmctl/consoletext.h"

#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static void what_is_for_a_terminal_goes(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{"", ""},
		{"plain\n", "plain\n"},
		{"[  OK  ] up\r\n", "[  OK  ] up\n"},
		{"[\033[0;32m  OK  \033[0m] \033[1mup\033[0m", "[  OK  ] up"},
		{"\033[2J\033[01;01Hlogin:", "login:"},
		{"\033]0;a title\alogin:", "login:"},
		{"\033]0;a title\033\\login:", "login:"},
		{"\033]0;no end\nlogin:", "\nlogin:"},
		{"\033cagain", "again"},
		{"a\033", "a"},
		{"a\033[", "a"},
		{"a\033[12", "a"},
		{"a\033\nb", "a\nb"},
		{"a\033[1\nb", "a\nb"},
		{"a\tb\b\v\f\001\177c", "a\tbc"},
		{"gr\303\274n \377", "gr\303\274n \377"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		char text[64];
		size_t len;

		snprintf(text, sizeof(text), "%s", rows[i].in);
		len = consoletext_clean(text, strlen(text));
		text[len] = '\0';
		assert_string_equal(text, rows[i].out);
	}
}

static void a_nul_is_no_end(void **state)
{
	char text[] = "a\0b";

	(void)state;
	assert_int_equal(consoletext_clean(text, 3), 2);
	assert_memory_equal(text, "ab", 2);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(what_is_for_a_terminal_goes),
	cmocka_unit_test(a_nul_is_no_end),
};
UNIT_MAIN(tests)
