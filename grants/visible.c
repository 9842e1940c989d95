#include "grants/visible.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define MARKS_COUNT 2
/* the longest piece for one input character: \u{10FFFF} */
#define PIECE_SIZE 16
#define CUT_SIZE 64

struct range {
	uint32_t first, last;
};

static bool in_ranges(uint32_t cp, const struct range *r, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (cp >= r[i].first && cp <= r[i].last)
			return true;
	}
	return false;
}

bool visible_is_plain(uint32_t cp)
{
	static const struct range hidden[] = {
		{0x0000, 0x001f}, /* C0 */
		{0x007f, 0x00a0}, /* DEL, C1, no-break space */
		{0x00ad, 0x00ad}, /* soft hyphen */
		{0x034f, 0x034f}, /* combining grapheme joiner */
		{0x0600, 0x0605}, /* Arabic number signs: format */
		{0x061c, 0x061c}, /* Arabic letter mark: bidi */
		{0x06dd, 0x06dd},    {0x070f, 0x070f},
		{0x0890, 0x0891},    {0x08e2, 0x08e2},
		{0x115f, 0x1160}, /* Hangul fillers */
		{0x1680, 0x1680}, /* Ogham space */
		{0x17b4, 0x17b5}, /* Khmer inherent vowels */
		{0x180b, 0x180f}, /* Mongolian selectors */
		{0x2000, 0x200f}, /* spaces, zero-width, LRM, RLM */
		{0x2028, 0x202f}, /* separators, bidi embeddings */
		{0x205f, 0x206f}, /* space, joiners, bidi isolates */
		{0x2800, 0x2800}, /* the Braille pattern without dots */
		{0x3000, 0x3000}, /* ideographic space */
		{0x3164, 0x3164}, /* Hangul filler */
		{0xe000, 0xf8ff}, /* private use: whatever a font has */
		{0xfe00, 0xfe0f}, /* variation selectors */
		{0xfeff, 0xfeff}, /* byte order mark */
		{0xfdd0, 0xfdef}, /* no characters */
		{0xffa0, 0xffa0}, /* halfwidth Hangul filler */
		{0xfff0, 0xffff}, /* interlinear annotation, U+FFFD */
		{0x110bd, 0x110bd},  {0x110cd, 0x110cd},
		{0x13430, 0x1343f},  /* hieroglyph controls */
		{0x1bca0, 0x1bca3},  /* shorthand controls */
		{0x1d173, 0x1d17a},  /* musical controls */
		{0xe0000, 0x10ffff}, /* tags, selectors, private use */
	};

	return !in_ranges(cp, hidden, ARRAY_COUNT(hidden)) &&
	       (cp & 0xfffe) != 0xfffe;
}

/* What is drawn over the character before it. */
static bool is_mark(uint32_t cp)
{
	static const struct range marks[] = {
		{0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd},
		{0x0610, 0x061a}, {0x064b, 0x065f}, {0x06d6, 0x06ed},
		{0x0e31, 0x0e31}, {0x0e34, 0x0e3a}, {0x0e47, 0x0e4e},
		{0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x20d0, 0x20ff},
		{0x302a, 0x302f}, {0x3099, 0x309a}, {0xfe20, 0xfe2f},
	};

	return in_ranges(cp, marks, ARRAY_COUNT(marks));
}

static bool is_word(uint32_t cp)
{
	return (cp >= '0' && cp <= '9') || (cp >= 'a' && cp <= 'z') ||
	       (cp >= 'A' && cp <= 'Z') || cp >= 0x80;
}

/* Where visible_text() is in its input. */
struct reader {
	const char *start, *p;
	size_t len;	 /* from p */
	uint32_t before; /* the code point before, 0 at the start */
	unsigned marks;	 /* combining marks seen since a base */
};

/* Does the text so far end in this word (small letters)? */
static bool follows(const struct reader *r, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(r->p - r->start) >= len &&
	       strncasecmp(r->p - len, word, len) == 0;
}

/*
 * Would it mark up, with what stands before and behind it? A round bracket or
 * an exclamation mark alone does not, as square brackets never do; what has a
 * meaning only at the start of a line has none but at the start of the text.
 */
static bool is_markup(const struct reader *r, uint32_t cp)
{
	const char *next = r->p + 1;
	size_t left = r->len - 1;

	switch (cp) {
	case '_': /* inside of a word it never is emphasis */
		return !is_word(r->before) || left == 0 ||
		       !is_word((unsigned char)next[0]);
	case ':': /* what GFM makes links of */
		return (left >= 2 && memcmp(next, "//", 2) == 0) ||
		       follows(r, "mailto") || follows(r, "xmpp");
	case '.':
		return follows(r, "www");
	case '#':
	case '+':
	case '-':
	case '=':
		return r->before == 0;
	default:
		return cp < 0x80 && cp != 0 &&
		       strchr("`*[]<>|~&@$", (int)cp) != NULL;
	}
}

static size_t put(char *to, const char *text)
{
	size_t len = strlen(text);

	memcpy(to, text, len);
	return len;
}

/* One character of n bytes; its piece goes to `to`. Returns the length. */
static size_t put_one(struct reader *r, uint32_t cp, size_t n, char *to,
		      enum visible_medium medium)
{
	char text[PIECE_SIZE];
	size_t at = 0;

	if (cp == '\\')
		return put(to, "\\\\");
	if (cp == '\n')
		return put(to, "\\n");
	if (cp == '\t')
		return put(to, "\\t");
	r->marks = is_mark(cp) ? r->marks + 1 : 0;
	/* a mark at the start would sit on our own quote */
	if (!visible_is_plain(cp) || r->marks > MARKS_COUNT ||
	    (r->marks > 0 && r->before == 0)) {
		snprintf(text, sizeof(text), "\\u{%04X}", cp);
		return put(to, text);
	}
	if (medium == VISIBLE_DIALOG && is_markup(r, cp))
		to[at++] = '\\';
	memcpy(to + at, r->p, n);
	return at + n;
}

char *visible_text(const char *p, size_t len, size_t max_count,
		   enum visible_medium medium)
{
	struct reader r = {.start = p, .p = p, .len = len};
	size_t size = (len < max_count ? len : max_count);
	char *out;
	size_t at = 0;

	if (size > (SIZE_MAX - CUT_SIZE) / PIECE_SIZE)
		alloc_fail("a text to be shown is too long");
	out = alloc_zero(size * PIECE_SIZE + CUT_SIZE);
	for (size_t i = 0; i < size && r.len > 0; i++) {
		uint32_t cp = 0;
		size_t n = utf8_next(r.p, r.len, &cp);

		if (n > 0) {
			at += put_one(&r, cp, n, out + at, medium);
		} else {
			n = 1;
			at += (size_t)snprintf(out + at, PIECE_SIZE, "\\x%02X",
					       (unsigned char)*r.p);
			cp = '?';
			r.marks = 0;
		}
		r.before = cp;
		r.p += n;
		r.len -= n;
	}
	if (r.len > 0)
		snprintf(out + at, CUT_SIZE, "… (%zu more bytes)", r.len);
	return out;
}
