#include "desktop/coords.h"

#include <stdbool.h>

static unsigned patches(unsigned px)
{
	return (px + COORDS_PATCH_PX - 1) / COORDS_PATCH_PX;
}

static const struct {
	unsigned edge_px, patches_count;
} tiers[] = {
	[COORDS_STANDARD] = {1568, 1568},
	[COORDS_HIGH] = {2576, 4784},
};

struct coords_size coords_fit(struct coords_size size, enum coords_tier tier)
{
	bool wide = size.width_px >= size.height_px;
	const uint64_t long_px = wide ? size.width_px : size.height_px;
	const uint64_t short_px = wide ? size.height_px : size.width_px;
	unsigned l = tiers[tier].edge_px, s = 1;

	if (long_px < 1 || short_px < 1)
		return size; /* nothing is nothing */
	if (l > long_px)
		l = (unsigned)long_px;
	for (; l > 1; l--) {
		s = (unsigned)((l * short_px + long_px / 2) / long_px);
		if (s == 0)
			s = 1;
		if (patches(l) * patches(s) <= tiers[tier].patches_count)
			break;
	}
	return wide ? (struct coords_size){l, s} : (struct coords_size){s, l};
}

struct coords_view coords_view(struct coords_size desktop,
			       enum coords_tier tier)
{
	return (struct coords_view){desktop, coords_fit(desktop, tier)};
}

/* The pixel of another grid that the middle of pixel v lies in. */
static int middle(unsigned v, unsigned from_px, unsigned to_px)
{
	uint64_t twice = 2 * (uint64_t)v + 1;

	return (int)(twice * to_px / (2 * (uint64_t)from_px));
}

int coords_to_desktop(const struct coords_view *view, int64_t x, int64_t y,
		      struct coords_point *ret, struct err *e)
{
	struct coords_size shot = view->shot;

	if (x < 0 || y < 0 || x >= shot.width_px || y >= shot.height_px)
		return err_set(e, ERR_INVALID,
			       "%lld, %lld is outside the screenshot of %ux%u "
			       "pixels",
			       (long long)x, (long long)y, shot.width_px,
			       shot.height_px);
	ret->x = middle((unsigned)x, shot.width_px, view->desktop.width_px);
	ret->y = middle((unsigned)y, shot.height_px, view->desktop.height_px);
	return 0;
}

static unsigned within(int v, unsigned len_px)
{
	if (v < 0)
		return 0;
	return (unsigned)v < len_px ? (unsigned)v : len_px - 1;
}

struct coords_point coords_from_desktop(const struct coords_view *view,
					struct coords_point p)
{
	struct coords_size desktop = view->desktop, shot = view->shot;

	return (struct coords_point){
		middle(within(p.x, desktop.width_px), desktop.width_px,
		       shot.width_px),
		middle(within(p.y, desktop.height_px), desktop.height_px,
		       shot.height_px),
	};
}

/* first and past the last pixel of another grid below [at, at + len) */
static void to_span(int64_t at, int64_t len, unsigned to_px, unsigned from_px,
		    unsigned *ret_at, unsigned *ret_len)
{
	/* a place inside the grid was asked for, so it is not empty:
	 * NOLINTNEXTLINE(clang-analyzer-core.DivideZero) */
	int64_t from = at * to_px / from_px;
	int64_t to = ((at + len) * to_px + from_px - 1) / from_px;

	*ret_at = (unsigned)from;
	*ret_len = (unsigned)(to - from);
}

int coords_region_to_desktop(const struct coords_view *view,
			     const struct coords_region *region,
			     struct coords_rect *ret, struct err *e)
{
	struct coords_size desktop = view->desktop, shot = view->shot;
	const struct coords_region *r = region;

	if (r->x < 0 || r->y < 0 || r->width_px < 1 || r->height_px < 1 ||
	    r->x >= shot.width_px || r->y >= shot.height_px ||
	    r->width_px > shot.width_px - r->x ||
	    r->height_px > shot.height_px - r->y)
		return err_set(e, ERR_INVALID,
			       "region: [%lld, %lld, %lld, %lld] is not within "
			       "the full screenshot of %ux%u pixels",
			       (long long)r->x, (long long)r->y,
			       (long long)r->width_px, (long long)r->height_px,
			       shot.width_px, shot.height_px);
	to_span(r->x, r->width_px, desktop.width_px, shot.width_px, &ret->x,
		&ret->width_px);
	to_span(r->y, r->height_px, desktop.height_px, shot.height_px, &ret->y,
		&ret->height_px);
	return 0;
}

struct coords_rect coords_rect_from_desktop(const struct coords_view *view,
					    const struct coords_rect *r)
{
	struct coords_size d = view->desktop, shot = view->shot;
	struct coords_rect out;

	to_span(r->x, r->width_px, shot.width_px, d.width_px, &out.x,
		&out.width_px);
	to_span(r->y, r->height_px, shot.height_px, d.height_px, &out.y,
		&out.height_px);
	return out;
}

static int64_t nearest(int64_t v, unsigned to_px, unsigned from_px)
{
	int64_t half = from_px / 2, scaled = v * to_px;

	/* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): a desktop has pixels
	 */
	return (scaled + (scaled < 0 ? -half : half)) / from_px;
}

static struct coords_region rescale(const struct coords_region *r,
				    struct coords_size to,
				    struct coords_size from)
{
	return (struct coords_region){
		nearest(r->x, to.width_px, from.width_px),
		nearest(r->y, to.height_px, from.height_px),
		nearest(r->width_px, to.width_px, from.width_px),
		nearest(r->height_px, to.height_px, from.height_px)};
}

struct coords_region coords_frame_from_desktop(const struct coords_view *view,
					       const struct coords_region *r)
{
	return rescale(r, view->shot, view->desktop);
}

struct coords_region coords_frame_to_desktop(const struct coords_view *view,
					     const struct coords_region *r)
{
	return rescale(r, view->desktop, view->shot);
}
