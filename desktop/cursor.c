#include "desktop/cursor.h"

#include <stddef.h>

static uint8_t over(uint32_t colour, uint8_t below, uint32_t alpha)
{
	uint32_t v = colour + (below * (255 - alpha) + 127) / 255;

	return v > 255 ? 255 : (uint8_t)v;
}

void cursor_draw(uint8_t *bgrx, struct coords_size size,
		 struct coords_point place, const uint32_t *argb,
		 struct coords_size argb_size)
{
	for (unsigned row = 0; row < argb_size.height_px; row++) {
		int64_t y = (int64_t)place.y + row;

		if (y < 0 || y >= size.height_px)
			continue;
		for (unsigned col = 0; col < argb_size.width_px; col++) {
			uint32_t p =
				argb[(size_t)row * argb_size.width_px + col];
			int64_t x = (int64_t)place.x + col;
			uint8_t *out;

			if (x < 0 || x >= size.width_px)
				continue;
			out = bgrx +
			      ((size_t)y * size.width_px + (size_t)x) * 4;
			out[0] = over(p & 0xff, out[0], p >> 24);
			out[1] = over(p >> 8 & 0xff, out[1], p >> 24);
			out[2] = over(p >> 16 & 0xff, out[2], p >> 24);
		}
	}
}
