#include "base/limits.h"
#include "tests/support/unit.h"
#include "vmctl/guest_impl.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void command_lines(void **state)
{
	static const struct {
		const char *argv[4], *env[3], *cwd, *want;
	} cases[] = {
		{{"true"}, {NULL}, NULL, "exec 'true'"},
		{{"echo", "a b", ""}, {NULL}, NULL, "exec 'echo' 'a b' ''"},
		{{"echo", "it's"}, {NULL}, NULL, "exec 'echo' 'it'\\''s'"},
		{{"-x"}, {NULL}, NULL, "exec -- '-x'"},
		{{"env"},
		 {"A=1", "B_2=x y"},
		 "/tmp dir",
		 "cd -- '/tmp dir' && export A='1' && export B_2='x y' && exec "
		 "'env'"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		const struct guest_exec_opts o = {.argv = cases[i].argv,
						  .env = cases[i].env,
						  .cwd = cases[i].cwd};
		struct err e = {0};
		autofree char *got = NULL;

		assert_ok(guest_quote_command(&o, &got, &e), &e);
		assert_string_equal(got, cases[i].want);
	}
}

/* What a shell makes of it is what went in, byte for byte. */
static void a_shell_agrees(void **state)
{
	static const char *const shells[] = {"/bin/sh", "/bin/bash"};
	char all[256];
	const char *argv[] = {"printf", "%s|", all,    "$(id)", "`id`",
			      "a\nb",	"*",   "'\"'", "\\",	NULL};
	const char *env[] = {"V=it's $HOME", NULL};
	const struct guest_exec_opts o = {.argv = argv, .env = env, .cwd = "/"};
	struct err e = {0};
	autofree char *line = NULL;

	(void)state;
	for (int i = 1; i < 256; i++)
		all[i - 1] = (char)i;
	all[255] = '\0';
	assert_ok(guest_quote_command(&o, &line, &e), &e);
	for (size_t s = 0; s < ARRAY_COUNT(shells); s++) {
		char got[1024];
		size_t at = 0;
		ssize_t n;
		int fds[2];
		pid_t pid;

		assert_int_equal(pipe(fds), 0);
		pid = fork();
		if (pid == 0) {
			dup2(fds[1], 1);
			execl(shells[s], shells[s], "-c", line, NULL);
			_exit(127);
		}
		close(fds[1]);
		while ((n = read(fds[0], got + at, sizeof(got) - at)) > 0)
			at += (size_t)n;
		close(fds[0]);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		for (const char *const *a = argv + 2, *p = got; *a; a++) {
			assert_memory_equal(p, *a, strlen(*a));
			p += strlen(*a);
			assert_int_equal(*p++, '|');
		}
	}
}

static void what_is_refused(void **state)
{
	static const char *const bad_env[] = {"=x", "A B=x",  "1A=x", "A",
					      "",   "A;id=x", "A'=x"};
	const char *argv[] = {"true", NULL}, *none[] = {NULL},
		   *empty[] = {"", NULL};
	struct guest_exec_opts o = {.argv = none};
	struct err e = {0};
	char *line = NULL, *huge;

	(void)state;
	assert_fails(guest_quote_command(&o, &line, &e), &e, ERR_INVALID,
		     "no program");
	o.argv = empty;
	e = (struct err){0};
	assert_fails(guest_quote_command(&o, &line, &e), &e, ERR_INVALID,
		     "no program");
	o.argv = argv;
	for (size_t i = 0; i < ARRAY_COUNT(bad_env); i++) {
		const char *env[] = {bad_env[i], NULL};

		o.env = env;
		e = (struct err){0};
		assert_fails(guest_quote_command(&o, &line, &e), &e,
			     ERR_INVALID, "environment variable");
	}
	o.env = NULL;
	huge = alloc_zero(LIMIT_ARG_LEN + 1);
	memset(huge, 'x', LIMIT_ARG_LEN);
	argv[0] = huge;
	e = (struct err){0};
	assert_fails(guest_quote_command(&o, &line, &e), &e, ERR_LIMIT,
		     "longer than");
	free(huge);
	assert_null(line);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(command_lines),
	cmocka_unit_test(a_shell_agrees),
	cmocka_unit_test(what_is_refused),
};
UNIT_MAIN(tests)
