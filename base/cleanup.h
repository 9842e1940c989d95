/*
 * cleanup.h - release on scope exit, and moving ownership out of a scope
 *
 * Shapes:  autofree char *p = ...;  autoclose int fd = -1;  A variable so
 *          marked owns what it holds; TAKE_PTR/TAKE_FD move it out (the
 *          variable is left empty), so `return TAKE_PTR(p)` hands it over.
 * Threads: no state.
 * Source:  gcc's cleanup attribute; systemd's macros of the same purpose.
 */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free_(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close_(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define autofree __attribute__((cleanup(cleanup_free_)))
#define autoclose __attribute__((cleanup(cleanup_close_)))

/* Declare `auto_x` helpers for an x_free(struct x *) destructor. */
#define CLEANUP_DEFINE(name, type, fn)                                         \
	/* NOLINTNEXTLINE(bugprone-macro-parentheses): it is a type */         \
	static inline void cleanup_##name##_(type **p)                         \
	{                                                                      \
		fn(*p);                                                        \
	}

#define TAKE_PTR(p)                                                            \
	({                                                                     \
		__typeof__(p) *pp_ = &(p);                                     \
		__typeof__(p) v_ = *pp_;                                       \
		*pp_ = NULL;                                                   \
		v_;                                                            \
	})

#define TAKE_FD(fd)                                                            \
	({                                                                     \
		int *pf_ = &(fd);                                              \
		int f_ = *pf_;                                                 \
		*pf_ = -1;                                                     \
		f_;                                                            \
	})

#define ARRAY_COUNT(a) (sizeof(a) / sizeof((a)[0]))

#endif
