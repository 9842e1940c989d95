/* Rows of work in a machine: shells, commands, files. */
#include "base/limits.h"
#include "ops/table.h"

static const struct op_param ssh_params[] = {
	TABLE_VM,
	{.name = "argv",
	 .type = OP_STRINGS,
	 .flags = OP_REST | OP_CLI_ONLY,
	 .help = "Command for the guest's shell, as ssh takes it"},
	TABLE_END};

static const struct op_param run_params[] = {
	TABLE_VM,
	{.name = "command",
	 .type = OP_TEXT,
	 .flags = OP_REQUIRED | OP_MCP_ONLY,
	 .min = 1,
	 .max = 128LL * 1024,
	 .help = "Shell command, run by bash as user agent"},
	{.name = "argv",
	 .type = OP_STRINGS,
	 .flags = OP_REQUIRED | OP_REST | OP_CLI_ONLY,
	 .min = 1,
	 .help = "Program and its arguments; no word is interpreted"},
	{.name = "cwd",
	 .type = OP_PATH,
	 .max = LIMIT_PATH_LEN,
	 .help = "Directory in the guest to run in; the home by default"},
	{.name = "env", .type = OP_ENV, .help = "Environment variables to set"},
	{.name = "stdin",
	 .type = OP_TEXT,
	 .flags = OP_MCP_ONLY,
	 .max = 512LL * 1024,
	 .help = "Text for the command's standard input; empty by default"},
	{.name = "timeout_s",
	 .type = OP_NUMBER,
	 .min = 1,
	 .max = 24LL * 3600,
	 .unit = "s",
	 .def = "3600",
	 .help = "End the command after this time"},
	TABLE_END};

static const struct op_param copy_params[] = {
	{.name = "from",
	 .type = OP_ENDPOINT,
	 .flags = OP_REQUIRED | OP_POSITIONAL,
	 .max = LIMIT_PATH_LEN,
	 .help = "What to copy: local:PATH on the person's computer or "
		 "VM:PATH in a guest (relative to its home); a directory is "
		 "copied with all below it"},
	{.name = "to",
	 .type = OP_ENDPOINT,
	 .flags = OP_REQUIRED | OP_POSITIONAL,
	 .max = LIMIT_PATH_LEN,
	 .help = "Where to: local:PATH or VM:PATH; an existing directory or "
		 "a path that ends in / takes the copy under its own name"},
	TABLE_END};

static const struct op_param read_params[] = {
	TABLE_VM,
	{.name = "path",
	 .type = OP_PATH,
	 .flags = OP_REQUIRED | OP_POSITIONAL,
	 .max = LIMIT_PATH_LEN,
	 .help = "Text file in the guest; or run:ID for the whole output of "
		 "a command run earlier; or console: for the end of the log "
		 "of the VM's console, also when it is off"},
	{.name = "offset",
	 .type = OP_INT,
	 .min = 1,
	 .max = INT32_MAX,
	 .def = "1",
	 .help = "First line to return, counted from 1"},
	{.name = "limit",
	 .type = OP_INT,
	 .min = 1,
	 .max = 10000,
	 .def = "1000",
	 .help = "How many lines at most"},
	TABLE_END};

static const struct op_param write_params[] = {
	TABLE_VM,
	{.name = "path",
	 .type = OP_PATH,
	 .flags = OP_REQUIRED | OP_POSITIONAL,
	 .max = LIMIT_PATH_LEN,
	 .help = "File in the guest; its directory must exist"},
	{.name = "content",
	 .type = OP_TEXT,
	 .flags = OP_REQUIRED,
	 .max = 512LL * 1024,
	 .help = "The whole new content"},
	TABLE_END};

static const struct op_param edit_params[] = {
	TABLE_VM,
	{.name = "path",
	 .type = OP_PATH,
	 .flags = OP_REQUIRED | OP_POSITIONAL,
	 .max = LIMIT_PATH_LEN,
	 .help = "Text file in the guest"},
	{.name = "old",
	 .type = OP_TEXT,
	 .flags = OP_REQUIRED,
	 .min = 1,
	 .max = 256LL * 1024,
	 .help = "Exact text to replace; must occur exactly once unless all "
		 "is true"},
	{.name = "new",
	 .type = OP_TEXT,
	 .flags = OP_REQUIRED,
	 .max = 256LL * 1024,
	 .help = "Text to put there"},
	{.name = "all",
	 .type = OP_BOOL,
	 .def = "false",
	 .help = "Replace every occurrence"},
	TABLE_END};

static const struct op_field run_fields[] = {
	{.name = "exit",
	 .type = OP_FIELD_INT,
	 .maybe = true,
	 .help = "Exit status; -1 after a signal; left out when it is not known"},
	{.name = "signal",
	 .maybe = true,
	 .help = "The signal that ended it, such as TERM"},
	{.name = "stdout", .help = "What it wrote, or head and tail of that"},
	{.name = "stderr", .help = "The same of its errors"},
	{.name = "output", .help = "Path run:ID for vm_read: all it wrote"},
	{.name = "truncated",
	 .type = OP_FIELD_BOOL,
	 .help = "stdout or stderr are not all"},
	{.name = "kept_bytes",
	 .type = OP_FIELD_INT,
	 .maybe = true,
	 .help = "So much is kept, where that is not all"},
	{.name = "timed_out",
	 .type = OP_FIELD_BOOL,
	 .maybe = true,
	 .help = "It was ended after timeout_s"},
	{.name = "background",
	 .type = OP_FIELD_BOOL,
	 .maybe = true,
	 .help = "It left something running that holds its output open"},
	TABLE_END};

static const struct op_field copy_fields[] = {
	{.name = "files", .type = OP_FIELD_INT, .help = "Files copied"},
	{.name = "bytes", .type = OP_FIELD_INT, .help = "Their bytes"},
	{.name = "skipped",
	 .type = OP_FIELD_INT,
	 .help = "Files that were there already"},
	{.name = "links", .type = OP_FIELD_INT, .help = "Symbolic links"},
	{.name = "dirs", .type = OP_FIELD_INT, .help = "Directories"},
	{.name = "seconds",
	 .type = OP_FIELD_NUMBER,
	 .help = "How long it took"},
	{.name = "warnings",
	 .type = OP_FIELD_TEXTS,
	 .help = "What could not be kept or copied"},
	TABLE_END};

static const struct op_field read_fields[] = {
	{.name = "text", .help = "The lines"},
	{.name = "first_line",
	 .type = OP_FIELD_INT,
	 .help = "Number of the first, from 1"},
	{.name = "lines", .type = OP_FIELD_INT, .help = "How many"},
	{.name = "more",
	 .type = OP_FIELD_BOOL,
	 .help = "There is more behind them"},
	{.name = "line_cut",
	 .type = OP_FIELD_BOOL,
	 .maybe = true,
	 .help = "The last line is longer than a page"},
	TABLE_END};

static const struct op_field write_fields[] = {
	{.name = "path", .help = "The file"},
	{.name = "bytes", .type = OP_FIELD_INT, .help = "Its size now"},
	TABLE_END};

static const struct op_field edit_fields[] = {
	{.name = "path", .help = "The file"},
	{.name = "bytes", .type = OP_FIELD_INT, .help = "Its size now"},
	{.name = "replaced", .type = OP_FIELD_INT, .help = "How many places"},
	TABLE_END};

const struct op table_work[] = {
	{.name = "vm_ssh",
	 .verb = "ssh",
	 .kind = OP_INTERACTIVE,
	 .flags = OP_CHANGES | OP_PERSON | OP_LOCAL,
	 .result = OP_RESULT_NONE,
	 .summary = "Open a shell in a VM",
	 .description =
		 "Runs OpenSSH with boxery's own configuration only: the VM's "
		 "pinned host key, its own client key, no agent and no X11 "
		 "forwarding, nothing of ~/.ssh.",
	 .params = ssh_params},
	{.name = "vm_run",
	 .verb = "run",
	 .kind = OP_JOB,
	 .flags = OP_CHANGES | OP_DESTROYS | OP_AGENT | OP_PERSON |
		  OP_OPEN_WORLD | OP_ENDS_WITH_CLIENT,
	 .result = OP_RESULT_OBJECT,
	 .summary = "Run a command in a VM",
	 .description =
		 "Runs a command in the guest and returns its exit status and "
		 "output. Long output is cut to its head and tail; the whole "
		 "is read with vm_read and the path run:ID that the answer "
		 "names. A command that runs longer than a call may goes on; "
		 "the answer then holds a job id for vm_wait.",
	 .fields = run_fields,
	 .params = run_params,
	 .guest_text = "stdout,stderr"},
	{.name = "vm_copy",
	 .verb = "cp",
	 .kind = OP_JOB,
	 .flags = OP_CHANGES | OP_DESTROYS | OP_AGENT | OP_PERSON |
		  OP_ENDS_WITH_CLIENT,
	 .result = OP_RESULT_OBJECT,
	 .summary = "Copy files and trees between this computer and VMs",
	 .description =
		 "Copies a file or a directory tree between the person's "
		 "computer (local:PATH, confined to the directory the server "
		 "was started for) and a VM (VM:PATH), or between VMs. Modes, "
		 "times and symbolic links are kept. Running it again goes on "
		 "where it stopped.",
	 .brief = "{files} files copied ({bytes} bytes), {skipped} were "
		  "there already; {dirs} folders, {links} links",
	 .fields = copy_fields,
	 .params = copy_params,
	 .guest_text = "warnings"},
	{.name = "vm_read",
	 .verb = NULL,
	 .kind = OP_CALL,
	 .flags = OP_READS | OP_AGENT,
	 .result = OP_RESULT_TEXT,
	 .summary = "Read a text file in a VM, the output of a command, or the "
		    "console",
	 .description = "Returns lines of a text file in the guest, of the "
			"kept output of a vm_run (path run:ID), or of the end "
			"of the VM's console log (path console:).",
	 .fields = read_fields,
	 .params = read_params,
	 .guest_text = "text"},
	{.name = "vm_write",
	 .verb = NULL,
	 .kind = OP_CALL,
	 .flags = OP_CHANGES | OP_DESTROYS | OP_AGENT | OP_IDEMPOTENT,
	 .result = OP_RESULT_OBJECT,
	 .summary = "Write a text file in a VM",
	 .description = "Replaces or makes a file in the guest, whole or not "
			"at all.",
	 .fields = write_fields,
	 .params = write_params},
	{.name = "vm_edit",
	 .verb = NULL,
	 .kind = OP_CALL,
	 .flags = OP_CHANGES | OP_DESTROYS | OP_AGENT,
	 .result = OP_RESULT_OBJECT,
	 .summary = "Replace text in a file in a VM",
	 .description = "Replaces an exact piece of text in a guest's file.",
	 .fields = edit_fields,
	 .params = edit_params},
	TABLE_END,
};
