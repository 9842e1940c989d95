/*
 * present.h - what a call gave, as the content of an MCP tool result
 *
 * Shapes:  a neutral result: {content, structuredContent?, isError?}. Text
 *          says all that structuredContent says, because a client shows its
 *          model one or the other. An image comes with text and without
 *          structuredContent, which some clients would show in its place.
 *          What a guest wrote is fenced by a word that it could not know and
 *          named in `untrusted`.
 * Errors:  none: what cannot be shown becomes an isError result.
 * Threads: no state; new references.
 * Source:  MCP 2025-11-25 "Tools: tool result".
 */
#ifndef MCP_PRESENT_H
#define MCP_PRESENT_H

#include "base/buf.h"
#include "ops/op.h"

#include <jansson.h>

/* result: the operation's record. image: what came on RPC_IMAGE; may be empty
 * or NULL. */
json_t *present_result(const struct op *op, const json_t *result,
		       const struct buf *image);
/* vm_view's: the same for its page, with how a person looks without one. */
json_t *present_view(const struct op *op, const json_t *args,
		     const json_t *result, const struct buf *image);
/* The job goes on after this answer. */
json_t *present_running(const char *job);
json_t *present_error(const char *message);
/* What a guest wrote, between lines that it could not know. free() */
char *present_fence(const char *key, const char *guest);
/* "image/png" or "image/jpeg" */
const char *present_mime(const char *image, size_t len);

#endif
