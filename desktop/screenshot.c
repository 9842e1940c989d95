#include "desktop/screenshot.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "desktop/cursor.h"
#include "desktop/png.h"
#include "desktop/scale.h"

#include <string.h>

enum {
	/* a desktop that is resized over and over is given up on */
	TRIES = 5,
};

struct desktop_shot {
	struct x11_capture capture;
	struct desktop_shot_info info;
};

static int whole_or_region(struct coords_size size,
			   const struct coords_region *region,
			   struct coords_rect *ret, struct err *e)
{
	if (region)
		return coords_region_to_desktop(size, region, ret, e);
	*ret = (struct coords_rect){0, 0, size.width_px, size.height_px};
	return 0;
}

static struct desktop_shot_info describe(struct coords_size desktop,
					 const struct x11_capture *c)
{
	struct coords_size cut = {c->rect.width_px, c->rect.height_px};
	struct coords_point pointer = {c->cursor.hot_x, c->cursor.hot_y};
	struct desktop_shot_info i = {
		.image = coords_fit(cut),
		.desktop = desktop,
		.full = coords_fit(desktop),
		.pointer = coords_from_desktop(desktop, pointer),
		.rect = c->rect,
	};

	i.scale = (double)i.image.width_px / cut.width_px;
	return i;
}

int screenshot_take(struct x11 *x, const struct coords_region *region,
		    struct desktop_shot **ret, struct err *e)
{
	struct x11_capture c;
	struct coords_rect rect;
	struct coords_size size;

	for (int i = 0;; i++) {
		struct err why = {0};

		if (x11_size(x, &size, e) != 0 ||
		    whole_or_region(size, region, &rect, e) != 0)
			return -1;
		if (x11_capture(x, &size, &rect, &c, &why) == 0)
			break;
		if (why.code != ERR_BUSY || i == TRIES) {
			if (e)
				*e = why;
			return -1;
		}
	}
	*ret = ALLOC_NEW(struct desktop_shot);
	(*ret)->capture = c;
	(*ret)->info = describe(size, &c);
	return 0;
}

void desktop_shot_free(struct desktop_shot *s)
{
	if (!s)
		return;
	x11_capture_finish(&s->capture);
	free(s);
}

struct desktop_shot_info desktop_shot_info(const struct desktop_shot *s)
{
	return s->info;
}

int desktop_shot_png(struct desktop_shot *s, struct buf *out, struct err *e)
{
	const struct x11_cursor *c = &s->capture.cursor;
	struct coords_rect r = s->info.rect;
	struct coords_size cut = {r.width_px, r.height_px};
	struct coords_size image = s->info.image;
	struct coords_point place = {c->x - (int)r.x, c->y - (int)r.y};
	autofree uint8_t *rgb = NULL;

	cursor_draw(s->capture.pixels, cut, place, c->pixels,
		    (struct coords_size){c->width_px, c->height_px});
	rgb = alloc_array((size_t)image.width_px * image.height_px, 3);
	scale_to_rgb(s->capture.pixels, cut, rgb, image);
	return png_encode(rgb, image, out, e);
}
