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

int x11_ask_size(struct x11 *x, unsigned *ret_seq, struct err *e)
{
	if (x11_expect(x, X11_REPLY_LEN, e) != 0)
		return -1;
	*ret_seq = x11_sent(x, xcb_get_geometry(x->c, x->setup.root).sequence);
	return 0;
}

int x11_take_size(struct x11 *x, unsigned seq, struct coords_size *ret,
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

	if (x11_ask_size(x, &seq, e) != 0)
		return -1;
	return x11_take_size(x, seq, ret, e);
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

/* ---- the pointer ---- */

int x11_ask_cursor(struct x11 *x, unsigned *ret_seq, struct err *e)
{
	const uint64_t max_len =
		sizeof(xcb_xfixes_get_cursor_image_reply_t) +
		(uint64_t)CURSOR_SIDE_PX * CURSOR_SIDE_PX * PIXEL_LEN;

	if (x11_expect(x, max_len, e) != 0)
		return -1;
	*ret_seq = x11_sent(x, xcb_xfixes_get_cursor_image(x->c).sequence);
	return 0;
}

/* A pointer without a picture: its place alone. */
static int take_place(struct x11 *x, struct x11_cursor *ret, struct err *e)
{
	struct x11_pointer at;

	if (x11_pointer(x, &at, e) != 0)
		return -1;
	*ret = (struct x11_cursor){
		.hot_x = at.x, .hot_y = at.y, .x = at.x, .y = at.y};
	return 0;
}

int x11_take_cursor(struct x11 *x, unsigned seq, struct x11_cursor *ret,
		    struct err *e)
{
	autofree xcb_xfixes_get_cursor_image_reply_t *r = NULL;
	size_t len, pixels_len;
	uint8_t x_error = 0;

	r = x11_reply(x, seq, sizeof(*r), &len, &x_error, e);
	/* nobody may see one whose owner is gone, such as a window manager */
	if (!r)
		return x_error ? take_place(x, ret, e) : -1;
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

void x11_cursor_finish(struct x11_cursor *c)
{
	free(c->pixels);
	*c = (struct x11_cursor){0};
}

/* ---- pixels ---- */

static size_t pixels_len(const struct coords_rect *r)
{
	return (size_t)r->width_px * r->height_px * PIXEL_LEN;
}

static int ask_image(struct x11 *x, const struct coords_rect *r,
		     unsigned *ret_seq, struct err *e)
{
	if (x11_expect(x, sizeof(xcb_get_image_reply_t) + pixels_len(r), e) !=
	    0)
		return -1;
	*ret_seq =
		x11_sent(x, xcb_get_image(x->c, XCB_IMAGE_FORMAT_Z_PIXMAP,
					  x->setup.root, (int16_t)r->x,
					  (int16_t)r->y, (uint16_t)r->width_px,
					  (uint16_t)r->height_px, UINT32_MAX)
				    .sequence);
	return 0;
}

/* *ret_outside when the server answered an error: the rectangle was outside,
 * so the desktop has shrunk. */
static int take_image(struct x11 *x, unsigned seq, const struct coords_rect *r,
		      const struct x11_sink *sink, bool *ret_outside,
		      struct err *e)
{
	autofree xcb_get_image_reply_t *reply = NULL;
	uint8_t x_error;
	size_t len;

	reply = x11_reply(x, seq, sizeof(*reply), &len, &x_error, e);
	if (!reply) {
		*ret_outside |= x_error != 0;
		return x_error ? 0 : -1;
	}
	if (reply->depth != x->setup.depth ||
	    len != sizeof(*reply) + pixels_len(r))
		return x11_liar(x, "an image that is not what was asked for",
				e);
	sink->each(sink->ctx, r, (const uint8_t *)(reply + 1));
	return 0;
}

static int fetch(struct x11 *x, struct coords_size size,
		 const struct coords_rect *rects, unsigned count,
		 const struct x11_sink *sink, struct err *e)
{
	unsigned seqs[X11_FETCH_COUNT], size_seq;
	struct coords_size now;
	bool outside = false;

	for (unsigned i = 0; i < count; i++) {
		if (ask_image(x, &rects[i], &seqs[i], e) != 0)
			return -1;
	}
	if (x11_ask_size(x, &size_seq, e) != 0)
		return -1;
	for (unsigned i = 0; i < count; i++) {
		if (take_image(x, seqs[i], &rects[i], sink, &outside, e) != 0)
			return -1;
	}
	if (x11_take_size(x, size_seq, &now, e) != 0)
		return -1;
	if (outside || now.width_px != size.width_px ||
	    now.height_px != size.height_px)
		return err_set(e, ERR_BUSY,
			       "the desktop was resized meanwhile");
	return 0;
}

int x11_fetch(struct x11 *x, struct coords_size size,
	      const struct coords_rect *rects, unsigned count,
	      const struct x11_sink *sink, struct err *e)
{
	struct err why = {0};

	if (count > X11_FETCH_COUNT)
		return err_set(e, ERR_INTERNAL, "too many images at once");
	if (fetch(x, size, rects, count, sink, &why) == 0)
		return 0;
	/* replies may be left over */
	x->failed |= why.code != ERR_BUSY;
	if (e)
		*e = why;
	return -1;
}
