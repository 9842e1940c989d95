/*
 * deadline.h - absolute monotonic deadlines, passed down to every wait
 *
 * Shapes:  struct deadline is a value; copy it freely.
 * Units:   milliseconds of CLOCK_MONOTONIC. A deadline without end does not
 *          exist: the longest wait is DEADLINE_MAX_MS.
 * Errors:  deadline_check() gives ERR_TIMEOUT.
 * Threads: no shared state.
 */
#ifndef BASE_DEADLINE_H
#define BASE_DEADLINE_H

#include "base/err.h"

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define DEADLINE_MAX_MS (24LL * 3600 * 1000)

struct deadline {
	int64_t at_ms;
	int64_t given_ms; /* what deadline_in_ms() was asked for: for messages */
};

int64_t deadline_now_ms(void);
struct deadline deadline_in_ms(int64_t ms); /* clamped to 0..DEADLINE_MAX_MS */
struct deadline deadline_min(struct deadline a, struct deadline b);
bool deadline_passed(struct deadline d);
/* Milliseconds left for poll(2): 0 when passed, at most INT_MAX. */
int deadline_poll_ms(struct deadline d);
struct timespec deadline_timespec(struct deadline d); /* CLOCK_MONOTONIC abs */
/* 0, or ERR_TIMEOUT "timed out after N s while WHAT". */
int deadline_check(struct deadline d, const char *what, struct err *e)
	__attribute__((warn_unused_result));
/* poll(2) until ready (>0), or -1 with ERR_TIMEOUT/ERR_SYSTEM; EINTR retried. */
int deadline_poll(struct pollfd *fds, nfds_t count, struct deadline d,
		  const char *what, struct err *e)
	__attribute__((warn_unused_result));
void deadline_sleep_ms(int64_t ms);

#endif
