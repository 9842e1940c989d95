/*
 * envfile.h - config/env: values of variables that may be granted
 *
 *	# a comment
 *	GITHUB_TOKEN=ghp_x1y2z3
 *	PEM = "two\nlines, and a \" and a \\"
 *
 * A person's file, for grants env:NAME. It is read at each apply and nothing
 * of it is kept.
 *
 * Shapes:  NAME=VALUE lines; blank lines and lines that start with # are
 *          skipped; blanks around name and value are not part of them; of
 *          equal names the last counts. A value in double quotes may hold
 *          \n, \t, \" and \\. A file that does not exist has no names.
 * Errors:  ERR_DENIED when others can read the file or it is not yours;
 *          ERR_INVALID with the line for whatever is not as above, also
 *          when the name asked for is on another line; ERR_LIMIT. No message
 *          holds a value or a part of one.
 * Threads: no shared state.
 */
#ifndef GRANTS_ENVFILE_H
#define GRANTS_ENVFILE_H

#include "base/err.h"
#include "base/home.h"
#include "base/secret.h"

#include <stddef.h>

/* *ret is NULL when the name is not there. */
int envfile_get(const struct home *h, const char *name, struct secret **ret,
		struct err *e) __attribute__((warn_unused_result));
/* The parser alone. */
int envfile_find(const char *text, size_t len, const char *name,
		 struct secret **ret, struct err *e)
	__attribute__((warn_unused_result));

#endif
