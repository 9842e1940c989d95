/*
 * screenshot.h - the inside of a struct desktop_shot: out of the mirror, then
 * encoded
 *
 * Shapes:  screenshot_take() needs the connection, the rest (desktop.h) does
 *          not. An image of the full desktop is encoded once for each state of
 *          it: the shelf has the last.
 * Units:   desktop pixels.
 * Errors:  as desktop.h.
 * Threads: as desktop.h.
 */
#ifndef DESKTOP_SCREENSHOT_H
#define DESKTOP_SCREENSHOT_H

#include "desktop/desktop.h"
#include "desktop/mirror.h"
#include "desktop/picture.h"
#include "desktop/turn.h"

struct screenshot_source {
	struct mirror *mirror; /* up to date */
	struct picture_shelf *shelf;
};
int screenshot_take(const struct screenshot_source *from, const struct turn *t,
		    const struct desktop_want *want, struct desktop_shot **ret,
		    struct err *e) __attribute__((warn_unused_result));
/* Boxes of what is stamped later than since, in screenshot pixels. */
struct desktop_boxes screenshot_boxes(const struct tiles *tiles, uint64_t since,
				      const struct coords_view *view);

#endif
