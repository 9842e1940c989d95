#include "ops/params.h"

#include "base/limits.h"

#define P_SHOT                                                                 \
	{                                                                      \
		.name = "screenshot", .type = OP_BOOL, .flags = OP_MCP_ONLY,   \
		.def = "false",                                                \
		.help = "Also return a screenshot taken after the action"      \
	}
#define P_XY(req)                                                              \
	{                                                                      \
		.name = "x", .type = OP_INT, .flags = (req) | OP_POSITIONAL,   \
		.max = LIMIT_DESKTOP_SIDE_PX - 1, .unit = "px",                \
		.help = "Horizontal position in the full screenshot, from "    \
			"its left edge"                                        \
	},                                                                     \
	{                                                                      \
		.name = "y", .type = OP_INT, .flags = (req) | OP_POSITIONAL,   \
		.max = LIMIT_DESKTOP_SIDE_PX - 1, .unit = "px",                \
		.help = "Vertical position in the full screenshot, from its "  \
			"top edge"                                             \
	}
#define P_MODS                                                                 \
	{                                                                      \
		.name = "modifiers", .type = OP_KEY,                           \
		.help = "Modifier keys held meanwhile, such as ctrl+shift"     \
	}

static const char *const buttons[] = {"left", "middle", "right", "back",
				      "forward", NULL};
static const char *const directions[] = {"up", "down", "left", "right", NULL};

const struct op_param params_shot[] = {
	P_VM,
	{.name = "region",
	 .type = OP_REGION,
	 .unit = "px",
	 .help = "Only this part, at the desktop's full resolution: [x, y, "
		 "width, height] in full-screenshot pixels"},
	END};

const struct op_param params_click[] = {
	P_VM,
	P_XY(0),
	{.name = "button",
	 .type = OP_ENUM,
	 .choices = buttons,
	 .def = "\"left\"",
	 .help = "Which button"},
	{.name = "count",
	 .type = OP_INT,
	 .min = 1,
	 .max = 3,
	 .def = "1",
	 .help = "1 click, 2 double-click, 3 triple-click"},
	P_MODS,
	P_SHOT,
	END};

const struct op_param params_move[] = {P_VM, P_XY(OP_REQUIRED), P_SHOT,
					      END};

const struct op_param params_drag[] = {
	P_VM,
	{.name = "points",
	 .type = OP_POINTS,
	 .flags = OP_REQUIRED | OP_POSITIONAL,
	 .min = 2,
	 .max = 1000,
	 .unit = "px",
	 .help = "Path of [x, y] points: pressed at the first, released at "
		 "the last"},
	{.name = "button",
	 .type = OP_ENUM,
	 .choices = buttons,
	 .def = "\"left\"",
	 .help = "Which button"},
	P_MODS,
	P_SHOT,
	END};

const struct op_param params_scroll[] = {
	P_VM,
	{.name = "direction",
	 .type = OP_ENUM,
	 .choices = directions,
	 .flags = OP_REQUIRED | OP_POSITIONAL,
	 .help = "Where the view goes"},
	{.name = "notches",
	 .type = OP_INT,
	 .min = 1,
	 .max = 100,
	 .def = "3",
	 .unit = "notches",
	 .help = "Steps of the mouse wheel (not pixels)"},
	{.name = "x",
	 .type = OP_INT,
	 .max = LIMIT_DESKTOP_SIDE_PX - 1,
	 .unit = "px",
	 .help = "Move the pointer here first"},
	{.name = "y",
	 .type = OP_INT,
	 .max = LIMIT_DESKTOP_SIDE_PX - 1,
	 .unit = "px",
	 .help = "Move the pointer here first"},
	P_MODS,
	P_SHOT,
	END};

const struct op_param params_type[] = {
	P_VM,
	{.name = "text",
	 .type = OP_TEXT,
	 .flags = OP_REQUIRED | OP_POSITIONAL,
	 .min = 1,
	 .max = LIMIT_TYPE_LEN,
	 .help = "Text to type, in any script; a newline presses Return, a "
		 "tab Tab"},
	P_SHOT,
	END};

const struct op_param params_key[] = {
	P_VM,
	{.name = "keys",
	 .type = OP_KEY,
	 .flags = OP_REQUIRED | OP_POSITIONAL,
	 .min = 1,
	 .max = 256,
	 .help = "A chord of X keysym names joined by +, such as Return, "
		 "ctrl+shift+t or alt+F4; several chords separated by spaces "
		 "are pressed in order"},
	{.name = "repeat",
	 .type = OP_INT,
	 .min = 1,
	 .max = 100,
	 .def = "1",
	 .help = "How often"},
	P_SHOT,
	END};

const struct op_param params_wait[] = {
	{.name = "job",
	 .type = OP_STRING,
	 .flags = OP_POSITIONAL,
	 .max = 32,
	 .help = "Id of a call that went on (vm_new, vm_run, vm_copy); "
		 "returns its result once it is done"},
	{.name = "seconds",
	 .type = OP_NUMBER,
	 .min = 0,
	 .max = 45,
	 .unit = "s",
	 .def = "30",
	 .help = "Longest time to wait"},
	{.name = "vm",
	 .type = OP_VM,
	 .help = "Without a job: wait until this VM is ready; or, with "
		 "screenshot, wait for the time and then look at it"},
	P_SHOT,
	END};
