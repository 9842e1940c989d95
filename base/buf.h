/*
 * buf.h - a growing byte buffer with a mandatory cap
 *
 * Shapes:  data[0..len) are the bytes; data is always followed by a NUL
 *          that len does not count, so text can be used as a string (data is
 *          "" and not NULL after buf_init). Embed: buf_init/buf_finish.
 * Units:   bytes. cap is the most that len may reach.
 * Errors:  ERR_LIMIT when an addition would pass the cap; the buffer is
 *          then unchanged.
 * Threads: one owner at a time.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct buf {
	char *data;
	size_t len;
	size_t size;
	size_t cap;
};

void buf_init(struct buf *b, size_t cap);
void buf_finish(struct buf *b); /* frees; a finished buf may be re-inited */
void buf_reset(struct buf *b);	/* len 0, memory kept */
char *buf_take(struct buf *b);	/* hands data to the caller (free()), empties */

int buf_add(struct buf *b, const void *p, size_t len, struct err *e)
	__attribute__((warn_unused_result));
int buf_add_str(struct buf *b, const char *s, struct err *e)
	__attribute__((warn_unused_result));
int buf_printf(struct buf *b, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), warn_unused_result));
int buf_add_u32(struct buf *b, uint32_t v, struct err *e) /* big endian */
	__attribute__((warn_unused_result));
/* Room for len more bytes at data+len; commit with buf_commit(). NULL+err. */
char *buf_reserve(struct buf *b, size_t len, struct err *e)
	__attribute__((warn_unused_result));
void buf_commit(struct buf *b, size_t len);
void buf_consume(struct buf *b, size_t len); /* drop from the front */
/* read(2) once into the buffer: bytes read, 0 at EOF, -1 with err (EAGAIN
 * and EINTR give -1 with e->errnum set so). At most max bytes. */
ssize_t buf_read_fd(struct buf *b, int fd, size_t max, struct err *e)
	__attribute__((warn_unused_result));

#endif
