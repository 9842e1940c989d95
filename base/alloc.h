/*
 * alloc.h - allocation that does not return NULL
 *
 * Shapes:  running out of memory ends the process (a message, then abort):
 *          nothing above has to test. What a peer sizes goes into a struct
 *          buf with a cap instead (buf.h).
 * Units:   bytes; counts times sizes are checked for overflow.
 * Errors:  none reach the caller.
 * Threads: any.
 */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

/* clang knows no deallocator, but for its analyzer `malloc` alone will do */
#ifdef __clang__
#define ALLOC_ATTR __attribute__((malloc, returns_nonnull))
#else
#define ALLOC_ATTR __attribute__((malloc, malloc(free, 1), returns_nonnull))
#endif

void *alloc_zero(size_t len) ALLOC_ATTR;
void *alloc_array(size_t count, size_t size) ALLOC_ATTR; /* zeroed */
void *alloc_resize(void *p, size_t count, size_t size)
	__attribute__((returns_nonnull, warn_unused_result));
char *alloc_str(const char *s) ALLOC_ATTR;
char *alloc_strn(const char *s, size_t len) ALLOC_ATTR;
char *alloc_printf(const char *fmt, ...) ALLOC_ATTR
	__attribute__((format(printf, 1, 2)));
char *alloc_vprintf(const char *fmt, va_list ap) ALLOC_ATTR
	__attribute__((format(printf, 1, 0)));

/* For what a library failed to allocate: the message, then abort. */
void alloc_fail(const char *why) __attribute__((noreturn));

#define ALLOC_NEW(type) ((type *)alloc_zero(sizeof(type)))

#endif
