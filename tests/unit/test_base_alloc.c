#include "base/alloc.h"

#include "tests/support/unit.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void zeroed_and_never_null(void **state)
{
	(void)state;
	for (size_t len = 0; len < 100; len += 33) {
		char *p = alloc_zero(len);

		assert_non_null(p);
		for (size_t i = 0; i < len; i++)
			assert_int_equal(p[i], 0);
		p = alloc_resize(p, len, 2);
		assert_non_null(p);
		free(p);
	}
	free(alloc_array(0, 8));
}

static void strings(void **state)
{
	char *s = alloc_str("text");

	(void)state;
	assert_string_equal(s, "text");
	free(s);
	s = alloc_strn("text", 2);
	assert_string_equal(s, "te");
	free(s);
	s = alloc_strn(NULL, 0);
	assert_string_equal(s, "");
	free(s);
	s = alloc_printf("%d-%s", 7, "x");
	assert_string_equal(s, "7-x");
	free(s);
}

/* What fn writes to stderr before it aborts. */
static void expect_abort(void (*fn)(void), const char *text)
{
	char out[256];
	int fds[2];
	int status;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(fds[1], STDERR_FILENO);
		fn();
		_exit(0);
	}
	close(fds[1]);
	n = read(fds[0], out, sizeof(out) - 1);
	/* the message comes in pieces */
	while (n > 0 && n < (ssize_t)sizeof(out) - 1) {
		ssize_t more = read(fds[0], out + n, sizeof(out) - 1 - (size_t)n);

		if (more <= 0)
			break;
		n += more;
	}
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	out[n] = '\0';
	assert_non_null(strstr(out, text));
}

static void overflow_array(void)
{
	free(alloc_array(SIZE_MAX / 2, 4));
}

static void overflow_resize(void)
{
	free(alloc_resize(NULL, SIZE_MAX / 8, 16));
}

static void negative_len(void)
{
	free(alloc_zero((size_t)-1));
}

static void overflow_aborts(void **state)
{
	(void)state;
	expect_abort(overflow_array, "boxery: the size of an allocation");
	expect_abort(overflow_resize, "boxery: the size of an allocation");
	expect_abort(negative_len, "boxery: the size of an allocation");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(zeroed_and_never_null),
	cmocka_unit_test(strings),
	cmocka_unit_test(overflow_aborts),
};

UNIT_MAIN(tests)
