#include "desktop/coords.h"

#include <stdbool.h>

static unsigned patches(unsigned px)
{
	return (px + COORDS_PATCH_PX - 1) / COORDS_PATCH_PX;
}

static bool fits(unsigned long_px, unsigned short_px)
{
	return long_px <= COORDS_EDGE_PX &&
	       patches(long_px) * patches(short_px) <= COORDS_PATCHES_COUNT;
}

struct coords_size coords_fit(struct coords_size size)
{
	bool wide = size.width_px >= size.height_px;
	unsigned long_px = wide ? size.width_px : size.height_px;
	unsigned short_px = wide ? size.height_px : size.width_px;
	unsigned l = long_px, s = short_px;

	if (l > COORDS_EDGE_PX)
		l = COORDS_EDGE_PX;
	for (;; l--) {
		s = (unsigned)(((uint64_t)l * short_px + long_px / 2) /
			       long_px);
		if (s == 0)
			s = 1;
		if (fits(l, s))
			break;
	}
	return wide ? (struct coords_size){l, s} : (struct coords_size){s, l};
}

int coords_to_desktop(struct coords_size desktop, int64_t x, int64_t y,
		      struct coords_point *ret, struct err *e)
{
	struct coords_size shot = coords_fit(desktop);

	if (x < 0 || y < 0 || x >= shot.width_px || y >= shot.height_px)
		return err_set(e, ERR_INVALID,
			       "%lld, %lld is outside the screenshot of %ux%u "
			       "pixels",
			       (long long)x, (long long)y, shot.width_px,
			       shot.height_px);
	ret->x = (int)((2 * x + 1) * desktop.width_px / (2 * shot.width_px));
	ret->y = (int)((2 * y + 1) * desktop.height_px / (2 * shot.height_px));
	return 0;
}

static int from_axis(int v, unsigned desktop_px, unsigned shot_px)
{
	if (v < 0)
		v = 0;
	if ((unsigned)v >= desktop_px)
		v = (int)desktop_px - 1;
	return (int)((2 * (int64_t)v + 1) * shot_px / (2 * desktop_px));
}

struct coords_point coords_from_desktop(struct coords_size desktop,
					struct coords_point p)
{
	struct coords_size shot = coords_fit(desktop);

	return (struct coords_point){
		from_axis(p.x, desktop.width_px, shot.width_px),
		from_axis(p.y, desktop.height_px, shot.height_px)};
}

/* first and past the last desktop pixel below [at, at + len) */
static void to_span(int64_t at, int64_t len, unsigned desktop_px,
		    unsigned shot_px, unsigned *ret_at, unsigned *ret_len)
{
	int64_t from = at * desktop_px / shot_px;
	int64_t to = ((at + len) * desktop_px + shot_px - 1) / shot_px;

	*ret_at = (unsigned)from;
	*ret_len = (unsigned)(to - from);
}

int coords_rect_to_desktop(struct coords_size desktop, int64_t x, int64_t y,
			   int64_t width_px, int64_t height_px,
			   struct coords_rect *ret, struct err *e)
{
	struct coords_size shot = coords_fit(desktop);

	if (x < 0 || y < 0 || width_px < 1 || height_px < 1 ||
	    x >= shot.width_px || y >= shot.height_px ||
	    width_px > shot.width_px - x || height_px > shot.height_px - y)
		return err_set(e, ERR_INVALID,
			       "region: [%lld, %lld, %lld, %lld] is not within "
			       "the full screenshot of %ux%u pixels",
			       (long long)x, (long long)y, (long long)width_px,
			       (long long)height_px, shot.width_px,
			       shot.height_px);
	to_span(x, width_px, desktop.width_px, shot.width_px, &ret->x,
		&ret->width_px);
	to_span(y, height_px, desktop.height_px, shot.height_px, &ret->y,
		&ret->height_px);
	return 0;
}
