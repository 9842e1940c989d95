/*
 * scale.h - a desktop's pixels into an image's, averaged over area
 *
 * Each pixel of the image is the mean of exactly the part of the desktop that
 * it covers, so thin lines and small text stay visible.
 *
 * Shapes:  in: BGRX, 4 bytes a pixel, rows stride_len bytes apart; out: RGB,
 *          3 bytes, rows without gaps.
 *          The image is at most as large as the desktop on each side, and not
 *          smaller than a sixth (coords_fit() shrinks by 5.3 at most).
 * Units:   pixels; out holds width * height * 3 bytes.
 * Errors:  none. A colour that fills the covered area comes out exactly;
 *          else within 2 of the true mean.
 * Threads: no state.
 */
#ifndef DESKTOP_SCALE_H
#define DESKTOP_SCALE_H

#include "desktop/coords.h"

#include <stddef.h>
#include <stdint.h>

void scale_to_rgb(const uint8_t *bgrx, size_t stride_len,
		  struct coords_size from, uint8_t *rgb, struct coords_size to);

#endif
