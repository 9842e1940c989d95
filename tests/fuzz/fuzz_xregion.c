/* What a server says was drawn: within the reply, right of and below the
 * corner, no farther than two 16-bit numbers reach. */
#include "base/cleanup.h"
#include "desktop/xregion.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	size_t count;
	autofree struct coords_rect *rects = xregion_parse(data, len, &count);

	if (count * 8 > len)
		abort();
	for (size_t i = 0; i < count; i++) {
		const struct coords_rect *r = &rects[i];

		if (r->x + r->width_px > INT16_MAX + UINT16_MAX ||
		    r->y + r->height_px > INT16_MAX + UINT16_MAX ||
		    (r->width_px == 0) != (r->height_px == 0))
			abort();
	}
	return 0;
}
