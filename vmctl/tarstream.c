#include "vmctl/tarstream.h"

#include "vmctl/copytext.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_LEN 100
#define RECORD_SIZE 128

/* A ustar header; the fields that we do not set stay empty. */
struct header {
	char name[NAME_LEN];
	char mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8];
	char type;
	char target[NAME_LEN];
	char magic[6], version[2];
	char user[32], group[32], dev_major[8], dev_minor[8], prefix[155];
	char pad[12];
};
_Static_assert(sizeof(struct header) == TARSTREAM_BLOCK_LEN, "a block");

static void put_octal(char *field, size_t size, uint64_t v)
{
	char text[32];

	snprintf(text, sizeof(text), "%0*" PRIo64, (int)size - 1, v);
	memcpy(field, text, size - 1);
}

static int put_header(struct buf *out, struct header *h, struct err *e)
{
	const unsigned char *p = (const unsigned char *)h;
	unsigned sum = 0;

	memcpy(h->magic, "ustar", 6);
	memcpy(h->version, "00", 2);
	memset(h->checksum, ' ', sizeof(h->checksum));
	for (size_t i = 0; i < sizeof(*h); i++)
		sum += p[i];
	put_octal(h->checksum, 7, sum);
	h->checksum[6] = '\0';
	return buf_add(out, h, sizeof(*h), e);
}

static int put_padded(struct buf *out, const void *p, size_t len,
		      struct err *e)
{
	static const char zeros[TARSTREAM_BLOCK_LEN];
	size_t over = len % TARSTREAM_BLOCK_LEN;

	if (buf_add(out, p, len, e) != 0)
		return -1;
	return over ? buf_add(out, zeros, TARSTREAM_BLOCK_LEN - over, e) : 0;
}

/* A header that only carries bytes for the one after it. */
static int put_extra(struct buf *out, char type, const char *p, size_t len,
		     struct err *e)
{
	struct header h = {.name = "././@LongLink", .type = type};

	put_octal(h.mode, sizeof(h.mode), 0644);
	put_octal(h.size, sizeof(h.size), len);
	put_octal(h.mtime, sizeof(h.mtime), 0);
	if (put_header(out, &h, e) != 0)
		return -1;
	return put_padded(out, p, len, e);
}

/* "LENGTH mtime=TIME\n", where LENGTH counts itself. */
static int put_time(struct buf *out, const struct tarstream_entry *n,
		    struct err *e)
{
	char when[COPYTEXT_TIME_SIZE], text[RECORD_SIZE];
	int len;

	copytext_time(n->mtime_s, n->mtime_ns, when);
	/* " mtime=" and "\n" and two digits: never fewer than 10 in all */
	len = (int)strlen(when) + 8 + 2;
	snprintf(text, sizeof(text), "%d mtime=%s\n", len, when);
	return put_extra(out, 'x', text, strlen(text), e);
}

int tarstream_add(struct buf *out, const struct tarstream_entry *n,
		  struct err *e)
{
	struct header h = {.type = n->target ? '2' : '0'};
	size_t name_len = strlen(n->name);
	size_t target_len = n->target ? strlen(n->target) : 0;
	/* an old tar falls back on this: whole seconds, none before 1970 */
	uint64_t mtime = n->mtime_s > 0 ? (uint64_t)n->mtime_s : 0;

	if (mtime > 077777777777)
		mtime = 0;
	if (put_time(out, n, e) != 0)
		return -1;
	if (name_len > NAME_LEN &&
	    put_extra(out, 'L', n->name, name_len + 1, e) != 0)
		return -1;
	if (target_len > NAME_LEN &&
	    put_extra(out, 'K', n->target, target_len + 1, e) != 0)
		return -1;
	memcpy(h.name, n->name, name_len < NAME_LEN ? name_len : NAME_LEN);
	if (target_len > 0)
		memcpy(h.target, n->target,
		       target_len < NAME_LEN ? target_len : NAME_LEN);
	put_octal(h.mode, sizeof(h.mode), n->mode);
	put_octal(h.uid, sizeof(h.uid), 0);
	put_octal(h.gid, sizeof(h.gid), 0);
	put_octal(h.size, sizeof(h.size), n->len);
	put_octal(h.mtime, sizeof(h.mtime), mtime);
	if (put_header(out, &h, e) != 0)
		return -1;
	return n->len > 0 ? put_padded(out, n->bytes, n->len, e) : 0;
}

int tarstream_end(struct buf *out, struct err *e)
{
	static const char zeros[2 * TARSTREAM_BLOCK_LEN];

	return buf_add(out, zeros, sizeof(zeros), e);
}
