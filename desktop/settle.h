/*
 * settle.h - what an action did to the picture, and when it was done with it
 *
 * Shapes:  settle_before(), the action, settle_after(), settle_finish(). What
 *          already moved before the action (a film, a spinner) does not keep
 *          it from settling and is told apart from what changed.
 * Units:   milliseconds; boxes in screenshot pixels.
 * Errors:  those of mirror.h; ERR_CANCELLED, ERR_TIMEOUT of the turn.
 * Threads: that of the x11.
 */
#ifndef DESKTOP_SETTLE_H
#define DESKTOP_SETTLE_H

#include "desktop/desktop.h"
#include "desktop/mirror.h"

struct settle {
	struct mirror *mirror; /* borrowed */
	struct x11 *x;
	const struct turn *turn;
	struct desktop_rule rule;
	uint64_t generation; /* before the action */
	/* of a mirror of this size, which tiles move on their own */
	struct coords_size size;
	uint8_t *moving;
};

int settle_before(struct settle *s, struct err *e)
	__attribute__((warn_unused_result));
int settle_after(struct settle *s, struct desktop_outcome *ret, struct err *e)
	__attribute__((warn_unused_result));
void settle_finish(struct settle *s);

#endif
