/*
 * The keyboard by XKB. A server has a master keyboard, which programs see, and
 * slaves: XTEST's, and one of the VNC server. The master has the map of the
 * slave used last. So what counts for keys sent by XTEST is its own map, while
 * locks and changes made through the core keyboard reach all of them.
 */
#include "base/log.h"
#include "desktop/wire.h"
#include "desktop/x11_conn.h"
#include "desktop/xkbmap.h"

#include <stdlib.h>
#include <string.h>
#include <xcb/xkb.h>

#define XTEST_NAME "Virtual core XTEST keyboard"

enum {
	DEVICES_COUNT = 32, /* ids that are looked at; XTEST's is 5 */
	DEVICE_NAME_LEN = 256,
	/* keycodes times the most levels and groups the core protocol shows */
	CORE_MAP_LEN = 248 * 255 * 4,
	LEVELS = 2,
};

static int use_xkb(struct x11 *x, struct err *e)
{
	autofree xcb_xkb_use_extension_reply_t *r = NULL;
	size_t len;
	unsigned seq;

	if (x11_expect(x, X11_REPLY_LEN, e) != 0)
		return -1;
	seq = x11_sent(x, xcb_xkb_use_extension(x->c, 1, 0).sequence);
	r = x11_reply(x, seq, sizeof(*r), &len, NULL, e);
	if (!r)
		return -1;
	if (!r->supported)
		return err_set(e, ERR_STATE,
			       "the guest's X server has another version of "
			       "XKEYBOARD");
	return 0;
}

static bool is_xtest(const xcb_xkb_get_device_info_reply_t *r, size_t len)
{
	size_t at = offsetof(xcb_xkb_get_device_info_reply_t, nameLen) + 2;

	return r->nameLen == strlen(XTEST_NAME) && len - at >= r->nameLen &&
	       memcmp((const char *)r + at, XTEST_NAME, r->nameLen) == 0;
}

/* Ask for all names at once; ids that no keyboard has give errors. */
static int find_xtest(struct x11 *x, struct err *e)
{
	unsigned seq[DEVICES_COUNT];

	x->xtest_device = XCB_XKB_ID_USE_CORE_KBD;
	for (unsigned i = 2; i < DEVICES_COUNT; i++) {
		if (x11_expect(x,
			       sizeof(xcb_xkb_get_device_info_reply_t) +
				       DEVICE_NAME_LEN,
			       e) != 0)
			return -1;
		seq[i] = x11_sent(x,
				  xcb_xkb_get_device_info(
					  x->c, (xcb_xkb_device_spec_t)i, 0, 0,
					  0, 0, XCB_XKB_LED_CLASS_DFLT_XI_CLASS,
					  XCB_XKB_ID_DFLT_XI_ID)
					  .sequence);
	}
	for (unsigned i = 2; i < DEVICES_COUNT; i++) {
		autofree xcb_xkb_get_device_info_reply_t *r = NULL;
		uint8_t x_error;
		size_t len;

		r = x11_reply(
			x, seq[i],
			offsetof(xcb_xkb_get_device_info_reply_t, nameLen) + 4,
			&len, &x_error, e);
		if (!r && !x_error)
			return -1;
		if (r && is_xtest(r, len))
			x->xtest_device = (uint16_t)i;
	}
	return 0;
}

int x11_keyboard_open(struct x11 *x, struct err *e)
{
	return use_xkb(x, e) != 0 || find_xtest(x, e) != 0 ? -1 : 0;
}

/* The GetMap reply of XTEST's keyboard. */
static uint8_t *get_map(struct x11 *x, size_t *ret_len, struct err *e)
{
	unsigned seq;

	if (x11_expect(x, XKBMAP_MAX_LEN, e) != 0)
		return NULL;
	seq = x11_sent(x, xcb_xkb_get_map(x->c, x->xtest_device, XKBMAP_PARTS,
					  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
					  0, 0, 0)
				  .sequence);
	return x11_reply(x, seq, sizeof(xcb_xkb_get_map_reply_t), ret_len, NULL,
			 e);
}

int x11_keyboard_map(struct x11 *x, struct xkbmap *ret, struct err *e)
{
	autofree uint8_t *reply = NULL;
	size_t len;

	reply = get_map(x, &len, e);
	if (!reply)
		return -1;
	if (xkbmap_parse(reply, len, ret, e) != 0) {
		x->failed = true;
		return -1;
	}
	return 0;
}

int x11_keyboard_unused(struct x11 *x, bool ret_unused[X11_KEYCODES],
			struct err *e)
{
	autofree xcb_get_keyboard_mapping_reply_t *r = NULL;
	unsigned first = x->setup.min_keycode;
	unsigned count = x->setup.max_keycode - first + 1U;
	const uint8_t *syms;
	unsigned seq;
	size_t len;

	if (x11_expect(x, sizeof(*r) + CORE_MAP_LEN, e) != 0)
		return -1;
	seq = x11_sent(x, xcb_get_keyboard_mapping(x->c, (uint8_t)first,
						   (uint8_t)count)
				  .sequence);
	r = x11_reply(x, seq, sizeof(*r), &len, NULL, e);
	if (!r)
		return -1;
	if (len != sizeof(*r) + (size_t)count * r->keysyms_per_keycode * 4)
		return x11_liar(x, "a keyboard map that is not whole", e);
	syms = (const uint8_t *)(r + 1);
	memset(ret_unused, 0, X11_KEYCODES * sizeof(*ret_unused));
	for (unsigned i = 0; i < count; i++) {
		bool used = false;

		for (unsigned j = 0; j < r->keysyms_per_keycode; j++, syms += 4)
			used |= wire_u32(syms) != 0;
		ret_unused[first + i] = !used;
	}
	return 0;
}

int x11_key_state(struct x11 *x, struct x11_key_state *ret, struct err *e)
{
	autofree xcb_xkb_get_state_reply_t *state = NULL;
	autofree xcb_query_keymap_reply_t *keys = NULL;
	unsigned state_seq, keys_seq;
	size_t len;

	if (x11_expect(x, X11_REPLY_LEN, e) != 0)
		return -1;
	state_seq = x11_sent(
		x, xcb_xkb_get_state(x->c, XCB_XKB_ID_USE_CORE_KBD).sequence);
	if (x11_expect(x, sizeof(*keys), e) != 0)
		return -1;
	keys_seq = x11_sent(x, xcb_query_keymap(x->c).sequence);
	state = x11_reply(x, state_seq, sizeof(*state), &len, NULL, e);
	keys = state ? x11_reply(x, keys_seq, sizeof(*keys), &len, NULL, e)
		     : NULL;
	if (!keys) {
		x->failed = true;
		return -1;
	}
	ret->base_mods = state->baseMods;
	ret->latched_mods = state->latchedMods;
	ret->locked_mods = state->lockedMods;
	ret->locked_group = state->lockedGroup;
	for (unsigned i = 0; i < X11_KEYCODES; i++)
		ret->down[i] = keys->keys[i / 8] >> (i % 8) & 1;
	return 0;
}

void x11_lock_state(struct x11 *x, uint8_t mods, uint8_t group)
{
	x11_sent(x, xcb_xkb_latch_lock_state(x->c, XCB_XKB_ID_USE_CORE_KBD,
					     0xff, mods, 1, group, 0xff, 1, 0)
			    .sequence);
}

/*
 * Set XTEST's keyboard, from the first of the keycodes to the last, the keys
 * between as they are. The server does the same to the master when that has
 * XTEST's map at the time, and else copies it at the next key.
 */
static int bind_at_once(struct x11 *x, const uint32_t keysyms[X11_KEYCODES],
			struct err *e)
{
	autofree uint8_t *reply = NULL;
	struct xkbmap_change c;
	struct buf syms;
	size_t len;
	int rc;

	reply = get_map(x, &len, e);
	if (!reply)
		return -1;
	buf_init(&syms, XKBMAP_MAX_LEN);
	rc = xkbmap_rebind(reply, len, keysyms, &syms, &c, e);
	if (rc == 0) {
		x11_sent(x, xcb_xkb_set_map(x->c, x->xtest_device,
					    XCB_XKB_MAP_PART_KEY_SYMS, 0,
					    c.min_keycode, c.max_keycode, 0, 0,
					    c.first, c.count, c.syms_count, 0,
					    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
					    0, 0, 0, syms.data)
				    .sequence);
		rc = x11_sync(x, e);
	}
	buf_finish(&syms);
	return rc;
}

/* Run by run of adjacent keycodes, on all keyboards. */
static int bind_by_core(struct x11 *x, const uint32_t keysyms[X11_KEYCODES],
			struct err *e)
{
	for (unsigned i = 0; i < X11_KEYCODES; i++) {
		uint32_t levels[X11_KEYCODES * LEVELS];
		size_t count = 0;

		while (i + count < X11_KEYCODES && keysyms[i + count]) {
			levels[count * LEVELS] = levels[count * LEVELS + 1] =
				keysyms[i + count];
			count++;
		}
		if (count == 0)
			continue;
		x11_sent(x,
			 xcb_change_keyboard_mapping(x->c, (uint8_t)count,
						     (uint8_t)i, LEVELS, levels)
				 .sequence);
		i += (unsigned)count;
	}
	return x11_sync(x, e);
}

int x11_bind(struct x11 *x, const uint32_t keysyms[X11_KEYCODES], struct err *e)
{
	struct err why = {0};

	if (bind_at_once(x, keysyms, &why) == 0)
		return 0;
	if (x11_broken(x)) {
		if (e)
			*e = why;
		return -1;
	}
	log_debug("keys are bound one by one: %s", err_msg(&why));
	return bind_by_core(x, keysyms, e);
}

/* ---- what we bound ---- */

int x11_bound_get(struct x11 *x, bool ret_bound[X11_KEYCODES], struct err *e)
{
	autofree xcb_get_property_reply_t *r = NULL;
	const uint8_t *p;
	size_t len, count;
	unsigned seq;

	if (x11_expect(x, sizeof(*r) + X11_KEYCODES, e) != 0)
		return -1;
	seq = x11_sent(x,
		       xcb_get_property(x->c, 0, x->setup.root,
					x->atoms[X11_ATOM_BOUND],
					XCB_ATOM_INTEGER, 0, X11_KEYCODES / 4)
			       .sequence);
	r = x11_reply(x, seq, sizeof(*r), &len, NULL, e);
	if (!r)
		return -1;
	memset(ret_bound, 0, X11_KEYCODES * sizeof(*ret_bound));
	count = len - sizeof(*r);
	if (r->format != 8 || r->value_len < count)
		count = r->format == 8 ? r->value_len : 0;
	p = (const uint8_t *)(r + 1);
	for (size_t i = 0; i < count; i++)
		ret_bound[p[i]] = true;
	return 0;
}

void x11_bound_set(struct x11 *x, const bool bound[X11_KEYCODES])
{
	uint8_t list[X11_KEYCODES];
	uint32_t count = 0;

	for (unsigned i = 0; i < X11_KEYCODES; i++) {
		if (bound[i])
			list[count++] = (uint8_t)i;
	}
	x11_sent(x, xcb_change_property(x->c, XCB_PROP_MODE_REPLACE,
					x->setup.root, x->atoms[X11_ATOM_BOUND],
					XCB_ATOM_INTEGER, 8, count, list)
			    .sequence);
}
