#include "base/deadline.h"

#include "tests/support/unit.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

static void is_clamped(void **state)
{
	static const struct {
		int64_t ms, want;
	} rows[] = {
		{INT64_MIN, 0},
		{-1, 0},
		{0, 0},
		{5000, 5000},
		{DEADLINE_MAX_MS + 1, DEADLINE_MAX_MS},
		{INT64_MAX, DEADLINE_MAX_MS},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		int64_t before = deadline_now_ms();
		struct deadline d = deadline_in_ms(rows[i].ms);

		assert_true(d.at_ms >= before + rows[i].want);
		assert_true(d.at_ms <= deadline_now_ms() + rows[i].want);
		assert_int_equal(deadline_passed(d), rows[i].want == 0);
		assert_true(deadline_poll_ms(d) <= rows[i].want);
		assert_int_equal(deadline_timespec(d).tv_sec, d.at_ms / 1000);
	}
	assert_int_equal(
		deadline_min(deadline_in_ms(9000), deadline_in_ms(10)).given_ms,
		10);
}

static void says_how_long_it_was(void **state)
{
	struct err e = {0};

	(void)state;
	assert_ok(deadline_check(deadline_in_ms(10000), "x", &e), &e);
	assert_fails(deadline_check((struct deadline){.given_ms = 45000},
				    "asking the guest", &e),
		     &e, ERR_TIMEOUT,
		     "timed out after 45 s while asking the guest");
	assert_fails(deadline_check((struct deadline){.given_ms = 1500}, "x",
				    &e),
		     &e, ERR_TIMEOUT, "after 1.5 s");
}

static void polls_once_even_when_late(void **state)
{
	struct err e = {0};
	struct pollfd p = {.events = POLLIN};
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	p.fd = fds[0];
	assert_fails(deadline_poll(&p, 1, deadline_in_ms(0), "x", &e), &e,
		     ERR_TIMEOUT, "after 0 s");
	assert_int_equal(write(fds[1], "x", 1), 1);
	assert_int_equal(deadline_poll(&p, 1, deadline_in_ms(0), "x", &e), 1);
	close(fds[0]);
	close(fds[1]);
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* Signals interrupt the waits; neither the wait nor its end may change. */
static void survives_signals(void **state)
{
	const struct sigaction sa = {.sa_handler = on_alarm};
	const struct itimerval often = {{0, 5000}, {0, 5000}};
	const struct itimerval off = {0};
	struct err e = {0};
	int64_t from = deadline_now_ms();

	(void)state;
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	assert_fails(deadline_poll(NULL, 0, deadline_in_ms(60), "x", &e), &e,
		     ERR_TIMEOUT, "");
	assert_true(deadline_now_ms() - from >= 60);
	deadline_sleep_ms(60);
	assert_true(deadline_now_ms() - from >= 119);
	setitimer(ITIMER_REAL, &off, NULL);
	signal(SIGALRM, SIG_DFL);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(is_clamped),
	cmocka_unit_test(says_how_long_it_was),
	cmocka_unit_test(polls_once_even_when_late),
	cmocka_unit_test(survives_signals),
};

UNIT_MAIN(tests)
