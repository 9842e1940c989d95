/*
 * params.h - parameters of the table's rows: what rows share, and the lists of
 * the desktop's rows, for which table.c has no room
 *
 * Shapes:  each list ends with END.
 * Threads: read-only.
 */
#ifndef OPS_PARAMS_H
#define OPS_PARAMS_H

#include "ops/op.h"

#define END                                                                    \
	{                                                                      \
		.name = NULL                                                   \
	}
#define P_VM                                                                   \
	{                                                                      \
		.name = "vm", .type = OP_VM,                                   \
		.flags = OP_REQUIRED | OP_POSITIONAL, .help = "Name of the VM" \
	}

extern const struct op_param params_shot[];
extern const struct op_param params_click[];
extern const struct op_param params_move[];
extern const struct op_param params_drag[];
extern const struct op_param params_scroll[];
extern const struct op_param params_type[];
extern const struct op_param params_key[];
extern const struct op_param params_wait[];

#endif
