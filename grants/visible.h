/*
 * visible.h - strangers' text, so that a person sees what is really there
 *
 * A person is asked to agree to something while text of an agent, or of a
 * page that the agent read, stands beside the question. That text must not be
 * able to look like the question: so it is one line, and whatever would not
 * show, or would change how other text shows, is written out.
 *
 * Shapes:  controls, newlines, bidirectional controls, zero-width and other
 *          invisible characters and blanks that are not U+0020 become \n, \t
 *          or \u{200B}; bytes that are no UTF-8 become \xFF; a backslash
 *          becomes two, so the result is unambiguous. Of a pile of combining
 *          marks only two on a character are left as they are. For a dialog,
 *          which may render Markdown or HTML, what would mark up is preceded
 *          by a backslash as well.
 * Units:   max_count is in characters of the input.
 * Threads: no state.
 * Source:  Unicode 15 (general categories Cf, Zl, Zp, Zs and the ignorable
 *          code points); CommonMark 0.31 §2.4 and the autolinks of GFM.
 */
#ifndef GRANTS_VISIBLE_H
#define GRANTS_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum visible_medium {
	VISIBLE_TERMINAL, /* shows characters as they are */
	VISIBLE_DIALOG,	  /* may render Markdown */
};

/*
 * The text made visible, cut after max_count characters with the words
 * "… (N more bytes)". free()
 */
char *visible_text(const char *p, size_t len, size_t max_count,
		   enum visible_medium medium) __attribute__((returns_nonnull));

/* Does this code point show as itself and leave its neighbours alone? Spaces
 * but U+0020 do not; combining marks do. */
bool visible_is_plain(uint32_t cp);

#endif
