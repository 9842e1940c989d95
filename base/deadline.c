#include "base/deadline.h"

#include <errno.h>
#include <limits.h>

int64_t deadline_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

struct deadline deadline_in_ms(int64_t ms)
{
	if (ms < 0)
		ms = 0;
	if (ms > DEADLINE_MAX_MS)
		ms = DEADLINE_MAX_MS;
	return (struct deadline){.at_ms = deadline_now_ms() + ms,
				 .given_ms = ms};
}

struct deadline deadline_min(struct deadline a, struct deadline b)
{
	return a.at_ms <= b.at_ms ? a : b;
}

static int64_t left_ms(struct deadline d)
{
	int64_t left = d.at_ms - deadline_now_ms();

	return left > 0 ? left : 0;
}

bool deadline_passed(struct deadline d)
{
	return left_ms(d) == 0;
}

int deadline_poll_ms(struct deadline d)
{
	int64_t left = left_ms(d);

	return left > INT_MAX ? INT_MAX : (int)left;
}

struct timespec deadline_timespec(struct deadline d)
{
	return (struct timespec){.tv_sec = d.at_ms / 1000,
				 .tv_nsec = d.at_ms % 1000 * 1000000};
}

static int timed_out(struct deadline d, const char *what, struct err *e)
{
	if (d.given_ms % 1000 == 0)
		return err_set(e, ERR_TIMEOUT, "timed out after %lld s while %s",
			       (long long)d.given_ms / 1000, what);
	return err_set(e, ERR_TIMEOUT, "timed out after %.1f s while %s",
		       (double)d.given_ms / 1000, what);
}

int deadline_check(struct deadline d, const char *what, struct err *e)
{
	return deadline_passed(d) ? timed_out(d, what, e) : 0;
}

int deadline_poll(struct pollfd *fds, nfds_t count, struct deadline d,
		  const char *what, struct err *e)
{
	for (;;) {
		/* at least one poll: what is ready is served even when late */
		int wait_ms = deadline_poll_ms(d);
		int n = poll(fds, count, wait_ms);

		if (n > 0)
			return n;
		if (n < 0 && errno != EINTR)
			return err_sys(e, "polling while %s", what);
		if (n == 0 && deadline_passed(d))
			return timed_out(d, what, e);
		if (n < 0 && wait_ms == 0)
			return timed_out(d, what, e);
	}
}

void deadline_sleep_ms(int64_t ms)
{
	struct timespec until = deadline_timespec(deadline_in_ms(ms));

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) ==
	       EINTR)
		;
}
