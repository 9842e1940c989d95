/*
 * schema.h - the table of operations as JSON Schema, for agents
 *
 * Shapes:  schema_input() is what an agent may send: CLI-only parameters are
 *          left out, nothing else is allowed in. It says no less than
 *          validate_args() checks where the language can say it; lengths of
 *          text are bytes to us and characters to JSON Schema, so
 *          validate_args() has the last word.
 *          Only keywords that every client's model backend is known to take:
 *          no $ref, no type lists, no tuple items, no formats.
 * Errors:  none: the table is ours.
 * Threads: no state; results are new references.
 * Source:  JSON Schema 2020-12; MCP 2026-07-28 "Tool", "ToolAnnotations".
 */
#ifndef OPS_SCHEMA_H
#define OPS_SCHEMA_H

#include "ops/op.h"

#include <jansson.h>

json_t *schema_input(const struct op *op);
/* What an agent gets beside a text for people; NULL when it gets text or a
 * picture alone. Of a job nothing is required: it may have to be waited for. */
json_t *schema_output(const struct op *op);
/* readOnlyHint, destructiveHint, idempotentHint, openWorldHint: all four are
 * always said, because clients assume the worst of one that is missing. */
json_t *schema_annotations(const struct op *op);

#endif
