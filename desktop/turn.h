/*
 * turn.h - what one call may take on a desktop: how long, until who says stop
 *
 * Shapes:  passed down to everything that does more than one round trip.
 * Units:   a deadline.
 * Errors:  ERR_TIMEOUT, ERR_CANCELLED.
 * Threads: a value.
 */
#ifndef DESKTOP_TURN_H
#define DESKTOP_TURN_H

#include "base/deadline.h"
#include "base/err.h"
#include "desktop/coords.h"

struct turn {
	struct deadline deadline;
	int cancel_fd;	       /* readable: stop; -1: none */
	enum coords_tier tier; /* the same for all that one client does */
	/* the desktop's size at the client's last screenshot, by which it names
	 * places, and the generation that it showed; zeros when it has taken
	 * none */
	struct coords_size seen;
	uint64_t seen_generation;
};

/* Time to stop? */
static inline int turn_check(const struct turn *t, const char *what,
			     struct err *e)
{
	struct pollfd p = {.fd = t->cancel_fd, .events = POLLIN};

	if (t->cancel_fd >= 0 && poll(&p, 1, 0) > 0)
		return err_set(e, ERR_CANCELLED, "cancelled while %s", what);
	return deadline_check(t->deadline, what, e);
}

/* So long, unless it is time to stop. */
static inline int turn_pause(const struct turn *t, int64_t ms, const char *what,
			     struct err *e)
{
	struct pollfd p = {.fd = t->cancel_fd, .events = POLLIN};
	struct deadline d = deadline_min(deadline_in_ms(ms), t->deadline);
	struct err why = {0};

	if (deadline_poll(&p, 1, d, what, &why) < 0 &&
	    why.code != ERR_TIMEOUT) {
		if (e)
			*e = why;
		return -1;
	}
	return turn_check(t, what, e);
}

#endif
