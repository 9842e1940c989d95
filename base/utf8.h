/*
 * utf8.h - UTF-8 from strangers: decoded strictly, escaped for people
 *
 * Shapes:  valid means RFC 3629: no overlong forms, no surrogates, nothing
 *          over U+10FFFF.
 * Units:   bytes.
 * Threads: no state.
 * Source:  RFC 3629; Unicode TR36 for what may not reach a terminal.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The length of the sequence at p (1..4) and its code point, or 0 when what
 * is there is not valid, is cut off, or len is 0. */
size_t utf8_next(const char *p, size_t len, uint32_t *ret_cp);

/*
 * Copy src to dst as one line that is safe to show: C0 and C1 controls, bytes
 * that are no UTF-8, line separators and bidirectional overrides become \xNN.
 * Escaping twice changes nothing more. Cut before the first piece that does
 * not fit; dst is always terminated (size >= 1). Returns the length of dst.
 */
size_t utf8_escape(char *dst, size_t size, const char *src, size_t len);

#endif
