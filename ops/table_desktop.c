/* Rows of a machine's desktop: seen and driven. */
#include "base/limits.h"
#include "ops/table.h"

#define AGENT_INPUT (OP_CHANGES | OP_AGENT | OP_PERSON)

static const char *const buttons[] = {"left", "middle",	 "right",
				      "back", "forward", NULL};
static const char *const untils[] = {"stable", "change", "window", "process",
				     NULL};
static const char *const directions[] = {"up", "down", "left", "right", NULL};

static const struct op_param shot_params[] = {
	TABLE_VM,
	{.name = "region",
	 .type = OP_REGION,
	 .unit = "px",
	 .help = "Only this part, at the desktop's full resolution: [x, y, "
		 "width, height] in full-screenshot pixels"},
	{.name = "since",
	 .type = OP_INT,
	 .flags = OP_MCP_ONLY,
	 .max = LIMIT_GENERATION,
	 .help = "Only what changed since the screenshot of this number (0: "
		 "your last), as images with their places; all of it when "
		 "that is no smaller"},
	TABLE_END};

static const struct op_param view_params[] = {
	TABLE_VM,
	{.name = "since",
	 .type = OP_INT,
	 .flags = OP_MCP_ONLY,
	 .min = 1,
	 .max = LIMIT_GENERATION,
	 .help = "For the view itself: only what changed since the picture of "
		 "this number"},
	TABLE_END};

static const struct op_param click_params[] = {
	TABLE_VM,
	TABLE_XY(0),
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
	TABLE_MODS,
	TABLE_AFTER,
	TABLE_END};

static const struct op_param move_params[] = {TABLE_VM, TABLE_XY(OP_REQUIRED),
					      TABLE_AFTER, TABLE_END};

static const struct op_param drag_params[] = {
	TABLE_VM,
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
	TABLE_MODS,
	TABLE_AFTER,
	TABLE_END};

static const struct op_param scroll_params[] = {
	TABLE_VM,
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
	TABLE_MODS,
	TABLE_AFTER,
	TABLE_END};

static const struct op_param type_params[] = {
	TABLE_VM,
	{.name = "text",
	 .type = OP_TEXT,
	 .flags = OP_REQUIRED | OP_POSITIONAL,
	 .min = 1,
	 .max = LIMIT_TYPE_LEN,
	 .help = "Text to type, in any script; a newline presses Return, a "
		 "tab Tab"},
	TABLE_AFTER,
	TABLE_END};

static const struct op_param key_params[] = {
	TABLE_VM,
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
	TABLE_AFTER,
	TABLE_END};

static const struct op_param actions_params[] = {
	TABLE_VM,
	{.name = "actions",
	 .type = OP_STEPS,
	 .flags = OP_REQUIRED | OP_MCP_ONLY,
	 .min = 1,
	 .max = 50,
	 .help = "What to do, in order"},
	{.name = "screenshot",
	 .type = OP_BOOL,
	 .flags = OP_MCP_ONLY,
	 .def = "true",
	 .help = "Return a screenshot taken after the last action"},
	TABLE_SETTLE,
	TABLE_END};

static const struct op_param hold_params[] = {
	TABLE_VM,
	{.name = "keys",
	 .type = OP_KEY,
	 .flags = OP_REQUIRED | OP_POSITIONAL,
	 .min = 1,
	 .max = 256,
	 .help = "A chord of X keysym names joined by +, such as Right or "
		 "ctrl+shift"},
	{.name = "seconds",
	 .type = OP_NUMBER,
	 .flags = OP_REQUIRED | OP_POSITIONAL,
	 .max = 10,
	 .unit = "s",
	 .help = "How long"},
	TABLE_AFTER,
	TABLE_END};

static const struct op_param press_params[] = {TABLE_VM,
					       TABLE_XY(0),
					       {.name = "button",
						.type = OP_ENUM,
						.choices = buttons,
						.def = "\"left\"",
						.help = "Which button"},
					       TABLE_AFTER,
					       TABLE_END};

static const char *const selections[] = {"clipboard", "primary", NULL};

static const struct op_param clipboard_params[] = {
	TABLE_VM,
	{.name = "text",
	 .type = OP_TEXT,
	 .max = LIMIT_CLIPBOARD_LEN,
	 .help = "Put this on it, for programs there to paste; without, read "
		 "what is on it"},
	{.name = "selection",
	 .type = OP_ENUM,
	 .choices = selections,
	 .def = "\"clipboard\"",
	 .help = "clipboard (Ctrl+C, Ctrl+V) or primary (what is selected; "
		 "the middle button pastes it)"},
	TABLE_END};

static const struct op_param launch_params[] = {
	TABLE_VM,
	{.name = "argv",
	 .type = OP_STRINGS,
	 .flags = OP_REST,
	 .help = "Program and its arguments; no word is interpreted"},
	{.name = "app",
	 .type = OP_STRING,
	 .min = 1,
	 .max = 255,
	 .help = "Or the name of an installed desktop entry, such as "
		 "mousepad"},
	{.name = "seconds",
	 .type = OP_NUMBER,
	 .max = 30,
	 .def = "10",
	 .unit = "s",
	 .help = "Longest time to wait for its first window"},
	TABLE_END};

static const char *const window_verbs[] = {"focus", "raise", "move", "close",
					   NULL};

static const struct op_param vm_params[] = {TABLE_VM, TABLE_END};

static const struct op_param window_params[] = {
	TABLE_VM,
	{.name = "window",
	 .type = OP_INT,
	 .flags = OP_REQUIRED | OP_POSITIONAL,
	 .min = 1,
	 .max = UINT32_MAX,
	 .help = "Its id, from vm_windows"},
	{.name = "verb",
	 .type = OP_ENUM,
	 .choices = window_verbs,
	 .flags = OP_REQUIRED | OP_POSITIONAL,
	 .help = "focus (which also shows it), raise (above all others), move "
		 "(also resizes), close (as its X button does: it may ask "
		 "first)"},
	{.name = "x",
	 .type = OP_INT,
	 .max = LIMIT_DESKTOP_SIDE_PX - 1,
	 .unit = "px",
	 .help = "move: where its frame's left edge goes, in px of the full "
		 "screenshot"},
	{.name = "y",
	 .type = OP_INT,
	 .max = LIMIT_DESKTOP_SIDE_PX - 1,
	 .unit = "px",
	 .help = "move: where its frame's top edge goes"},
	{.name = "width",
	 .type = OP_INT,
	 .min = 1,
	 .max = LIMIT_DESKTOP_SIDE_PX,
	 .unit = "px",
	 .help = "move: width of its frame"},
	{.name = "height",
	 .type = OP_INT,
	 .min = 1,
	 .max = LIMIT_DESKTOP_SIDE_PX,
	 .unit = "px",
	 .help = "move: height of its frame"},
	TABLE_AFTER,
	TABLE_END};

static const struct op_param wait_params[] = {
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
	 .help = "Without a job: wait until this VM is ready, or for what "
		 "until says; or, with screenshot alone, wait for the time "
		 "and then look at it"},
	{.name = "until",
	 .type = OP_ENUM,
	 .choices = untils,
	 .help = "What to wait for on the VM: stable (nothing on its desktop "
		 "has changed for settle_ms), change (something on it "
		 "changes), window (one whose title holds match is open), "
		 "process (a program named match runs)"},
	{.name = "region",
	 .type = OP_REGION,
	 .unit = "px",
	 .help = "For stable and change: only this part, [x, y, width, "
		 "height] in full-screenshot pixels"},
	{.name = "match",
	 .type = OP_STRING,
	 .min = 1,
	 .max = 256,
	 .help = "For window: a part of the title; for process: the "
		 "program's name"},
	{.name = "settle_ms",
	 .type = OP_INT,
	 .min = 1,
	 .max = 10000,
	 .def = "150",
	 .unit = "ms",
	 .help = "For stable: how long nothing may change"},
	TABLE_SHOT,
	TABLE_END};

static const struct op_field point_fields[] = {
	{.name = "x", .type = OP_FIELD_INT, .help = "From the left"},
	{.name = "y", .type = OP_FIELD_INT, .help = "From the top"},
	TABLE_END};

#define BOXES "[[x, y, width, height], …] in px of the full screenshot"

static const struct op_field image_fields[] = {
	{.name = "mime", .help = "image/png or image/jpeg"},
	{.name = "box",
	 .type = OP_FIELD_INTS,
	 .help = "Its place in the full screenshot, [x, y, width, height]"},
	{.name = "len", .type = OP_FIELD_INT, .help = "Its bytes"},
	TABLE_END};

/* The picture itself comes beside it; of an action only when asked for. */
#define SHOT_FIELDS                                                                \
	{.name = "mime",                                                           \
	 .maybe = true,                                                            \
	 .help = "image/png, or image/jpeg of a photograph"},                      \
		{.name = "width",                                                  \
		 .type = OP_FIELD_INT,                                             \
		 .maybe = true,                                                    \
		 .help = "Of the image, in px"},                                   \
		{.name = "height",                                                 \
		 .type = OP_FIELD_INT,                                             \
		 .maybe = true,                                                    \
		 .help = "Of the image, in px"},                                   \
		{.name = "desktop_width",                                          \
		 .type = OP_FIELD_INT,                                             \
		 .maybe = true,                                                    \
		 .help = "Of the desktop, in px"},                                 \
		{.name = "desktop_height",                                         \
		 .type = OP_FIELD_INT,                                             \
		 .maybe = true,                                                    \
		 .help = "Of the desktop, in px"},                                 \
		{.name = "scale",                                                  \
		 .type = OP_FIELD_NUMBER,                                          \
		 .maybe = true,                                                    \
		 .help = "Image px of one desktop px"},                            \
		{.name = "cursor",                                                 \
		 .type = OP_FIELD_RECORD,                                          \
		 .maybe = true,                                                    \
		 .fields = point_fields,                                           \
		 .help = "The pointer, in px of the full screenshot"},             \
		{.name = "number",                                                 \
		 .type = OP_FIELD_INT,                                             \
		 .maybe = true,                                                    \
		 .help = "Of this state of the desktop, for since"},               \
	{                                                                          \
		.name = "since_last", .maybe = true,                               \
		.help = "What changed since your last screenshot: none, or " BOXES \
	}

static const struct op_field shot_fields[] = {
	SHOT_FIELDS,
	{.name = "region",
	 .type = OP_FIELD_INTS,
	 .maybe = true,
	 .help = "The part that was asked for"},
	{.name = "images",
	 .type = OP_FIELD_RECORDS,
	 .maybe = true,
	 .fields = image_fields,
	 .help = "With since: what changed, one image each"},
	TABLE_END};

#define OUTCOME_FIELDS                                                           \
	{.name = "stable",                                                       \
	 .type = OP_FIELD_BOOL,                                                  \
	 .maybe = true,                                                          \
	 .help = "Nothing changed for settle_ms; false: settle_cap_ms passed"},  \
		{.name = "changed",                                              \
		 .maybe = true,                                                  \
		 .help = "What the action changed: none, or " BOXES},            \
	{                                                                        \
		.name = "moving", .maybe = true,                                 \
		.help = "What changed but did so before the action, too: " BOXES \
	}

static const struct op_field input_fields[] = {
	{.name = "done", .type = OP_FIELD_BOOL, .help = "true"},
	OUTCOME_FIELDS,
	SHOT_FIELDS,
	TABLE_END};

static const struct op_field step_fields[] = {
	{.name = "action", .help = "Its name"},
	{.name = "done", .type = OP_FIELD_BOOL, .maybe = true, .help = "true"},
	OUTCOME_FIELDS,
	{.name = "error", .maybe = true, .help = "Why it failed, or: not run"},
	TABLE_END};

static const struct op_field actions_fields[] = {
	{.name = "results",
	 .type = OP_FIELD_RECORDS,
	 .fields = step_fields,
	 .help = "What came of each action"},
	{.name = "done",
	 .type = OP_FIELD_INT,
	 .help = "How many were done: fewer than asked for, one failed"},
	SHOT_FIELDS,
	TABLE_END};

static const struct op_field window_fields[] = {
	{.name = "id", .type = OP_FIELD_INT, .help = "For vm_window"},
	{.name = "title", .help = "Its title"},
	{.name = "program", .help = "The class of its program"},
	{.name = "pid",
	 .type = OP_FIELD_INT,
	 .maybe = true,
	 .help = "Of its process, as that says"},
	{.name = "focused",
	 .type = OP_FIELD_BOOL,
	 .help = "Keys that are typed go to it"},
	{.name = "minimized", .type = OP_FIELD_BOOL, .help = "Not shown"},
	{.name = "workspace",
	 .type = OP_FIELD_INT,
	 .maybe = true,
	 .help = "The one that it is on, counted from 0"},
	{.name = "x",
	 .type = OP_FIELD_INT,
	 .help = "Left edge of its frame, in px of the full screenshot; may be "
		 "outside of it"},
	{.name = "y", .type = OP_FIELD_INT, .help = "Top edge of its frame"},
	{.name = "width", .type = OP_FIELD_INT, .help = "With its frame"},
	{.name = "height", .type = OP_FIELD_INT, .help = "With its frame"},
	TABLE_END};

static const struct op_field windows_fields[] = {
	{.name = "rows",
	 .type = OP_FIELD_RECORDS,
	 .fields = window_fields,
	 .help = "The windows, the topmost first"},
	{.name = "cut",
	 .type = OP_FIELD_BOOL,
	 .maybe = true,
	 .help = "true: there are more, further down"},
	TABLE_END};

static const struct op_field clipboard_fields[] = {
	{.name = "done",
	 .type = OP_FIELD_BOOL,
	 .maybe = true,
	 .help = "true: the text was put on it"},
	{.name = "kind", .maybe = true, .help = "text, image or none"},
	{.name = "text", .maybe = true, .help = "The text that is on it"},
	{.name = "mime", .maybe = true, .help = "image/png"},
	{.name = "width",
	 .type = OP_FIELD_INT,
	 .maybe = true,
	 .help = "Of the image, as it says"},
	{.name = "height",
	 .type = OP_FIELD_INT,
	 .maybe = true,
	 .help = "Of the image, as it says"},
	TABLE_END};

static const struct op_field launch_fields[] = {
	{.name = "started", .type = OP_FIELD_BOOL, .help = "true"},
	{.name = "windows",
	 .type = OP_FIELD_RECORDS,
	 .fields = window_fields,
	 .help = "The first window that came, as vm_windows has it; empty when "
		 "none did in time"},
	TABLE_END};

const struct op table_desktop[] = {
	{.name = "vm_screenshot",
	 .verb = "screenshot",
	 .kind = OP_CALL,
	 .flags = OP_READS | OP_AGENT | OP_PERSON,
	 .result = OP_RESULT_IMAGE,
	 .summary = "See a VM's desktop",
	 .description =
		 "Returns the desktop as an image with the mouse pointer "
		 "drawn. Coordinates of all mouse tools are pixels of this "
		 "full image, whatever region was asked for. Says what changed "
		 "since your last one.",
	 .brief = "{width}x{height} pixels",
	 .fields = shot_fields,
	 .params = shot_params},
	{.name = "vm_click",
	 .verb = "click",
	 .kind = OP_CALL,
	 .flags = AGENT_INPUT | OP_OPEN_WORLD | OP_DESTROYS,
	 .result = OP_RESULT_IMAGE,
	 .summary = "Click the mouse on a VM's desktop",
	 .description = "Moves the pointer to x, y (or leaves it where it is) "
			"and clicks, once, twice or three times.",
	 .fields = input_fields,
	 .params = click_params},
	{.name = "vm_move",
	 .verb = "move",
	 .kind = OP_CALL,
	 .flags = AGENT_INPUT | OP_IDEMPOTENT,
	 .result = OP_RESULT_IMAGE,
	 .summary = "Move the mouse pointer on a VM's desktop",
	 .description = "Moves the pointer without pressing a button.",
	 .fields = input_fields,
	 .params = move_params},
	{.name = "vm_drag",
	 .verb = "drag",
	 .kind = OP_CALL,
	 .flags = AGENT_INPUT | OP_OPEN_WORLD | OP_DESTROYS,
	 .result = OP_RESULT_IMAGE,
	 .summary = "Drag with the mouse on a VM's desktop",
	 .description = "Presses at the first point, moves along the others "
			"and releases at the last.",
	 .fields = input_fields,
	 .params = drag_params},
	{.name = "vm_scroll",
	 .verb = "scroll",
	 .kind = OP_CALL,
	 .flags = AGENT_INPUT,
	 .result = OP_RESULT_IMAGE,
	 .summary = "Scroll with the mouse wheel on a VM's desktop",
	 .description = "Turns the wheel by notches, at x, y or where the "
			"pointer is.",
	 .fields = input_fields,
	 .params = scroll_params},
	{.name = "vm_type",
	 .verb = "type",
	 .kind = OP_CALL,
	 .flags = AGENT_INPUT | OP_OPEN_WORLD | OP_DESTROYS,
	 .result = OP_RESULT_IMAGE,
	 .summary = "Type text on a VM's desktop",
	 .description = "Types text into the focused window, in any script.",
	 .fields = input_fields,
	 .params = type_params},
	{.name = "vm_key",
	 .verb = "key",
	 .kind = OP_CALL,
	 .flags = AGENT_INPUT | OP_OPEN_WORLD | OP_DESTROYS,
	 .result = OP_RESULT_IMAGE,
	 .summary = "Press keys on a VM's desktop",
	 .description = "Presses a key or a chord by X keysym names.",
	 .fields = input_fields,
	 .params = key_params},
	{.name = "vm_wait",
	 .verb = "wait",
	 .kind = OP_CALL,
	 .flags = OP_READS | OP_AGENT | OP_PERSON,
	 .result = OP_RESULT_IMAGE,
	 .summary = "Wait for a job, for a VM, for its desktop, or for a time",
	 .description =
		 "Waits for a call that went on in the background and returns "
		 "its result; or until a VM is ready; or until its desktop is "
		 "stable or changes, a window opens or a program runs; or "
		 "just waits.",
	 .params = wait_params,
	 .guest_text = "stdout,stderr,warnings"},
	{.name = "vm_actions",
	 .kind = OP_CALL,
	 .flags = OP_CHANGES | OP_AGENT | OP_OPEN_WORLD | OP_DESTROYS,
	 .result = OP_RESULT_IMAGE,
	 .summary = "Do several things in a row on a VM's desktop",
	 .description =
		 "Runs mouse and keyboard actions in order, each once the one "
		 "before has settled, and ends with a screenshot. Stops at the "
		 "first that fails; those after it are answered as not run. "
		 "For steps that need no look in between, such as a click into "
		 "a field, a text and Return.",
	 .fields = actions_fields,
	 .params = actions_params},
	{.name = "vm_view",
	 .kind = OP_CALL,
	 .flags = OP_READS | OP_AGENT,
	 .result = OP_RESULT_IMAGE,
	 .summary = "Show a VM's desktop, live, to the person",
	 .description =
		 "Opens a view of the desktop that stays current, where the "
		 "client can show one (MCP Apps); elsewhere the answer is a "
		 "screenshot and the command with which the person looks. For "
		 "the person: to look yourself, call vm_screenshot.",
	 .fields = shot_fields,
	 .params = view_params},
	{.name = "vm_windows",
	 .verb = "windows",
	 .kind = OP_CALL,
	 .flags = OP_READS | OP_AGENT | OP_PERSON,
	 .result = OP_RESULT_TABLE,
	 .summary = "List the windows on a VM's desktop",
	 .description =
		 "Lists the open windows as the window manager has them, the "
		 "topmost first, with their ids for vm_window. Their places "
		 "are pixels of the full screenshot, frame included.",
	 .fields = windows_fields,
	 .params = vm_params,
	 .columns = "id,title,program,pid?,focused,minimized,x,y,width,height",
	 .guest_text = "rows"},
	{.name = "vm_window",
	 .verb = "window",
	 .kind = OP_CALL,
	 .flags = AGENT_INPUT | OP_OPEN_WORLD | OP_DESTROYS,
	 .result = OP_RESULT_IMAGE,
	 .summary = "Focus, raise, move or close a window of a VM's desktop",
	 .description = "Asks the window manager, for a window that "
			"vm_windows lists. What came of it is to be seen in "
			"what changed, or by vm_windows.",
	 .fields = input_fields,
	 .params = window_params},
	{.name = "vm_hold",
	 .verb = "hold",
	 .kind = OP_CALL,
	 .flags = AGENT_INPUT | OP_OPEN_WORLD | OP_DESTROYS,
	 .result = OP_RESULT_IMAGE,
	 .summary = "Hold keys down on a VM's desktop for a time",
	 .description = "Presses a key or a chord and releases it after the "
			"time. Keys repeat meanwhile as a keyboard's do.",
	 .fields = input_fields,
	 .params = hold_params},
	{.name = "vm_mouse_down",
	 .verb = "mouse-down",
	 .kind = OP_CALL,
	 .flags = AGENT_INPUT | OP_OPEN_WORLD | OP_DESTROYS,
	 .result = OP_RESULT_IMAGE,
	 .summary = "Press a mouse button on a VM's desktop and hold it",
	 .description =
		 "Moves the pointer to x, y (or leaves it where it is) and "
		 "presses the button, until vm_mouse_up. It is released "
		 "earlier when an action on this desktop fails or is "
		 "cancelled, or when there was none for 30 seconds. For a drag "
		 "whose way is known, vm_drag is one call.",
	 .fields = input_fields,
	 .params = press_params},
	{.name = "vm_mouse_up",
	 .verb = "mouse-up",
	 .kind = OP_CALL,
	 .flags = AGENT_INPUT | OP_OPEN_WORLD | OP_DESTROYS,
	 .result = OP_RESULT_IMAGE,
	 .summary = "Release a mouse button on a VM's desktop",
	 .description = "Moves the pointer to x, y (or leaves it where it is) "
			"and releases the button.",
	 .fields = input_fields,
	 .params = press_params},
	{.name = "vm_clipboard",
	 .verb = "clipboard",
	 .kind = OP_CALL,
	 .flags = AGENT_INPUT | OP_DESTROYS,
	 .result = OP_RESULT_IMAGE,
	 .summary = "Read or set the clipboard of a VM's desktop",
	 .description =
		 "With text, puts it on the clipboard; a long text is pasted "
		 "faster than it is typed. Without, returns what is on it: "
		 "text, or an image as PNG. It is the VM's own: nothing goes "
		 "to or comes from the person's.",
	 .fields = clipboard_fields,
	 .params = clipboard_params,
	 .guest_text = "text"},
	{.name = "vm_launch",
	 .verb = "launch",
	 .kind = OP_CALL,
	 .flags = AGENT_INPUT | OP_OPEN_WORLD | OP_DESTROYS,
	 .result = OP_RESULT_OBJECT,
	 .summary = "Start a program on a VM's desktop",
	 .description =
		 "Starts a program, by its words or by the name of its desktop "
		 "entry, and waits for its first window. It goes on after the "
		 "call; what it prints is dropped (vm_run returns output).",
	 .fields = launch_fields,
	 .params = launch_params,
	 .guest_text = "windows"},
	TABLE_END,
};
