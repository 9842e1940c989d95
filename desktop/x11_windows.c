/*
 * The windows of a desktop, as its window manager lists them (EWMH). What is
 * asked about them goes out for several at once. A window may vanish while we
 * ask about it: X errors count as "nothing is known of it".
 */
#include "base/alloc.h"
#include "desktop/x11_conn.h"

#include <string.h>

enum {
	STATES_COUNT = 32,
	/* of the kinds below and two more; 64 replies may be under way */
	BATCH_COUNT = 7,
	ALL_WORKSPACES = -1,
	SOURCE_PAGER = 2,  /* on behalf of the person, not of a program */
	GRAVITY_FRAME = 1, /* a place is the frame's top left corner */
	/* no window manager has borders this wide */
	AROUND_MAX_PX = 1024,
};

enum kind {
	KIND_NAME,
	KIND_OLD_NAME,
	KIND_CLASS,
	KIND_PID,
	KIND_WORKSPACE,
	KIND_STATE,
	KIND_AROUND,
	KIND_COUNT,
};

struct asked {
	unsigned properties[KIND_COUNT], geometry, place;
};

/* ---- one window ---- */

static int ask_window(struct x11 *x, uint32_t id, struct asked *ret,
		      struct err *e)
{
	const struct {
		uint32_t atom, max_len;
	} kinds[KIND_COUNT] = {
		[KIND_NAME] = {x->atoms[X11_ATOM_NET_WM_NAME], 1024},
		[KIND_OLD_NAME] = {XCB_ATOM_WM_NAME, 1024},
		[KIND_CLASS] = {XCB_ATOM_WM_CLASS, 512},
		[KIND_PID] = {x->atoms[X11_ATOM_NET_WM_PID], 4},
		[KIND_WORKSPACE] = {x->atoms[X11_ATOM_NET_WM_DESKTOP], 4},
		[KIND_STATE] = {x->atoms[X11_ATOM_NET_WM_STATE],
				STATES_COUNT * 4},
		[KIND_AROUND] = {x->atoms[X11_ATOM_NET_FRAME_EXTENTS], 16},
	};

	for (int k = 0; k < KIND_COUNT; k++) {
		if (x11_ask_property(x, id, kinds[k].atom, kinds[k].max_len,
				     &ret->properties[k], e) != 0)
			return -1;
	}
	if (x11_expect(x, X11_REPLY_LEN, e) != 0)
		return -1;
	ret->geometry = x11_sent(x, xcb_get_geometry(x->c, id).sequence);
	if (x11_expect(x, X11_REPLY_LEN, e) != 0)
		return -1;
	ret->place = x11_sent(
		x, xcb_translate_coordinates(x->c, id, x->setup.root, 0, 0)
			   .sequence);
	return 0;
}

static int take_class(struct x11 *x, unsigned seq, struct x11_window *w,
		      struct err *e)
{
	autofree void *reply = NULL;
	struct xprop v;

	if (x11_take_property(x, seq, &reply, &v, e) != 0)
		return -1;
	/* the instance's name, then the class's */
	xprop_text(&v, 1, w->program, sizeof(w->program));
	if (!w->program[0])
		xprop_text(&v, 0, w->program, sizeof(w->program));
	return 0;
}

static int take_names(struct x11 *x, const struct asked *a,
		      struct x11_window *w, struct err *e)
{
	char old[sizeof(w->title)];

	if (x11_take_text(x, a->properties[KIND_NAME], w->title,
			  sizeof(w->title), e) != 0 ||
	    x11_take_text(x, a->properties[KIND_OLD_NAME], old, sizeof(old),
			  e) != 0)
		return -1;
	if (!w->title[0])
		memcpy(w->title, old, sizeof(old));
	return take_class(x, a->properties[KIND_CLASS], w, e);
}

static int take_numbers(struct x11 *x, const struct asked *a,
			struct x11_window *w, struct err *e)
{
	uint32_t states[STATES_COUNT], workspace, around[4];
	const unsigned *seq = a->properties;
	unsigned n;

	if (x11_take_words(x, seq[KIND_PID], &w->pid, 1, &n, e) != 0 ||
	    x11_take_words(x, seq[KIND_WORKSPACE], &workspace, 1, &n, e) != 0)
		return -1;
	w->workspace = ALL_WORKSPACES;
	if (n == 1 && workspace != UINT32_MAX)
		w->workspace = workspace;
	if (x11_take_words(x, seq[KIND_STATE], states, STATES_COUNT, &n, e) !=
	    0)
		return -1;
	for (unsigned i = 0; i < n; i++)
		w->minimized |=
			states[i] == x->atoms[X11_ATOM_NET_WM_STATE_HIDDEN];
	if (x11_take_words(x, seq[KIND_AROUND], around, 4, &n, e) != 0)
		return -1;
	for (unsigned i = 0; n == 4 && i < n; i++)
		w->around[i] = around[i] < AROUND_MAX_PX ? around[i] : 0;
	return 0;
}

static int take_frame(struct x11 *x, const struct asked *a,
		      struct x11_window *w, struct err *e)
{
	autofree xcb_get_geometry_reply_t *g = NULL;
	autofree xcb_translate_coordinates_reply_t *p = NULL;
	const unsigned *around = w->around;
	uint8_t x_error;
	size_t len;

	g = x11_reply(x, a->geometry, sizeof(*g), &len, &x_error, e);
	if (!g && !x_error)
		return -1;
	p = x11_reply(x, a->place, sizeof(*p), &len, &x_error, e);
	if (!p && !x_error)
		return -1;
	if (g)
		w->frame = (struct x11_frame){
			.width_px = g->width + around[0] + around[1],
			.height_px = g->height + around[2] + around[3]};
	if (p) {
		w->frame.x = p->dst_x - (int)around[0];
		w->frame.y = p->dst_y - (int)around[2];
	}
	return 0;
}

static int take_window(struct x11 *x, const struct asked *a,
		       struct x11_window *w, struct err *e)
{
	if (take_names(x, a, w, e) != 0 || take_numbers(x, a, w, e) != 0 ||
	    take_frame(x, a, w, e) != 0)
		return -1;
	return 0;
}

static int describe(struct x11 *x, struct x11_window *windows, unsigned count,
		    struct err *e)
{
	struct asked asked[BATCH_COUNT];

	for (unsigned i = 0; i < count; i++) {
		if (ask_window(x, windows[i].id, &asked[i], e) != 0)
			return -1;
	}
	for (unsigned i = 0; i < count; i++) {
		if (take_window(x, &asked[i], &windows[i], e) == 0)
			continue;
		x->failed = true; /* replies may be left over */
		return -1;
	}
	return 0;
}

/* ---- all of them ---- */

/* What says there is one may be left over from one that died: the window it
 * names must say the same. */
static int need_manager(struct x11 *x, struct err *e)
{
	struct x11_of of = {x->setup.root, X11_ATOM_NET_SUPPORTING_WM_CHECK};
	uint32_t window = 0, says = 0;
	unsigned count;

	if (x11_get_words(x, of, &window, 1, &count, e) != 0)
		return -1;
	of.window = window;
	if (window && x11_get_words(x, of, &says, 1, &count, e) != 0)
		return -1;
	if (window && window == says)
		return 0;
	return err_set(e, ERR_STATE,
		       "no window manager runs on this desktop, so its windows "
		       "are not listed: work with screenshots");
}

/* The topmost last; without an order where the manager keeps none. */
static int list_ids(struct x11 *x, uint32_t ret[X11_WINDOWS_COUNT + 1],
		    unsigned *ret_count, struct err *e)
{
	struct x11_of of = {x->setup.root, X11_ATOM_NET_CLIENT_LIST_STACKING};

	if (need_manager(x, e) != 0 ||
	    x11_get_words(x, of, ret, X11_WINDOWS_COUNT + 1, ret_count, e) != 0)
		return -1;
	if (*ret_count > 0)
		return 0;
	of.name = X11_ATOM_NET_CLIENT_LIST;
	return x11_get_words(x, of, ret, X11_WINDOWS_COUNT + 1, ret_count, e);
}

int x11_windows(struct x11 *x, struct x11_windows *ret, struct err *e)
{
	const struct x11_of active = {x->setup.root,
				      X11_ATOM_NET_ACTIVE_WINDOW};
	uint32_t ids[X11_WINDOWS_COUNT + 1], focused = 0;
	struct x11_windows l = {0};
	unsigned count, n;

	if (list_ids(x, ids, &count, e) != 0 ||
	    x11_get_words(x, active, &focused, 1, &n, e) != 0)
		return -1;
	l.cut = count > X11_WINDOWS_COUNT;
	l.count = l.cut ? X11_WINDOWS_COUNT : count;
	l.at = alloc_array(l.count + 1, sizeof(*l.at));
	for (unsigned i = 0; i < l.count; i++)
		l.at[i] = (struct x11_window){.id = ids[count - 1 - i],
					      .focused = ids[count - 1 - i] ==
							 focused};
	for (unsigned i = 0; i < l.count; i += BATCH_COUNT) {
		n = l.count - i < BATCH_COUNT ? l.count - i : BATCH_COUNT;
		if (describe(x, l.at + i, n, e) == 0)
			continue;
		x11_windows_finish(&l);
		return -1;
	}
	*ret = l;
	return 0;
}

void x11_windows_finish(struct x11_windows *l)
{
	free(l->at);
	*l = (struct x11_windows){0};
}

/* ---- what is asked of the manager ---- */

static int need_window(struct x11 *x, uint32_t id, struct err *e)
{
	uint32_t ids[X11_WINDOWS_COUNT + 1];
	unsigned count;

	if (list_ids(x, ids, &count, e) != 0)
		return -1;
	for (unsigned i = 0; i < count; i++) {
		if (ids[i] == id)
			return 0;
	}
	return err_set(e, ERR_NOT_FOUND,
		       "no window %u is open: vm_windows lists those that are",
		       id);
}

static void tell(struct x11 *x, uint32_t window, enum x11_atom what,
		 const uint32_t data[5])
{
	xcb_client_message_event_t ev = {
		.response_type = XCB_CLIENT_MESSAGE,
		.format = 32,
		.window = window,
		.type = x->atoms[what],
	};

	memcpy(ev.data.data32, data, sizeof(ev.data.data32));
	x11_sent(x, xcb_send_event(x->c, 0, x->setup.root,
				   XCB_EVENT_MASK_SUBSTRUCTURE_REDIRECT |
					   XCB_EVENT_MASK_SUBSTRUCTURE_NOTIFY,
				   (const char *)&ev)
			    .sequence);
}

/* The message gives the frame's place and the window's own size. */
static int tell_frame(struct x11 *x, const struct x11_window_request *r,
		      struct err *e)
{
	struct x11_window w = {.id = r->id};
	uint32_t flags = SOURCE_PAGER << 12 | GRAVITY_FRAME, width, height;

	if (describe(x, &w, 1, e) != 0)
		return -1;
	width = r->frame.width_px - w.around[0] - w.around[1];
	height = r->frame.height_px - w.around[2] - w.around[3];
	if (r->resizes && ((int32_t)width < 1 || (int32_t)height < 1))
		return err_set(e, ERR_INVALID,
			       "a window of that size has no room for its "
			       "frame");
	flags |= (r->moves ? 3U << 8 : 0) | (r->resizes ? 3U << 10 : 0);
	tell(x, r->id, X11_ATOM_NET_MOVERESIZE_WINDOW,
	     (const uint32_t[5]){flags, (uint32_t)r->frame.x,
				 (uint32_t)r->frame.y, width, height});
	return 0;
}

int x11_window_ask(struct x11 *x, const struct x11_window_request *r,
		   struct err *e)
{
	static const uint32_t above = XCB_STACK_MODE_ABOVE;

	if (need_window(x, r->id, e) != 0)
		return -1;
	switch (r->verb) {
	case X11_WINDOW_FOCUS:
		tell(x, r->id, X11_ATOM_NET_ACTIVE_WINDOW,
		     (const uint32_t[5]){SOURCE_PAGER});
		break;
	case X11_WINDOW_RAISE: /* which reaches the manager, not the window */
		x11_sent(x, xcb_configure_window(x->c, r->id,
						 XCB_CONFIG_WINDOW_STACK_MODE,
						 &above)
				    .sequence);
		break;
	case X11_WINDOW_MOVE:
		if (tell_frame(x, r, e) != 0)
			return -1;
		break;
	case X11_WINDOW_CLOSE:
		tell(x, r->id, X11_ATOM_NET_CLOSE_WINDOW,
		     (const uint32_t[5]){0, SOURCE_PAGER});
		break;
	}
	return x11_sync(x, e);
}
