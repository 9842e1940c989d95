/*
 * shape.h - how large a machine is: small, standard, large
 *
 * Shapes:  built-in sizes, each replaced in part or whole by
 *          config/shapes.json: {"standard": {"cpus": 4, "memory": "4G",
 *          "disk": "32G"}}. Unknown shapes and keys there are errors.
 * Units:   bytes.
 * Errors:  ERR_INVALID naming file, shape and key.
 * Threads: no shared state.
 */
#ifndef VMCTL_SHAPE_H
#define VMCTL_SHAPE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct shape {
	unsigned cpus;
	uint64_t memory_len;
	uint64_t disk_len;
};

/* The shape of this name, with what the file (may be absent) says. */
int shape_load(const char *path, const char *name, struct shape *ret,
	       struct err *e) __attribute__((warn_unused_result));
/* The same from the file's text. */
int shape_parse(const char *text, size_t len, const char *name,
		struct shape *ret, struct err *e)
	__attribute__((warn_unused_result));

#endif
