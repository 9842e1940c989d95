/* What a guest's clipboard gives: targets, text in either encoding, a PNG's
 * head. */
#include "base/json.h"
#include "vmctl/clipformat.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct clipformat kinds[] = {{.is_latin = false},
						  {.is_latin = true}};
	const char *p = (const char *)data;
	uint32_t width = 0, height = 0;
	struct err e = {0};

	for (size_t i = 0; i < 2; i++) {
		auto_json json_t *text = clipformat_text(&kinds[i], p, len);

		if (!json_is_string(text))
			abort();
	}
	if (clipformat_pick(p, len) && len < 6)
		abort();
	if (clipformat_png(p, len, &width, &height, &e) != 0 &&
	    e.code == ERR_NONE)
		abort();
	return 0;
}
