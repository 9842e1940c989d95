/* Properties of windows, asked for and taken. A window may vanish meanwhile: an
 * X error counts as "none". */
#include "base/alloc.h"
#include "desktop/x11_conn.h"

int x11_ask_property(struct x11 *x, uint32_t window, uint32_t atom,
		     uint32_t max_len, unsigned *ret_seq, struct err *e)
{
	if (x11_expect(x, sizeof(xcb_get_property_reply_t) + max_len, e) != 0)
		return -1;
	*ret_seq = x11_sent(x, xcb_get_property(x->c, 0, window, atom,
						XCB_GET_PROPERTY_TYPE_ANY, 0,
						max_len / 4)
				       .sequence);
	return 0;
}

int x11_take_property(struct x11 *x, unsigned seq, void **ret_reply,
		      struct xprop *ret, struct err *e)
{
	autofree xcb_get_property_reply_t *r = NULL;
	uint8_t x_error;
	size_t len;

	*ret = (struct xprop){0};
	*ret_reply = NULL;
	r = x11_reply(x, seq, sizeof(*r), &len, &x_error, e);
	if (!r)
		return x_error ? 0 : -1;
	if (xprop_parse((const uint8_t *)r, len, ret) != 0)
		return x11_liar(x, "a property that is shorter than it says",
				e);
	*ret_reply = TAKE_PTR(r);
	return 0;
}

int x11_take_text(struct x11 *x, unsigned seq, char *ret, size_t size,
		  struct err *e)
{
	autofree void *reply = NULL;
	struct xprop v;

	if (x11_take_property(x, seq, &reply, &v, e) != 0)
		return -1;
	xprop_text(&v, 0, ret, size);
	return 0;
}

int x11_take_words(struct x11 *x, unsigned seq, uint32_t *ret, unsigned max,
		   unsigned *ret_count, struct err *e)
{
	autofree void *reply = NULL;
	struct xprop v;

	if (x11_take_property(x, seq, &reply, &v, e) != 0)
		return -1;
	*ret_count = xprop_words(&v, ret, max);
	return 0;
}

int x11_get_words(struct x11 *x, struct x11_of of, uint32_t *ret, unsigned max,
		  unsigned *ret_count, struct err *e)
{
	unsigned seq;

	if (x11_ask_property(x, of.window, x->atoms[of.name], max * 4, &seq,
			     e) != 0)
		return -1;
	return x11_take_words(x, seq, ret, max, ret_count, e);
}
