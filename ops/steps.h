/*
 * steps.h - a row of actions as one parameter: what each may say
 *
 * A step is an object with the name of its action and that action's own
 * parameters: {"action": "click", "x": 5, "y": 6} says what vm_click takes,
 * but for the VM and what comes after the action, which are the batch's.
 *
 * Shapes:  checked steps are complete and typed, as those of validate_args().
 * Errors:  ERR_INVALID naming the step by its number.
 * Threads: no state.
 */
#ifndef OPS_STEPS_H
#define OPS_STEPS_H

#include "ops/op.h"

json_t *steps_check(const struct op_param *p, const json_t *v, struct err *e)
	__attribute__((warn_unused_result));
json_t *steps_schema(const struct op_param *p);

#endif
