/*
 * result_shape.h - does a result have the shape that its row of the table promises?
 *
 * Shapes:  every member that is always there is there, each has its type, and
 *          there is none that the row does not know.
 * Errors:  ERR_INTERNAL naming the member.
 * Threads: no state.
 */
#ifndef TESTS_SUPPORT_RESULT_SHAPE_H
#define TESTS_SUPPORT_RESULT_SHAPE_H

#include "base/err.h"
#include "ops/op.h"

int shape_check(const struct op *op, const json_t *result, struct err *e)
	__attribute__((warn_unused_result));

#endif
