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
	if (type[6] && wire_take(w, (size_t)type[5] * PRESERVE_LEN,
				 &preserve) != 0)
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

int xkbmap_parse(const uint8_t *p, size_t len, struct xkbmap *ret,
		 struct err *e)
{
	struct levels types[TYPES_MAX] = {0};
	struct wire w = {.p = p, .len = len};
	unsigned types_count, first, keys_count;
	struct xkbmap map = {0};
	const uint8_t *head;

	if (wire_take(&w, REPLY_LEN, &head) != 0)
		return malformed(e);
	types_count = head[15];
	first = head[17];
	keys_count = head[20];
	if (wire_u16(head + 12) != XKBMAP_PARTS || head[14] != 0 ||
	    first + keys_count > XKBMAP_KEYCODES)
		return malformed(e);
	for (unsigned i = 0; i < types_count; i++) {
		if (take_type(&w, &types[i]) != 0)
			return malformed(e);
	}
	for (unsigned i = 0; i < keys_count; i++) {
		if (take_key(&w, types, types_count, &map.keys[first + i]) != 0)
			return malformed(e);
	}
	if (take_modifiers(&w, head[33], &map) != 0)
		return malformed(e);
	*ret = map;
	return 0;
}
