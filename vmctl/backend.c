#include "vmctl/backend.h"

const char *machine_state_name(enum machine_state s)
{
	static const char *const names[] = {
		[MACHINE_ABSENT] = "missing",  [MACHINE_OFF] = "off",
		[MACHINE_RUNNING] = "running", [MACHINE_PAUSED] = "paused",
		[MACHINE_CRASHED] = "crashed", [MACHINE_NOSPACE] = "disk-full",
	};

	return names[s];
}
