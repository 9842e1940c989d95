#include "mcp/invocation.h"

#include "tests/support/unit.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int parse(char *const argv[], const char *home, struct invocation *s,
		 struct err *e)
{
	const char *homes[] = {home, NULL};
	int argc = 0;

	while (argv[argc])
		argc++;
	return invocation_parse(argc, argv, homes, s, e);
}

#define ARGV(...) ((char *[]){(char[]){"boxery-mcp"}, __VA_ARGS__, NULL})
#define W(s) ((char[]){s})

static void takes_its_options(void **state)
{
	struct invocation s;
	struct err e = {0};

	(void)state;
	assert_ok(parse(ARGV(W("--vm"), W("a"), W("--vm=b-2"), W("--client"),
			     W("pi"), W("--home=/x"), W("--copy-root"),
			     W("/usr"), W("--tier=high")),
			"/home", &s, &e),
		  &e);
	assert_int_equal(s.vm_count, 2);
	assert_string_equal(s.vms[0], "a");
	assert_string_equal(s.vms[1], "b-2");
	assert_null(s.vms[2]);
	assert_string_equal(s.client, "pi");
	assert_string_equal(s.home, "/x");
	assert_true(s.high_tier);
	assert_string_equal(s.copy_root, "/usr");
	assert_non_null(strstr(s.instructions, "these VMs only: a, b-2."));
	invocation_finish(&s);
}

static void has_defaults(void **state)
{
	struct invocation s;
	struct err e = {0};
	char *argv[] = {(char[]){"boxery-mcp"}, NULL};

	(void)state;
	assert_int_equal(chdir("/usr"), 0);
	assert_ok(parse(argv, "/home/nobody-here", &s, &e), &e);
	assert_string_equal(s.client, "stdio");
	assert_string_equal(s.copy_root, "/usr");
	assert_null(s.vms);
	assert_null(s.home);
	assert_null(strstr(s.instructions, "VMs only"));
	invocation_finish(&s);
}

static void refuses_bad_words(void **state)
{
	static const struct {
		const char *words[3];
		const char *text;
	} rows[] = {
		{{"--vm"}, "--vm needs a value"},
		{{"--vm", "UPPER"}, "--vm: "},
		{{"--vm="}, "--vm: "},
		{{"--client", "a b"}, "--client: "},
		{{"--tier", "low"}, "neither standard nor high"},
		{{"--client", ""}, "--client: "},
		/* one more than the service takes */
		{{"--client", "0123456789012345678901234567890123456789012345678"
			      "901234567890123"},
		 "--client: "},
		{{"--bogus"}, "unknown option \"--bogus\""},
		{{"--vmx", "a"}, "unknown option \"--vmx\""},
		{{"demo"}, "unknown option \"demo\""},
		{{"--copy-root", "/"}, "--copy-root DIR"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		char *argv[] = {(char[]){"boxery-mcp"},
				strdup(rows[i].words[0]),
				rows[i].words[1] ? strdup(rows[i].words[1])
						 : NULL,
				NULL};
		struct invocation s;
		struct err e = {0};

		assert_fails(parse(argv, "/home", &s, &e), &e, ERR_INVALID,
			     rows[i].text);
		free(argv[1]);
		free(argv[2]);
	}
}

static void a_missing_copy_root_is_an_error(void **state)
{
	struct invocation s;
	struct err e = {0};

	(void)state;
	assert_fails(parse(ARGV(W("--copy-root"), W("/no/such/dir")), "/home",
			   &s, &e),
		     &e, ERR_NOT_FOUND, "--copy-root /no/such/dir: No such file");
}

/* K03: the whole home is never a copy root, by whatever name */
static void a_home_is_no_copy_root(void **state)
{
	const char *home = unit_path("home");
	const char *work = unit_path("home/work");
	const char *link = unit_path("link");
	const struct {
		const char *start;
		bool served;
	} rows[] = {
		{home, false}, {unit_dir(), false}, {"/", false},
		{link, false}, {work, true},
	};

	(void)state;
	assert_int_equal(mkdir(home, 0700), 0);
	assert_int_equal(mkdir(work, 0700), 0);
	assert_int_equal(symlink(home, link), 0);
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		char *argv[] = {(char[]){"boxery-mcp"}, NULL};
		struct invocation s;
		struct err e = {0};

		assert_int_equal(chdir(rows[i].start), 0);
		assert_ok(parse(argv, home, &s, &e), &e);
		assert_int_equal(s.copy_root != NULL, rows[i].served);
		if (!rows[i].served)
			assert_non_null(
				strstr(s.copy_root_refusal, "--copy-root"));
		invocation_finish(&s);
	}
	assert_int_equal(chdir("/"), 0);
}

static void takes_what_http_needs(void **state)
{
	struct invocation s;
	struct err e = {0};

	(void)state;
	assert_int_equal(chdir("/usr"), 0);
	assert_ok(parse(ARGV(W("--http"), W("8811"), W("--allow-user"), W("a@b"),
			     W("--allow-user=c@d"), W("--public-url"),
			     W("https://x"), W("--tls-cert=c"), W("--tls-key=k")),
			"/home", &s, &e),
		  &e);
	assert_string_equal(s.http, "8811");
	assert_string_equal(s.allow_users[1], "c@d");
	assert_null(s.allow_users[2]);
	assert_string_equal(s.public_url, "https://x");
	/* K02: where it was started is nobody else's business */
	assert_null(s.copy_root);
	assert_non_null(strstr(s.copy_root_refusal, "--copy-root DIR"));
	invocation_finish(&s);
	assert_ok(parse(ARGV(W("--http=0"), W("--copy-root=/usr")), "/home", &s,
			&e),
		  &e);
	assert_string_equal(s.copy_root, "/usr");
	invocation_finish(&s);
}

static void options_that_go_with_http(void **state)
{
	char *const *const rows[] = {
		ARGV(W("--allow-user=a")),
		ARGV(W("--public-url=https://a")),
		ARGV(W("--tls-cert=a"), W("--tls-key=a")),
		ARGV(W("--http=0"), W("--tls-key=a")),
		ARGV(W("--http=0"), W("--client=a")),
		ARGV(W("--http=0"), W("--allow-user=")),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		struct invocation s;
		struct err e = {0};

		assert_fails(parse(rows[i], "/home", &s, &e), &e, ERR_INVALID,
			     "--");
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(takes_its_options),
	cmocka_unit_test(has_defaults),
	cmocka_unit_test(takes_what_http_needs),
	cmocka_unit_test(options_that_go_with_http),
	cmocka_unit_test(refuses_bad_words),
	cmocka_unit_test(a_missing_copy_root_is_an_error),
	cmocka_unit_test(a_home_is_no_copy_root),
};
UNIT_MAIN(tests)
