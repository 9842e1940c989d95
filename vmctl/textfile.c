#include "vmctl/textfile.h"

#include "base/limits.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <string.h>

void textpage_init(struct textpage *t, uint64_t first, uint64_t limit)
{
	*t = (struct textpage){.first = first, .limit = limit};
	buf_init(&t->text, LIMIT_TEXT_PAGE_LEN);
}

void textpage_finish(struct textpage *t)
{
	buf_finish(&t->text);
}

static bool wanted(const struct textpage *t)
{
	return t->seen >= t->first && t->seen - t->first < t->limit &&
	       !t->more && !t->cut;
}

/* The page is full: back to its last whole line, if it has one. */
static void stop_before(struct textpage *t, size_t line_start)
{
	if (line_start > 0) {
		t->text.len = line_start;
		t->text.data[line_start] = '\0';
		t->lines--;
		t->more = true;
	} else {
		t->cut = true;
	}
}

static size_t last_line_start(const struct buf *b)
{
	const char *nl = memrchr(b->data, '\n', b->len);

	return nl ? (size_t)(nl + 1 - b->data) : 0;
}

static void keep(struct textpage *t, const char *p, size_t len)
{
	size_t room = t->text.cap - t->text.len, start;

	if (len <= room) {
		if (buf_add(&t->text, p, len, NULL) < 0)
			t->cut = true;
		return;
	}
	start = last_line_start(&t->text);
	if (start == 0) {
		/* not through the middle of a character */
		while (room > 0 && ((unsigned char)p[room] & 0xc0) == 0x80)
			room--;
		if (buf_add(&t->text, p, room, NULL) < 0)
			t->cut = true;
	}
	stop_before(t, start);
}

void textpage_feed(struct textpage *t, const char *p, size_t len)
{
	while (len > 0) {
		const char *nl = memchr(p, '\n', len);
		size_t n = nl ? (size_t)(nl + 1 - p) : len;

		if (!t->in_line) {
			t->seen++;
			if (wanted(t))
				t->lines++;
			else if (t->seen >= t->first)
				t->more = true;
		}
		t->in_line = !nl;
		if (wanted(t))
			keep(t, p, n);
		p += n;
		len -= n;
	}
}

int textfile_check(const char *path, const char *p, size_t len, bool utf8,
		   struct err *e)
{
	const char *nul = memchr(p, '\0', len);
	size_t at = 0, n;
	uint32_t cp;

	if (nul)
		return err_set(e, ERR_INVALID,
			       "%s is not text (byte %zu is NUL); fetch it "
			       "with vm_copy, or look at it with vm_run",
			       path, (size_t)(nul - p) + 1);
	while (utf8 && at < len) {
		n = utf8_next(p + at, len - at, &cp);
		if (n == 0)
			return err_set(e, ERR_INVALID,
				       "%s is not UTF-8 (byte %zu); change it "
				       "with vm_run instead",
				       path, at + 1);
		at += n;
	}
	return 0;
}

static uint64_t count(const struct buf *text, const char *what, size_t len)
{
	const char *at = text->data, *end = text->data + text->len;
	uint64_t n = 0;

	while ((at = memmem(at, (size_t)(end - at), what, len))) {
		n++;
		at += len;
	}
	return n;
}

static int check_count(const char *path, uint64_t n, bool all, struct err *e)
{
	if (n == 0)
		return err_set(e, ERR_INVALID,
			       "%s: the old text occurs 0 times; it must match "
			       "the file exactly, so read it again",
			       path);
	if (n > 1 && !all)
		return err_set(e, ERR_INVALID,
			       "%s: the old text occurs %" PRIu64
			       " times; give "
			       "more of the text around it, or all: true",
			       path, n);
	return 0;
}

int textfile_replace(const char *path, const struct buf *text,
		     const struct textfile_change *c, struct buf *out,
		     uint64_t *ret_count, struct err *e)
{
	size_t old_len = strlen(c->old_text), new_len = strlen(c->new_text);
	const char *at = text->data, *end = text->data + text->len, *hit;
	uint64_t n = count(text, c->old_text, old_len);

	if (check_count(path, n, c->all, e) < 0)
		return -1;
	while ((hit = memmem(at, (size_t)(end - at), c->old_text, old_len))) {
		if (buf_add(out, at, (size_t)(hit - at), e) < 0 ||
		    buf_add(out, c->new_text, new_len, e) < 0)
			return err_wrap(e, "%s would become too large", path);
		at = hit + old_len;
	}
	if (buf_add(out, at, (size_t)(end - at), e) < 0)
		return err_wrap(e, "%s would become too large", path);
	*ret_count = n;
	return 0;
}
