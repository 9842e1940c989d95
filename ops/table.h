/*
 * table.h - the rows of ops/op.h in groups, a file each, and what these share;
 * nobody else includes it
 *
 * Shapes:  a group ends with TABLE_END. Order within and between groups is that
 *          of `boxery --help` and of tools/list; both must stay stable, so new
 *          rows go to the end of their group.
 * Threads: constants.
 */
#ifndef OPS_TABLE_H
#define OPS_TABLE_H

#include "ops/op.h"

extern const struct op table_machines[];
extern const struct op table_work[];
extern const struct op table_desktop[];
extern const struct op table_grants[];
extern const struct op table_host[];

#define TABLE_END            \
	{                    \
		.name = NULL \
	}
#define TABLE_VM                                                               \
	{                                                                      \
		.name = "vm", .type = OP_VM,                                   \
		.flags = OP_REQUIRED | OP_POSITIONAL, .help = "Name of the VM" \
	}
#define TABLE_SHOT                                                           \
	{                                                                    \
		.name = "screenshot", .type = OP_BOOL, .flags = OP_MCP_ONLY, \
		.def = "false",                                              \
		.help = "Also return a screenshot taken after the action"    \
	}
#define TABLE_SETTLE                                                          \
	{.name = "settle_ms",                                                 \
	 .type = OP_INT,                                                      \
	 .max = 2000,                                                         \
	 .def = "150",                                                        \
	 .unit = "ms",                                                        \
	 .help = "Return when nothing on the desktop has changed for so "     \
		 "long, and say what changed; 0: return at once"},            \
	{                                                                     \
		.name = "settle_cap_ms", .type = OP_INT, .max = 30000,        \
		.def = "3000", .unit = "ms",                                  \
		.help = "… or after so long, though it still changes"         \
	}
/* what comes of an action, at the end of its parameters */
#define TABLE_AFTER TABLE_SHOT, TABLE_SETTLE
#define TABLE_XY(req)                                                         \
	{.name = "x",                                                         \
	 .type = OP_INT,                                                      \
	 .flags = (req) | OP_POSITIONAL,                                      \
	 .max = LIMIT_DESKTOP_SIDE_PX - 1,                                    \
	 .unit = "px",                                                        \
	 .help = "Horizontal position in the full screenshot, from "          \
		 "its left edge"},                                            \
	{                                                                     \
		.name = "y", .type = OP_INT, .flags = (req) | OP_POSITIONAL,  \
		.max = LIMIT_DESKTOP_SIDE_PX - 1, .unit = "px",               \
		.help = "Vertical position in the full screenshot, from its " \
			"top edge"                                            \
	}
#define TABLE_MODS                                                         \
	{                                                                  \
		.name = "modifiers", .type = OP_KEY,                       \
		.help = "Modifier keys held meanwhile, such as ctrl+shift" \
	}

#endif
