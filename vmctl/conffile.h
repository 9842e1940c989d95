/*
 * conffile.h - files of KEY=VALUE lines that a person edits: config, host.env
 *
 * Shapes:  blank lines and lines that start with # are skipped; blanks around
 *          key and value are not part of them; the last of several equal keys
 *          counts. A file that does not exist has no keys.
 * Errors:  ERR_INVALID with file and line for anything else, also when the
 *          key asked for is not on the bad line: a typing error must not
 *          silently restore a default.
 * Threads: no shared state; files are read at each call, they are short.
 */
#ifndef VMCTL_CONFFILE_H
#define VMCTL_CONFFILE_H

#include "base/err.h"

#include <stdint.h>

/* *ret: the value (free()), or NULL when the key is absent. */
int conffile_get(const char *path, const char *key, char **ret, struct err *e)
	__attribute__((warn_unused_result));
/* The same for a whole number; *ret stays as it is when the key is absent. */
int conffile_get_int(const char *path, const char *key, int64_t min,
		     int64_t max, int64_t *ret, struct err *e)
	__attribute__((warn_unused_result));
/* The parser alone: text is changed; *ret_value points into it or is NULL. */
int conffile_find(char *text, const char *file, const char *key,
		  const char **ret_value, struct err *e)
	__attribute__((warn_unused_result));

#endif
