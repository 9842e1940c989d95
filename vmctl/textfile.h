/*
 * textfile.h - text from a guest, by lines, and exact replacements in it
 *
 * Shapes:  a struct textpage is fed the file in pieces and keeps the lines that
 *          were asked for. Lines are counted from 1 and keep their newline.
 * Units:   bytes, lines.
 * Errors:  ERR_INVALID for what is no text, and for a replacement whose old
 *          text does not occur exactly as often as it should; ERR_LIMIT for a
 *          result over LIMIT_TEXT_LEN.
 * Threads: no shared state.
 */
#ifndef VMCTL_TEXTFILE_H
#define VMCTL_TEXTFILE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct textpage {
	uint64_t first, limit; /* lines wanted */
	struct buf text;       /* at most LIMIT_TEXT_PAGE_LEN */
	uint64_t seen;	       /* lines that began before or in what was fed */
	uint64_t lines;	       /* in text; the last may be cut short */
	bool more;	       /* there are lines behind these */
	bool cut; /* one line alone fills the page: its end is missing */
	bool in_line;
};

void textpage_init(struct textpage *t, uint64_t first, uint64_t limit);
void textpage_finish(struct textpage *t);
void textpage_feed(struct textpage *t, const char *p, size_t len);

/* 0, or ERR_INVALID saying what makes it no (UTF-8) text. */
int textfile_check(const char *path, const char *p, size_t len, bool utf8,
		   struct err *e) __attribute__((warn_unused_result));

struct textfile_change {
	const char *old_text, *new_text;
	bool all;
};
/* Replace old_text, which must occur exactly once (once at least for all), in
 * text; the result goes to out. *ret_count: how many were replaced. */
int textfile_replace(const char *path, const struct buf *text,
		     const struct textfile_change *c, struct buf *out,
		     uint64_t *ret_count, struct err *e)
	__attribute__((warn_unused_result));

#endif
