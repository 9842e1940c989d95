/*
 * jpeg.h - an RGB image as JPEG; libjpeg-turbo's only user
 *
 * Shapes:  rows without gaps, 3 bytes a pixel. Colour is as sharp as the rest,
 *          so that text on a photograph stays legible, unless small is asked
 *          for.
 * Units:   pixels; quality 1 to 100.
 * Errors:  ERR_LIMIT when the JPEG does not fit out's cap.
 * Threads: no state.
 * Source:  the TurboJPEG API 2.1.
 */
#ifndef DESKTOP_JPEG_H
#define DESKTOP_JPEG_H

#include "base/buf.h"
#include "base/err.h"
#include "desktop/coords.h"

#include <stdbool.h>
#include <stdint.h>

struct jpeg_how {
	int quality;
	bool small;
};
int jpeg_encode(const uint8_t *rgb, struct coords_size size,
		const struct jpeg_how *how, struct buf *out, struct err *e)
	__attribute__((warn_unused_result));

#endif
