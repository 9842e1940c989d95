#include "vmctl/domain.h"

#include "base/cleanup.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void domain_name(char ret[DOMAIN_NAME_SIZE], const char *instance,
		 const char *name)
{
	snprintf(ret, DOMAIN_NAME_SIZE, "boxery-%s-%s", instance, name);
}

const char *domain_name_parse(const char *full, const char *instance)
{
	char prefix[DOMAIN_NAME_SIZE];
	size_t len;

	domain_name(prefix, instance, "");
	len = strlen(prefix);
	if (strncmp(full, prefix, len) != 0 || full[len] == '\0')
		return NULL;
	return full + len;
}

/* -- writing ----------------------------------------------------------------- */

static int add_escaped(struct buf *out, const char *s, struct err *e)
{
	for (; *s; s++) {
		const char *entity = NULL;

		switch (*s) {
		case '&':
			entity = "&amp;";
			break;
		case '<':
			entity = "&lt;";
			break;
		case '>':
			entity = "&gt;";
			break;
		case '\'':
			entity = "&apos;";
			break;
		case '"':
			entity = "&quot;";
			break;
		default:
			break;
		}
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return err_set(e, ERR_INVALID,
				       "a control character in a name that "
				       "libvirt must be told");
		if (entity ? buf_add_str(out, entity, e)
			   : buf_add(out, s, 1, e))
			return -1;
	}
	return 0;
}

/*
 * Text in which each % stands for the next string argument, escaped. Numbers
 * are formatted by the caller, so that a %-sequence cannot be got wrong.
 */
static int add(struct buf *out, struct err *e, const char *text, ...)
{
	va_list ap;
	int rc = 0;

	va_start(ap, text);
	while (rc == 0 && *text) {
		size_t len = strcspn(text, "%");

		rc = buf_add(out, text, len, e);
		text += len;
		if (rc == 0 && *text == '%') {
			rc = add_escaped(out, va_arg(ap, const char *), e);
			text++;
		}
	}
	va_end(ap);
	return rc;
}

/*
 * stateless: our images boot from the fallback path of their ESP and keep
 * nothing in the firmware's variables, so there is no NVRAM file to copy,
 * move and remove with each machine.
 */
static int add_os(const struct machine_spec *s, const struct domain_host *h,
		  struct buf *out, struct err *e)
{
	if (add(out, e,
		"  <os>\n"
		"    <type arch='x86_64' machine='q35'>hvm</type>\n"))
		return -1;
	if (s->uefi &&
	    add(out, e,
		"    <loader readonly='yes' type='pflash' stateless='yes'>%"
		"</loader>\n",
		h->loader))
		return -1;
	return add(out, e,
		   "    <boot dev='hd'/>\n"
		   "  </os>\n"
		   "  <features><acpi/><apic/><vmport state='off'/></features>\n"
		   "  <cpu mode='%'/>\n",
		   h->kvm ? "host-passthrough" : "maximum");
}

/*
 * relabel='no': the files belong to the owner and to QEMU's group, by the
 * folder's set-group-id bit. Were QEMU's user made their owner (libvirt's
 * default), the owner could not read an image that a machine was made from.
 */
#define OWN_FILE "<seclabel model='dac' relabel='no'/>"

static int add_disks(const struct machine_spec *s, struct buf *out,
		     struct err *e)
{
	return add(out, e,
		   "    <disk type='file' device='disk'>\n"
		   "      <driver name='qemu' type='qcow2' cache='writeback' "
		   "discard='unmap' error_policy='enospace'/>\n"
		   "      <source file='%'>" OWN_FILE "</source>\n"
		   "      <target dev='vda' bus='virtio'/>\n"
		   "    </disk>\n"
		   "    <disk type='file' device='disk'>\n"
		   "      <driver name='qemu' type='raw'/>\n"
		   "      <source file='%'>" OWN_FILE "</source>\n"
		   "      <target dev='vdb' bus='virtio'/>\n"
		   "      <readonly/>\n"
		   "    </disk>\n",
		   s->disk_path, s->seed_path);
}

/*
 * The filter's parameters are given, so its rules are complete before the
 * machine runs. port isolated, behind that: the bridge passes nothing from one
 * guest to another.
 */
static int add_interface(const struct machine_spec *s,
			 const struct domain_host *h, struct buf *out,
			 struct err *e)
{
	if (add(out, e,
		"    <interface type='network'>\n"
		"      <mac address='%'/>\n"
		"      <source network='%'/>\n"
		"      <model type='virtio'/>\n",
		s->mac, h->network))
		return -1;
	if (s->isolated &&
	    add(out, e,
		"      <filterref filter='%'>\n"
		"        <parameter name='GATEWAY' value='%'/>\n"
		"        <parameter name='IP' value='%'/>\n"
		"      </filterref>\n"
		"      <port isolated='yes'/>\n",
		netfilter_name(s->network), h->gateway, s->address))
		return -1;
	return add(out, e, "    </interface>\n");
}

/*
 * No USB, sound, screen, balloon: each is an emulated device that a guest
 * could attack, and the desktop is an X server inside the guest.
 */
static int add_devices(const struct machine_spec *s,
		       const struct domain_host *h, struct buf *out,
		       struct err *e)
{
	if (add(out, e, "  <devices>\n") || add_disks(s, out, e) ||
	    add_interface(s, h, out, e))
		return -1;
	return add(out, e,
		   "    <serial type='file'>\n"
		   "      <source path='%' append='on'>" OWN_FILE "</source>\n"
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
		   "  </devices>\n",
		   s->console_path);
}

/*
 * The guest's memory is not in a core file of QEMU's, nor merged with equal
 * pages of others (how long a write takes would tell what they hold).
 */
int domain_xml(const struct machine_spec *s, const struct domain_host *h,
	       struct buf *out, struct err *e)
{
	char name[DOMAIN_NAME_SIZE];
	char memory[24];
	char cpus[16];

	domain_name(name, h->instance, s->name);
	snprintf(memory, sizeof(memory), "%" PRIu64, s->memory_len);
	snprintf(cpus, sizeof(cpus), "%u", s->cpus);
	if (add(out, e,
		"<domain type='%'>\n"
		"  <name>%</name>\n"
		"  <uuid>%</uuid>\n"
		"  <memory dumpCore='off' unit='b'>%</memory>\n"
		"  <memoryBacking><nosharepages/></memoryBacking>\n"
		"  <vcpu>%</vcpu>\n",
		h->kvm ? "kvm" : "qemu", name, s->uuid, memory, cpus) ||
	    add_os(s, h, out, e) ||
	    add(out, e,
		"  <clock offset='utc'>\n"
		"    <timer name='rtc' tickpolicy='catchup'/>\n"
		"    <timer name='pit' tickpolicy='delay'/>\n"
		"    <timer name='hpet' present='no'/>\n"
		"  </clock>\n"
		"  <on_poweroff>destroy</on_poweroff>\n"
		"  <on_reboot>restart</on_reboot>\n"
		"  <on_crash>preserve</on_crash>\n") ||
	    add_devices(s, h, out, e))
		return -1;
	return add(out, e, "</domain>\n");
}

int domain_network_xml(const struct domain_network *n, struct buf *out,
		       struct err *e)
{
	return add(out, e,
		   "<network>\n"
		   "  <name>%</name>\n"
		   "  <forward mode='nat'/>\n"
		   "  <bridge stp='on' delay='0'/>\n"
		   "  <ip address='%' netmask='255.255.255.0'>\n"
		   "    <dhcp>\n"
		   "      <range start='%' end='%'/>\n"
		   "    </dhcp>\n"
		   "  </ip>\n"
		   "</network>\n",
		   n->name, n->gateway, n->first, n->last);
}

int domain_lease_xml(const char *mac, const char *address, struct buf *out,
		     struct err *e)
{
	return add(out, e, "<host mac='%' ip='%'/>", mac, address);
}

/* -- reading ----------------------------------------------------------------- */

bool domain_find_attr(const char *from, const char *tag, const char *attr,
		      char *ret, size_t size)
{
	const char *start = strstr(from, tag);
	const char *end = start ? strchr(start, '>') : NULL;
	size_t attr_len = strlen(attr);

	if (!end)
		return false;
	for (const char *p = start; p < end; p++) {
		const char *value = p + 1 + attr_len + 2;
		size_t len;

		if (*p != ' ' || strncmp(p + 1, attr, attr_len) != 0 ||
		    strncmp(p + 1 + attr_len, "='", 2) != 0)
			continue;
		len = strcspn(value, "'");
		if (value + len >= end || len >= size)
			return false;
		snprintf(ret, size, "%.*s", (int)len, value);
		return true;
	}
	return false;
}
