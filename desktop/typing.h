/*
 * typing.h - text and key chords, pressed so that none is lost
 *
 * Shapes:  struct typing remembers, for one connection, which keycodes were
 *          lent to which keysyms and when they were pressed last. Before
 *          keys are sent, locks (Caps Lock, a second layout) and held
 *          modifiers are put aside, and given back after.
 * Units:   keysyms are normal (keysym.h); counts of characters.
 * Errors:  ERR_STATE when the program that has the focus does not keep up, or
 *          a key is not on the keyboard; ERR_BUSY when somebody holds a
 *          modifier down; what of the text was typed is in the message.
 *          Whatever the outcome, nothing is left pressed on a connection
 *          that works.
 * Threads: that of the x11.
 */
#ifndef DESKTOP_TYPING_H
#define DESKTOP_TYPING_H

#include "desktop/keymap.h"
#include "desktop/keysym.h"
#include "desktop/turn.h"
#include "desktop/x11.h"

struct typing {
	struct xkbmap keyboard;
	struct keymap map;
	unsigned pressed; /* keys that programs may not have seen yet, capped */
	int64_t pressed_at_ms;
};

/* On a new connection nothing is known of what was pressed before it. */
void typing_init(struct typing *t);
int typing_text(struct typing *t, struct x11 *x, const uint32_t *keysyms,
		size_t count, const struct turn *turn, struct err *e)
	__attribute__((warn_unused_result));
/* All chords in order, repeat times over. */
struct typing_chords {
	const struct keysym_chord *chords;
	unsigned count, repeat;
	int64_t hold_ms; /* each is held down for so long; 0: not */
};
int typing_chords(struct typing *t, struct x11 *x,
		  const struct typing_chords *chords, const struct turn *turn,
		  struct err *e) __attribute__((warn_unused_result));
/* The keycodes to hold for a mouse action. */
int typing_modifiers(struct typing *t, struct x11 *x,
		     const struct keysym_chord *chord,
		     uint8_t ret_keycodes[KEYSYM_MODS_COUNT], struct err *e)
	__attribute__((warn_unused_result));
/* Release every key that is down: after input that was cut off. */
int typing_release(struct x11 *x, struct err *e)
	__attribute__((warn_unused_result));

#endif
