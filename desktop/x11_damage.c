/*
 * What was drawn, as the server itself adds it up: a DAMAGE object on the root
 * window collects a region while nobody looks, at no cost on the connection. A
 * look moves that region aside and reads it. Of level NON_EMPTY, the object
 * sends one event when the first thing is drawn after a look, and no more.
 *
 * The event may be in libxcb's queue, in the gate or under way when a look
 * begins, so it is only ever a reason to look; x->drawn remembers one that was
 * met on the way. One that is lost because another kind was let through the
 * gate is made up for by the look that comes first in every wait.
 */
#include "base/alloc.h"
#include "desktop/x11_conn.h"
#include "desktop/xregion.h"

#include <stdlib.h>
#include <xcb/damage.h>
#include <xcb/xfixes.h>

/* A region of so many rectangles is 8 MB, the size of a usual frame. It may
 * be that large only after something absurd was drawn; the connection is lost
 * then, and the next one starts with everything drawn, which is one. */
#define REGION_COUNT (1024 * 1024)

bool x11_damage_works(const struct x11 *x)
{
	return x->damage != 0;
}

void x11_damage_watch(struct x11 *x)
{
	if (!x->damage)
		return;
	x11_sent(x, xcb_xfixes_create_region(x->c, x->mirror_region, 0, NULL)
			    .sequence);
	x11_sent(x, xcb_damage_create(x->c, x->mirror_damage, x->setup.root,
				      XCB_DAMAGE_REPORT_LEVEL_NON_EMPTY)
			    .sequence);
}

void x11_damage_unwatch(struct x11 *x)
{
	if (!x->damage)
		return;
	x11_sent(x, xcb_damage_destroy(x->c, x->mirror_damage).sequence);
	x11_sent(x, xcb_xfixes_destroy_region(x->c, x->mirror_region).sequence);
}

static int ask_drawn(struct x11 *x, unsigned *ret_seq, struct err *e)
{
	xgate_allow_event(x->gate, x->damage_event);
	x11_sent(x, xcb_damage_subtract(x->c, x->mirror_damage, XCB_NONE,
					x->mirror_region)
			    .sequence);
	if (x11_expect(x,
		       sizeof(xcb_xfixes_fetch_region_reply_t) +
			       (uint64_t)REGION_COUNT * sizeof(xcb_rectangle_t),
		       e) != 0)
		return -1;
	*ret_seq = x11_sent(
		x, xcb_xfixes_fetch_region(x->c, x->mirror_region).sequence);
	return 0;
}

static int take_drawn(struct x11 *x, unsigned seq, struct x11_look *l,
		      struct err *e)
{
	autofree xcb_xfixes_fetch_region_reply_t *r = NULL;
	size_t len;

	r = x11_reply(x, seq, sizeof(*r), &len, NULL, e);
	if (!r)
		return -1;
	l->drawn = xregion_parse((const uint8_t *)r, len, &l->drawn_count);
	return 0;
}

/* All of it, as far as can be known. */
static void all_drawn(struct x11_look *l)
{
	l->drawn = alloc_array(1, sizeof(*l->drawn));
	l->drawn[0] =
		(struct coords_rect){0, 0, l->size.width_px, l->size.height_px};
	l->drawn_count = 1;
}

static int look(struct x11 *x, struct x11_look *l, struct err *e)
{
	unsigned drawn_seq = 0, cursor_seq, size_seq;

	if ((x->damage && ask_drawn(x, &drawn_seq, e) != 0) ||
	    x11_ask_cursor(x, &cursor_seq, e) != 0 ||
	    x11_ask_size(x, &size_seq, e) != 0)
		return -1;
	if ((x->damage && take_drawn(x, drawn_seq, l, e) != 0) ||
	    x11_take_cursor(x, cursor_seq, &l->cursor, e) != 0 ||
	    x11_take_size(x, size_seq, &l->size, e) != 0)
		return -1;
	if (!x->damage)
		all_drawn(l);
	return 0;
}

int x11_look(struct x11 *x, struct x11_look *ret, struct err *e)
{
	struct x11_look l = {0};
	struct err why = {0};

	/* events until here are answered by this look, errors after it mean
	 * that it found nothing because it did not work */
	if (x11_drain_events(x, e) != 0)
		return -1;
	x->drawn = false;
	if (look(x, &l, &why) == 0 && x11_drain_events(x, &why) == 0) {
		*ret = l;
		return 0;
	}
	/* the size is the last to be taken: else replies may be left over */
	x->failed |= why.code != ERR_LIMIT;
	x11_look_finish(&l);
	if (e)
		*e = why;
	return -1;
}

void x11_look_finish(struct x11_look *l)
{
	free(l->drawn);
	x11_cursor_finish(&l->cursor);
	*l = (struct x11_look){0};
}

int x11_damage_await(struct x11 *x, struct deadline d, bool *ret_drawn,
		     struct err *e)
{
	autofree xcb_generic_event_t *ev = NULL;
	bool late;

	*ret_drawn = x->drawn;
	x->drawn = false;
	if (*ret_drawn)
		return 0;
	if (!x->damage) {
		deadline_sleep_ms(deadline_poll_ms(d));
		return 0;
	}
	ev = x11_next_event(x, d, &late, e);
	*ret_drawn = ev != NULL;
	return ev || late ? 0 : -1;
}
