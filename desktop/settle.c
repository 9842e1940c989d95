/*
 * Theory of operation. The server tells of the first thing drawn after each
 * look, so a wait is: look, sleep until told or until it was quiet for long
 * enough, look again. Pixels are fetched meanwhile, whenever it is quiet for a
 * moment, so that hardly any are left to fetch at the end.
 *
 * What moves on its own: unless it is known that nothing was drawn for long
 * enough, the desktop is watched for a moment before the action. Tiles that are
 * drawn twice while it does not come to rest are moving. One that does come to
 * rest has nothing that could keep the action from settling; a cursor that
 * blinks twice a second is such a thing.
 *
 * Without DAMAGE every look fetches the whole picture, and what differs in it
 * stands for what was drawn.
 */
#include "desktop/settle.h"
#include "base/alloc.h"
#include "desktop/screenshot.h"

#include <string.h>

enum {
	/* a busy screen costs a round trip each so often */
	PACE_MS = 10,
	/* quiet for so long, it is a good time to fetch */
	LULL_MS = 40,
	/* drawn so often before the action, a tile moves on its own */
	MOVING_COUNT = 2,
	/* and so does what is beside one, for the sake of coming to rest */
	NEAR = 1,
};

/* What one look found, as tiles with a stamp later than since. */
struct found {
	const struct tiles *tiles;
	uint64_t since;
	bool any;
};

static int look(struct settle *s, struct found *ret, struct err *e)
{
	struct mirror *m = s->mirror;

	if (x11_damage_works(s->x)) {
		*ret = (struct found){mirror_drawn(m), mirror_looks(m), false};
		return mirror_look(m, s->x, &ret->any, e);
	}
	*ret = (struct found){mirror_changed(m), mirror_generation(m), false};
	if (mirror_update(m, s->x, e) != 0)
		return -1;
	ret->any = mirror_generation(m) != ret->since;
	return 0;
}

/* Until something is drawn, at most until d: *ret_drawn. */
static int await(struct settle *s, struct deadline d, bool *ret_drawn,
		 struct err *e)
{
	struct deadline lull = deadline_min(deadline_in_ms(LULL_MS), d);
	struct err why = {0};

	if (turn_check(s->turn, "waiting for the desktop to settle", e) != 0 ||
	    x11_damage_await(s->x, lull, ret_drawn, e) != 0)
		return -1;
	if (*ret_drawn) {
		deadline_sleep_ms(PACE_MS);
		return 0;
	}
	if (!x11_damage_works(s->x)) {
		*ret_drawn = true; /* who knows */
		return 0;
	}
	if (mirror_fetch(s->mirror, s->x, &why) == 0)
		return x11_damage_await(s->x, d, ret_drawn, e);
	*ret_drawn = true; /* resized */
	if (why.code == ERR_BUSY)
		return 0;
	*e = why;
	return -1;
}

static size_t tile_count(const struct tiles *t)
{
	return (size_t)t->columns * t->rows;
}

static bool same_size(const struct settle *s)
{
	struct coords_size now = mirror_size(s->mirror);

	return s->size.width_px == now.width_px &&
	       s->size.height_px == now.height_px;
}

/* ---- before ---- */

static void count_hits(const struct found *f, uint8_t *hits)
{
	for (size_t i = 0; i < tile_count(f->tiles); i++) {
		if (f->tiles->stamps[i] > f->since && hits[i] < MOVING_COUNT)
			hits[i]++;
	}
}

/* hits that are enough stay, and those around become NEAR. */
static void spread(const struct tiles *t, uint8_t *hits)
{
	for (size_t i = 0; i < tile_count(t); i++)
		hits[i] = hits[i] >= MOVING_COUNT ? MOVING_COUNT : 0;
	for (unsigned y = 0; y < t->rows; y++) {
		for (unsigned x = 0; x < t->columns; x++) {
			if (hits[(size_t)y * t->columns + x] != MOVING_COUNT)
				continue;
			for (unsigned k = 0; k < 9; k++) {
				unsigned nx = x + k % 3, ny = y + k / 3;
				uint8_t *n;

				if (nx < 1 || ny < 1 || nx > t->columns ||
				    ny > t->rows)
					continue;
				n = hits + (size_t)(ny - 1) * t->columns + nx -
				    1;
				if (*n == 0)
					*n = NEAR;
			}
		}
	}
}

/* Does it come to rest, first within rest_ms? If not, s->moving says where. */
static int watch(struct settle *s, int64_t rest_ms, struct err *e)
{
	const struct deadline end = deadline_in_ms(2LL * s->rule.quiet_ms);
	const struct tiles *t = mirror_drawn(s->mirror);
	autofree uint8_t *hits = alloc_zero(tile_count(t) + 1);

	s->size = mirror_size(s->mirror);
	while (!deadline_passed(end)) {
		struct deadline rest =
			deadline_min(deadline_in_ms(rest_ms), end);
		struct found f;
		bool drawn;

		if (await(s, rest, &drawn, e) != 0)
			return -1;
		if (!drawn && !deadline_passed(end))
			return 0;
		if (look(s, &f, e) != 0)
			return -1;
		if (!same_size(s))
			return 0;
		count_hits(&f, hits);
		rest_ms = s->rule.quiet_ms;
	}
	spread(t, hits);
	s->moving = TAKE_PTR(hits);
	return 0;
}

int settle_before(struct settle *s, struct err *e)
{
	struct found f;
	int64_t rest_ms;

	s->moving = NULL;
	if (look(s, &f, e) != 0)
		return -1;
	rest_ms = mirror_drawn_ms(s->mirror) + s->rule.quiet_ms -
		  deadline_now_ms();
	if (rest_ms > 0 && watch(s, rest_ms, e) != 0)
		return -1;
	if (mirror_fetch(s->mirror, s->x, NULL) != 0 &&
	    mirror_update(s->mirror, s->x, e) != 0)
		return -1;
	s->generation = mirror_generation(s->mirror);
	return 0;
}

void settle_finish(struct settle *s)
{
	free(s->moving);
	s->moving = NULL;
}

/* ---- after ---- */

/* Is anything of it not moving anyhow? */
static bool counts(const struct settle *s, const struct found *f)
{
	if (!f->any || !s->moving || !same_size(s))
		return f->any;
	for (size_t i = 0; i < tile_count(f->tiles); i++) {
		if (f->tiles->stamps[i] > f->since && s->moving[i] == 0)
			return true;
	}
	return false;
}

/* Boxes of what changed and does (or does not) move anyhow. */
static struct desktop_boxes boxes(const struct settle *s, bool moving)
{
	const struct tiles *t = mirror_changed(s->mirror);
	const struct coords_view view =
		coords_view(mirror_size(s->mirror), s->turn->tier);
	struct tiles part = {0};
	struct desktop_boxes b;

	tiles_reset(&part, t->size, 0);
	for (size_t i = 0; i < tile_count(t); i++) {
		bool moves = s->moving && same_size(s) &&
			     s->moving[i] == MOVING_COUNT;

		if (t->stamps[i] > s->generation && moves == moving)
			part.stamps[i] = 1;
	}
	b = screenshot_boxes(&part, 0, &view);
	tiles_finish(&part);
	return b;
}

static int await_rest(struct settle *s, bool *ret_settled, struct err *e)
{
	const struct deadline cap = deadline_in_ms(s->rule.cap_ms);
	struct deadline rest = deadline_in_ms(s->rule.quiet_ms);
	bool drawn = true;

	for (;;) {
		struct found f;

		if (drawn && look(s, &f, e) != 0)
			return -1;
		if (drawn && counts(s, &f))
			rest = deadline_in_ms(s->rule.quiet_ms);
		*ret_settled = deadline_passed(rest);
		if (*ret_settled || deadline_passed(cap))
			return 0;
		if (await(s, deadline_min(rest, cap), &drawn, e) != 0)
			return -1;
	}
}

int settle_after(struct settle *s, struct desktop_outcome *ret, struct err *e)
{
	struct desktop_outcome o = {0};

	if (await_rest(s, &o.settled, e) != 0 ||
	    mirror_update(s->mirror, s->x, e) != 0)
		return -1;
	o.changed = boxes(s, false);
	o.moving = boxes(s, true);
	*ret = o;
	return 0;
}
