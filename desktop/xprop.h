/*
 * xprop.h - the value of a window's property, out of a GetProperty reply
 *
 * A property is written by whatever program owns the window: its type, the
 * width of its items and their number are claims.
 *
 * Shapes:  struct xprop borrows from the reply. A value that is not of the kind
 *          that is asked for counts as none.
 * Units:   bytes; items of 32 bits.
 * Errors:  -1 from xprop_parse() for a reply whose counts do not fit its
 *          length.
 * Threads: no state.
 * Source:  X Window System Protocol, X11R7, GetProperty; ICCCM 2.0, 2.7.1 (text
 *          of type STRING is Latin-1); EWMH 1.5 (UTF8_STRING).
 */
#ifndef DESKTOP_XPROP_H
#define DESKTOP_XPROP_H

#include <stddef.h>
#include <stdint.h>

struct xprop {
	const uint8_t *p;
	size_t len;
	uint32_t type;
	uint32_t after_len; /* what lies behind the part that was asked for */
	unsigned format;    /* bits an item: 8, 16, 32; 0: there is none */
};

/* p: the whole reply. */
int xprop_parse(const uint8_t *p, size_t len, struct xprop *ret)
	__attribute__((warn_unused_result));
/* Text up to its first NUL (from the skip-th piece on, pieces end with NUL), as
 * valid UTF-8, cut to fit; "" when there is none. size >= 1. */
void xprop_text(const struct xprop *v, unsigned skip, char *ret, size_t size);
/* The first of its 32-bit items, at most max; how many there were of those. */
unsigned xprop_words(const struct xprop *v, uint32_t *ret, unsigned max);

#endif
