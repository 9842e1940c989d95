/* Rows of the host: its set-up, images, service and tokens. */
#include "base/limits.h"
#include "ops/table.h"

static const struct op_param no_params[] = {TABLE_END};

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
	TABLE_END};

static const struct op_param token_params[] = {
	{.name = "name",
	 .type = OP_STRING,
	 .flags = OP_REQUIRED | OP_POSITIONAL,
	 .min = 1,
	 .max = LIMIT_NAME_LEN,
	 .help = "Name of the token"},
	TABLE_END};

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
	TABLE_END};

const struct op table_host[] = {
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
		 "the image they were made from; an older image of the same "
		 "layers that no VM needs is removed.",
	 .brief = "{image}, built {built}; older ones removed: {removed}",
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
	TABLE_END,
};
