#include "vmctl/xmlsame.h"

#include <stddef.h>
#include <string.h>

#define ATTRS_MAX 32

struct word {
	const char *p;
	size_t len;
};
struct tag {
	struct word name; /* "rule", "/rule" */
	struct word attrs[ATTRS_MAX]; /* "action='drop'" */
	size_t count;
	bool empty; /* <x/> */
};

static bool equal(struct word a, struct word b)
{
	return a.len == b.len && memcmp(a.p, b.p, a.len) == 0;
}

static bool is(struct word w, const char *text)
{
	return equal(w, (struct word){text, strlen(text)});
}

#define BLANKS " \t\r\n"

/* NAME='VALUE' at p, or NULL. Double quotes are brought by nobody here. */
static const char *take_attr(const char *p, struct word *ret)
{
	const char *quote = p + strcspn(p, BLANKS "'\"<>/=");
	const char *end;

	if (quote == p || strncmp(quote, "='", 2) != 0)
		return NULL;
	end = quote + 2 + strcspn(quote + 2, "'<>");
	if (*end != '\'')
		return NULL;
	*ret = (struct word){p, (size_t)(end + 1 - p)};
	return end + 1;
}

/* The next tag: 1, none any more: 0, something else: -1. */
static int next_tag(const char **at, struct tag *ret)
{
	const char *p = strchr(*at, '<');

	*ret = (struct tag){.count = 0};
	if (!p)
		return 0;
	p++;
	ret->name.p = p;
	p += *p == '/';
	p += strcspn(p, BLANKS "<>/'\"!?");
	ret->name.len = (size_t)(p - ret->name.p);
	for (;;) {
		p += strspn(p, BLANKS);
		if (*p == '>' || strncmp(p, "/>", 2) == 0)
			break;
		if (ret->count == ATTRS_MAX)
			return -1;
		p = take_attr(p, &ret->attrs[ret->count++]);
		if (!p)
			return -1;
	}
	ret->empty = *p == '/';
	*at = p + 1 + ret->empty;
	return 1;
}

/* <uuid>…</uuid> is passed over. */
static int next(const char **at, struct tag *ret)
{
	int rc;

	do
		rc = next_tag(at, ret);
	while (rc == 1 && (is(ret->name, "uuid") || is(ret->name, "/uuid")));
	return rc;
}

/* The word of a list, "A,B", at p. */
static struct word list_word(const char *p, const char *end)
{
	const char *comma = memchr(p, ',', (size_t)(end - p));

	return (struct word){p, (size_t)((comma ? comma : end) - p)};
}

/* Is each word of the list a in the list b? */
static bool is_subset(struct word a, struct word b)
{
	const char *a_end = a.p + a.len, *b_end = b.p + b.len;
	struct word of_a, of_b;

	for (const char *p = a.p; p <= a_end; p += of_a.len + 1) {
		const char *q = b.p;

		of_a = list_word(p, a_end);
		of_b = list_word(q, b_end);
		while (!equal(of_a, of_b)) {
			q += of_b.len + 1;
			if (q > b_end)
				return false;
			of_b = list_word(q, b_end);
		}
	}
	return true;
}

/* NAME='A,B' is NAME='B,A': libvirt orders a list of states its own way. */
static bool same_attr(struct word a, struct word b)
{
	size_t name = strcspn(a.p, "'") + 1;

	if (equal(a, b))
		return true;
	if (a.len != b.len || memcmp(a.p, b.p, name) != 0)
		return false;
	a = (struct word){a.p + name, a.len - name - 1};
	b = (struct word){b.p + name, b.len - name - 1};
	return is_subset(a, b) && is_subset(b, a);
}

static bool has(const struct tag *t, struct word attr)
{
	for (size_t i = 0; i < t->count; i++) {
		if (same_attr(t->attrs[i], attr))
			return true;
	}
	return false;
}

/* No attribute stands twice: libvirt's parser would not have it. */
static bool same_tag(const struct tag *a, const struct tag *b)
{
	if (!equal(a->name, b->name) || a->count != b->count ||
	    a->empty != b->empty)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (!has(b, a->attrs[i]))
			return false;
	}
	return true;
}

bool xmlsame(const char *a, const char *b)
{
	struct tag of_a, of_b;

	for (;;) {
		int rc = next(&a, &of_a);

		if (rc != next(&b, &of_b) || rc < 0)
			return false;
		if (rc == 0)
			return true;
		if (!same_tag(&of_a, &of_b))
			return false;
	}
}
