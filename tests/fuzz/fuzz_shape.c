/* config/shapes.json: a person's file, but strict all the same. */
#include "vmctl/shape.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const names[] = {"small", "standard", "large"};

	for (size_t i = 0; i < 3; i++) {
		struct shape s;

		/* whatever is accepted is a machine that can exist */
		if (shape_parse((const char *)data, len, names[i], &s, NULL) ==
			    0 &&
		    (s.cpus < 1 || s.cpus > 64 || s.memory_len < (256 << 20) ||
		     s.disk_len < (1 << 30)))
			abort();
	}
	return 0;
}
