#include "vmctl/chunks.h"

#include "base/alloc.h"

#include <string.h>

/* Small pieces share a chunk: a peer that sends byte by byte must not make us
 * hold a hundred for each. */
#define SHARED_LEN ((size_t)4096)

struct chunk {
	struct chunk *next;
	char *data;
	size_t len, size; /* size - len: room for what comes next */
	size_t used;	  /* bytes in front already taken */
};

static void append(struct chunks *q, char *p, size_t len, size_t size)
{
	struct chunk *c = ALLOC_NEW(struct chunk);

	c->data = p;
	c->len = len;
	c->size = size;
	if (q->last)
		q->last->next = c;
	else
		q->first = c;
	q->last = c;
	q->len += len;
}

void chunks_add_taken(struct chunks *q, char *p, size_t len)
{
	if (len > 0)
		append(q, p, len, len);
	else
		free(p);
}

void chunks_add(struct chunks *q, const void *p, size_t len)
{
	struct chunk *last = q->last;
	size_t size = len < SHARED_LEN ? SHARED_LEN : len;
	char *copy;

	if (len == 0)
		return;
	if (last && last->size - last->len >= len) {
		memcpy(last->data + last->len, p, len);
		last->len += len;
		q->len += len;
		return;
	}
	copy = alloc_array(size, 1);
	memcpy(copy, p, len);
	append(q, copy, len, size);
}

static void drop_first(struct chunks *q)
{
	struct chunk *c = q->first;

	q->first = c->next;
	if (!q->first)
		q->last = NULL;
	free(c->data);
	free(c);
}

void chunks_drop(struct chunks *q, size_t len)
{
	while (len > 0 && q->first) {
		struct chunk *c = q->first;
		size_t n = c->len - c->used;

		if (n > len)
			n = len;
		c->used += n;
		q->len -= n;
		len -= n;
		if (c->used == c->len)
			drop_first(q);
	}
}

size_t chunks_take(struct chunks *q, void *p, size_t max)
{
	char *to = p;
	size_t done = 0;

	while (done < max && q->first) {
		struct chunk *c = q->first;
		size_t n = c->len - c->used;

		if (n > max - done)
			n = max - done;
		memcpy(to + done, c->data + c->used, n);
		done += n;
		chunks_drop(q, n);
	}
	return done;
}

int chunks_peek(const struct chunks *q, struct iovec *iov, int count)
{
	int n = 0;

	for (struct chunk *c = q->first; c && n < count; c = c->next) {
		iov[n].iov_base = c->data + c->used;
		iov[n].iov_len = c->len - c->used;
		n++;
	}
	return n;
}

void chunks_finish(struct chunks *q)
{
	while (q->first)
		drop_first(q);
	q->len = 0;
}
