/*
 * coords.h - between a desktop's pixels and those of its screenshot
 *
 * A vision model is sent an image of at most the standard tier, and names
 * places in it. So there are two grids: the desktop's own, and the full
 * screenshot's, which follows from the desktop's size alone. A place that a
 * client names is always on the latter, whatever part it looked at last.
 *
 * Shapes:  sizes are those of a real desktop: 1 to LIMIT_DESKTOP_SIDE_PX.
 * Units:   pixels; a place is the pixel with this column and row.
 * Errors:  ERR_INVALID for a place outside the screenshot: never clamped.
 * Threads: no state.
 * Source:  the image limits of the Claude API: long edge 1568 px, and as many
 *          patches of 28x28 px; larger images are shrunk on arrival, which
 *          costs a model its aim.
 */
#ifndef DESKTOP_COORDS_H
#define DESKTOP_COORDS_H

#include "base/err.h"

#include <stdint.h>

#define COORDS_EDGE_PX 1568
#define COORDS_PATCH_PX 28
#define COORDS_PATCHES_COUNT 1568

struct coords_size {
	unsigned width_px, height_px;
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
 * fits. The full screenshot is coords_fit(desktop). */
struct coords_size coords_fit(struct coords_size size);

/* Middle of the screenshot's pixel to the desktop's pixel below it. */
int coords_to_desktop(struct coords_size desktop, int64_t x, int64_t y,
		      struct coords_point *ret, struct err *e)
	__attribute__((warn_unused_result));
/* The screenshot's pixel over a desktop's pixel; the nearest when a pointer
 * is said to be outside. */
struct coords_point coords_from_desktop(struct coords_size desktop,
					struct coords_point p);
/* All desktop pixels that a rectangle of the screenshot touches. */
int coords_region_to_desktop(struct coords_size desktop,
			     const struct coords_region *region,
			     struct coords_rect *ret, struct err *e)
	__attribute__((warn_unused_result));

#endif
