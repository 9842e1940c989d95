/*
 * Which windows are open, by their titles, as the window manager lists them. A
 * window may vanish while we ask about it: X errors count as "no".
 */
#include "base/alloc.h"
#include "desktop/wire.h"
#include "desktop/x11_conn.h"

#include <string.h>

enum {
	WINDOWS_COUNT = 1024,
	TITLE_LEN = 1024,
	/* windows asked about at once, with two requests each */
	BATCH_COUNT = 24,
};

static int ask(struct x11 *x, uint32_t window, uint32_t atom, uint32_t max_len,
	       unsigned *ret_seq, struct err *e)
{
	if (x11_expect(x, sizeof(xcb_get_property_reply_t) + max_len, e) != 0)
		return -1;
	*ret_seq = x11_sent(x, xcb_get_property(x->c, 0, window, atom,
						XCB_GET_PROPERTY_TYPE_ANY, 0,
						max_len / 4)
				       .sequence);
	return 0;
}

/* The value of items of so many bits; NULL with *ret_len 0 when there is none.
 * free() */
static int take(struct x11 *x, unsigned seq, unsigned format, uint8_t **ret,
		size_t *ret_len, struct err *e)
{
	autofree xcb_get_property_reply_t *r = NULL;
	uint8_t x_error;
	uint64_t said;
	size_t len;

	*ret = NULL;
	*ret_len = 0;
	r = x11_reply(x, seq, sizeof(*r), &len, &x_error, e);
	if (!r)
		return x_error ? 0 : -1;
	said = (uint64_t)r->value_len * (format / 8);
	if (r->format != format || said == 0)
		return 0;
	*ret_len = len - sizeof(*r);
	if (said < *ret_len)
		*ret_len = (size_t)said;
	*ret = alloc_zero(*ret_len + 1);
	memcpy(*ret, r + 1, *ret_len);
	return 0;
}

static int list_windows(struct x11 *x, uint32_t ret[WINDOWS_COUNT],
			unsigned *ret_count, struct err *e)
{
	autofree uint8_t *list = NULL;
	unsigned seq;
	size_t len;

	if (ask(x, x->setup.root, x->atoms[X11_ATOM_NET_CLIENT_LIST],
		WINDOWS_COUNT * 4, &seq, e) != 0 ||
	    take(x, seq, 32, &list, &len, e) != 0)
		return -1;
	*ret_count = (unsigned)(len / 4);
	for (unsigned i = 0; i < *ret_count; i++)
		ret[i] = wire_u32(list + (size_t)i * 4);
	return 0;
}

/* Titles of a batch; the first of either kind that holds part will do. */
static int find_in(struct x11 *x, const uint32_t *windows, unsigned count,
		   const char *part, bool *ret, struct err *e)
{
	const uint32_t kinds[] = {x->atoms[X11_ATOM_NET_WM_NAME],
				  XCB_ATOM_WM_NAME};
	unsigned seqs[BATCH_COUNT * ARRAY_COUNT(kinds)], asked = 0;

	for (unsigned i = 0; i < count; i++) {
		for (size_t k = 0; k < ARRAY_COUNT(kinds); k++) {
			if (ask(x, windows[i], kinds[k], TITLE_LEN,
				&seqs[asked++], e) != 0)
				return -1;
		}
	}
	for (unsigned i = 0; i < asked; i++) {
		autofree uint8_t *title = NULL;
		size_t len;

		if (take(x, seqs[i], 8, &title, &len, e) != 0) {
			x->failed = true; /* replies may be left over */
			return -1;
		}
		*ret |= title && strcasestr((const char *)title, part);
	}
	return 0;
}

int x11_find_title(struct x11 *x, const char *part, bool *ret, struct err *e)
{
	uint32_t windows[WINDOWS_COUNT];
	unsigned count;
	bool found = false;

	if (list_windows(x, windows, &count, e) != 0)
		return -1;
	for (unsigned i = 0; i < count && !found; i += BATCH_COUNT) {
		unsigned n = count - i < BATCH_COUNT ? count - i : BATCH_COUNT;

		if (find_in(x, windows + i, n, part, &found, e) != 0)
			return -1;
	}
	*ret = found;
	return 0;
}
