/*
 * tiles.h - when each part of a desktop was last touched
 *
 * The desktop is cut into small squares, each with a stamp: the greatest
 * number it was marked with. What changed since any point in time then is a
 * scan, for any number of askers, in memory that the desktop's size fixes,
 * whatever a guest draws.
 *
 * Shapes:  stamps only grow. A rectangle given is cut to the desktop; those
 *          given back lie within it, on tile borders but at its edges, and may
 *          overlap.
 * Units:   desktop pixels; stamps are the caller's.
 * Errors:  none.
 * Threads: one at a time.
 */
#ifndef DESKTOP_TILES_H
#define DESKTOP_TILES_H

#include "desktop/coords.h"

#include <stdbool.h>
#include <stdint.h>

#define TILES_SIDE_PX 16

struct tiles {
	struct coords_size size;
	unsigned columns, rows;
	uint64_t *stamps; /* row by row */
};

/* All start with this stamp. What t had before is freed. */
void tiles_reset(struct tiles *t, struct coords_size size, uint64_t stamp);
void tiles_finish(struct tiles *t);
void tiles_mark(struct tiles *t, const struct coords_rect *r, uint64_t stamp);
/* Of the tiles below r, is any stamped later than since? */
bool tiles_touched(const struct tiles *t, const struct coords_rect *r,
		   uint64_t since);
/*
 * At most max (at least 1) rectangles that cover all tiles stamped later than
 * since, and few others; returns how many.
 */
unsigned tiles_boxes(const struct tiles *t, uint64_t since,
		     struct coords_rect *ret, unsigned max);

#endif
