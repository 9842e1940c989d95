/*
 * What comes of it: whether the focused program has seen its input, and
 * whether the picture has come to rest. The one kind of event that is wanted
 * meanwhile is let through the gate, and asked of the server only as long: an
 * idle connection is not read.
 */
#include "desktop/wire.h"
#include "desktop/x11_conn.h"

#include <poll.h>
#include <stdlib.h>
#include <xcb/damage.h>

enum {
	/* a window sits a few frames deep in others; a hostile tree is cut */
	TREE_DEPTH = 16,
	PROTOCOLS_COUNT = 64,
	CHILDREN_COUNT = 16384,
	REARM_MS = 10,
	KIND_MASK = 0x7f, /* the top bit marks events sent by clients */
};

xcb_generic_event_t *x11_next_event(struct x11 *x, struct deadline d,
				    bool *ret_late, struct err *e)
{
	struct pollfd p = {.fd = xcb_get_file_descriptor(x->c),
			   .events = POLLIN};

	*ret_late = false;
	for (;;) {
		xcb_generic_event_t *ev = xcb_poll_for_event(x->c);
		struct err why = {0};

		if (ev)
			return ev;
		if (x11_broken(x)) {
			xgate_error(x->gate, e);
			return NULL;
		}
		if (deadline_poll(&p, 1, d, "waiting for an event", &why) >= 0)
			continue;
		*ret_late = why.code == ERR_TIMEOUT;
		if (e && !*ret_late)
			*e = why;
		return NULL;
	}
}

/* ---- ping ---- */

static int focus_window(struct x11 *x, uint32_t *ret, struct err *e)
{
	autofree xcb_get_input_focus_reply_t *r = NULL;
	size_t len;
	unsigned seq;

	if (x11_expect(x, X11_REPLY_LEN, e) != 0)
		return -1;
	seq = x11_sent(x, xcb_get_input_focus(x->c).sequence);
	r = x11_reply(x, seq, sizeof(*r), &len, NULL, e);
	if (!r)
		return -1;
	*ret = r->focus;
	return 0;
}

/* A window may vanish while we ask about it: X errors count as "no". */
static int takes_part(struct x11 *x, uint32_t window, bool *ret, struct err *e)
{
	autofree xcb_get_property_reply_t *r = NULL;
	uint8_t x_error;
	size_t len, count;
	unsigned seq;

	*ret = false;
	if (x11_expect(x, sizeof(*r) + (uint64_t)PROTOCOLS_COUNT * 4, e) != 0)
		return -1;
	seq = x11_sent(x, xcb_get_property(x->c, 0, window,
					   x->atoms[X11_ATOM_WM_PROTOCOLS],
					   XCB_ATOM_ATOM, 0, PROTOCOLS_COUNT)
				  .sequence);
	r = x11_reply(x, seq, sizeof(*r), &len, &x_error, e);
	if (!r)
		return x_error ? 0 : -1;
	count = (len - sizeof(*r)) / 4;
	if (r->format != 32 || r->value_len < count)
		count = r->format == 32 ? r->value_len : 0;
	for (size_t i = 0; i < count; i++) {
		const uint8_t *atom = (const uint8_t *)(r + 1) + i * 4;

		*ret |= wire_u32(atom) == x->atoms[X11_ATOM_NET_WM_PING];
	}
	return 0;
}

static int parent_of(struct x11 *x, uint32_t window, uint32_t *ret,
		     struct err *e)
{
	autofree xcb_query_tree_reply_t *r = NULL;
	uint8_t x_error;
	size_t len;
	unsigned seq;

	*ret = 0;
	if (x11_expect(x, sizeof(*r) + (uint64_t)CHILDREN_COUNT * 4, e) != 0)
		return -1;
	seq = x11_sent(x, xcb_query_tree(x->c, window).sequence);
	r = x11_reply(x, seq, sizeof(*r), &len, &x_error, e);
	if (!r)
		return x_error ? 0 : -1;
	*ret = r->parent;
	return 0;
}

/* The focused window or the first around it that takes part; 0: none. */
static int ping_target(struct x11 *x, uint32_t *ret, struct err *e)
{
	uint32_t window;

	*ret = 0;
	if (focus_window(x, &window, e) != 0)
		return -1;
	/* 0 and 1 stand for no window and wherever the pointer is */
	for (int i = 0; i < TREE_DEPTH && window > 1; i++) {
		bool yes;

		if (window == x->setup.root)
			return 0;
		if (takes_part(x, window, &yes, e) != 0)
			return -1;
		if (yes) {
			*ret = window;
			return 0;
		}
		if (parent_of(x, window, &window, e) != 0)
			return -1;
	}
	return 0;
}

static void watch_root(struct x11 *x, bool on)
{
	const uint32_t mask = on ? XCB_EVENT_MASK_SUBSTRUCTURE_NOTIFY : 0;

	xgate_allow_event(x->gate, on ? XCB_CLIENT_MESSAGE : 0);
	x11_sent(x, xcb_change_window_attributes(x->c, x->setup.root,
						 XCB_CW_EVENT_MASK, &mask)
			    .sequence);
}

static void send_ping(struct x11 *x, uint32_t window, uint32_t stamp)
{
	const xcb_client_message_event_t ev = {
		.response_type = XCB_CLIENT_MESSAGE,
		.format = 32,
		.window = window,
		.type = x->atoms[X11_ATOM_WM_PROTOCOLS],
		.data.data32 = {x->atoms[X11_ATOM_NET_WM_PING], stamp, window},
	};

	x11_sent(x, xcb_send_event(x->c, 0, window, XCB_EVENT_MASK_NO_EVENT,
				   (const char *)&ev)
			    .sequence);
	xcb_flush(x->c);
}

static bool is_pong(const struct x11 *x, const xcb_generic_event_t *ev,
		    uint32_t window, uint32_t stamp)
{
	const xcb_client_message_event_t *m =
		(const xcb_client_message_event_t *)ev;

	return (ev->response_type & KIND_MASK) == XCB_CLIENT_MESSAGE &&
	       m->format == 32 && m->type == x->atoms[X11_ATOM_WM_PROTOCOLS] &&
	       m->data.data32[0] == x->atoms[X11_ATOM_NET_WM_PING] &&
	       m->data.data32[1] == stamp && m->data.data32[2] == window;
}

static int await_pong(struct x11 *x, uint32_t window, uint32_t stamp,
		      struct deadline d, bool *ret, struct err *e)
{
	*ret = false;
	while (!*ret) {
		bool late;
		autofree xcb_generic_event_t *ev =
			x11_next_event(x, d, &late, e);

		if (!ev)
			return late ? 0 : -1;
		*ret = is_pong(x, ev, window, stamp);
		if (deadline_passed(d))
			return 0;
	}
	return 0;
}

int x11_ping(struct x11 *x, unsigned timeout_ms, enum x11_pong *ret,
	     struct err *e)
{
	uint32_t window, stamp = ++x->pings;
	struct err late = {0};
	bool answered;

	if (ping_target(x, &window, e) != 0)
		return -1;
	if (window == 0) {
		*ret = X11_PONG_NEVER;
		return 0;
	}
	watch_root(x, true);
	send_ping(x, window, stamp);
	if (await_pong(x, window, stamp, deadline_in_ms(timeout_ms), &answered,
		       &late) != 0) {
		if (e)
			*e = late;
		return -1;
	}
	watch_root(x, false);
	*ret = answered ? X11_PONG : X11_NO_PONG;
	/* the window may be gone by now: whatever the server says to that */
	return x11_sync(x, NULL) == 0 || !x11_broken(x)
		       ? 0
		       : xgate_error(x->gate, e);
}

/* ---- stillness ---- */

static void watch_damage(struct x11 *x)
{
	xgate_allow_event(x->gate, x->damage_event);
	x11_sent(x, xcb_damage_create(x->c, x->damage, x->setup.root,
				      XCB_DAMAGE_REPORT_LEVEL_NON_EMPTY)
			    .sequence);
}

/* Armed, it tells of the first change and then no more: a busy screen costs a
 * round trip each REARM_MS. */
static int rearm(struct x11 *x, struct err *e)
{
	x11_sent(x, xcb_damage_subtract(x->c, x->damage, XCB_NONE, XCB_NONE)
			    .sequence);
	return x11_round_trip(x, e);
}

static int await_still(struct x11 *x, unsigned still_ms, struct deadline cap,
		       struct err *e)
{
	/* a new one counts the whole window as changed */
	if (rearm(x, e) != 0)
		return -1;
	while (!deadline_passed(cap)) {
		struct deadline d = deadline_min(deadline_in_ms(still_ms), cap);
		bool late;
		autofree xcb_generic_event_t *ev =
			x11_next_event(x, d, &late, e);

		if (!ev && late)
			return 0;
		if (!ev)
			return -1;
		deadline_sleep_ms(REARM_MS);
		if (rearm(x, e) != 0)
			return -1;
	}
	return 0;
}

int x11_await_still(struct x11 *x, unsigned still_ms, unsigned cap_ms,
		    struct err *e)
{
	int rc;

	if (!x->damage) {
		deadline_sleep_ms(still_ms);
		return 0;
	}
	watch_damage(x);
	rc = await_still(x, still_ms, deadline_in_ms(cap_ms), e);
	xgate_allow_event(x->gate, 0);
	x11_sent(x, xcb_damage_destroy(x->c, x->damage).sequence);
	return rc == 0 ? x11_sync(x, e) : -1;
}
