#include "base/buf.h"

#include "base/alloc.h"

#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Invariant between calls: size >= len + 1 and data[len] == '\0'. */

void buf_init(struct buf *b, size_t cap)
{
	*b = (struct buf){.data = alloc_zero(1), .size = 1, .cap = cap};
}

void buf_finish(struct buf *b)
{
	free(b->data);
	*b = (struct buf){.cap = b->cap};
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	b->data[0] = '\0';
}

char *buf_take(struct buf *b)
{
	char *data = b->data;

	buf_init(b, b->cap);
	return data;
}

char *buf_reserve(struct buf *b, size_t len, struct err *e)
{
	size_t need, size;

	/* the NUL makes SIZE_MAX itself unusable */
	if (len > b->cap - b->len || b->len + len > SIZE_MAX / 2) {
		err_set(e, ERR_LIMIT, "more than the %zu bytes allowed here",
			b->cap);
		return NULL;
	}
	need = b->len + len + 1;
	if (need > b->size) {
		size = b->size * 2 < 64 ? 64 : b->size * 2;
		if (size > b->cap)
			size = b->cap + 1;
		if (size < need)
			size = need;
		b->data = alloc_resize(b->data, size, 1);
		b->size = size;
	}
	return b->data + b->len;
}

void buf_commit(struct buf *b, size_t len)
{
	b->len += len;
	b->data[b->len] = '\0';
}

void buf_consume(struct buf *b, size_t len)
{
	b->len -= len;
	memmove(b->data, b->data + len, b->len + 1);
}

int buf_add(struct buf *b, const void *p, size_t len, struct err *e)
{
	char *to = buf_reserve(b, len, e);

	if (!to)
		return -1;
	if (len > 0)
		memcpy(to, p, len);
	buf_commit(b, len);
	return 0;
}

int buf_add_str(struct buf *b, const char *s, struct err *e)
{
	return buf_add(b, s, strlen(s), e);
}

int buf_printf(struct buf *b, struct err *e, const char *fmt, ...)
{
	va_list ap;
	int n;
	char *to;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return err_sys(e, "formatting text");
	to = buf_reserve(b, (size_t)n, e);
	if (!to)
		return -1;
	va_start(ap, fmt);
	vsnprintf(to, (size_t)n + 1, fmt, ap);
	va_end(ap);
	buf_commit(b, (size_t)n);
	return 0;
}

int buf_add_u32(struct buf *b, uint32_t v, struct err *e)
{
	uint32_t be = htobe32(v);

	return buf_add(b, &be, sizeof(be), e);
}

ssize_t buf_read_fd(struct buf *b, int fd, size_t max, struct err *e)
{
	size_t room = b->cap - b->len;
	ssize_t n;
	char *to;

	if (room == 0)
		return err_set(e, ERR_LIMIT,
			       "more than the %zu bytes allowed here", b->cap);
	if (max > room)
		max = room;
	to = buf_reserve(b, max, e);
	if (!to)
		return -1;
	n = read(fd, to, max);
	if (n < 0) {
		b->data[b->len] = '\0';
		return err_sys(e, "reading");
	}
	buf_commit(b, (size_t)n);
	return n;
}
