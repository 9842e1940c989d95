/*
 * coords.h - between a desktop's pixels and those of its screenshot
 *
 * A vision model is sent an image of at most its tier, and names places in it.
 * So there are two grids: the desktop's own, and the full screenshot's, which
 * follows from the desktop's size and the tier alone. A place that a client
 * names is always on the latter, whatever part it looked at last.
 *
 * Shapes:  sizes are those of a real desktop: 1 to LIMIT_DESKTOP_SIDE_PX.
 *          struct coords_view is the pair of grids.
 * Units:   pixels; a place is the pixel with this column and row.
 * Errors:  ERR_INVALID for a place outside the screenshot: never clamped.
 * Threads: no state.
 * Source:  the image limits of the Claude API: a longest edge, and as many
 *          patches of 28x28 px; larger images are shrunk on arrival, which
 *          costs a model its aim.
 */
#ifndef DESKTOP_COORDS_H
#define DESKTOP_COORDS_H

#include "base/err.h"

#include <stdint.h>

#define COORDS_PATCH_PX 28

enum coords_tier {
	COORDS_STANDARD, /* 1568 px a side, 1568 patches: every model */
	COORDS_HIGH,	 /* 2576 px a side, 4784 patches: newer ones */
};
struct coords_size {
	unsigned width_px, height_px;
};
struct coords_view {
	struct coords_size desktop, shot;
};
struct coords_point {
	int x, y;
};
struct coords_rect {
	unsigned x, y, width_px, height_px;
};
struct coords_region { /* of the screenshot, as a client names it */
	int64_t x, y, width_px, height_px;
};

/* The largest image of the same shape within the tier; size itself if it
 * fits. */
struct coords_size coords_fit(struct coords_size size, enum coords_tier tier);
struct coords_view coords_view(struct coords_size desktop,
			       enum coords_tier tier);

/* Middle of the screenshot's pixel to the desktop's pixel below it. */
int coords_to_desktop(const struct coords_view *view, int64_t x, int64_t y,
		      struct coords_point *ret, struct err *e)
	__attribute__((warn_unused_result));
/* The screenshot's pixel over a desktop's pixel; the nearest when a pointer
 * is said to be outside. */
struct coords_point coords_from_desktop(const struct coords_view *view,
					struct coords_point p);
/* All desktop pixels that a rectangle of the screenshot touches. */
int coords_region_to_desktop(const struct coords_view *view,
			     const struct coords_region *region,
			     struct coords_rect *ret, struct err *e)
	__attribute__((warn_unused_result));
/* All of the screenshot's pixels that a rectangle of the desktop touches; r
 * lies within the desktop. */
struct coords_rect coords_rect_from_desktop(const struct coords_view *view,
					    const struct coords_rect *r);
/* As these two, of what may reach over the edges, as windows do: to the nearest
 * pixel of the other grid. */
struct coords_region coords_frame_from_desktop(const struct coords_view *view,
					       const struct coords_region *r);
struct coords_region coords_frame_to_desktop(const struct coords_view *view,
					     const struct coords_region *r);

#endif
