#include "desktop/xkbmap.h"
#include "desktop/wire.h"

#include <string.h>

/* Lengths and positions of the protocol. */
enum {
	REPLY_LEN = 40,
	TYPE_LEN = 8,
	ENTRY_LEN = 8,
	PRESERVE_LEN = 4,
	KEY_LEN = 8,
	TYPES_MAX = 256,
	SHIFT = 0x01,
	GROUPS_MASK = 0x0f,
};

/* The level that a type gives without modifiers and with Shift. */
struct levels {
	uint8_t plain, shifted;
};

static int malformed(struct err *e)
{
	return err_set(e, ERR_PROTOCOL,
		       "the guest's X server sent a malformed keyboard map");
}

static int take_type(struct wire *w, struct levels *ret)
{
	const uint8_t *type, *entry, *preserve;

	if (wire_take(w, TYPE_LEN, &type) != 0)
		return -1;
	for (unsigned i = 0; i < type[5]; i++) {
		if (wire_take(w, ENTRY_LEN, &entry) != 0)
			return -1;
		if (!entry[0]) /* its virtual modifiers are bound to no key */
			continue;
		if (entry[1] == 0)
			ret->plain = entry[2];
		if (entry[1] == ((unsigned)type[0] & SHIFT))
			ret->shifted = entry[2];
	}
	if (type[6] &&
	    wire_take(w, (size_t)type[5] * PRESERVE_LEN, &preserve) != 0)
		return -1;
	return 0;
}

static int take_key(struct wire *w, const struct levels *types,
		    unsigned types_count, struct xkbmap_key *ret)
{
	const uint8_t *key, *syms;
	unsigned groups, width, count;
	const struct levels *l;

	if (wire_take(w, KEY_LEN, &key) != 0)
		return -1;
	groups = key[4] & GROUPS_MASK;
	width = key[5];
	count = wire_u16(key + 6);
	if (wire_take(w, (size_t)count * 4, &syms) != 0 ||
	    groups * width > count)
		return -1;
	for (unsigned i = 0; i < count; i++)
		ret->used |= wire_u32(syms + (size_t)i * 4) != 0;
	if (groups == 0 || width == 0)
		return 0;
	if (key[0] >= types_count)
		return -1;
	l = &types[key[0]];
	if (l->plain < width)
		ret->plain = wire_u32(syms + (size_t)l->plain * 4);
	if (l->shifted < width)
		ret->shifted = wire_u32(syms + (size_t)l->shifted * 4);
	return 0;
}

static int take_modifiers(struct wire *w, unsigned count, struct xkbmap *map)
{
	const uint8_t *pair;

	for (unsigned i = 0; i < count; i++) {
		if (wire_take(w, 2, &pair) != 0)
			return -1;
		map->keys[pair[0]].mods = pair[1];
	}
	return 0;
}

/* A reply's head, and where its parts are. */
struct reply {
	const uint8_t *head;
	unsigned types_count, first, keys_count;
	struct levels types[TYPES_MAX];
	struct wire keys; /* and what follows them */
};

static int take_head(const uint8_t *p, size_t len, struct reply *ret)
{
	struct wire w = {.p = p, .len = len};

	if (wire_take(&w, REPLY_LEN, &ret->head) != 0)
		return -1;
	ret->types_count = ret->head[15];
	ret->first = ret->head[17];
	ret->keys_count = ret->head[20];
	if (wire_u16(ret->head + 12) != XKBMAP_PARTS || ret->head[14] != 0 ||
	    ret->first + ret->keys_count > XKBMAP_KEYCODES)
		return -1;
	for (unsigned i = 0; i < ret->types_count; i++) {
		if (take_type(&w, &ret->types[i]) != 0)
			return -1;
	}
	ret->keys = w;
	return 0;
}

int xkbmap_parse(const uint8_t *p, size_t len, struct xkbmap *ret,
		 struct err *e)
{
	struct reply r = {0};
	struct xkbmap map = {0};

	if (take_head(p, len, &r) != 0)
		return malformed(e);
	for (unsigned i = 0; i < r.keys_count; i++) {
		if (take_key(&r.keys, r.types, r.types_count,
			     &map.keys[r.first + i]) != 0)
			return malformed(e);
	}
	if (take_modifiers(&r.keys, r.head[33], &map) != 0)
		return malformed(e);
	*ret = map;
	return 0;
}

/* ---- changing it ---- */

/* One key of type TWO_LEVEL, which is always the second. */
static int add_key(struct buf *out, uint32_t keysym, struct err *e)
{
	static const uint8_t head[KEY_LEN] = {1, 1, 1, 1, 1, 2, 2, 0};
	uint32_t syms[2] = {keysym, keysym};

	if (buf_add(out, head, sizeof(head), e) != 0)
		return -1;
	return buf_add(out, syms, sizeof(syms), e);
}

static int copy_key(struct buf *out, const uint8_t *from, const uint8_t *to,
		    struct xkbmap_change *c, struct err *e)
{
	c->syms_count = (uint16_t)(c->syms_count + wire_u16(from + 6));
	return buf_add(out, from, (size_t)(to - from), e);
}

int xkbmap_rebind(const uint8_t *p, size_t len,
		  const uint32_t keysyms[XKBMAP_KEYCODES], struct buf *out,
		  struct xkbmap_change *ret, struct err *e)
{
	struct xkbmap_change c = {0};
	unsigned first = 0, last = 0;
	struct reply r = {0};

	if (take_head(p, len, &r) != 0)
		return malformed(e);
	for (unsigned i = XKBMAP_KEYCODES; i-- > 0;) {
		if (!keysyms[i])
			continue;
		first = i;
		last = last ? last : i;
	}
	if (first == 0 || first < r.first || last >= r.first + r.keys_count)
		return malformed(e);
	for (unsigned i = r.first; i <= last; i++) {
		const uint8_t *from = r.keys.p;
		struct xkbmap_key key = {0};

		if (take_key(&r.keys, r.types, r.types_count, &key) != 0)
			return malformed(e);
		if (i < first)
			continue;
		if (keysyms[i]) {
			if (add_key(out, keysyms[i], e) != 0)
				return -1;
			c.syms_count = (uint16_t)(c.syms_count + 2);
		} else if (copy_key(out, from, r.keys.p, &c, e) != 0) {
			return -1;
		}
	}
	c.min_keycode = r.head[10];
	c.max_keycode = r.head[11];
	c.first = (uint8_t)first;
	c.count = (uint8_t)(last - first + 1);
	*ret = c;
	return 0;
}
