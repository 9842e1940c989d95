/*
 * validate.h - arguments against the table, before any handler runs
 *
 * Shapes:  args in, a new object out: unknown keys refused, types coerced only
 *          where the text form is unambiguous ("3", "true", "4G"; words of a
 *          command line are parsed in ops/argv.c), defaults filled in. A null
 *          counts as left out.
 * Errors:  ERR_INVALID "vm_click: x: must be at least 0".
 * Threads: no shared state.
 */
#ifndef OPS_VALIDATE_H
#define OPS_VALIDATE_H

#include "base/err.h"
#include "ops/op.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* from_agent: refuse OP_CLI_ONLY parameters and rows not OP_AGENT. */
json_t *validate_args(const struct op *op, const json_t *args, bool from_agent,
		      struct err *e) __attribute__((warn_unused_result));
/* RFC 1123 label, at most 63: the rule is in the message. */
int validate_vm_name(const char *name, struct err *e)
	__attribute__((warn_unused_result));
/* Letters, digits, dot, hyphen, underscore; at most 63. */
int validate_client_name(const char *name, struct err *e)
	__attribute__((warn_unused_result));
/* "512M", "4G", "1000": bytes, units of 1024 to the power of K M G T P. */
int validate_size(const char *text, int64_t *ret, struct err *e)
	__attribute__((warn_unused_result));

/* "local:PATH" or "VM:PATH". Pieces point into text or are NULL. */
struct validate_endpoint {
	char vm[64];	  /* "" for local */
	const char *path; /* into text */
};
int validate_endpoint(const char *text, struct validate_endpoint *ret,
		      struct err *e) __attribute__((warn_unused_result));
/* Is one of the endpoints on the asker's computer? */
bool validate_is_local(const struct op *op, const json_t *args);

#endif
