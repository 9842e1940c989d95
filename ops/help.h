/*
 * help.h - the table of operations as text for people
 *
 * Shapes:  each function appends to out; what they write is the table's own,
 *          so it depends on nothing but the table.
 * Errors:  none: the buffer must be large enough (HELP_CAP is).
 * Threads: no shared state.
 */
#ifndef OPS_HELP_H
#define OPS_HELP_H

#include "base/buf.h"
#include "ops/argv.h"
#include "ops/op.h"

#define HELP_CAP ((size_t)1024 * 1024)

void help_overview(struct buf *out);
/* One line: "boxery new VM [--headless] …". */
void help_usage(struct buf *out, const struct op *op);
void help_op(struct buf *out, const struct op *op);

/* Pieces for the man page and the documents. */
/* "--timeout-s", or "VM" for a positional. free() */
char *help_param_name(const struct op_param *p);
/* What stands for its value: "SECONDS", "left|middle|right". free() */
char *help_param_value(const struct op_param *p);
/* 1073741824 as "1G". free() */
char *help_size(int64_t n);
/* "; 1 to 64; 2 by default": what the help leaves unsaid. free() */
char *help_param_range(const struct op_param *p);
/* Commands that are the front-end's own: name, words after it, summary. */
struct help_extra {
	const char *verb, *words, *summary;
};
extern const struct help_extra help_extras[]; /* ends with verb NULL */

/* snprintf into a buffer that is large enough. */
void help_add(struct buf *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
