/*
 * lend.h - what a person's own session lends to a call: values of granted
 * variables, the place of the ssh agent
 *
 * Shapes:  fills OP_FILLED parameters of args in, where the row has them and
 *          the environment something for them. Nothing else of the environment
 *          is looked at, and boxery's own variables never.
 * Threads: main thread.
 */
#ifndef CLI_LEND_H
#define CLI_LEND_H

#include "ops/op.h"

#include <jansson.h>

void lend_fill(const struct op *op, json_t *args);

#endif
