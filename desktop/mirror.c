/*
 * Theory of operation. Looks are counted. A look stamps the tiles that were
 * drawn with its number; a fetch gets the tiles stamped later than the last
 * look that was fetched. The server moves its region aside before we ask for
 * pixels, so whatever is drawn while they are under way is in the next region
 * again: no change is lost, at worst one is fetched twice.
 *
 * What was fetched is stored tile by tile; those that differ are stamped with
 * the generation under way, which becomes the current one when any did.
 *
 * A resize, a reconnect and a rest all end in the same state: everything
 * counts as drawn.
 */
#include "desktop/mirror.h"
#include "base/alloc.h"
#include "base/crypto.h"

#include <string.h>

enum {
	PIXEL_LEN = 4,
	/* a desktop that is resized over and over is given up on */
	TRIES = 5,
	/* rectangles for one fetch: some are cut in bands after that */
	BOXES_COUNT = 32,
	/* one reply is held beside the frame, so it is made no larger … */
	BAND_LEN = 1024 * 1024,
	/* … but where that makes too many of them */
	BANDS_COUNT = X11_FETCH_COUNT - BOXES_COUNT,
	/* generations start within this: nine digits */
	FIRST_MAX = 900000000,
};

struct mirror {
	bool watched; /* by a DAMAGE object on the present connection */
	bool unsure;  /* whatever the server says: all counts as drawn */
	struct coords_size size;
	uint8_t *pixels; /* NULL: nothing was fetched, or it is at rest */
	struct x11_cursor cursor;
	struct tiles drawn, changed;
	uint64_t looks, fetched; /* numbers of the last look, and of the last
				  * whose drawn tiles were fetched */
	int64_t drawn_ms; /* when a look last found anything */
	uint64_t first, generation;
	bool differs; /* tiles were stamped with generation + 1 */
	uint64_t fetched_len;
};

struct mirror *mirror_new(void)
{
	struct mirror *m = ALLOC_NEW(struct mirror);
	struct err e = {0};
	uint32_t seed = 0;

	/* without randomness only the distinction of old numbers is lost */
	if (crypto_random(&seed, sizeof(seed), &e) == 0)
		m->first = seed % FIRST_MAX;
	m->first++;
	m->generation = m->first;
	m->unsure = true;
	return m;
}

void mirror_free(struct mirror *m)
{
	if (!m)
		return;
	free(m->pixels);
	x11_cursor_finish(&m->cursor);
	tiles_finish(&m->drawn);
	tiles_finish(&m->changed);
	free(m);
}

void mirror_detach(struct mirror *m)
{
	m->watched = false;
	m->unsure = true;
}

void mirror_rest(struct mirror *m, struct x11 *x)
{
	if (m->watched)
		x11_damage_unwatch(x);
	mirror_detach(m);
	free(m->pixels);
	m->pixels = NULL;
}

/* ---- looking ---- */

static void resize(struct mirror *m, struct coords_size size)
{
	free(m->pixels);
	m->pixels = NULL;
	m->size = size;
	tiles_reset(&m->drawn, size, m->looks);
	tiles_reset(&m->changed, size, m->generation + 1);
	m->unsure = true;
}

static void take_look(struct mirror *m, struct x11_look *l)
{
	const struct coords_rect all = {0, 0, l->size.width_px,
					l->size.height_px};

	m->looks++;
	if (l->size.width_px != m->size.width_px ||
	    l->size.height_px != m->size.height_px)
		resize(m, l->size);
	if (m->unsure || l->drawn_count > 0)
		m->drawn_ms = deadline_now_ms();
	if (m->unsure)
		tiles_mark(&m->drawn, &all, m->looks);
	m->unsure = false;
	for (size_t i = 0; i < l->drawn_count; i++)
		tiles_mark(&m->drawn, &l->drawn[i], m->looks);
	x11_cursor_finish(&m->cursor);
	m->cursor = l->cursor;
	l->cursor.pixels = NULL;
}

int mirror_look(struct mirror *m, struct x11 *x, bool *ret_drawn, struct err *e)
{
	struct x11_look l;

	if (!m->watched)
		x11_damage_watch(x);
	m->watched = true;
	if (x11_look(x, &l, e) != 0)
		return -1;
	*ret_drawn = l.drawn_count > 0;
	take_look(m, &l);
	x11_look_finish(&l);
	return 0;
}

/* ---- fetching ---- */

/* One row of tiles out of a rectangle: its rows at `from`, stride_len apart,
 * to our own at y. */
struct strip {
	const uint8_t *from;
	size_t stride_len;
	unsigned x, y, width_px, height_px;
};

static bool store_tile(struct mirror *m, const struct strip *s, unsigned x,
		       unsigned width_px)
{
	const size_t our_stride_len = (size_t)m->size.width_px * PIXEL_LEN;
	uint8_t *to = m->pixels + s->y * our_stride_len + (size_t)x * PIXEL_LEN;
	const uint8_t *from = s->from + (size_t)(x - s->x) * PIXEL_LEN;
	const size_t len = (size_t)width_px * PIXEL_LEN;
	bool differs = false;

	for (unsigned i = 0; i < s->height_px; i++) {
		if (differs || memcmp(to, from, len) != 0) {
			differs = true;
			memcpy(to, from, len);
		}
		to += our_stride_len;
		from += s->stride_len;
	}
	return differs;
}

static void store_strip(struct mirror *m, const struct strip *s)
{
	const unsigned end = s->x + s->width_px;

	for (unsigned x = s->x; x < end;) {
		unsigned next = (x / TILES_SIDE_PX + 1) * TILES_SIDE_PX;
		unsigned upto = next < end ? next : end;
		const struct coords_rect tile = {x, s->y, upto - x, 1};

		if (store_tile(m, s, x, upto - x)) {
			tiles_mark(&m->changed, &tile, m->generation + 1);
			m->differs = true;
		}
		x = upto;
	}
}

static void store(void *ctx, const struct coords_rect *r, const uint8_t *pixels)
{
	struct mirror *m = ctx;
	const size_t stride_len = (size_t)r->width_px * PIXEL_LEN;
	const unsigned end = r->y + r->height_px;

	m->fetched_len += stride_len * r->height_px;
	for (unsigned y = r->y; y < end;) {
		unsigned next = (y / TILES_SIDE_PX + 1) * TILES_SIDE_PX;
		struct strip s = {
			.from = pixels + (y - r->y) * stride_len,
			.stride_len = stride_len,
			.x = r->x,
			.y = y,
			.width_px = r->width_px,
			.height_px = (next < end ? next : end) - y,
		};

		store_strip(m, &s);
		y += s.height_px;
	}
}

static uint64_t area(const struct coords_rect *r)
{
	return (uint64_t)r->width_px * r->height_px;
}

/* Large rectangles in bands of about max pixels. */
static unsigned cut_bands(const struct coords_rect *boxes, unsigned count,
			  uint64_t max, struct coords_rect *ret)
{
	unsigned n = 0;

	for (unsigned i = 0; i < count; i++) {
		struct coords_rect left = boxes[i];
		unsigned rows = (unsigned)(max / left.width_px) + 1;

		while (left.height_px > 0) {
			struct coords_rect band = left;

			if (band.height_px > rows)
				band.height_px = rows;
			ret[n++] = band;
			left.y += band.height_px;
			left.height_px -= band.height_px;
		}
	}
	return n;
}

/* What to fetch: at most X11_FETCH_COUNT rectangles, and not much more than
 * all of the desktop. */
static unsigned plan(const struct mirror *m, struct coords_rect *ret)
{
	struct coords_rect boxes[BOXES_COUNT];
	const struct coords_rect all = {0, 0, m->size.width_px,
					m->size.height_px};
	unsigned count = tiles_boxes(&m->drawn, m->fetched, boxes, BOXES_COUNT);
	uint64_t whole = 0, max = BAND_LEN / PIXEL_LEN;

	for (unsigned i = 0; i < count; i++)
		whole += area(&boxes[i]);
	if (whole > area(&all) * 3 / 4) {
		boxes[0] = all;
		count = 1;
		whole = area(&all);
	}
	if (whole / BANDS_COUNT > max)
		max = whole / BANDS_COUNT;
	return cut_bands(boxes, count, max, ret);
}

/* There is nothing to compare with: all of it is new. */
static void start(struct mirror *m)
{
	const struct coords_rect all = {0, 0, m->size.width_px,
					m->size.height_px};

	m->pixels = alloc_zero((size_t)m->size.width_px * m->size.height_px *
			       PIXEL_LEN);
	tiles_mark(&m->changed, &all, m->generation + 1);
	m->differs = true;
}

int mirror_fetch(struct mirror *m, struct x11 *x, struct err *e)
{
	struct coords_rect rects[X11_FETCH_COUNT];
	const struct x11_sink sink = {store, m};
	unsigned count = plan(m, rects);
	const uint64_t upto = m->looks;

	if (count == 0 && m->pixels)
		return 0;
	if (!m->pixels)
		start(m);
	if (x11_fetch(x, m->size, rects, count, &sink, e) != 0)
		return -1;
	m->fetched = upto;
	m->generation += m->differs;
	m->differs = false;
	return 0;
}

int mirror_update(struct mirror *m, struct x11 *x, struct err *e)
{
	for (int i = 0;; i++) {
		struct err why = {0};
		bool drawn;

		if (mirror_look(m, x, &drawn, e) != 0)
			return -1;
		if (mirror_fetch(m, x, &why) == 0)
			return 0;
		if (why.code != ERR_BUSY || i == TRIES) {
			if (e)
				*e = why;
			return -1;
		}
	}
}

/* ---- what there is ---- */

struct coords_size mirror_size(const struct mirror *m)
{
	return m->size;
}

uint64_t mirror_generation(const struct mirror *m)
{
	return m->generation;
}

bool mirror_knows(const struct mirror *m, uint64_t generation)
{
	return generation >= m->first && generation <= m->generation;
}

const uint8_t *mirror_pixels(const struct mirror *m)
{
	return m->pixels;
}

uint8_t *mirror_canvas(struct mirror *m)
{
	return m->pixels;
}

const struct x11_cursor *mirror_cursor(const struct mirror *m)
{
	return &m->cursor;
}

const struct tiles *mirror_changed(const struct mirror *m)
{
	return &m->changed;
}

const struct tiles *mirror_drawn(const struct mirror *m)
{
	return &m->drawn;
}

uint64_t mirror_looks(const struct mirror *m)
{
	return m->looks;
}

int64_t mirror_drawn_ms(const struct mirror *m)
{
	return m->drawn_ms;
}

uint64_t mirror_fetched_len(const struct mirror *m)
{
	return m->fetched_len;
}
