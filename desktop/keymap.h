/*
 * keymap.h - which keys to press for which keysyms, and which keycodes to lend
 *
 * A keysym that the layout has is pressed where it is. One that it lacks is
 * bound to a keycode that the layout leaves free (a slot), and stays bound
 * until the slot is needed for another: a program may look a key up long after
 * it was pressed, so the map must not change behind keys under way.
 *
 * Shapes:  pure: keymap_plan() decides, the caller does it. A plan is a run of
 *          keysyms that can be typed with one change of the map before it.
 * Units:   keysyms are normal (keysym.h).
 * Errors:  ERR_STATE when the layout leaves no keycode free.
 * Threads: no state.
 */
#ifndef DESKTOP_KEYMAP_H
#define DESKTOP_KEYMAP_H

#include "base/err.h"
#include "desktop/xkbmap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct keymap_slot {
	uint8_t keycode;
	uint32_t keysym;  /* bound to it, 0: none */
	uint64_t used_at; /* of keymap.clock, by the last plan to press it */
	bool fresh;	  /* the last plan bound it */
};
struct keymap {
	uint32_t plain[XKBMAP_KEYCODES], shifted[XKBMAP_KEYCODES];
	struct keymap_slot slots[XKBMAP_KEYCODES];
	unsigned slots_count;
	uint64_t clock;
};

struct keymap_stroke {
	uint8_t keycode;
	bool shift;
};
struct keymap_plan {
	size_t count;  /* of the keysyms at hand, how many it covers */
	bool binds;    /* the map has to change first */
	bool recycles; /* … and gives keycodes another meaning */
};

/*
 * Take in the keyboard as it is. A keycode is a slot when it is `unused`, or
 * `bound` (by us, earlier) and still looks so: one keysym alone and with
 * Shift, no modifier. used_at of a slot that keeps its keysym is kept.
 */
void keymap_load(struct keymap *k, const struct xkbmap *map,
		 const bool unused[XKBMAP_KEYCODES],
		 const bool bound[XKBMAP_KEYCODES]);
/* Assigns slots for a prefix of keysyms, as long as they last: first free
 * ones from the bottom, then those not used for longest. */
int keymap_plan(struct keymap *k, const uint32_t *keysyms, size_t count,
		struct keymap_plan *ret, struct err *e)
	__attribute__((warn_unused_result));
/* What the last plan newly bound, by keycode; 0: nothing. */
void keymap_fresh(const struct keymap *k,
		  uint32_t ret_keysyms[XKBMAP_KEYCODES]);
/* Where a keysym is; false when nowhere. */
bool keymap_find(const struct keymap *k, uint32_t keysym,
		 struct keymap_stroke *ret);
/* The bound keycodes, to be remembered. */
void keymap_bound(const struct keymap *k, bool ret_bound[XKBMAP_KEYCODES]);

#endif
