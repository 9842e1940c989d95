/*
 * xregion.h - the rectangles of a region, out of a FetchRegion reply
 *
 * Shapes:  what was drawn may be said to lie anywhere: of each rectangle stays
 *          what is right of and below the desktop's corner, nothing (all zeros)
 *          where that is none. It may still reach over the other edges.
 * Units:   desktop pixels.
 * Errors:  none: a reply is as many rectangles as it has bytes for.
 * Threads: no state.
 * Source:  X Fixes Extension 5, FetchRegion.
 */
#ifndef DESKTOP_XREGION_H
#define DESKTOP_XREGION_H

#include "desktop/coords.h"

#include <stddef.h>

/* p: the whole reply. free() */
struct coords_rect *xregion_parse(const uint8_t *p, size_t len,
				  size_t *ret_count);

#endif
