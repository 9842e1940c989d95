/*
 * render.h - results as a person reads them
 *
 * Shapes:  a table with aligned columns, a record as "key  value" lines, text.
 *          Every string may be a guest's: control characters are escaped, so
 *          that none reaches the terminal.
 * Units:   keys that end in _bytes or _len are shown in KiB, MiB, …
 * Threads: no shared state.
 */
#ifndef CLI_RENDER_H
#define CLI_RENDER_H

#include "base/buf.h"
#include "ops/op.h"

#include <jansson.h>

/* Appended to out; nothing for an empty record. ERR_LIMIT when out is full. */
int render_result(struct buf *out, const struct op *op, const json_t *result,
		  struct err *e) __attribute__((warn_unused_result));
/* tty: indented and ASCII, for eyes; else one line of UTF-8. */
int render_json(struct buf *out, const json_t *result, bool tty, struct err *e)
	__attribute__((warn_unused_result));

#endif
