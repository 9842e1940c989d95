#include "desktop/xsetup.h"
#include "base/limits.h"
#include "desktop/wire.h"

#include <string.h>

/* Positions of the protocol's fields. */
enum {
	SETUP_FIXED_LEN = 40,
	FORMAT_LEN = 8,
	SCREEN_LEN = 40,
	DEPTH_LEN = 8,
	VISUAL_LEN = 24,
	TRUE_COLOR = 4,
	/* the server must take requests of at least this many units of 4 */
	REQUEST_MIN_UNITS = 4096,
};

int xsetup_len(const uint8_t head[XSETUP_HEAD_LEN], size_t *ret_len,
	       struct err *e)
{
	size_t len = XSETUP_HEAD_LEN + (size_t)wire_u16(head + 6) * 4;

	if (len > XSETUP_MAX_LEN)
		return err_set(e, ERR_LIMIT,
			       "the guest's X server announces a setup of %zu "
			       "bytes",
			       len);
	*ret_len = len;
	return 0;
}

static int refused(const uint8_t *p, size_t len, struct err *e)
{
	char words[ERR_QUOTE_SIZE];
	size_t reason_len = p[1];

	if (p[0] != 0)
		return err_set(e, ERR_DENIED,
			       "the guest's X server wants another kind of "
			       "authentication");
	if (reason_len > len - XSETUP_HEAD_LEN)
		reason_len = len - XSETUP_HEAD_LEN;
	return err_set(e, ERR_DENIED, "the guest's X server refuses: %s",
		       err_quote(words, (const char *)p + XSETUP_HEAD_LEN,
				 reason_len));
}

/* bits per pixel of the format of this depth must be 32 */
static int check_formats(const struct wire *formats, uint8_t depth,
			 struct err *e)
{
	for (size_t i = 0; i + FORMAT_LEN <= formats->len; i += FORMAT_LEN) {
		const uint8_t *f = formats->p + i;

		if (f[0] == depth && f[1] == 32 && f[2] == 32)
			return 0;
	}
	return err_set(e, ERR_STATE,
		       "the guest's X server has no 32-bit pixels at depth %u",
		       depth);
}

static int check_visual(const uint8_t *v, struct err *e)
{
	if (v[4] != TRUE_COLOR || wire_u32(v + 8) != 0xff0000 ||
	    wire_u32(v + 12) != 0xff00 || wire_u32(v + 16) != 0xff)
		return err_set(e, ERR_STATE,
			       "the guest's desktop is not in 24-bit true "
			       "colour");
	return 0;
}

static int malformed(struct err *e)
{
	return err_set(e, ERR_PROTOCOL,
		       "the guest's X server sent a malformed setup");
}

/* Look for the root's visual among the screen's depths. */
static int check_depths(struct wire *w, unsigned depths_count,
			const struct xsetup *s, struct err *e)
{
	for (unsigned i = 0; i < depths_count; i++) {
		const uint8_t *d, *v;
		unsigned visuals_count;

		if (wire_take(w, DEPTH_LEN, &d) != 0)
			return malformed(e);
		visuals_count = wire_u16(d + 2);
		for (unsigned j = 0; j < visuals_count; j++) {
			if (wire_take(w, VISUAL_LEN, &v) != 0)
				return malformed(e);
			if (d[0] == s->depth && wire_u32(v) == s->visual)
				return check_visual(v, e);
		}
	}
	return malformed(e);
}

static int check_screen(struct wire *w, const struct wire *formats,
			struct xsetup *ret, struct err *e)
{
	const uint8_t *screen;

	if (wire_take(w, SCREEN_LEN, &screen) != 0)
		return malformed(e);
	ret->root = wire_u32(screen);
	ret->width_px = wire_u16(screen + 20);
	ret->height_px = wire_u16(screen + 22);
	ret->visual = wire_u32(screen + 32);
	ret->depth = screen[38];
	if (ret->root == 0 || (ret->depth != 24 && ret->depth != 32))
		return err_set(e, ERR_STATE,
			       "the guest's desktop has depth %u, not 24",
			       ret->depth);
	if (check_formats(formats, ret->depth, e) != 0)
		return -1;
	return check_depths(w, screen[39], ret, e);
}

int xsetup_parse(const uint8_t *p, size_t len, struct xsetup *ret,
		 struct err *e)
{
	struct wire w = {.p = p, .len = len}, formats;
	const uint8_t *fixed, *skipped;
	struct xsetup s = {0};
	size_t whole;

	if (len < XSETUP_HEAD_LEN || xsetup_len(p, &whole, e) != 0)
		return len < XSETUP_HEAD_LEN ? malformed(e) : -1;
	if (whole != len)
		return malformed(e);
	if (p[0] != 1)
		return refused(p, len, e);
	if (wire_take(&w, SETUP_FIXED_LEN, &fixed) != 0)
		return malformed(e);
	/* libxcb makes ids out of the mask; an empty one stops it */
	if (wire_u16(fixed + 2) != 11 || wire_u32(fixed + 16) == 0 ||
	    wire_u16(fixed + 26) < REQUEST_MIN_UNITS || fixed[28] < 1)
		return malformed(e);
	if (fixed[30] != 0)
		return err_set(
			e, ERR_STATE,
			"the guest's X server sends pixels in big-endian "
			"order");
	s.min_keycode = fixed[34];
	s.max_keycode = fixed[35];
	if (s.min_keycode < 8 || s.max_keycode < s.min_keycode)
		return malformed(e);
	if (wire_take(&w, (wire_u16(fixed + 24) + 3U) & ~3U, &skipped) != 0 ||
	    wire_take(&w, (size_t)fixed[29] * FORMAT_LEN, &formats.p) != 0)
		return malformed(e);
	formats.len = (size_t)fixed[29] * FORMAT_LEN;
	if (check_screen(&w, &formats, &s, e) != 0)
		return -1;
	*ret = s;
	return 0;
}
