#include "base/err.h"

#include "tests/support/unit.h"

#include <errno.h>
#include <string.h>

static void set_escapes(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{"plain", "plain"},
		{"zwölf 箱 🙂", "zwölf 箱 🙂"},
		{"a\nb", "a\\x0Ab"},
		{"ends in a newline\r\n", "ends in a newline"},
		{"\033[31mred", "\\x1B[31mred"},
		{"del\x7f", "del\\x7F"},
		{"c1 \xc2\x9b"
		 "31m",
		 "c1 \\xC2\\x9B31m"},
		{"lone \xff, overlong \xc0\xaf",
		 "lone \\xFF, overlong \\xC0\\xAF"},
		{"cut \xe7\xae", "cut \\xE7\\xAE"},
		{"surrogate \xed\xa0\x80", "surrogate \\xED\\xA0\\x80"},
		{"bidi \xe2\x80\xae"
		 "cod.exe",
		 "bidi \\xE2\\x80\\xAE"
		 "cod.exe"},
		{"", ""},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		struct err e = {0};

		assert_int_equal(err_set(&e, ERR_DENIED, "%s", rows[i].in), -1);
		assert_string_equal(e.msg, rows[i].out);
		/* once more changes nothing */
		err_set(&e, ERR_DENIED, "%s", e.msg);
		assert_string_equal(e.msg, rows[i].out);
	}
}

static void set_replaces(void **state)
{
	struct err e = {0};

	(void)state;
	errno = EAGAIN;
	err_sys(&e, "first");
	err_set(&e, ERR_INVALID, "second, after \"%s\"", err_msg(&e));
	assert_int_equal(e.code, ERR_INVALID);
	assert_int_equal(e.errnum, 0);
	assert_non_null(strstr(e.msg, "second, after \"first: "));
}

static void set_cuts_whole_pieces(void **state)
{
	char text[2000];
	struct err e = {0};

	(void)state;
	/* never half an escape, at any alignment */
	for (size_t pad = 0; pad < 8; pad++) {
		size_t len;

		memset(text, 1, sizeof(text));
		memset(text, 'a', pad);
		text[sizeof(text) - 1] = '\0';
		err_set(&e, ERR_INTERNAL, "%s.", text);
		len = strlen(e.msg);
		assert_true(len < sizeof(e.msg));
		assert_string_equal(e.msg + len - 4, "\\x01");
	}
	/* nor half a character */
	for (size_t pad = 0; pad < 4; pad++) {
		memset(text, 'a', pad);
		for (size_t i = pad; i + 4 < sizeof(text); i += 4)
			memcpy(text + i, "🙂", 5);
		err_set(&e, ERR_INTERNAL, "%s", text);
		assert_null(strchr(e.msg, '\\'));
	}
}

static void sys_maps_errno(void **state)
{
	static const struct {
		int errnum;
		enum err_code code;
	} rows[] = {
		{ENOENT, ERR_NOT_FOUND}, {EEXIST, ERR_EXISTS},
		{EACCES, ERR_DENIED},	 {EPERM, ERR_DENIED},
		{ENOSPC, ERR_NOSPACE},	 {EDQUOT, ERR_NOSPACE},
		{ETIMEDOUT, ERR_TIMEOUT}, {EIO, ERR_SYSTEM},
		{99999, ERR_SYSTEM},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		struct err e = {0};

		errno = rows[i].errnum;
		assert_int_equal(err_sys(&e, "opening %s", "x"), -1);
		assert_int_equal(errno, rows[i].errnum);
		assert_int_equal(e.errnum, rows[i].errnum);
		assert_int_equal(e.code, rows[i].code);
		assert_memory_equal(e.msg, "opening x: ", 11);
	}
	struct err e = {0};
	errno = ENOENT;
	err_sys(&e, "x");
	assert_string_equal(e.msg, "x: No such file or directory");
}

static void sys_keeps_the_reason_of_a_long_name(void **state)
{
	char name[600];
	struct err e = {0};

	(void)state;
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	errno = ENOSPC;
	err_sys(&e, "%s", name);
	assert_non_null(strstr(e.msg, ": No space left on device"));
}

static void wrap_keeps_the_code(void **state)
{
	struct err e = {0};
	struct err none = {0};

	(void)state;
	errno = ENOSPC;
	err_sys(&e, "writing a");
	assert_int_equal(err_wrap(&e, "copying %s", "tree"), -1);
	assert_string_equal(e.msg,
			    "copying tree: writing a: No space left on device");
	assert_int_equal(e.code, ERR_NOSPACE);
	assert_int_equal(e.errnum, ENOSPC);
	err_wrap(&none, "copying");
	assert_int_equal(none.code, ERR_INTERNAL);
}

static void null_is_allowed(void **state)
{
	(void)state;
	assert_int_equal(err_set(NULL, ERR_INVALID, "x"), -1);
	assert_int_equal(err_sys(NULL, "x"), -1);
	assert_int_equal(err_wrap(NULL, "x"), -1);
	assert_non_null(err_msg(NULL));
}

static void names_come_back(void **state)
{
	(void)state;
	for (unsigned i = ERR_INVALID; i < ERR_CODE_COUNT; i++) {
		enum err_code code = (enum err_code)i;

		assert_int_equal(err_code_parse(err_code_name(code)), code);
		assert_true(err_exit_status(code) > 0);
		assert_true(err_exit_status(code) < 256);
		assert_true(err_http(code) >= 400);
		assert_true(err_jsonrpc(code) <= -32030);
	}
	assert_int_equal(err_code_parse("no such code"), ERR_INTERNAL);
	assert_int_equal(err_code_parse("none"), ERR_INTERNAL);
	assert_int_equal(err_exit_status(ERR_NONE), 0);
	assert_int_equal(err_http((enum err_code)99), err_http(ERR_INTERNAL));
}

/* M17: what a guest says ends where its quotes do. */
static void quoting(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		const char *want;
	} rows[] = {
		{"", 0, "\"\""},
		{"bye", 3, "\"bye\""},
		{"a\". Now run x \"b", 16, "\"a'. Now run x 'b\""},
		{"a\nb\0c", 5, "\"a\nb c\""},
	};
	char ret[ERR_QUOTE_SIZE], longest[ERR_QUOTE_LEN + 1];

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++)
		assert_string_equal(
			err_quote(ret, rows[i].text, rows[i].len),
			rows[i].want);
	memset(longest, 'x', sizeof(longest));
	longest[0] = 'a';
	assert_string_equal(err_quote(ret, longest, ERR_QUOTE_LEN) + 1 +
				    ERR_QUOTE_LEN,
			    "\"");
	err_quote(ret, longest, sizeof(longest));
	assert_int_equal(strlen(ret), ERR_QUOTE_SIZE - 1);
	assert_int_equal(strncmp(ret, "\"\xe2\x80\xa6x", 5), 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(quoting),
	cmocka_unit_test(set_escapes),
	cmocka_unit_test(set_replaces),
	cmocka_unit_test(set_cuts_whole_pieces),
	cmocka_unit_test(sys_maps_errno),
	cmocka_unit_test(sys_keeps_the_reason_of_a_long_name),
	cmocka_unit_test(wrap_keeps_the_code),
	cmocka_unit_test(null_is_allowed),
	cmocka_unit_test(names_come_back),
};

UNIT_MAIN(tests)
