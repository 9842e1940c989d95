/*
 * screenshot.h - the inside of a struct desktop_shot: captured, then encoded
 *
 * Shapes:  screenshot_take() needs the connection, the rest (desktop.h) does
 *          not.
 * Units:   desktop pixels.
 * Errors:  as desktop.h.
 * Threads: as desktop.h.
 */
#ifndef DESKTOP_SCREENSHOT_H
#define DESKTOP_SCREENSHOT_H

#include "desktop/desktop.h"
#include "desktop/x11.h"

int screenshot_take(struct x11 *x, const struct coords_region *region,
		    struct desktop_shot **ret, struct err *e)
	__attribute__((warn_unused_result));

#endif
