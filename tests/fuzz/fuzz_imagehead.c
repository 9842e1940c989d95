/* The first bytes of an image that somebody brings, and records of images. */
#include "vmctl/image.h"
#include "vmctl/overlay.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct overlay_header h;
	struct image i;

	if (overlay_parse_header(data, len, len, &h, NULL) == 0 && h.qcow2) {
		uint64_t backing;

		/* never one that names another file */
		memcpy(&backing, data + 8, sizeof(backing));
		if (backing)
			abort();
	}
	if (image_parse_record((const char *)data, len, &i, NULL) == 0) {
		if (!json_is_array(i.layers) || i.disk_len == 0)
			abort();
		image_finish(&i);
	}
	return 0;
}
