/*
 * xkbmap.h - what a keyboard's keys mean, out of an XKB GetMap reply
 *
 * Shapes:  for each keycode the keysym of the first group it gives alone and
 *          with Shift, no other modifier held or locked. The key's type
 *          decides that, not its place in a list: level 2 of a keypad key
 *          needs Num Lock, that of F1 Ctrl and Alt.
 * Units:   keycodes 8..255; keysym 0 is none.
 * Errors:  ERR_PROTOCOL for a reply whose counts do not fit its length.
 * Threads: no state.
 * Source:  The X Keyboard Extension: Protocol Specification, "XkbGetMap".
 */
#ifndef DESKTOP_XKBMAP_H
#define DESKTOP_XKBMAP_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XKBMAP_KEYCODES 256

struct xkbmap_key {
	uint32_t plain, shifted;
	bool used;    /* some keysym at some level of some group */
	uint8_t mods; /* the modifiers it presses, as a mask */
};
struct xkbmap {
	struct xkbmap_key keys[XKBMAP_KEYCODES];
};

/* The parts a request must ask for: types, keysyms, modifier map. */
#define XKBMAP_PARTS 0x07
/* No keyboard's map comes near this. */
#define XKBMAP_MAX_LEN (256 * 1024)

/* p: the whole reply. */
int xkbmap_parse(const uint8_t *p, size_t len, struct xkbmap *ret,
		 struct err *e) __attribute__((warn_unused_result));

#endif
