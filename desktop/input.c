/*
 * A click with all that belongs to it is one batch of requests and one round
 * trip: it arrives whole or the connection is gone. A drag goes in batches;
 * what it holds is released in a batch of its own on every way out. Delays are
 * kept by the server.
 */
#include "desktop/input.h"
#include "base/log.h"

#include <stdlib.h>

enum {
	PRESS_MS = 1,	 /* a button stays down */
	BETWEEN_MS = 30, /* clicks of a double click: far below any limit */
	NOTCH_MS = 2,
	/* a drag moves in steps that programs take for a hand's */
	STEP_PX = 8,
	STEP_MS = 4,
	STEPS_MIN = 8, /* to get over a drag threshold with motion to spare */
	STEPS_ALL = 400,
	HOLD_MS = 30, /* before the first motion and before letting go */
	BATCH_STEPS = 50,
};

static void hold(struct x11 *x, const struct input_hold *mods, bool press)
{
	for (unsigned i = 0; i < mods->count; i++) {
		unsigned k = press ? i : mods->count - 1 - i;

		x11_fake_key(x, mods->keycodes[k], press, 0);
	}
}

int input_move(struct x11 *x, struct coords_point to, struct err *e)
{
	x11_fake_motion(x, to.x, to.y, 0);
	return x11_sync(x, e);
}

int input_click(struct x11 *x, const struct coords_point *at,
		enum input_button button, unsigned count,
		const struct input_hold *mods, struct err *e)
{
	bool wheel = button >= INPUT_WHEEL_UP && button <= INPUT_WHEEL_RIGHT;

	if (at)
		x11_fake_motion(x, at->x, at->y, 0);
	hold(x, mods, true);
	for (unsigned i = 0; i < count; i++) {
		unsigned wait_ms = wheel ? NOTCH_MS : BETWEEN_MS;

		x11_fake_button(x, (uint8_t)button, true, i ? wait_ms : 0);
		x11_fake_button(x, (uint8_t)button, false,
				wheel ? 0 : PRESS_MS);
	}
	hold(x, mods, false);
	return x11_sync(x, e);
}

int input_press(struct x11 *x, const struct coords_point *at,
		enum input_button button, bool press, struct err *e)
{
	if (at)
		x11_fake_motion(x, at->x, at->y, 0);
	x11_fake_button(x, (uint8_t)button, press, 0);
	return x11_sync(x, e);
}

/* ---- drag ---- */

static unsigned length(struct coords_point a, struct coords_point b)
{
	unsigned dx = (unsigned)abs(b.x - a.x), dy = (unsigned)abs(b.y - a.y);

	return dx > dy ? dx : dy;
}

struct steps {
	struct x11 *x;
	const struct turn *turn;
	unsigned step_px, in_batch;
};

static int step(struct steps *s, int to_x, int to_y, struct err *e)
{
	x11_fake_motion(s->x, to_x, to_y, STEP_MS);
	if (++s->in_batch < BATCH_STEPS)
		return 0;
	s->in_batch = 0;
	if (x11_sync(s->x, e) != 0)
		return -1;
	return turn_check(s->turn, "dragging", e);
}

static int drag_segment(struct steps *s, struct coords_point a,
			struct coords_point b, unsigned min, struct err *e)
{
	unsigned count = length(a, b) / s->step_px;

	if (count < min)
		count = min;
	for (unsigned i = 1; i <= count; i++) {
		int64_t dx = (int64_t)(b.x - a.x) * i / count;
		int64_t dy = (int64_t)(b.y - a.y) * i / count;

		if (step(s, a.x + (int)dx, a.y + (int)dy, e) != 0)
			return -1;
	}
	return 0;
}

static int drag_along(struct x11 *x, const struct input_path *path,
		      const struct turn *turn, struct err *e)
{
	struct steps s = {.x = x, .turn = turn, .step_px = STEP_PX};
	unsigned whole = 0;

	for (size_t i = 1; i < path->count; i++)
		whole += length(path->points[i - 1], path->points[i]);
	if (whole / STEPS_ALL > s.step_px)
		s.step_px = whole / STEPS_ALL;
	for (size_t i = 1; i < path->count; i++) {
		if (drag_segment(&s, path->points[i - 1], path->points[i],
				 path->count == 2 ? STEPS_MIN : 1, e) != 0)
			return -1;
	}
	return x11_sync(x, e);
}

int input_drag(struct x11 *x, const struct input_path *path,
	       const struct input_hold *mods, const struct turn *turn,
	       struct err *e)
{
	int rc;

	x11_fake_motion(x, path->points[0].x, path->points[0].y, 0);
	hold(x, mods, true);
	x11_fake_button(x, (uint8_t)path->button, true, HOLD_MS);
	x11_fake_motion(x, path->points[0].x, path->points[0].y, HOLD_MS);
	rc = drag_along(x, path, turn, e);
	x11_fake_button(x, (uint8_t)path->button, false, HOLD_MS);
	hold(x, mods, false);
	if (rc == 0)
		return x11_sync(x, e);
	/* the reason why stays */
	if (x11_sync(x, NULL) != 0)
		log_debug("a drag that was cut off was not released");
	return -1;
}

int input_release(struct x11 *x, struct err *e)
{
	struct x11_pointer p;

	if (x11_pointer(x, &p, e) != 0)
		return -1;
	for (uint8_t b = 1; b <= 9; b++) {
		if (b > 5 || p.buttons >> (b - 1) & 1)
			x11_fake_button(x, b, false, 0);
	}
	return x11_sync(x, e);
}
