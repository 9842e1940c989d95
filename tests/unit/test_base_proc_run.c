#include "base/proc.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOON deadline_in_ms(30000)

static void assert_no_child(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

/* More than the pipes hold, both ways at once. */
static void feeds_and_collects(void **state)
{
	static const size_t sizes[] = {0, 1, 65536, 65537, 3000000};
	const char *argv[] = {"cat", NULL};
	char *data = alloc_zero(3000000);

	(void)state;
	for (size_t i = 0; i < 3000000; i++)
		data[i] = (char)(i * 31 >> 4);
	for (unsigned i = 0; i < ARRAY_COUNT(sizes); i++) {
		struct err e = {0};
		struct buf out;
		struct proc_run r = {.in = data, .in_len = sizes[i],
				     .out = &out, .cancel_fd = -1};

		buf_init(&out, 3000000);
		assert_ok(proc_run(argv, &r, SOON, &e), &e);
		assert_int_equal(out.len, sizes[i]);
		assert_memory_equal(out.data, data, sizes[i]);
		buf_finish(&out);
	}
	free(data);
}

static void stdin_that_is_not_wanted(void **state)
{
	const char *argv[] = {"true", NULL};
	char *data = alloc_zero(3000000);
	struct err e = {0};
	struct proc_run r = {.in = data, .in_len = 3000000, .cancel_fd = -1};

	(void)state;
	signal(SIGPIPE, SIG_DFL);
	assert_ok(proc_run(argv, &r, SOON, &e), &e);
	free(data);
}

static void failures_name_the_last_line(void **state)
{
	static const struct {
		const char *script, *want;
	} rows[] = {
		{"echo first >&2; echo the reason >&2; exit 3",
		 "sh: exit status 3: the reason"},
		{"printf 'the reason\\n\\n  \\n' >&2; exit 1",
		 "sh: exit status 1: the reason"},
		{"printf 'no newline' >&2; exit 1",
		 "sh: exit status 1: no newline"},
		{"exit 9", "sh: exit status 9"},
		{"echo dying >&2; kill -KILL $$",
		 "sh: ended by signal 9: dying"},
		{"printf '\\033[31mred\\033[0m\\n' >&2; exit 1",
		 "\\x1B[31mred"},
		/* far more than is kept */
		{"yes noise | head -c 300000 >&2; echo end >&2; exit 1",
		 "sh: exit status 1: end"},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		const char *argv[] = {"sh", "-c", rows[i].script, NULL};
		struct proc_run r = {.cancel_fd = -1};
		struct err e = {0};

		assert_fails(proc_run(argv, &r, SOON, &e), &e, ERR_SYSTEM,
			     rows[i].want);
	}
}

static void collect_line(const char *line, void *ctx)
{
	struct buf *b = ctx;
	struct err e = {0};

	assert_ok(buf_printf(b, &e, "<%s>", line), &e);
}

static void hands_on_lines(void **state)
{
	static const struct {
		const char *script, *want;
	} rows[] = {
		{"printf 'one\\ntwo\\nthree'", "<one><two><three>"},
		{"printf '10%%\\r20%%\\r\\ndone\\n\\n'", "<10%><20%><done>"},
		{"printf on; sleep 0.2; printf 'e\\nt'; sleep 0.2; echo wo",
		 "<one><two>"},
		{"printf 'a\\0b\\n'", "<a><b>"},
		{":", ""},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		const char *argv[] = {"sh", "-c", rows[i].script, NULL};
		struct err e = {0};
		struct buf got;
		struct proc_run r = {.line = collect_line, .line_ctx = &got,
				     .cancel_fd = -1};

		buf_init(&got, 1000);
		assert_ok(proc_run(argv, &r, SOON, &e), &e);
		assert_string_equal(got.data, rows[i].want);
		buf_finish(&got);
	}
}

static void count_line(const char *line, void *ctx)
{
	size_t *total = ctx;

	assert_true(strlen(line) <= 100000);
	*total += strlen(line);
}

static void endless_line_comes_in_pieces(void **state)
{
	const char *argv[] = {"sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' x",
			      NULL};
	size_t total = 0;
	struct proc_run r = {.line = count_line, .line_ctx = &total,
			     .cancel_fd = -1};
	struct err e = {0};

	(void)state;
	assert_ok(proc_run(argv, &r, SOON, &e), &e);
	assert_int_equal(total, 1000000);
}

/* What the kernel says of the child, and what happens when it takes more. */
static void limits_hold(void **state)
{
	static const struct proc_limits l = {
		.memory_len = 1ULL << 30, .file_len = 4096, .cpu_s = 1};
	static const struct {
		const char *script;
		int status;
		const char *out;
	} rows[] = {
		{"grep -q '^NoNewPrivs:.1$' /proc/self/status", 0, ""},
		{"ulimit -v; ulimit -f; ulimit -t; ulimit -c", 0,
		 "1048576\n8\n1\n0\n"},
		{"head -c 5000 /dev/zero >\"$F\"; stat -c %s \"$F\"", 0,
		 "4096\n"},
		{"exec dd if=/dev/zero of=/dev/null bs=2G count=1", 1, ""},
		{"while :; do :; done", 128 + SIGKILL, ""},
	};
	int status = -1;

	(void)state;
	setenv("F", unit_path("file"), 1);
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		const char *argv[] = {"sh", "-c", rows[i].script, NULL};
		struct err e = {0};
		struct buf out;
		struct proc_run r = {.out = &out,
				     .cancel_fd = -1,
				     .ret_status = &status,
				     .limits = &l};

		buf_init(&out, 1000);
		assert_ok(proc_run(argv, &r, SOON, &e), &e);
		if (status != rows[i].status ||
		    strcmp(out.data, rows[i].out) != 0)
			fail_msg("%s: %d \"%s\"", rows[i].script, status,
				 out.data);
		buf_finish(&out);
	}
}

static void output_is_capped(void **state)
{
	const char *argv[] = {"yes", NULL};
	struct err e = {0};
	struct buf out;
	struct proc_run r = {.out = &out, .cancel_fd = -1};

	(void)state;
	buf_init(&out, 100000);
	assert_fails(proc_run(argv, &r, SOON, &e), &e, ERR_LIMIT,
		     "the output of yes: more than the 100000 bytes");
	assert_no_child();
	buf_finish(&out);
}

/* Silent or chattering without a pause: it ends at the deadline. */
static void deadline_kills(void **state)
{
	static const char *const scripts[] = {"sleep 1000", "yes",
					      "yes >&2"};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(scripts); i++) {
		const char *argv[] = {"sh", "-c", scripts[i], NULL};
		struct proc_run r = {.cancel_fd = -1, .line = NULL};
		int64_t from = deadline_now_ms();
		struct err e = {0};

		assert_fails(proc_run(argv, &r, deadline_in_ms(200), &e), &e,
			     ERR_TIMEOUT, "sh: timed out after 0.2 s");
		assert_true(deadline_now_ms() - from < 5000);
		assert_no_child();
	}
}

static void cancel_kills(void **state)
{
	const char *argv[] = {"sleep", "1000", NULL};
	struct err e = {0};
	struct proc_run r = {0};
	int fds[2];

	(void)state;
	assert_ok(fd_pipe(fds, &e), &e);
	assert_ok(fd_write_all(fds[1], "x", 1, SOON, &e), &e);
	r.cancel_fd = fds[0];
	assert_fails(proc_run(argv, &r, SOON, &e), &e, ERR_CANCELLED,
		     "sleep: cancelled");
	assert_no_child();
	close(fds[0]);
	close(fds[1]);
}

/* The end is the program's end, not that of a daemon it left behind, and
 * nothing written before it is lost. */
static void a_daemon_does_not_hold_us(void **state)
{
	const char *argv[] = {"sh", "-c",
			      "sleep 20 & head -c 50000 /dev/zero; echo $!",
			      NULL};
	int64_t from = deadline_now_ms();
	struct err e = {0};
	struct buf out;
	struct proc_run r = {.out = &out, .cancel_fd = -1};

	(void)state;
	buf_init(&out, 100000);
	assert_ok(proc_run(argv, &r, SOON, &e), &e);
	assert_true(deadline_now_ms() - from < 10000);
	assert_true(out.len > 50000);
	assert_int_equal(out.data[out.len - 1], '\n');
	kill((pid_t)strtol(out.data + 50000, NULL, 10), SIGKILL);
	buf_finish(&out);
}

static void programs_that_are_not_there(void **state)
{
	const char *argv[] = {"no-such-program-here", NULL};
	struct proc_run r = {.in = "x", .in_len = 1, .cancel_fd = -1};
	struct err e = {0};

	(void)state;
	assert_fails(proc_run(argv, &r, SOON, &e), &e, ERR_NOT_FOUND,
		     "starting no-such-program-here");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(feeds_and_collects),
	cmocka_unit_test(stdin_that_is_not_wanted),
	cmocka_unit_test(failures_name_the_last_line),
	cmocka_unit_test(hands_on_lines),
	cmocka_unit_test(endless_line_comes_in_pieces),
	cmocka_unit_test(limits_hold),
	cmocka_unit_test(output_is_capped),
	cmocka_unit_test(deadline_kills),
	cmocka_unit_test(cancel_kills),
	cmocka_unit_test(a_daemon_does_not_hold_us),
	cmocka_unit_test(programs_that_are_not_there),
};

UNIT_MAIN(tests)
