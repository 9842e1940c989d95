/*
 * Under the turn: the pixels are scaled out of the mirror, with the pointer
 * drawn in for as long (the mirror itself has none). After it: they are
 * encoded. When the shelf already has the picture, neither happens.
 */
#include "desktop/screenshot.h"
#include "base/alloc.h"
#include "desktop/cursor.h"
#include "desktop/scale.h"

#include <string.h>

enum {
	PIXEL_LEN = 4,
	/* what changed is sent alone when it is at most a half */
	PARTLY_OF = 2,
};

struct desktop_shot {
	struct desktop_shot_info info;
	uint8_t *rgb;		     /* of info.image; NULL: not needed */
	struct picture_shelf *shelf; /* NULL: not for the shelf */
	struct picture_key key;
	struct desktop_boxes boxes; /* to cut from rgb, when partly */
	struct picture *pictures[DESKTOP_BOXES_COUNT];
	unsigned count;
};

/* ---- taken ---- */

/* FNV-1a, by words */
static uint64_t add_hash(uint64_t hash, uint32_t word)
{
	return (hash ^ word) * 0x100000001b3ULL;
}

static uint64_t hash_cursor(const struct x11_cursor *c)
{
	const size_t count = (size_t)c->width_px * c->height_px;
	uint64_t hash = 0xcbf29ce484222325ULL;

	hash = add_hash(hash, (uint32_t)c->x);
	hash = add_hash(hash, (uint32_t)c->y);
	hash = add_hash(hash, c->width_px);
	hash = add_hash(hash, c->height_px);
	for (size_t i = 0; i < count; i++)
		hash = add_hash(hash, c->pixels[i]);
	return hash;
}

/* What of the pointer lies on the desktop; empty: nothing. */
static struct coords_rect cut_cursor(const struct x11_cursor *c,
				     struct coords_size size)
{
	const int x1 = c->x + (int)c->width_px, y1 = c->y + (int)c->height_px;
	const int x0 = c->x > 0 ? c->x : 0, y0 = c->y > 0 ? c->y : 0;
	const int right = x1 < (int)size.width_px ? x1 : (int)size.width_px;
	const int bottom = y1 < (int)size.height_px ? y1 : (int)size.height_px;

	if (x0 >= right || y0 >= bottom)
		return (struct coords_rect){0};
	return (struct coords_rect){(unsigned)x0, (unsigned)y0,
				    (unsigned)(right - x0),
				    (unsigned)(bottom - y0)};
}

/* Rows of a rectangle out of the mirror, or back into it. */
static void swap_rows(struct mirror *m, const struct coords_rect *r,
		      uint8_t *aside, bool back)
{
	const size_t stride_len = (size_t)mirror_size(m).width_px * PIXEL_LEN;
	const size_t row_len = (size_t)r->width_px * PIXEL_LEN;

	for (unsigned y = 0; y < r->height_px; y++) {
		uint8_t *row = mirror_canvas(m) + (r->y + y) * stride_len +
			       (size_t)r->x * PIXEL_LEN;

		memcpy(back ? row : aside + y * row_len,
		       back ? aside + y * row_len : row, row_len);
	}
}

/* The rectangle as an image, the pointer drawn. free() */
static uint8_t *render(struct mirror *m, const struct coords_rect *rect,
		       struct coords_size image)
{
	const struct x11_cursor *c = mirror_cursor(m);
	const struct coords_size size = mirror_size(m);
	const struct coords_rect under = cut_cursor(c, size);
	const struct coords_size cut = {rect->width_px, rect->height_px};
	const size_t stride_len = (size_t)size.width_px * PIXEL_LEN;
	uint8_t *rgb = alloc_array((size_t)image.width_px * image.height_px, 3);
	autofree uint8_t *aside = alloc_array(
		(size_t)under.width_px * under.height_px + 1, PIXEL_LEN);

	swap_rows(m, &under, aside, false);
	cursor_draw(mirror_canvas(m), size, (struct coords_point){c->x, c->y},
		    c->pixels, (struct coords_size){c->width_px, c->height_px});
	scale_to_rgb(mirror_pixels(m) + rect->y * stride_len +
			     (size_t)rect->x * PIXEL_LEN,
		     stride_len, cut, rgb, image);
	swap_rows(m, &under, aside, true);
	return rgb;
}

struct desktop_boxes screenshot_boxes(const struct tiles *tiles, uint64_t since,
				      const struct coords_view *view)
{
	struct desktop_boxes b = {0};

	b.count = tiles_boxes(tiles, since, b.at, DESKTOP_BOXES_COUNT);
	for (unsigned i = 0; i < b.count; i++)
		b.at[i] = coords_rect_from_desktop(view, &b.at[i]);
	return b;
}

static struct desktop_shot_info describe(const struct mirror *m,
					 const struct turn *t,
					 const struct coords_view *view,
					 const struct coords_rect *rect)
{
	const struct x11_cursor *c = mirror_cursor(m);
	const struct coords_size cut = {rect->width_px, rect->height_px};
	struct desktop_shot_info i = {
		.image = coords_fit(cut, t->tier),
		.desktop = view->desktop,
		.full = view->shot,
		.pointer = coords_from_desktop(
			view, (struct coords_point){c->hot_x, c->hot_y}),
		.rect = *rect,
		.generation = mirror_generation(m),
		.compared = mirror_knows(m, t->seen_generation),
	};

	i.scale = (double)i.image.width_px / cut.width_px;
	if (i.compared)
		i.changed = screenshot_boxes(mirror_changed(m),
					     t->seen_generation, view);
	return i;
}

static bool is_small(const struct desktop_boxes *b, struct coords_size shot)
{
	uint64_t whole = 0;

	for (unsigned i = 0; i < b->count; i++)
		whole += (uint64_t)b->at[i].width_px * b->at[i].height_px;
	return whole * PARTLY_OF <= (uint64_t)shot.width_px * shot.height_px;
}

static void take_partly(struct desktop_shot *s, const struct mirror *m,
			const struct turn *t, const struct desktop_want *want,
			const struct coords_view *view)
{
	uint64_t since = want->since == DESKTOP_SINCE_LAST ? t->seen_generation
							   : want->since;

	/* who has seen no size (vm_view) has the pictures of its numbers */
	if (!want->partly || want->region || !mirror_knows(m, since) ||
	    (t->seen.width_px != 0 &&
	     (t->seen.width_px != view->desktop.width_px ||
	      t->seen.height_px != view->desktop.height_px)))
		return;
	s->boxes = screenshot_boxes(mirror_changed(m), since, view);
	s->info.partly = is_small(&s->boxes, view->shot);
}

int screenshot_take(const struct screenshot_source *from, const struct turn *t,
		    const struct desktop_want *want, struct desktop_shot **ret,
		    struct err *e)
{
	struct mirror *m = from->mirror;
	const struct coords_view view = coords_view(mirror_size(m), t->tier);
	struct coords_rect rect = {0, 0, view.desktop.width_px,
				   view.desktop.height_px};
	struct desktop_shot *s;

	if (want->region &&
	    coords_region_to_desktop(&view, want->region, &rect, e) != 0)
		return -1;
	s = ALLOC_NEW(struct desktop_shot);
	s->info = describe(m, t, &view, &rect);
	take_partly(s, m, t, want, &view);
	if (!want->region && !s->info.partly) {
		s->key = (struct picture_key){mirror_generation(m),
					      hash_cursor(mirror_cursor(m)),
					      (int)t->tier};
		s->shelf = picture_shelf_hold(from->shelf);
		s->pictures[0] = picture_shelf_find(s->shelf, &s->key);
		s->count = s->pictures[0] != NULL;
	}
	if (s->count == 0 && !(s->info.partly && s->boxes.count == 0))
		s->rgb = render(m, &rect, s->info.image);
	*ret = s;
	return 0;
}

void desktop_shot_free(struct desktop_shot *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->count; i++)
		picture_free(s->pictures[i]);
	picture_shelf_free(s->shelf);
	free(s->rgb);
	free(s);
}

struct desktop_shot_info desktop_shot_info(const struct desktop_shot *s)
{
	return s->info;
}

/* ---- encoded ---- */

static int encode_box(struct desktop_shot *s, const struct coords_rect *box,
		      struct err *e)
{
	const size_t stride_len = (size_t)s->info.image.width_px * 3;
	const size_t row_len = (size_t)box->width_px * 3;
	autofree uint8_t *rgb = alloc_array(box->height_px, row_len);

	for (unsigned y = 0; y < box->height_px; y++)
		memcpy(rgb + y * row_len,
		       s->rgb + (box->y + y) * stride_len + (size_t)box->x * 3,
		       row_len);
	if (picture_encode(rgb,
			   (struct coords_size){box->width_px, box->height_px},
			   &s->pictures[s->count], e) != 0)
		return -1;
	s->count++;
	return 0;
}

int desktop_shot_encode(struct desktop_shot *s, struct err *e)
{
	if (s->count > 0 || !s->rgb)
		return 0;
	if (s->info.partly) {
		for (unsigned i = 0; i < s->boxes.count; i++) {
			if (encode_box(s, &s->boxes.at[i], e) != 0)
				return -1;
		}
		return 0;
	}
	if (picture_encode(s->rgb, s->info.image, &s->pictures[0], e) != 0)
		return -1;
	s->count = 1;
	if (s->shelf)
		picture_shelf_put(s->shelf, &s->key, s->pictures[0]);
	return 0;
}

unsigned desktop_shot_images(const struct desktop_shot *s,
			     struct desktop_image ret[DESKTOP_BOXES_COUNT])
{
	for (unsigned i = 0; i < s->count; i++) {
		const struct picture *p = s->pictures[i];

		ret[i] = (struct desktop_image){
			.mime = p->mime,
			.bytes = p->bytes,
			.len = p->len,
			.size = p->size,
		};
		if (s->info.partly)
			ret[i].box = s->boxes.at[i];
	}
	return s->count;
}
