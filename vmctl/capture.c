#include "vmctl/capture.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"

#include <inttypes.h>
#include <string.h>

void capture_init(struct capture *c)
{
	*c = (struct capture){.head = alloc_zero(CAPTURE_PART_LEN),
			      .tail = alloc_zero(CAPTURE_PART_LEN)};
}

void capture_finish(struct capture *c)
{
	free(c->head);
	free(c->tail);
	*c = (struct capture){0};
}

void capture_add(struct capture *c, const void *p, size_t len)
{
	const char *from = p;
	size_t n = CAPTURE_PART_LEN - c->head_len;

	if (n > len)
		n = len;
	memcpy(c->head + c->head_len, from, n);
	c->head_len += n;
	c->total_len += len;
	/* of a long piece only the end can stay in the ring */
	if (len > CAPTURE_PART_LEN) {
		from += len - CAPTURE_PART_LEN;
		c->tail_at += len - CAPTURE_PART_LEN;
		len = CAPTURE_PART_LEN;
	}
	while (len > 0) {
		size_t at = c->tail_at % CAPTURE_PART_LEN;

		n = CAPTURE_PART_LEN - at < len ? CAPTURE_PART_LEN - at : len;
		memcpy(c->tail + at, from, n);
		c->tail_at += n;
		from += n;
		len -= n;
	}
}

/* The last len bytes of the stream, straight. */
static void copy_tail(const struct capture *c, char *to, size_t len)
{
	size_t at = (c->tail_at - len) % CAPTURE_PART_LEN;
	size_t n = CAPTURE_PART_LEN - at < len ? CAPTURE_PART_LEN - at : len;

	memcpy(to, c->tail + at, n);
	memcpy(to + n, c->tail, len - n);
}

static bool continues(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* Bytes that are no text triple in length when they are replaced. */
static char *lossy(const char *p, size_t len, size_t *ret_len)
{
	auto_json json_t *v = json_lossy(p, len);
	char *text = alloc_strn(json_string_value(v), json_string_length(v));

	*ret_len = json_string_length(v);
	return text;
}

/* At most max bytes from the front, up to the end of a character. */
static size_t cut_end(const char *p, size_t len, size_t max)
{
	if (len <= max)
		return len;
	while (max > 0 && continues(p[max]))
		max--;
	return max;
}

/* Where the last max bytes begin, at the start of a character. */
static size_t cut_start(const char *p, size_t len, size_t max)
{
	size_t at = len > max ? len - max : 0;

	while (at > 0 && at < len && continues(p[at]))
		at++;
	return at;
}

/* Half of what may be shown from either end; of bytes that are no text, which
 * grow, the outer part of that. */
static json_t *with_gap(const struct capture *c, size_t max_len,
			const char *where)
{
	size_t part = max_len / 2, raw_len, head_len, tail_len, end, start;
	autofree char *raw = NULL, *head = NULL, *tail = NULL, *all = NULL;
	uint64_t missing;
	bool grown;

	raw_len = c->total_len / 2 < part ? (size_t)c->total_len / 2 : part;
	/* a character that the gap splits belongs to the gap */
	end = cut_end(c->head, c->head_len, raw_len);
	raw = alloc_zero(raw_len + 1);
	copy_tail(c, raw, raw_len);
	for (start = 0; start < raw_len && start < 3; start++)
		if (!continues(raw[start]))
			break;
	missing = c->total_len - end - (raw_len - start);

	head = lossy(c->head, end, &head_len);
	tail = lossy(raw + start, raw_len - start, &tail_len);
	grown = head_len > part || tail_len > part;
	head[cut_end(head, head_len, part)] = '\0';
	all = alloc_printf("%s\n[… %s%" PRIu64 " of %" PRIu64
			   " bytes left out%s%s …]\n%s",
			   head, grown ? "more than " : "", missing,
			   c->total_len, where[0] ? "; all of it: " : "", where,
			   tail + cut_start(tail, tail_len, part));
	return json_string(all);
}

json_t *capture_text(const struct capture *c, size_t max_len, const char *where,
		     bool *ret_cut)
{
	json_t *v = json_lossy(c->head, c->head_len);

	if (c->total_len == c->head_len && json_string_length(v) <= max_len) {
		*ret_cut = false;
		return v;
	}
	json_decref(v);
	*ret_cut = true;
	return with_gap(c, max_len, where);
}

void capture_share(const struct capture *out, const struct capture *errs,
		   size_t *ret_out_len, size_t *ret_errs_len)
{
	const size_t all = LIMIT_RUN_SHOWN_LEN, least = all / 4;
	size_t left = out->total_len < all ? all - (size_t)out->total_len : 0;
	size_t for_errs = left > least ? left : least;

	if (errs->total_len < for_errs)
		for_errs = (size_t)errs->total_len;
	*ret_errs_len = for_errs;
	*ret_out_len = all - for_errs;
}
