/* Rows of machines as such: made, listed, switched, removed. */
#include "base/limits.h"
#include "ops/table.h"

static const char *const shapes[] = {"small", "standard", "large", NULL};
static const char *const networks[] = {"nat", "none", NULL};

static const struct op_param no_params[] = {TABLE_END};

static const struct op_param vm_params[] = {TABLE_VM, TABLE_END};

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
	{.name = "grant",
	 .type = OP_STRINGS,
	 .flags = OP_CLI_ONLY,
	 .max = LIMIT_GRANTS_ASKED_COUNT,
	 .help = "What it may use from the start, as boxery grant takes it; "
		 "may be given several times"},
	{.name = "values",
	 .type = OP_ENV,
	 .flags = OP_CLI_ONLY | OP_FILLED,
	 .help = "Values of the variables, from the person's environment"},
	{.name = "agent_socket",
	 .type = OP_PATH,
	 .flags = OP_CLI_ONLY | OP_FILLED,
	 .max = LIMIT_PATH_LEN,
	 .help = "The ssh agent of the person's session"},
	TABLE_END};

static const struct op_param stop_params[] = {
	TABLE_VM,
	{.name = "force",
	 .type = OP_BOOL,
	 .def = "false",
	 .help = "Cut the power instead of asking the guest to shut down; a "
		 "vm_new or vm_start of this VM that is under way ends, and "
		 "what a vm_new made so far is removed"},
	TABLE_END};

static const struct op_param rm_params[] = {
	TABLE_VM,
	{.name = "force",
	 .type = OP_BOOL,
	 .flags = OP_CLI_ONLY,
	 .def = "false",
	 .help = "Remove it though it is running, being made or started; what "
		 "is at work on it ends"},
	TABLE_END};

static const struct op_param pin_params[] = {
	TABLE_VM,
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
	TABLE_END};

static const struct op_field row_fields[] = {
	{.name = "name", .help = "The VM"},
	{.name = "state",
	 .help = "running, off, paused, crashed, disk-full, creating, removing, broken, orphan or unknown"},
	{.name = "address", .help = "Its IPv4 address"},
	{.name = "shape", .help = "Its size, by name"},
	{.name = "image", .help = "What it was made from"},
	{.name = "owner", .help = "Who made it; agent: begins an agent's"},
	{.name = "isolation", .maybe = true, .help = "Where it is not on: why"},
	TABLE_END};

static const struct op_field list_fields[] = {
	{.name = "rows",
	 .type = OP_FIELD_RECORDS,
	 .fields = row_fields,
	 .help = "The VMs"},
	{.name = "problem",
	 .maybe = true,
	 .help = "Why the states are unknown, and what to do"},
	TABLE_END};

static const struct op_field layer_fields[] = {
	{.name = "name", .help = "The layer"},
	{.name = "sha256", .help = "Hash of its files"},
	TABLE_END};

static const struct op_field vm_fields[] = {
	{.name = "name", .help = "The VM"},
	{.name = "state",
	 .help = "running, off, paused, crashed or disk-full; or creating, "
		 "removing or broken"},
	{.name = "address", .help = "Its IPv4 address"},
	{.name = "owner", .help = "Who made it; agent: begins an agent's"},
	{.name = "created", .help = "When, in UTC"},
	{.name = "shape", .help = "Its size, by name"},
	{.name = "cpus", .type = OP_FIELD_INT, .help = "Virtual CPUs"},
	{.name = "memory_bytes", .type = OP_FIELD_INT, .help = "Memory"},
	{.name = "disk_bytes",
	 .type = OP_FIELD_INT,
	 .help = "Size of its disk"},
	{.name = "disk_used_bytes",
	 .type = OP_FIELD_INT,
	 .maybe = true,
	 .help = "What the disk takes on the host"},
	{.name = "desktop",
	 .type = OP_FIELD_BOOL,
	 .help = "It has a desktop to see and drive"},
	{.name = "image", .help = "What it was made from"},
	{.name = "layers",
	 .type = OP_FIELD_RECORDS,
	 .maybe = true,
	 .fields = layer_fields,
	 .help = "The image's layers then"},
	{.name = "mac", .help = "Its MAC address"},
	{.name = "uuid", .help = "Its UUID"},
	{.name = "network", .help = "nat or none"},
	{.name = "isolation",
	 .help = "on, off, not verified, or what else there is to say"},
	{.name = "isolation_why", .maybe = true, .help = "Why it is not on"},
	{.name = "console",
	 .maybe = true,
	 .help = "Path of its console's log on the host"},
	{.name = "mirror",
	 .maybe = true,
	 .help = "How its desktop is seen, once somebody has looked at it"},
	{.name = "host_key", .maybe = true, .help = "Its pinned ssh host key"},
	TABLE_END};

static const struct op_field stop_fields[] = {
	{.name = "name", .help = "The VM"},
	{.name = "state", .help = "off; removed, when its making was ended"},
	TABLE_END};

static const struct op_field rm_fields[] = {
	{.name = "name", .help = "The VM"},
	{.name = "removed", .type = OP_FIELD_BOOL, .help = "true"},
	TABLE_END};

const struct op table_machines[] = {
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
	 .fields = list_fields,
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
	 .fields = vm_fields,
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
	 .fields = vm_fields,
	 .params = new_params},
	{.name = "vm_start",
	 .verb = "start",
	 .kind = OP_JOB,
	 .flags = OP_CHANGES | OP_AGENT | OP_PERSON | OP_IDEMPOTENT |
		  OP_LOCKS_VM,
	 .result = OP_RESULT_OBJECT,
	 .summary = "Boot a VM and wait until it is ready",
	 .description = "Boots a VM that is off and waits until it answers. "
			"Cancelled, it only waits no longer: the VM boots on.",
	 .brief = "{name} is {state}, {address} (boxery ssh {name})",
	 .fields = vm_fields,
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
	 .fields = stop_fields,
	 .params = stop_params},
	{.name = "vm_rm",
	 .verb = "rm",
	 .kind = OP_JOB,
	 .flags = OP_CHANGES | OP_DESTROYS | OP_AGENT | OP_PERSON | OP_LOCKS_VM,
	 .result = OP_RESULT_OBJECT,
	 .summary = "Remove a VM and its disk for good",
	 .description = "Removes a VM, its disk and its keys. An agent may "
			"remove only VMs that an agent created.",
	 .brief = "{name} is removed",
	 .fields = rm_fields,
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
	TABLE_END,
};
