/*
 * input.h - the mouse: motion, clicks, drags, the wheel
 *
 * Shapes:  places are desktop pixels, already checked. mods are keycodes held
 *          meanwhile.
 * Errors:  as x11.h; ERR_TIMEOUT, ERR_CANCELLED in the middle of a drag.
 *          Buttons and modifiers are released whatever happens, on a
 *          connection that works.
 * Threads: that of the x11.
 * Source:  X buttons: 1 left, 2 middle, 3 right, 4-7 wheel up, down, left,
 *          right, 8 back, 9 forward.
 */
#ifndef DESKTOP_INPUT_H
#define DESKTOP_INPUT_H

#include "desktop/coords.h"
#include "desktop/turn.h"
#include "desktop/x11.h"

#include <stddef.h>
#include <stdint.h>

enum input_button {
	INPUT_LEFT = 1,
	INPUT_MIDDLE = 2,
	INPUT_RIGHT = 3,
	INPUT_WHEEL_UP = 4,
	INPUT_WHEEL_DOWN = 5,
	INPUT_WHEEL_LEFT = 6,
	INPUT_WHEEL_RIGHT = 7,
	INPUT_BACK = 8,
	INPUT_FORWARD = 9,
};
struct input_hold {
	const uint8_t *keycodes;
	unsigned count;
};

int input_move(struct x11 *x, struct coords_point to, struct err *e)
	__attribute__((warn_unused_result));
/* at: NULL: where the pointer is. count clicks (or notches) in a row. */
int input_click(struct x11 *x, const struct coords_point *at,
		enum input_button button, unsigned count,
		const struct input_hold *mods, struct err *e)
	__attribute__((warn_unused_result));
int input_press(struct x11 *x, const struct coords_point *at,
		enum input_button button, bool press, struct err *e)
	__attribute__((warn_unused_result));
struct input_path {
	const struct coords_point *points;
	size_t count; /* at least 1 */
	enum input_button button;
};
int input_drag(struct x11 *x, const struct input_path *path,
	       const struct input_hold *mods, const struct turn *turn,
	       struct err *e) __attribute__((warn_unused_result));
/* Release every button that is down: after input that was cut off. */
int input_release(struct x11 *x, struct err *e)
	__attribute__((warn_unused_result));

#endif
