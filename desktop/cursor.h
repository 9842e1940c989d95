/*
 * cursor.h - the mouse pointer, drawn into a picture that lacks it
 *
 * Shapes:  pixels are BGRX; the pointer's are premultiplied ARGB as a server
 *          sent them, so colours above their alpha (which cannot be) are
 *          taken as full.
 * Units:   pixels; the pointer's place is relative to the picture and may lie
 *          partly or wholly outside it.
 * Errors:  none.
 * Threads: no state.
 */
#ifndef DESKTOP_CURSOR_H
#define DESKTOP_CURSOR_H

#include "desktop/coords.h"

#include <stdint.h>

void cursor_draw(uint8_t *bgrx, struct coords_size size,
		 struct coords_point place, const uint32_t *argb,
		 struct coords_size argb_size);

#endif
