/*
 * chunks.h - a queue of bytes held in the pieces they came in
 *
 * What waits for a slow reader can be megabytes; taking from the front of one
 * flat buffer would move the rest each time.
 *
 * Shapes:  embed, zero-initialised is empty; chunks_finish() drops what is
 *          left.
 * Units:   len is bytes.
 * Errors:  none; the owner bounds len before it adds.
 * Threads: none of its own: the owner locks.
 */
#ifndef VMCTL_CHUNKS_H
#define VMCTL_CHUNKS_H

#include <stddef.h>
#include <sys/uio.h>

struct chunk;
struct chunks {
	struct chunk *first, *last;
	size_t len;
};

void chunks_finish(struct chunks *q);
void chunks_add(struct chunks *q, const void *p, size_t len); /* copies */
void chunks_add_taken(struct chunks *q, char *p, size_t len); /* free()s p */
/* Copy out and drop at most max bytes; how many there were. */
size_t chunks_take(struct chunks *q, void *p, size_t max);
/* What is in front, as vectors for writev(2); how many were filled. */
int chunks_peek(const struct chunks *q, struct iovec *iov, int count);
void chunks_drop(struct chunks *q, size_t len);

#endif
