/*
 * questions.h - fixtures that ask their client something
 *
 * Shapes:  as fixtures.h; a tool asks in one step or two, and its text says what
 *          came back.
 * Threads: any.
 */
#ifndef TESTS_CONFORMANCE_QUESTIONS_H
#define TESTS_CONFORMANCE_QUESTIONS_H

#include "mcp/tools.h"

struct question;

/* Row i, NULL behind the last; and what a list says of it. */
const struct question *questions_at(size_t i);
const char *questions_name(const struct question *q);
const char *questions_schema(const struct question *q); /* NULL: none */
unsigned questions_needs(const struct question *q);
json_t *questions_call(const struct question *q, const struct tools_call *c);

/* The prompt that asks what it is to say. */
json_t *questions_prompt(const struct library_ask *a, struct jsonrpc_fault *f);

#endif
