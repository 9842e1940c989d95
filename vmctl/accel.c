#include "vmctl/accel.h"

#include "base/cleanup.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define CPUINFO_CAP ((size_t)4 * 1024 * 1024)

static bool has_word(const char *line, size_t len, const char *word)
{
	size_t word_len = strlen(word);

	for (size_t i = 1; i + word_len <= len; i++) {
		if (line[i - 1] == ' ' &&
		    strncmp(line + i, word, word_len) == 0 &&
		    (i + word_len == len || line[i + word_len] == ' '))
			return true;
	}
	return false;
}

bool accel_cpu_can(const char *cpuinfo)
{
	const char *flags = strstr(cpuinfo, "flags\t");
	size_t len;

	if (!flags)
		return false;
	len = strcspn(flags, "\n");
	return has_word(flags, len, "vmx") || has_word(flags, len, "svm");
}

/* No permission is no answer: QEMU's user may have it. */
static int probe_device(struct err *e)
{
	autoclose int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	autoclose int vm = -1;
	autoclose int cpu = -1;

	if (kvm < 0 && errno == EACCES)
		return 0;
	if (kvm < 0)
		return err_sys(e, "/dev/kvm");
	vm = ioctl(kvm, KVM_CREATE_VM, 0);
	if (vm < 0)
		return err_sys(e, "/dev/kvm cannot make a VM");
	cpu = ioctl(vm, KVM_CREATE_VCPU, 0);
	if (cpu < 0)
		return err_sys(e, "/dev/kvm cannot make a virtual CPU");
	return 0;
}

int accel_probe(struct err *e)
{
	autofree char *text = NULL;
	size_t len;

	if (path_read_file("/proc/cpuinfo", CPUINFO_CAP, &text, &len, e))
		return -1;
	if (!accel_cpu_can(text))
		return err_set(e, ERR_UNAVAILABLE,
			       "the processor shows no virtualisation (vmx or "
			       "svm): switch it on in the firmware's settings, "
			       "or in the outer hypervisor");
	return probe_device(e);
}
