#include "tests/support/unit.h"

#include "base/buf.h"
#include "vmctl/domain.h"

#include <string.h>

#define CAP (64 * 1024)

static const struct machine_spec demo = {
	.name = "demo",
	.uuid = "1aa716a5-3b87-408c-8762-301a5028dde8",
	.cpus = 2,
	.memory_len = 2147483648,
	.disk_path = "/data/vms/demo.qcow2",
	.seed_path = "/data/vms/demo.seed.img",
	.console_path = "/data/vms/demo.console.log",
	.mac = "52:54:00:01:02:03",
	.address = "192.168.122.2",
	.network = NET_NAT,
	.isolated = true,
	.uefi = true,
};
static const struct domain_host kvm_host = {
	.instance = "u1000",
	.network = "default",
	.gateway = "192.168.122.1",
	.loader = "/usr/share/OVMF/OVMF_CODE_4M.fd",
	.kvm = true,
};

/* The whole text: whoever changes what a machine is made of sees it here. */
static const char golden[] =
	"<domain type='kvm'>\n"
	"  <name>boxery-u1000-demo</name>\n"
	"  <uuid>1aa716a5-3b87-408c-8762-301a5028dde8</uuid>\n"
	"  <memory dumpCore='off' unit='b'>2147483648</memory>\n"
	"  <memoryBacking><nosharepages/></memoryBacking>\n"
	"  <vcpu>2</vcpu>\n"
	"  <os>\n"
	"    <type arch='x86_64' machine='q35'>hvm</type>\n"
	"    <loader readonly='yes' type='pflash' stateless='yes'>"
	"/usr/share/OVMF/OVMF_CODE_4M.fd</loader>\n"
	"    <boot dev='hd'/>\n"
	"  </os>\n"
	"  <features><acpi/><apic/><vmport state='off'/></features>\n"
	"  <cpu mode='host-passthrough'/>\n"
	"  <clock offset='utc'>\n"
	"    <timer name='rtc' tickpolicy='catchup'/>\n"
	"    <timer name='pit' tickpolicy='delay'/>\n"
	"    <timer name='hpet' present='no'/>\n"
	"  </clock>\n"
	"  <on_poweroff>destroy</on_poweroff>\n"
	"  <on_reboot>restart</on_reboot>\n"
	"  <on_crash>preserve</on_crash>\n"
	"  <devices>\n"
	"    <disk type='file' device='disk'>\n"
	"      <driver name='qemu' type='qcow2' cache='writeback' "
	"discard='unmap' error_policy='enospace'/>\n"
	"      <source file='/data/vms/demo.qcow2'>"
	"<seclabel model='dac' relabel='no'/></source>\n"
	"      <target dev='vda' bus='virtio'/>\n"
	"    </disk>\n"
	"    <disk type='file' device='disk'>\n"
	"      <driver name='qemu' type='raw'/>\n"
	"      <source file='/data/vms/demo.seed.img'>"
	"<seclabel model='dac' relabel='no'/></source>\n"
	"      <target dev='vdb' bus='virtio'/>\n"
	"      <readonly/>\n"
	"    </disk>\n"
	"    <interface type='network'>\n"
	"      <mac address='52:54:00:01:02:03'/>\n"
	"      <source network='default'/>\n"
	"      <model type='virtio'/>\n"
	/* B02, B03, B04; B05, B06: whatever becomes of its disk, this
	 * is how it is defined before each boot */
	"      <filterref filter='boxery-guest-isolation'>\n"
	"        <parameter name='GATEWAY' value='192.168.122.1'/>\n"
	"        <parameter name='IP' value='192.168.122.2'/>\n"
	"      </filterref>\n"
	"      <port isolated='yes'/>\n"
	"    </interface>\n"
	"    <serial type='file'>\n"
	"      <source path='/data/vms/demo.console.log' append='on'>"
	"<seclabel model='dac' relabel='no'/></source>\n"
	"      <target type='isa-serial' port='0'/>\n"
	"    </serial>\n"
	"    <channel type='unix'>\n"
	"      <target type='virtio' name='org.qemu.guest_agent.0'/>\n"
	"    </channel>\n"
	"    <rng model='virtio'>\n"
	"      <backend model='random'>/dev/urandom</backend>\n"
	"    </rng>\n"
	"    <panic model='isa'/>\n"
	"    <controller type='usb' model='none'/>\n"
	"    <audio id='1' type='none'/>\n"
	"    <video><model type='none'/></video>\n"
	"    <memballoon model='none'/>\n"
	"  </devices>\n"
	"</domain>\n";

static void golden_text(void **state)
{
	struct err e = {0};
	struct buf out;

	(void)state;
	buf_init(&out, CAP);
	assert_ok(domain_xml(&demo, &kvm_host, &out, &e), &e);
	assert_string_equal(out.data, golden);
	buf_finish(&out);
}

static void emulated(void **state)
{
	struct domain_host host = kvm_host;
	struct machine_spec spec = demo;
	struct err e = {0};
	struct buf out;

	(void)state;
	host.kvm = false;
	spec.uefi = false;
	buf_init(&out, CAP);
	assert_ok(domain_xml(&spec, &host, &out, &e), &e);
	assert_non_null(strstr(out.data, "<domain type='qemu'>"));
	assert_non_null(strstr(out.data, "<cpu mode='maximum'/>"));
	assert_null(strstr(out.data, "<loader"));
	buf_finish(&out);
}

static void isolation(void **state)
{
	struct machine_spec spec = demo;
	struct err e = {0};
	struct buf out;

	(void)state;
	buf_init(&out, CAP);
	spec.network = NET_NONE;
	assert_ok(domain_xml(&spec, &kvm_host, &out, &e), &e);
	assert_non_null(strstr(out.data,
			       "<filterref filter='boxery-guest-none'>"));
	buf_reset(&out);
	spec.isolated = false;
	assert_ok(domain_xml(&spec, &kvm_host, &out, &e), &e);
	assert_null(strstr(out.data, "filter"));
	assert_null(strstr(out.data, "isolated"));
	buf_finish(&out);
}

/* Names of folders are a person's; none of them may become XML. */
static void escaping(void **state)
{
	struct machine_spec spec = demo;
	struct err e = {0};
	struct buf out;

	(void)state;
	spec.disk_path = "/d'/><hostdev a=\"&\">/x%s%n.qcow2";
	buf_init(&out, CAP);
	assert_ok(domain_xml(&spec, &kvm_host, &out, &e), &e);
	assert_non_null(strstr(out.data,
			       "<source file='/d&apos;/&gt;&lt;hostdev a="
			       "&quot;&amp;&quot;&gt;/x%s%n.qcow2'>"));
	assert_null(strstr(out.data, "<hostdev"));
	buf_reset(&out);
	spec.disk_path = "/d\n/x";
	assert_fails(domain_xml(&spec, &kvm_host, &out, &e), &e, ERR_INVALID,
		     "control character");
	buf_finish(&out);
}

static void network(void **state)
{
	const struct domain_network n = {"default", "10.1.2.1", "10.1.2.2",
					 "10.1.2.254"};
	struct err e = {0};
	struct buf out;

	(void)state;
	buf_init(&out, CAP);
	assert_ok(domain_network_xml(&n, &out, &e), &e);
	assert_non_null(strstr(out.data, "<forward mode='nat'/>"));
	assert_non_null(strstr(out.data, "<ip address='10.1.2.1'"));
	assert_non_null(
		strstr(out.data, "<range start='10.1.2.2' end='10.1.2.254'/>"));
	buf_reset(&out);
	assert_ok(domain_lease_xml("52:54:00:00:00:01", "10.1.2.3", &out, &e),
		  &e);
	assert_string_equal(out.data,
			    "<host mac='52:54:00:00:00:01' ip='10.1.2.3'/>");
	buf_finish(&out);
}

static void names(void **state)
{
	static const struct {
		const char *full, *instance, *name;
	} cases[] = {
		{"boxery-u0-demo", "u0", "demo"},
		{"boxery-u0-a-b", "u0", "a-b"},
		{"boxery-u0-", "u0", NULL},
		{"boxery-u1000-demo", "u0", NULL},
		{"boxery-u00-demo", "u0", NULL},
		{"demo", "u0", NULL},
		{"", "u0", NULL},
	};
	char full[DOMAIN_NAME_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		const char *name = domain_name_parse(cases[i].full,
						     cases[i].instance);

		if (!cases[i].name) {
			assert_null(name);
			continue;
		}
		assert_string_equal(name, cases[i].name);
		domain_name(full, cases[i].instance, name);
		assert_string_equal(full, cases[i].full);
	}
}

static void attributes(void **state)
{
	static const struct {
		const char *xml, *tag, *attr, *value;
	} cases[] = {
		{"<a><ip address='1.2.3.4' netmask='x'/>", "<ip ", "address",
		 "1.2.3.4"},
		{"<ip family='ipv4' address='1.2.3.4'>", "<ip ", "address",
		 "1.2.3.4"},
		{"<host mac='a' ip='b'/>", "<host ", "ip", "b"},
		/* not in this tag */
		{"<ip family='x'/><z address='1'/>", "<ip ", "address", NULL},
		/* another attribute's end is not this attribute */
		{"<ip macaddress='1'/>", "<ip ", "address", NULL},
		{"<ip address='1", "<ip ", "address", NULL},
		{"<ip address='1234567890123456789'/>", "<ip ", "address",
		 NULL},
		{"", "<ip ", "address", NULL},
	};
	char value[16];

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		bool found = domain_find_attr(cases[i].xml, cases[i].tag,
					      cases[i].attr, value,
					      sizeof(value));

		assert_int_equal(found, cases[i].value != NULL);
		if (found)
			assert_string_equal(value, cases[i].value);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(golden_text), cmocka_unit_test(emulated),
	cmocka_unit_test(isolation),
	cmocka_unit_test(escaping),    cmocka_unit_test(network),
	cmocka_unit_test(names),       cmocka_unit_test(attributes),
};
UNIT_MAIN(tests)
