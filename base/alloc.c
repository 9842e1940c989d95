#include "base/alloc.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OUT_OF_MEMORY "out of memory"
#define TOO_LARGE "the size of an allocation overflows"

void alloc_fail(const char *why)
{
	/* no stdio: it may want memory itself */
	if (write(STDERR_FILENO, "boxery: ", 8) < 0 ||
	    write(STDERR_FILENO, why, strlen(why)) < 0 ||
	    write(STDERR_FILENO, "\n", 1) < 0)
		_exit(134);
	abort();
}

static size_t multiply(size_t count, size_t size)
{
	size_t len;

	if (__builtin_mul_overflow(count, size, &len) || len > PTRDIFF_MAX)
		alloc_fail(TOO_LARGE);
	/* a pointer that can be freed even for nothing */
	return len ? len : 1;
}

void *alloc_zero(size_t len)
{
	return alloc_array(len, 1);
}

void *alloc_array(size_t count, size_t size)
{
	void *p = calloc(1, multiply(count, size));

	if (!p)
		alloc_fail(OUT_OF_MEMORY);
	return p;
}

void *alloc_resize(void *p, size_t count, size_t size)
{
	void *q = realloc(p, multiply(count, size));

	if (!q)
		alloc_fail(OUT_OF_MEMORY);
	return q;
}

char *alloc_str(const char *s)
{
	return alloc_strn(s, strlen(s));
}

char *alloc_strn(const char *s, size_t len)
{
	char *p;

	if (len >= PTRDIFF_MAX)
		alloc_fail(TOO_LARGE);
	p = alloc_zero(len + 1);
	if (len > 0)
		memcpy(p, s, len);
	return p;
}

char *alloc_printf(const char *fmt, ...)
{
	va_list ap;
	char *p;

	va_start(ap, fmt);
	p = alloc_vprintf(fmt, ap);
	va_end(ap);
	return p;
}

char *alloc_vprintf(const char *fmt, va_list ap)
{
	char *p;

	if (vasprintf(&p, fmt, ap) < 0)
		alloc_fail(OUT_OF_MEMORY);
	return p;
}
