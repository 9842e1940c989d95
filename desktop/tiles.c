/*
 * Boxes are found row by row: each run of touched tiles either lengthens a box
 * that ended in the row above, when the two together waste little, or starts
 * one. When there are more boxes than wanted, it is done over with a greater
 * tolerance for waste, which at the end takes everything into one box.
 */
#include "desktop/tiles.h"
#include "base/alloc.h"
#include "base/cleanup.h"

#include <string.h>

enum {
	SLACK_FIRST = 1, /* tiles: a gap of so many is not worth two boxes */
};

/* In tiles; past the last */
struct box {
	unsigned x0, y0, x1, y1;
};
struct boxes {
	struct box *at;
	unsigned count, max;
	unsigned slack;
};

void tiles_reset(struct tiles *t, struct coords_size size, uint64_t stamp)
{
	size_t count;

	tiles_finish(t);
	t->size = size;
	t->columns = (size.width_px + TILES_SIDE_PX - 1) / TILES_SIDE_PX;
	t->rows = (size.height_px + TILES_SIDE_PX - 1) / TILES_SIDE_PX;
	count = (size_t)t->columns * t->rows;
	t->stamps = alloc_array(count + 1, sizeof(*t->stamps));
	for (size_t i = 0; i < count; i++)
		t->stamps[i] = stamp;
}

void tiles_finish(struct tiles *t)
{
	free(t->stamps);
	*t = (struct tiles){0};
}

/* The tiles below a rectangle, cut to the desktop; false: none. */
static bool tiles_below(const struct tiles *t, const struct coords_rect *r,
			struct box *ret)
{
	uint64_t x1 = (uint64_t)r->x + r->width_px;
	uint64_t y1 = (uint64_t)r->y + r->height_px;

	if (x1 > t->size.width_px)
		x1 = t->size.width_px;
	if (y1 > t->size.height_px)
		y1 = t->size.height_px;
	if (r->x >= x1 || r->y >= y1)
		return false;
	ret->x0 = r->x / TILES_SIDE_PX;
	ret->y0 = r->y / TILES_SIDE_PX;
	ret->x1 = (unsigned)((x1 + TILES_SIDE_PX - 1) / TILES_SIDE_PX);
	ret->y1 = (unsigned)((y1 + TILES_SIDE_PX - 1) / TILES_SIDE_PX);
	return true;
}

void tiles_mark(struct tiles *t, const struct coords_rect *r, uint64_t stamp)
{
	struct box b;

	if (!tiles_below(t, r, &b))
		return;
	for (unsigned y = b.y0; y < b.y1; y++) {
		uint64_t *row = t->stamps + (size_t)y * t->columns;

		for (unsigned x = b.x0; x < b.x1; x++)
			row[x] = stamp;
	}
}

bool tiles_touched(const struct tiles *t, const struct coords_rect *r,
		   uint64_t since)
{
	struct box b;

	if (!tiles_below(t, r, &b))
		return false;
	for (unsigned y = b.y0; y < b.y1; y++) {
		const uint64_t *row = t->stamps + (size_t)y * t->columns;

		for (unsigned x = b.x0; x < b.x1; x++) {
			if (row[x] > since)
				return true;
		}
	}
	return false;
}

/* ---- boxes ---- */

static unsigned area(const struct box *b)
{
	return (b->x1 - b->x0) * (b->y1 - b->y0);
}

/* Lengthen a box that ends at this row; false when none takes the run. */
static bool lengthen(struct boxes *b, const struct box *run)
{
	for (unsigned i = b->count; i-- > 0;) {
		struct box *c = &b->at[i], whole = *c;

		/* the run's own row may be part of the box already */
		if (c->y1 != run->y0 && c->y1 != run->y1)
			continue;
		whole.y1 = run->y1;
		if (run->x0 < whole.x0)
			whole.x0 = run->x0;
		if (run->x1 > whole.x1)
			whole.x1 = run->x1;
		if (area(&whole) > area(c) + area(run) + b->slack)
			continue;
		*c = whole;
		return true;
	}
	return false;
}

/* false: there is no room for another box. */
static bool add_run(struct boxes *b, const struct box *run)
{
	if (lengthen(b, run))
		return true;
	if (b->count == b->max)
		return false;
	b->at[b->count++] = *run;
	return true;
}

static bool add_row(struct boxes *b, const struct tiles *t, unsigned y,
		    uint64_t since)
{
	const uint64_t *row = t->stamps + (size_t)y * t->columns;
	struct box run = {0, y, 0, y + 1};
	bool open = false;

	for (unsigned x = 0; x < t->columns; x++) {
		if (row[x] <= since)
			continue;
		if (open && x - run.x1 <= b->slack) {
			run.x1 = x + 1;
			continue;
		}
		if (open && !add_run(b, &run))
			return false;
		run.x0 = x;
		run.x1 = x + 1;
		open = true;
	}
	return !open || add_run(b, &run);
}

static bool find_boxes(struct boxes *b, const struct tiles *t, uint64_t since)
{
	b->count = 0;
	for (unsigned y = 0; y < t->rows; y++) {
		if (!add_row(b, t, y, since))
			return false;
	}
	return true;
}

/* What covers everything: for when no tolerance is enough. */
static unsigned one_box(const struct tiles *t, uint64_t since, struct box *ret)
{
	struct box b = {t->columns, t->rows, 0, 0};

	for (unsigned y = 0; y < t->rows; y++) {
		for (unsigned x = 0; x < t->columns; x++) {
			if (t->stamps[(size_t)y * t->columns + x] <= since)
				continue;
			b.x0 = x < b.x0 ? x : b.x0;
			b.x1 = x >= b.x1 ? x + 1 : b.x1;
			b.y0 = y < b.y0 ? y : b.y0;
			b.y1 = y + 1;
		}
	}
	*ret = b;
	return b.x1 > 0 ? 1 : 0;
}

static struct coords_rect to_rect(const struct tiles *t, const struct box *b)
{
	unsigned x1 = b->x1 * TILES_SIDE_PX, y1 = b->y1 * TILES_SIDE_PX;
	struct coords_rect r = {.x = b->x0 * TILES_SIDE_PX,
				.y = b->y0 * TILES_SIDE_PX};

	r.width_px = (x1 < t->size.width_px ? x1 : t->size.width_px) - r.x;
	r.height_px = (y1 < t->size.height_px ? y1 : t->size.height_px) - r.y;
	return r;
}

unsigned tiles_boxes(const struct tiles *t, uint64_t since,
		     struct coords_rect *ret, unsigned max)
{
	autofree struct box *at = alloc_array(max, sizeof(*at));
	struct boxes b = {.at = at, .max = max, .slack = SLACK_FIRST};

	while (!find_boxes(&b, t, since)) {
		b.slack *= 4;
		if (b.slack > t->columns * t->rows) {
			b.count = one_box(t, since, at);
			break;
		}
	}
	for (unsigned i = 0; i < b.count; i++)
		ret[i] = to_rect(t, &at[i]);
	return b.count;
}
