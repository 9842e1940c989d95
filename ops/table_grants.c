/* Rows of grants: what a machine may use of its owner's. */
#include "base/limits.h"
#include "ops/table.h"

static const char *const switches[] = {"on", "off", NULL};

#define GRANT_HELP                                                         \
	"llm:PROVIDER, http:NAME, github[:OWNER/REPO][:ro], env:NAME, "    \
	"file:PATH[=>TARGET] or ssh-agent; several may be given"
#define TABLE_TERMS                                                         \
	{.name = "for",                                                     \
	 .type = OP_STRING,                                                 \
	 .min = 1,                                                          \
	 .max = 32,                                                         \
	 .help = "End it after this time from the yes on: 90s, 30m, 2h, "   \
		 "7d, 4w"},                                                 \
	{.name = "until",                                                   \
	 .type = OP_STRING,                                                 \
	 .min = 1,                                                          \
	 .max = 64,                                                         \
	 .help = "End it at this time, such as 2026-12-24T18:00:00Z"},      \
	{                                                                   \
		.name = "uses", .type = OP_INT, .min = 1,                   \
		.max = LIMIT_GRANT_USES_COUNT,                              \
		.help = "End it after so many uses; not for env and file, " \
			"whose uses nobody can count"                       \
	}
/* what a person's own program knows of the person's session */
#define TABLE_SOCKET                                                  \
	{                                                             \
		.name = "agent_socket", .type = OP_PATH,              \
		.flags = OP_CLI_ONLY | OP_FILLED,                     \
		.max = LIMIT_PATH_LEN,                                \
		.help = "The ssh agent of the person's session"       \
	}

static const struct op_param grant_params[] = {
	TABLE_VM,
	{.name = "grants",
	 .type = OP_STRINGS,
	 .flags = OP_REQUIRED | OP_POSITIONAL,
	 .min = 1,
	 .max = LIMIT_GRANTS_ASKED_COUNT,
	 .help = GRANT_HELP},
	TABLE_TERMS,
	{.name = "reason",
	 .type = OP_TEXT,
	 .flags = OP_MCP_ONLY,
	 .max = 4096,
	 .help = "Why it is needed, in a sentence that the person will read"},
	{.name = "client_info",
	 .type = OP_TEXT,
	 .flags = OP_MCP_ONLY | OP_FILLED,
	 .max = 4096,
	 .help = "What the agent's client calls itself"},
	{.name = "values",
	 .type = OP_ENV,
	 .flags = OP_CLI_ONLY | OP_FILLED,
	 .help = "Values of the variables, from the person's environment"},
	TABLE_SOCKET,
	TABLE_END};

static const struct op_param revoke_params[] = {
	TABLE_VM,
	{.name = "grants",
	 .type = OP_STRINGS,
	 .flags = OP_POSITIONAL,
	 .max = LIMIT_GRANTS_PER_VM_COUNT,
	 .help = "Which: as vm_grants shows them, or their ids"},
	{.name = "all",
	 .type = OP_BOOL,
	 .def = "false",
	 .help = "Everything that the VM may use"},
	TABLE_END};

static const struct op_param grants_params[] = {
	{.name = "vm",
	 .type = OP_VM,
	 .flags = OP_POSITIONAL,
	 .help = "Only this VM's"},
	TABLE_END};

static const struct op_param no_params[] = {TABLE_END};

static const struct op_param approve_params[] = {
	{.name = "id",
	 .type = OP_STRING,
	 .flags = OP_REQUIRED | OP_POSITIONAL,
	 .min = 1,
	 .max = 16,
	 .help = "The request, as boxery approvals shows it"},
	TABLE_SOCKET,
	TABLE_END};

static const struct op_param deny_params[] = {
	{.name = "id",
	 .type = OP_STRING,
	 .flags = OP_REQUIRED | OP_POSITIONAL,
	 .min = 1,
	 .max = 16,
	 .help = "The request, as boxery approvals shows it"},
	TABLE_END};

static const struct op_param forward_params[] = {
	{.name = "state",
	 .type = OP_ENUM,
	 .flags = OP_REQUIRED | OP_POSITIONAL,
	 .choices = switches,
	 .help = "on: signatures of your ssh agent's keys; off: at once none"},
	TABLE_VM,
	TABLE_TERMS,
	TABLE_SOCKET,
	TABLE_END};

static const struct op_field grant_fields[] = {
	{.name = "vm", .help = "The VM"},
	{.name = "state",
	 .help = "granted; held: it was granted before; pending: a person has "
		 "to answer first"},
	{.name = "grants",
	 .type = OP_FIELD_TEXTS,
	 .help = "What was asked for, as boxery writes it"},
	{.name = "unapplied",
	 .type = OP_FIELD_TEXTS,
	 .maybe = true,
	 .help = "What the guest has not got (yet), and why"},
	{.name = "id", .maybe = true, .help = "Pending: the request"},
	{.name = "command",
	 .maybe = true,
	 .help = "Pending: what the person types to answer. Ask again then"},
	{.name = "expires",
	 .maybe = true,
	 .help = "Pending: when the request is void, in UTC"},
	TABLE_END};

static const struct op_field revoke_fields[] = {
	{.name = "vm", .help = "The VM"},
	{.name = "revoked",
	 .type = OP_FIELD_TEXTS,
	 .help = "What it may not use any more"},
	{.name = "problem",
	 .maybe = true,
	 .help = "Why the guest was not told yet. It is tried again"},
	TABLE_END};

static const struct op_field row_fields[] = {
	{.name = "id", .help = "Names this grant"},
	{.name = "vm", .help = "Who may use it"},
	{.name = "grant", .help = "What"},
	{.name = "state",
	 .help = "applied: the guest has it; unapplied; or proxied: the "
		 "host's proxy lets it through"},
	{.name = "why", .maybe = true, .help = "Unapplied: why"},
	{.name = "place", .maybe = true, .help = "Where the guest has it"},
	{.name = "until", .maybe = true, .help = "When it ends, in UTC"},
	{.name = "uses_left",
	 .type = OP_FIELD_INT,
	 .maybe = true,
	 .help = "How often it can be used yet"},
	{.name = "used",
	 .type = OP_FIELD_INT,
	 .help = "How often it was, where that is counted"},
	{.name = "by", .help = "Who agreed, and how"},
	TABLE_END};

static const struct op_param audit_params[] = {
	{.name = "vm",
	 .type = OP_VM,
	 .flags = OP_POSITIONAL,
	 .help = "Only what concerned this VM, which may be gone by now"},
	{.name = "grants",
	 .type = OP_BOOL,
	 .def = "false",
	 .help = "Only what became of grants"},
	{.name = "lines",
	 .type = OP_INT,
	 .min = 1,
	 .max = 10000,
	 .def = "50",
	 .help = "At most so many, the newest"},
	TABLE_END};

static const struct op_field grants_fields[] = {
	{.name = "rows",
	 .type = OP_FIELD_RECORDS,
	 .fields = row_fields,
	 .help = "The grants"},
	TABLE_END};

const struct op table_grants[] = {
	{.name = "vm_grant",
	 .verb = "grant",
	 .kind = OP_CALL,
	 .flags = OP_CHANGES | OP_AGENT | OP_PERSON | OP_ASKS | OP_IDEMPOTENT,
	 .result = OP_RESULT_OBJECT,
	 .summary = "Let a VM use something of its owner's, if a person agrees",
	 .description =
		 "Asks the person, in words of boxery's own, and grants what "
		 "was asked for after a yes. What the VM holds already is not "
		 "asked for again. Where the person cannot be asked from here, "
		 "the state is pending: tell the person the command, and call "
		 "again with the same arguments once it was answered.\n\n"
		 "env: and file: put a value or a file into the VM's memory, "
		 "where whatever runs in it can read it; ssh-agent lets it "
		 "sign in with keys that stay on the host; the others go "
		 "through the host's proxy, which keeps the secret.",
	 .fields = grant_fields,
	 .params = grant_params},
	{.name = "vm_revoke",
	 .verb = "revoke",
	 .kind = OP_CALL,
	 .flags = OP_CHANGES | OP_AGENT | OP_PERSON | OP_IDEMPOTENT,
	 .result = OP_RESULT_OBJECT,
	 .summary = "Take back what a VM may use, at once",
	 .description = "Nobody is asked. What a program in the VM has read "
			"before is not taken back by this.",
	 .fields = revoke_fields,
	 .params = revoke_params},
	{.name = "vm_grants",
	 .verb = "grants",
	 .kind = OP_CALL,
	 .flags = OP_READS | OP_AGENT | OP_PERSON,
	 .result = OP_RESULT_TABLE,
	 .summary = "List what VMs may use, until when, and whether they have it",
	 .description = "Never shows a value.",
	 .columns = "vm,grant,state,until?,uses_left?,used?,place?,why?,id",
	 .fields = grants_fields,
	 .params = grants_params},
	{.name = "agent_forward",
	 .verb = "agent-forward",
	 .kind = OP_CALL,
	 .flags = OP_CHANGES | OP_PERSON | OP_ASKS | OP_IDEMPOTENT,
	 .result = OP_RESULT_OBJECT,
	 .summary = "Let a VM sign in with your ssh keys, or end that",
	 .description =
		 "The same as grant VM ssh-agent and revoke VM ssh-agent. The "
		 "keys stay on the host: the VM can list them and have "
		 "things signed, nothing else. Only those of the file "
		 "agent-keys in boxery's configuration, when there is one.",
	 .fields = grant_fields,
	 .params = forward_params},
	{.name = "approvals",
	 .verb = "approvals",
	 .kind = OP_CALL,
	 .flags = OP_READS | OP_PERSON,
	 .result = OP_RESULT_TABLE,
	 .summary = "List what agents ask for and nobody has answered",
	 .description = "approve and deny answer them.",
	 .columns = "id,vm,grants,terms?,client,expires",
	 .params = no_params},
	{.name = "approve",
	 .verb = "approve",
	 .kind = OP_CALL,
	 .flags = OP_CHANGES | OP_PERSON | OP_ASKS,
	 .result = OP_RESULT_OBJECT,
	 .summary = "Read what an agent asks for, and answer it",
	 .description = "Shows the whole question on the terminal. After a "
			"yes the VM has it; the agent's next call finds the "
			"answer.",
	 .fields = grant_fields,
	 .params = approve_params},
	{.name = "deny",
	 .verb = "deny",
	 .kind = OP_CALL,
	 .flags = OP_CHANGES | OP_PERSON,
	 .result = OP_RESULT_OBJECT,
	 .summary = "Say no to what an agent asks for",
	 .description = "The same request is refused for a while.",
	 .brief = "{id} is denied",
	 .params = deny_params},
	{.name = "panic",
	 .verb = "panic",
	 .kind = OP_CALL,
	 .flags = OP_CHANGES | OP_DESTROYS | OP_PERSON | OP_IDEMPOTENT,
	 .result = OP_RESULT_OBJECT,
	 .summary = "Revoke every grant, cut every connection, pause every VM",
	 .description = "Nobody is asked. boxery start NAME lets a VM go on; "
			"what it was granted stays revoked.",
	 .params = no_params},
	{.name = "audit",
	 .verb = "audit",
	 .kind = OP_CALL,
	 .flags = OP_READS | OP_PERSON,
	 .result = OP_RESULT_TABLE,
	 .summary = "Show who asked for what, and what became of it",
	 .description = "The newest lines of the service's record: each "
			"operation, and each grant that was asked for, "
			"answered, applied, used and taken back. It holds no "
			"value, no command and no text that was typed.",
	 .columns = "t,client?,what,vm,grants?,terms?,way?,outcome?",
	 .params = audit_params},
	TABLE_END,
};
