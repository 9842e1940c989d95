/*
 * capture.h - the head and the tail of a stream of unknown length
 *
 * Shapes:  embed; capture_init/capture_finish. Bytes are added as they come;
 *          capture_text() gives what may be shown as valid UTF-8 text, cut
 *          between characters, with a line in the gap that says how many bytes
 *          are missing.
 * Units:   bytes. A capture holds CAPTURE_PART_LEN twice at most.
 * Errors:  none.
 * Threads: one owner at a time.
 */
#ifndef VMCTL_CAPTURE_H
#define VMCTL_CAPTURE_H

#include "base/limits.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* either end alone may fill what is shown */
#define CAPTURE_PART_LEN LIMIT_RUN_SHOWN_LEN

struct capture {
	char *head, *tail; /* the tail is a ring */
	size_t head_len, tail_at;
	uint64_t total_len;
};

void capture_init(struct capture *c);
void capture_finish(struct capture *c);
void capture_add(struct capture *c, const void *p, size_t len);
/* At most max_len bytes of the stream's text and a line about the rest, which
 * is to be found `where`. *ret_cut: something is missing. */
json_t *capture_text(const struct capture *c, size_t max_len, const char *where,
		     bool *ret_cut);
/* How much of the LIMIT_RUN_SHOWN_LEN stdout and stderr get: all of it where
 * both fit, else errors keep a quarter at least. */
void capture_share(const struct capture *out, const struct capture *errs,
		   size_t *ret_out_len, size_t *ret_errs_len);

#endif
