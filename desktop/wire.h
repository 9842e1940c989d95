/*
 * wire.h - reading numbers and pieces out of X messages without overrun
 *
 * Shapes:  struct wire is what is left of a message; wire_take() is the only
 *          way to get at its bytes. Numbers are in our own byte order, which
 *          is the one we ask X servers for.
 * Errors:  wire_take() gives -1 when fewer bytes are left; the caller names
 *          the message.
 * Threads: no state.
 */
#ifndef DESKTOP_WIRE_H
#define DESKTOP_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct wire {
	const uint8_t *p;
	size_t len;
};

static inline uint16_t wire_u16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t wire_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline int wire_take(struct wire *w, size_t len, const uint8_t **ret)
{
	if (w->len < len)
		return -1;
	*ret = w->p;
	w->p += len;
	w->len -= len;
	return 0;
}

#endif
