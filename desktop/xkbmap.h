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

#include "base/buf.h"
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
#define XKBMAP_MAX_LEN (256UL * 1024)

/* p: the whole reply. */
int xkbmap_parse(const uint8_t *p, size_t len, struct xkbmap *ret,
		 struct err *e) __attribute__((warn_unused_result));

/*
 * What a SetMap request needs to give some keycodes new keysyms: its "syms",
 * for the range from the first to the last of them; the keys between are as in
 * p, byte for byte. keysyms[] is by keycode, 0: leave. A new keysym is the same
 * alone and with Shift.
 */
struct xkbmap_change {
	uint8_t min_keycode, max_keycode; /* the keyboard's */
	uint8_t first, count;
	uint16_t syms_count; /* keysyms in all */
};
int xkbmap_rebind(const uint8_t *p, size_t len,
		  const uint32_t keysyms[XKBMAP_KEYCODES], struct buf *out,
		  struct xkbmap_change *ret, struct err *e)
	__attribute__((warn_unused_result));

#endif
