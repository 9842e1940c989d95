/* Seeing: size, pixels, pointer. */
#include "base/limits.h"
#include "desktop/x11_conn.h"

#include <stdlib.h>
#include <string.h>
#include <xcb/xfixes.h>

enum {
	/* real cursors are 16 to 128 pixels; accessibility ones 256 */
	CURSOR_SIDE_PX = 512,
	PIXEL_LEN = 4,
};

static int check_size(unsigned width_px, unsigned height_px, struct err *e)
{
	if (width_px == 0 || height_px == 0 ||
	    width_px > LIMIT_DESKTOP_SIDE_PX ||
	    height_px > LIMIT_DESKTOP_SIDE_PX ||
	    width_px * height_px > LIMIT_DESKTOP_AREA_PX)
		return err_set(e, ERR_LIMIT,
			       "the guest's desktop is %ux%u pixels: at most "
			       "%u a side and %u in all are supported",
			       width_px, height_px, LIMIT_DESKTOP_SIDE_PX,
			       LIMIT_DESKTOP_AREA_PX);
	return 0;
}

static int ask_geometry(struct x11 *x, unsigned *ret_seq, struct err *e)
{
	if (x11_expect(x, X11_REPLY_LEN, e) != 0)
		return -1;
	*ret_seq = x11_sent(x, xcb_get_geometry(x->c, x->setup.root).sequence);
	return 0;
}

static int take_geometry(struct x11 *x, unsigned seq, struct coords_size *ret,
			 struct err *e)
{
	autofree xcb_get_geometry_reply_t *r = NULL;
	size_t len;

	r = x11_reply(x, seq, sizeof(*r), &len, NULL, e);
	if (!r || check_size(r->width, r->height, e) != 0)
		return -1;
	ret->width_px = r->width;
	ret->height_px = r->height;
	return 0;
}

int x11_size(struct x11 *x, struct coords_size *ret, struct err *e)
{
	unsigned seq;

	if (ask_geometry(x, &seq, e) != 0)
		return -1;
	return take_geometry(x, seq, ret, e);
}

int x11_pointer(struct x11 *x, struct x11_pointer *ret, struct err *e)
{
	autofree xcb_query_pointer_reply_t *r = NULL;
	size_t len;
	unsigned seq;

	if (x11_expect(x, X11_REPLY_LEN, e) != 0)
		return -1;
	seq = x11_sent(x, xcb_query_pointer(x->c, x->setup.root).sequence);
	r = x11_reply(x, seq, sizeof(*r), &len, NULL, e);
	if (!r)
		return -1;
	ret->x = r->root_x;
	ret->y = r->root_y;
	ret->buttons = r->mask >> 8 & 0x1f;
	return 0;
}

/* ---- capture ---- */

/* 0 with c->owner NULL when the server answered an error: the rectangle was
 * outside, so the desktop has shrunk. */
static int take_image(struct x11 *x, unsigned seq, struct x11_capture *c,
		      struct err *e)
{
	size_t pixels_len =
		(size_t)c->rect.width_px * c->rect.height_px * PIXEL_LEN;
	xcb_get_image_reply_t *r;
	uint8_t x_error;
	size_t len;

	r = x11_reply(x, seq, sizeof(*r), &len, &x_error, e);
	if (!r)
		return x_error ? 0 : -1;
	c->owner = r;
	if (r->depth != x->setup.depth || len != sizeof(*r) + pixels_len)
		return x11_liar(x, "an image that is not what was asked for",
				e);
	c->pixels = (uint8_t *)(r + 1);
	return 0;
}

static int take_cursor(struct x11 *x, unsigned seq, struct x11_cursor *ret,
		       struct err *e)
{
	autofree xcb_xfixes_get_cursor_image_reply_t *r = NULL;
	size_t len, pixels_len;

	r = x11_reply(x, seq, sizeof(*r), &len, NULL, e);
	if (!r)
		return -1;
	pixels_len = (size_t)r->width * r->height * PIXEL_LEN;
	if (r->width > CURSOR_SIDE_PX || r->height > CURSOR_SIDE_PX ||
	    len < sizeof(*r) + pixels_len)
		return x11_liar(x, "a pointer image that cannot be", e);
	ret->hot_x = r->x;
	ret->hot_y = r->y;
	ret->x = r->x - r->xhot;
	ret->y = r->y - r->yhot;
	ret->width_px = r->width;
	ret->height_px = r->height;
	/* the pixels follow the fixed part; the block becomes theirs */
	memmove(r, r + 1, pixels_len);
	ret->pixels = (uint32_t *)TAKE_PTR(r);
	return 0;
}

int x11_capture(struct x11 *x, const struct coords_size *size,
		const struct coords_rect *rect, struct x11_capture *ret,
		struct err *e)
{
	uint64_t image_len =
		sizeof(xcb_get_image_reply_t) +
		(uint64_t)rect->width_px * rect->height_px * PIXEL_LEN;
	uint64_t cursor_len =
		sizeof(xcb_xfixes_get_cursor_image_reply_t) +
		(uint64_t)CURSOR_SIDE_PX * CURSOR_SIDE_PX * PIXEL_LEN;
	unsigned image_seq, cursor_seq, size_seq;
	struct x11_capture c = {.rect = *rect};
	struct coords_size now;

	/* all three at once: one round trip */
	if (x11_expect(x, image_len, e) != 0)
		return -1;
	image_seq = x11_sent(
		x, xcb_get_image(x->c, XCB_IMAGE_FORMAT_Z_PIXMAP, x->setup.root,
				 (int16_t)rect->x, (int16_t)rect->y,
				 (uint16_t)rect->width_px,
				 (uint16_t)rect->height_px, UINT32_MAX)
			   .sequence);
	if (x11_expect(x, cursor_len, e) != 0)
		return -1;
	cursor_seq = x11_sent(x, xcb_xfixes_get_cursor_image(x->c).sequence);
	if (ask_geometry(x, &size_seq, e) != 0)
		return -1;

	if (take_image(x, image_seq, &c, e) != 0 ||
	    take_cursor(x, cursor_seq, &c.cursor, e) != 0 ||
	    take_geometry(x, size_seq, &now, e) != 0) {
		x->failed = true; /* replies may be left over */
		goto fail;
	}
	if (!c.pixels || now.width_px != size->width_px ||
	    now.height_px != size->height_px) {
		err_set(e, ERR_BUSY, "the desktop was resized meanwhile");
		goto fail;
	}
	*ret = c;
	return 0;
fail:
	x11_capture_finish(&c);
	return -1;
}

void x11_capture_finish(struct x11_capture *c)
{
	free(c->owner);
	free(c->cursor.pixels);
	*c = (struct x11_capture){0};
}
