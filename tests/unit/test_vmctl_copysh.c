/* Words as a shell takes them. The shell itself: tests/integration/copy.sh */
#include "base/alloc.h"
#include "base/buf.h"
#include "base/path.h"
#include "base/proc.h"
#include "vmctl/copysh.h"

#include "tests/support/unit.h"

#include <string.h>

/* What sh makes of a line of words, NUL between. */
static void assert_words(const char *shell, const char *const *words,
			 bool paths)
{
	static const char script[] =
		"N='\n'\nIFS= read -r L\neval \"set -- $L\"\n"
		"printf '%s\\0' \"$@\"\n";
	struct buf line, out, want;
	const char *const argv[] = {"env", "LC_ALL=C", shell, "-c", script,
				    NULL};
	struct err e = {0};

	buf_init(&line, SIZE_MAX);
	buf_init(&out, SIZE_MAX);
	buf_init(&want, SIZE_MAX);
	for (; *words; words++) {
		if (paths)
			assert_ok(copysh_path(&line, *words, &e), &e);
		else
			assert_ok(copysh_word(&line, *words, &e), &e);
		if (paths && **words != '/')
			assert_ok(buf_add_str(&want, "./", &e), &e);
		assert_ok(buf_add(&want, *words, strlen(*words) + 1, &e), &e);
	}
	assert_null(strchr(line.data, '\n'));
	assert_ok(buf_add_str(&line, "\n", &e), &e);
	const struct proc_run run = {.in = line.data, .in_len = line.len,
				     .out = &out, .cancel_fd = -1};
	assert_ok(proc_run(argv, &run, deadline_in_ms(20000), &e), &e);
	assert_int_equal(out.len, want.len);
	assert_memory_equal(out.data, want.data, want.len);
	buf_finish(&line);
	buf_finish(&out);
	buf_finish(&want);
}

static void quoting(void **state)
{
	static const char *const shells[] = {"dash", "bash"};
	char bytes[256][4];
	const char *all[300] = {
		"",	 "plain",  "two words", "it's",	   "''",
		"\n",	 "\n\n",   "a\nb\n",	"$HOME",   "$(id)",
		"`id`",	 "\\",	   "\\n",	"a\\",	   "*",
		"~",	 "-rf",	   "--",	"\"$N\"",  "'\"$N\"'",
		"a;b&c", "#x",	   "!x",	"{a,b}",   " ",
		"\t",	 "=x",	   "$'x'",	"\xff\xfe", "\xc3\xa9",
		"'\n'",	 "\\'\n\\'",
	};
	size_t count = 0;

	(void)state;
	while (all[count])
		count++;
	/* each byte, among those that dash uses within */
	for (int i = 1; i < 256; i++) {
		memcpy(bytes[i], (char[]){(char)0x81, (char)i, (char)0x88, 0},
		       4);
		all[count++] = bytes[i];
	}
	assert_true(count < ARRAY_COUNT(all));
	for (unsigned i = 0; i < ARRAY_COUNT(shells); i++) {
		assert_words(shells[i], all, false);
		assert_words(shells[i], all, true);
	}
}

static void home_paths(void **state)
{
	static const struct {
		const char *path, *want;
	} rows[] = {
		{"", "."},	 {"~", "."},	     {"~/", "."},
		{"~/x", "x"},	 {"~//x/", "x/"},    {"x", "x"},
		{"~x", "~x"},	 {"/~/x", "/~/x"},   {"./~", "./~"},
		{"/", "/"},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		autofree char *got = copysh_home_path(rows[i].path);

		assert_string_equal(got, rows[i].want);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(quoting),
	cmocka_unit_test(home_paths),
};

UNIT_MAIN(tests)
