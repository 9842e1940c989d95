/*
 * keysym.h - from what people write to X keysyms: text, key names, chords
 *
 * Shapes:  a keysym is "normal" when what stands for a character is its
 *          Unicode form (0x20..0xff as it is, else 0x01000000 + code point);
 *          only normal ones are compared. Keypad and dead keys stand for
 *          themselves.
 *          A chord is "ctrl+shift+t": modifiers and one key, or modifiers
 *          alone. "ctrl++" and "+" mean the plus key. With Ctrl, Alt or
 *          Super a letter's case does not matter: "Ctrl+C" is "ctrl+c"; Shift
 *          is pressed where it is named.
 * Errors:  ERR_INVALID that names the place or the unknown key, with a near
 *          name when there is one.
 * Threads: no state.
 * Source:  X11 keysymdef.h by libxkbcommon; xdotool and others for the
 *          short names people use.
 */
#ifndef DESKTOP_KEYSYM_H
#define DESKTOP_KEYSYM_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEYSYM_TAB 0xff09
#define KEYSYM_RETURN 0xff0d
#define KEYSYM_SHIFT_L 0xffe1
/* modifiers of one chord: there are no more different ones */
#define KEYSYM_MODS_COUNT 8
/* chords of one call */
#define KEYSYM_CHORDS_COUNT 128

struct keysym_chord {
	uint32_t mods[KEYSYM_MODS_COUNT]; /* Control_L …, in order */
	unsigned mods_count;
	uint32_t key; /* 0: modifiers alone */
};

uint32_t keysym_normal(uint32_t keysym);
/* The other key of a pair (Control_R of Control_L, …), or 0. */
uint32_t keysym_twin(uint32_t keysym);
/* What types text, one keysym a character: newline, CR and CR LF are Return, a
 * tab Tab. ret has room for len keysyms (a character is a byte at least). */
int keysym_from_text(const char *text, size_t len, uint32_t *ret,
		     size_t *ret_count, struct err *e)
	__attribute__((warn_unused_result));
/* Chords separated by spaces. */
int keysym_parse_chords(const char *text,
			struct keysym_chord ret[KEYSYM_CHORDS_COUNT],
			unsigned *ret_count, struct err *e)
	__attribute__((warn_unused_result));
/* "ctrl+shift": modifiers alone; what a mouse action holds. */
int keysym_parse_modifiers(const char *text, struct keysym_chord *ret,
			   struct err *e) __attribute__((warn_unused_result));

#endif
