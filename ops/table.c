/*
 * The rows. Order is the order of `boxery --help` and of tools/list; both
 * must stay stable, so new rows go to the end of their group.
 */
#include "base/limits.h"
#include "ops/op.h"
#include "ops/params.h"

static const char *const shapes[] = {"small", "standard", "large", NULL};
static const char *const networks[] = {"nat", "none", NULL};

static const struct op_param no_params[] = {END};

/* -- machines -------------------------------------------------------------- */

static const struct op_param vm_params[] = {P_VM, END};

static const struct op_param new_params[] = {
	{.name = "vm",
	 .type = OP_NEW_VM,
	 .flags = OP_REQUIRED | OP_POSITIONAL,
	 .help = "Name of the new VM: letters a-z, digits and hyphens, at "
		 "most 63, no hyphen at either end"},
	{.name = "headless",
	 .type = OP_BOOL,
	 .def = "false",
	 .help = "Without a desktop: boots the base image alone"},
	{.name = "image",
	 .type = OP_PATH,
	 .flags = OP_CLI_ONLY | OP_SENT,
	 .max = LIMIT_PATH_LEN,
	 .help = "Boot this NoCloud cloud image (qcow2 or raw) instead of "
		 "boxery's own"},
	{.name = "shape",
	 .type = OP_ENUM,
	 .choices = shapes,
	 .def = "\"standard\"",
	 .help = "Size: small (1 CPU, 1 GiB, 8 GiB disk), standard (2 CPUs, "
		 "2 GiB, 16 GiB disk) or large (4 CPUs, 8 GiB, 64 GiB disk)"},
	{.name = "network",
	 .type = OP_ENUM,
	 .choices = networks,
	 .def = "\"nat\"",
	 .help = "What it may reach: nat (the internet; no host, no private "
		 "network, no other VM) or none"},
	{.name = "cpus",
	 .type = OP_INT,
	 .flags = OP_CLI_ONLY,
	 .min = 1,
	 .max = 64,
	 .help = "Virtual CPUs, instead of the shape's"},
	{.name = "memory",
	 .type = OP_SIZE,
	 .flags = OP_CLI_ONLY,
	 .min = 256LL << 20,
	 .max = 1LL << 40,
	 .unit = "bytes",
	 .help = "Memory, instead of the shape's, such as 4G"},
	{.name = "disk",
	 .type = OP_SIZE,
	 .flags = OP_CLI_ONLY,
	 .min = 1LL << 30,
	 .max = 16LL << 40,
	 .unit = "bytes",
	 .help = "Disk size, instead of the shape's, such as 40G"},
	END};

static const struct op_param stop_params[] = {
	P_VM,
	{.name = "force",
	 .type = OP_BOOL,
	 .def = "false",
	 .help = "Cut the power instead of asking the guest to shut down; a "
		 "vm_new or vm_start of this VM that is under way ends, and "
		 "what a vm_new made so far is removed"},
	END};

static const struct op_param rm_params[] = {
	P_VM,
	{.name = "force",
	 .type = OP_BOOL,
	 .flags = OP_CLI_ONLY,
	 .def = "false",
	 .help = "Remove it though it is running, being made or started; what "
		 "is at work on it ends"},
	END};

static const struct op_param pin_params[] = {
	P_VM,
	{.name = "from_guest",
	 .type = OP_BOOL,
	 .flags = OP_CLI_ONLY,
	 .def = "false",
	 .help = "Trust the key that answers at the VM's address now, without "
		 "the guest agent: trust on first use",
	 .caution =
		 "--from-guest is trust on first use: whoever answers at the "
		 "VM's address now is\ntaken for the VM from here on. Somebody "
		 "who took that address over would get what\nyou then send to "
		 "the VM: keystrokes, files, tokens. Use it only where no other "
		 "VM\nor machine can answer there, and compare the fingerprint "
		 "with the guest's own:\n    ssh-keygen -lf "
		 "/etc/ssh/ssh_host_ed25519_key.pub\n"},
	END};

/* -- work in a machine ------------------------------------------------------ */

static const struct op_param ssh_params[] = {
	P_VM,
	{.name = "argv",
	 .type = OP_STRINGS,
	 .flags = OP_REST | OP_CLI_ONLY,
	 .help = "Command for the guest's shell, as ssh takes it"},
	END};

static const struct op_param run_params[] = {
	P_VM,
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
	{.name = "env",
	 .type = OP_ENV,
	 .help = "Environment variables to set"},
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
	END};

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
	END};

static const struct op_param read_params[] = {
	P_VM,
	{.name = "path",
	 .type = OP_PATH,
	 .flags = OP_REQUIRED | OP_POSITIONAL,
	 .max = LIMIT_PATH_LEN,
	 .help = "Text file in the guest, or run:ID for the whole output of "
		 "a command run earlier"},
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
	END};

static const struct op_param write_params[] = {
	P_VM,
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
	END};

static const struct op_param edit_params[] = {
	P_VM,
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
	END};

/* -- the host ------------------------------------------------------------------ */

static const struct op_param build_params[] = {
	{.name = "layers",
	 .type = OP_LAYERS,
	 .max = 256,
	 .help = "Layers on top of the base: desktop, browser; by default "
		 "desktop, and browser where KVM is"},
	{.name = "if_missing",
	 .type = OP_BOOL,
	 .def = "false",
	 .help = "Do nothing when an image of the same layers is there"},
	END};

#define AGENT_INPUT (OP_CHANGES | OP_AGENT | OP_PERSON)

static const struct op_param token_params[] = {
	{.name = "name",
	 .type = OP_STRING,
	 .flags = OP_REQUIRED | OP_POSITIONAL,
	 .min = 1,
	 .max = LIMIT_NAME_LEN,
	 .help = "Name of the token"},
	END};

static const struct op_param token_add_params[] = {
	{.name = "name",
	 .type = OP_STRING,
	 .flags = OP_REQUIRED | OP_POSITIONAL,
	 .min = 1,
	 .max = LIMIT_NAME_LEN,
	 .help = "Name of the client, of letters, digits, and . - _"},
	{.name = "read_only",
	 .type = OP_BOOL,
	 .def = "false",
	 .help = "Only tools that change nothing: lists, screenshots, reading"},
	{.name = "vm",
	 .type = OP_STRINGS,
	 .max = LIMIT_SCOPE_COUNT,
	 .help = "Only this VM; may be given several times"},
	END};

const struct op op_table[] = {
	{.name = "vm_list",
	 .verb = "ls",
	 .kind = OP_CALL,
	 .flags = OP_READS | OP_AGENT | OP_PERSON,
	 .result = OP_RESULT_TABLE,
	 .summary = "List the VMs and their state",
	 .description =
		 "Lists every VM with its state (running, off, creating, "
		 "crashed, disk-full, broken), address, shape and who made "
		 "it; isolation is shown where it is not on. Where libvirt "
		 "does not answer, the states are unknown, the result's "
		 "problem says what to do, and the command ends with status "
		 "10.",
	 .params = no_params,
	 .columns = "name,state,address,shape,image,owner,isolation?"},
	{.name = "vm_info",
	 .verb = "info",
	 .kind = OP_CALL,
	 .flags = OP_READS | OP_AGENT | OP_PERSON,
	 .result = OP_RESULT_OBJECT,
	 .summary = "Show all that is known of a VM",
	 .description = "Returns one VM's record: state, size, image and its "
			"layers, network and its isolation, host key, console "
			"log.",
	 .params = vm_params},
	{.name = "vm_new",
	 .verb = "new",
	 .kind = OP_JOB,
	 .flags = OP_CHANGES | OP_AGENT | OP_PERSON,
	 .result = OP_RESULT_OBJECT,
	 .summary = "Create a VM with a desktop and wait until it is ready",
	 .description =
		 "Creates a virtual machine from the base image, boots it and "
		 "waits until it answers. When that takes longer than a call "
		 "may, the answer holds a job id for vm_wait. Cancelled, it "
		 "leaves nothing behind.",
	 .brief = "{name} is {state}, {address} (boxery ssh {name})",
	 .params = new_params},
	{.name = "vm_start",
	 .verb = "start",
	 .kind = OP_JOB,
	 .flags = OP_CHANGES | OP_AGENT | OP_PERSON | OP_IDEMPOTENT |
		  OP_LOCKS_VM,
	 .result = OP_RESULT_OBJECT,
	 .summary = "Boot a VM and wait until it is ready",
	 .description =
		 "Boots a VM that is off and waits until it answers. "
		 "Cancelled, it only waits no longer: the VM boots on.",
	 .brief = "{name} is {state}, {address} (boxery ssh {name})",
	 .params = vm_params},
	{.name = "vm_stop",
	 .verb = "stop",
	 .kind = OP_JOB,
	 .flags = OP_CHANGES | OP_DESTROYS | OP_AGENT | OP_PERSON |
		  OP_IDEMPOTENT | OP_LOCKS_VM,
	 .result = OP_RESULT_OBJECT,
	 .summary = "Shut a VM down",
	 .description =
		 "Asks the guest to shut down and cuts the power when it does "
		 "not within two minutes. Unsaved work in its programs is "
		 "lost. Cancelled, it leaves the guest to shut down by "
		 "itself.",
	 .brief = "{name} is {state}",
	 .params = stop_params},
	{.name = "vm_rm",
	 .verb = "rm",
	 .kind = OP_JOB,
	 .flags = OP_CHANGES | OP_DESTROYS | OP_AGENT | OP_PERSON |
		  OP_LOCKS_VM,
	 .result = OP_RESULT_OBJECT,
	 .summary = "Remove a VM and its disk for good",
	 .description = "Removes a VM, its disk and its keys. An agent may "
			"remove only VMs that an agent created.",
	 .brief = "{name} is removed",
	 .params = rm_params},
	{.name = "vm_pin",
	 .verb = "pin",
	 .kind = OP_CALL,
	 .flags = OP_CHANGES | OP_PERSON | OP_LOCKS_VM,
	 .result = OP_RESULT_OBJECT,
	 .summary = "Put a running VM's ssh host key on record again",
	 .description =
		 "Reads the VM's host key through its guest agent, which is a "
		 "channel of the virtual machine that no network reaches, and "
		 "pins it: from then on every connection to the VM must show "
		 "that key. For a VM whose pin was lost or whose guest made a "
		 "new key; a VM that boxery made is pinned from the start. "
		 "Connections that the old key had are ended. Shows the "
		 "fingerprint, and what it was before.",
	 .brief = "{name} is pinned to {fingerprint} ({change})",
	 .params = pin_params},

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
	 .params = copy_params,
	 .guest_text = "warnings"},
	{.name = "vm_read",
	 .verb = NULL,
	 .kind = OP_CALL,
	 .flags = OP_READS | OP_AGENT,
	 .result = OP_RESULT_TEXT,
	 .summary = "Read a text file in a VM, or the output of a command",
	 .description = "Returns lines of a text file in the guest, or of the "
			"kept output of a vm_run (path run:ID).",
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
	 .params = write_params},
	{.name = "vm_edit",
	 .verb = NULL,
	 .kind = OP_CALL,
	 .flags = OP_CHANGES | OP_DESTROYS | OP_AGENT,
	 .result = OP_RESULT_OBJECT,
	 .summary = "Replace text in a file in a VM",
	 .description = "Replaces an exact piece of text in a guest's file.",
	 .params = edit_params},

	{.name = "vm_screenshot",
	 .verb = "screenshot",
	 .kind = OP_CALL,
	 .flags = OP_READS | OP_AGENT | OP_PERSON,
	 .result = OP_RESULT_IMAGE,
	 .summary = "See a VM's desktop",
	 .description =
		 "Returns the desktop as an image with the mouse pointer "
		 "drawn. Coordinates of all mouse tools are pixels of this "
		 "full image, whatever region was asked for.",
	 .brief = "{width}x{height} pixels",
	 .params = params_shot},
	{.name = "vm_click",
	 .verb = "click",
	 .kind = OP_CALL,
	 .flags = AGENT_INPUT | OP_OPEN_WORLD | OP_DESTROYS,
	 .result = OP_RESULT_IMAGE,
	 .summary = "Click the mouse on a VM's desktop",
	 .description = "Moves the pointer to x, y (or leaves it where it is) "
			"and clicks, once, twice or three times.",
	 .params = params_click},
	{.name = "vm_move",
	 .verb = "move",
	 .kind = OP_CALL,
	 .flags = AGENT_INPUT | OP_IDEMPOTENT,
	 .result = OP_RESULT_IMAGE,
	 .summary = "Move the mouse pointer on a VM's desktop",
	 .description = "Moves the pointer without pressing a button.",
	 .params = params_move},
	{.name = "vm_drag",
	 .verb = "drag",
	 .kind = OP_CALL,
	 .flags = AGENT_INPUT | OP_OPEN_WORLD | OP_DESTROYS,
	 .result = OP_RESULT_IMAGE,
	 .summary = "Drag with the mouse on a VM's desktop",
	 .description = "Presses at the first point, moves along the others "
			"and releases at the last.",
	 .params = params_drag},
	{.name = "vm_scroll",
	 .verb = "scroll",
	 .kind = OP_CALL,
	 .flags = AGENT_INPUT,
	 .result = OP_RESULT_IMAGE,
	 .summary = "Scroll with the mouse wheel on a VM's desktop",
	 .description = "Turns the wheel by notches, at x, y or where the "
			"pointer is.",
	 .params = params_scroll},
	{.name = "vm_type",
	 .verb = "type",
	 .kind = OP_CALL,
	 .flags = AGENT_INPUT | OP_OPEN_WORLD | OP_DESTROYS,
	 .result = OP_RESULT_IMAGE,
	 .summary = "Type text on a VM's desktop",
	 .description = "Types text into the focused window, in any script.",
	 .params = params_type},
	{.name = "vm_key",
	 .verb = "key",
	 .kind = OP_CALL,
	 .flags = AGENT_INPUT | OP_OPEN_WORLD | OP_DESTROYS,
	 .result = OP_RESULT_IMAGE,
	 .summary = "Press keys on a VM's desktop",
	 .description = "Presses a key or a chord by X keysym names.",
	 .params = params_key},
	{.name = "vm_wait",
	 .verb = "wait",
	 .kind = OP_CALL,
	 .flags = OP_READS | OP_AGENT | OP_PERSON,
	 .result = OP_RESULT_IMAGE,
	 .summary = "Wait for a job, for a VM, or for a time",
	 .description =
		 "Waits for a call that went on in the background and returns "
		 "its result; or until a VM is ready; or just waits.",
	 .params = params_wait,
	 .guest_text = "stdout,stderr,warnings"},

	{.name = "init",
	 .verb = "init",
	 .kind = OP_JOB,
	 .flags = OP_CHANGES | OP_PERSON | OP_IDEMPOTENT,
	 .result = OP_RESULT_OBJECT,
	 .summary = "Set this host up: folders, libvirt connection, network",
	 .description =
		 "Makes boxery's folders, sees to libvirt's network default "
		 "and defines the filters that isolate VMs. May be run again "
		 "at any time; VMs that are there get what is new at their "
		 "next boot.",
	 .params = no_params},
	{.name = "upgrade",
	 .verb = "upgrade",
	 .kind = OP_JOB,
	 .flags = OP_CHANGES | OP_PERSON | OP_IDEMPOTENT,
	 .result = OP_RESULT_OBJECT,
	 .summary = "Bring this host and its VMs to the installed version",
	 .description =
		 "Does what init does, for a host that an earlier version set "
		 "up. VMs that have to be stopped and started are named.",
	 .params = no_params},
	{.name = "doctor",
	 .verb = "doctor",
	 .kind = OP_CALL,
	 .flags = OP_READS | OP_PERSON,
	 .result = OP_RESULT_TABLE,
	 .summary = "Say what is missing on this host and what mends it",
	 .description = "Checks programs, libvirt, permissions, folders, "
			"network, images and disk space.",
	 .params = no_params,
	 .columns = "check,ok,detail"},
	{.name = "build_base",
	 .verb = "build-base",
	 .kind = OP_JOB,
	 .flags = OP_CHANGES | OP_PERSON,
	 .result = OP_RESULT_OBJECT,
	 .summary = "Build the guest image",
	 .description =
		 "Builds Debian 12 with mmdebstrap from this host's own apt "
		 "configuration, with boxery's layers. VMs made before keep "
		 "the image they were made from.",
	 .brief = "{image}, built {built}",
	 .params = build_params},
	{.name = "service_status",
	 .verb = "service status",
	 .kind = OP_CALL,
	 .flags = OP_READS | OP_PERSON,
	 .result = OP_RESULT_OBJECT,
	 .summary = "Show whether the service runs",
	 .description = "Never starts it.",
	 .params = no_params},
	{.name = "service_stop",
	 .verb = "service stop",
	 .kind = OP_CALL,
	 .flags = OP_CHANGES | OP_PERSON | OP_IDEMPOTENT,
	 .result = OP_RESULT_OBJECT,
	 .summary = "Stop the service; VMs run on",
	 .description = "Running calls are given a moment to end.",
	 .params = no_params},
	{.name = "service_restart",
	 .verb = "service restart",
	 .kind = OP_CALL,
	 .flags = OP_CHANGES | OP_PERSON | OP_IDEMPOTENT | OP_LOCAL,
	 .result = OP_RESULT_OBJECT,
	 .summary = "Stop the service and start it again; VMs run on",
	 .description = "For a new version of boxery.",
	 .params = no_params},
	/* a file of this user's: no service is needed, no agent can ask */
	{.name = "mcp_token_add",
	 .verb = "mcp token add",
	 .kind = OP_CALL,
	 .flags = OP_CHANGES | OP_PERSON | OP_LOCAL,
	 .result = OP_RESULT_OBJECT,
	 .summary = "Make a bearer token for a client of boxery-mcp --http",
	 .description = "Printed once; its name is the client's in the audit.",
	 .brief = "{token}",
	 .params = token_add_params},
	{.name = "mcp_token_list",
	 .verb = "mcp token list",
	 .kind = OP_CALL,
	 .flags = OP_READS | OP_PERSON | OP_LOCAL,
	 .result = OP_RESULT_TABLE,
	 .summary = "List the tokens of boxery-mcp --http, and their last use",
	 .description = "Use is recorded about once a minute.",
	 .columns = "name,scope,vms,made,used",
	 .params = no_params},
	{.name = "mcp_token_revoke",
	 .verb = "mcp token revoke",
	 .kind = OP_CALL,
	 .flags = OP_CHANGES | OP_PERSON | OP_LOCAL,
	 .result = OP_RESULT_OBJECT,
	 .summary = "End a token of boxery-mcp --http at once",
	 .description = "Jobs that were begun with it go on.",
	 .brief = "{revoked} is revoked",
	 .params = token_params},
};

const unsigned op_count = sizeof(op_table) / sizeof(op_table[0]);
