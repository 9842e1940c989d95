/*
 * Theory of operation. libxcb talks to one end of a socket pair, the gate
 * relays to the real server (xgate.h); so libxcb's blocking calls are used
 * freely here: the gate ends them at the deadline that x11_begin() set.
 *
 * The gate lets a reply pass only for a request that was announced to it by
 * number before it was sent. libxcb numbers requests from 1 and sends none of
 * its own here (extensions are asked for explicitly at the start, requests
 * stay small, ids are not allocated, and every batch ends in a round trip),
 * so the next number is known; x11_sent() checks it.
 */
#include "desktop/x11.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "desktop/x11_conn.h"
#include "desktop/xauth.h"

#include <string.h>
#include <xcb/damage.h>
#include <xcb/xcbext.h>
#include <xcb/xfixes.h>
#include <xcb/xkb.h>
#include <xcb/xtest.h>

bool x11_broken(const struct x11 *x)
{
	return x->failed || xcb_connection_has_error(x->c) != 0;
}

void x11_begin(struct x11 *x, struct deadline d)
{
	xgate_begin(x->gate, d);
}

void x11_end(struct x11 *x)
{
	xgate_end(x->gate);
}

int x11_liar(struct x11 *x, const char *what, struct err *e)
{
	x->failed = true;
	return err_set(e, ERR_PROTOCOL, "the guest's X server sent %s", what);
}

int x11_expect(struct x11 *x, uint64_t max_len, struct err *e)
{
	return xgate_expect(x->gate, x->sent + 1, max_len, e);
}

unsigned x11_sent(struct x11 *x, unsigned sequence)
{
	/* 0: libxcb has given the connection up */
	if (sequence != (uint32_t)(x->sent + 1) && sequence != 0)
		x->failed = true;
	x->sent++;
	return sequence;
}

void *x11_reply(struct x11 *x, unsigned seq, size_t min_len, size_t *ret_len,
		uint8_t *ret_error, struct err *e)
{
	autofree xcb_generic_error_t *error = NULL;
	autofree xcb_generic_reply_t *reply = NULL;

	if (ret_error)
		*ret_error = 0;
	if (x11_broken(x)) {
		xgate_error(x->gate, e);
		return NULL;
	}
	reply = xcb_wait_for_reply(x->c, seq, &error);
	if (reply) {
		*ret_len = X11_REPLY_LEN + (size_t)reply->length * 4;
		if (*ret_len >= min_len)
			return TAKE_PTR(reply);
		x11_liar(x, "a reply that is too short", e);
	} else if (error && error->error_code == 0) {
		x11_liar(x, "an error without a number", e);
	} else if (error && ret_error) {
		*ret_error = error->error_code;
	} else if (error) {
		err_set(e, ERR_PROTOCOL,
			"the guest's X server answers error %u to request "
			"%u.%u",
			error->error_code, error->major_code,
			error->minor_code);
	} else if (xcb_connection_has_error(x->c)) {
		xgate_error(x->gate, e);
	} else {
		x11_liar(x, "no reply to a request", e);
	}
	return NULL;
}

int x11_drain_events(struct x11 *x, struct err *e)
{
	int rc = 0;

	for (;;) {
		autofree xcb_generic_event_t *ev =
			xcb_poll_for_queued_event(x->c);

		if (!ev)
			return rc;
		x->drawn |= x->damage &&
			    (ev->response_type & 0x7f) == x->damage_event;
		if (ev->response_type == 0 && rc == 0) {
			const xcb_generic_error_t *x_error =
				(const xcb_generic_error_t *)ev;

			rc = err_set(e, ERR_PROTOCOL,
				     "the guest's X server refused request "
				     "%u.%u with error %u",
				     x_error->major_code, x_error->minor_code,
				     x_error->error_code);
		}
	}
}

int x11_round_trip(struct x11 *x, struct err *e)
{
	autofree void *reply = NULL;
	size_t len;
	unsigned seq;

	if (x11_expect(x, X11_REPLY_LEN, e) != 0)
		return -1;
	seq = x11_sent(x, xcb_get_input_focus(x->c).sequence);
	reply = x11_reply(x, seq, X11_REPLY_LEN, &len, NULL, e);
	return reply ? 0 : -1;
}

int x11_sync(struct x11 *x, struct err *e)
{
	return x11_round_trip(x, e) != 0 ? -1 : x11_drain_events(x, e);
}

/* ---- opening ---- */

/* What is kept of an extension is copied here: on a broken connection
 * libxcb's own record is gone. */
struct extension {
	bool present;
	uint8_t first_event;
};

static int find_extension(struct x11 *x, xcb_extension_t *id,
			  struct extension *ret, struct err *e)
{
	const xcb_query_extension_reply_t *r;

	if (x11_expect(x, X11_REPLY_LEN, e) != 0)
		return -1;
	r = xcb_get_extension_data(x->c, id);
	x->sent++;
	if (x11_broken(x))
		return xgate_error(x->gate, e);
	*ret = (struct extension){0};
	if (r && r->present)
		*ret = (struct extension){true, r->first_event};
	return 0;
}

static int find_extensions(struct x11 *x, struct err *e)
{
	static const struct {
		xcb_extension_t *id;
		const char *name;
	} needed[] = {
		{&xcb_test_id, "XTEST"},
		{&xcb_xfixes_id, "XFIXES"},
		{&xcb_xkb_id, "XKEYBOARD"},
	};
	struct extension found = {0};

	for (size_t i = 0; i < ARRAY_COUNT(needed); i++) {
		if (find_extension(x, needed[i].id, &found, e) != 0)
			return -1;
		if (!found.present)
			return err_set(e, ERR_STATE,
				       "the guest's X server lacks the %s "
				       "extension",
				       needed[i].name);
	}
	if (find_extension(x, &xcb_damage_id, &found, e) != 0)
		return -1;
	/* the ids we need are generated once, because ids run out */
	if (found.present) {
		x->damage = xcb_generate_id(x->c);
		x->mirror_damage = xcb_generate_id(x->c);
		x->mirror_region = xcb_generate_id(x->c);
	}
	x->damage_event = found.first_event + XCB_DAMAGE_NOTIFY;
	return 0;
}

/* Both extensions want to be told a version before use. */
static int use_versions(struct x11 *x, struct err *e)
{
	autofree void *xfixes = NULL, *damage = NULL;
	size_t len;
	unsigned seq;

	if (x11_expect(x, X11_REPLY_LEN, e) != 0)
		return -1;
	seq = x11_sent(x, xcb_xfixes_query_version(x->c, 4, 0).sequence);
	xfixes = x11_reply(x, seq, X11_REPLY_LEN, &len, NULL, e);
	if (!xfixes || !x->damage)
		return xfixes ? 0 : -1;
	if (x11_expect(x, X11_REPLY_LEN, e) != 0)
		return -1;
	seq = x11_sent(x, xcb_damage_query_version(x->c, 1, 1).sequence);
	damage = x11_reply(x, seq, X11_REPLY_LEN, &len, NULL, e);
	return damage ? 0 : -1;
}

static int intern_atoms(struct x11 *x, struct err *e)
{
	static const char *const names[X11_ATOM_COUNT] = {
		[X11_ATOM_WM_PROTOCOLS] = "WM_PROTOCOLS",
		[X11_ATOM_NET_WM_PING] = "_NET_WM_PING",
		[X11_ATOM_BOUND] = "_BOXERY_BOUND_KEYCODES",
		[X11_ATOM_NET_CLIENT_LIST] = "_NET_CLIENT_LIST",
		[X11_ATOM_NET_CLIENT_LIST_STACKING] =
			"_NET_CLIENT_LIST_STACKING",
		[X11_ATOM_NET_ACTIVE_WINDOW] = "_NET_ACTIVE_WINDOW",
		[X11_ATOM_NET_SUPPORTING_WM_CHECK] = "_NET_SUPPORTING_WM_CHECK",
		[X11_ATOM_NET_CLOSE_WINDOW] = "_NET_CLOSE_WINDOW",
		[X11_ATOM_NET_MOVERESIZE_WINDOW] = "_NET_MOVERESIZE_WINDOW",
		[X11_ATOM_NET_FRAME_EXTENTS] = "_NET_FRAME_EXTENTS",
		[X11_ATOM_NET_WM_NAME] = "_NET_WM_NAME",
		[X11_ATOM_NET_WM_PID] = "_NET_WM_PID",
		[X11_ATOM_NET_WM_DESKTOP] = "_NET_WM_DESKTOP",
		[X11_ATOM_NET_WM_STATE] = "_NET_WM_STATE",
		[X11_ATOM_NET_WM_STATE_HIDDEN] = "_NET_WM_STATE_HIDDEN",
	};
	unsigned seq[X11_ATOM_COUNT];

	for (unsigned i = 0; i < X11_ATOM_COUNT; i++) {
		if (x11_expect(x, X11_REPLY_LEN, e) != 0)
			return -1;
		seq[i] = x11_sent(x, xcb_intern_atom(x->c, 0,
						     (uint16_t)strlen(names[i]),
						     names[i])
					     .sequence);
	}
	for (unsigned i = 0; i < X11_ATOM_COUNT; i++) {
		autofree xcb_intern_atom_reply_t *r = NULL;
		size_t len;

		r = x11_reply(x, seq[i], X11_REPLY_LEN, &len, NULL, e);
		if (!r)
			return -1;
		x->atoms[i] = r->atom;
	}
	return 0;
}

static int start(struct x11 *x, struct err *e)
{
	if (find_extensions(x, e) != 0 || use_versions(x, e) != 0 ||
	    intern_atoms(x, e) != 0 || x11_keyboard_open(x, e) != 0)
		return -1;
	return x11_sync(x, e);
}

int x11_open(const struct x11_config *config, struct deadline d,
	     struct x11 **ret, struct err *e)
{
	uint8_t cookie[XAUTH_COOKIE_LEN];
	char name[] = XAUTH_COOKIE_NAME;
	xcb_auth_info_t auth = {.namelen = sizeof(name) - 1,
				.name = name,
				.datalen = sizeof(cookie),
				.data = (char *)cookie};
	auto_x11 struct x11 *x = ALLOC_NEW(struct x11);
	int fd, rc;

	rc = xauth_find(config->xauth, config->xauth_len, config->display,
			cookie, e);
	if (rc != 0) {
		close(config->fd);
		return -1;
	}
	if (xgate_open(config->fd, &x->gate, &fd, e) != 0)
		return -1;
	x11_begin(x, d);
	/* always an object, in error or not; owns fd from here on */
	x->c = xcb_connect_to_fd(fd, &auth);
	if (xcb_connection_has_error(x->c))
		return xgate_error(x->gate, e);
	x->setup = xgate_setup(x->gate);
	if (start(x, e) != 0)
		return -1;
	x11_end(x);
	*ret = TAKE_PTR(x);
	return 0;
}

void x11_free(struct x11 *x)
{
	if (!x)
		return;
	if (x->c)
		xcb_disconnect(x->c);
	xgate_free(x->gate);
	free(x);
}
