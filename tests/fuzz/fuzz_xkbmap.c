/* A keyboard's map, and what we would type by it. */
#include "desktop/keymap.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const uint32_t keysyms[] = {'a',	       'A',	   0xff0d,
					   0x01004e2d, 0x0101f600, 0xe9};
	static struct keymap map;
	bool unused[XKBMAP_KEYCODES] = {false},
	     bound[XKBMAP_KEYCODES] = {false};
	struct keymap_plan plan;
	uint32_t fresh[XKBMAP_KEYCODES];
	struct xkbmap_change change;
	struct xkbmap x;
	struct err e = {0};
	struct buf out;

	if (xkbmap_parse(data, len, &x, &e) != 0) {
		if (e.code == ERR_NONE)
			abort();
		return 0;
	}
	for (unsigned i = 0; i < XKBMAP_KEYCODES; i++) {
		unused[i] = i % 3 != 0;
		bound[i] = i % 5 == 0;
	}
	map = (struct keymap){0};
	keymap_load(&map, &x, unused, bound);
	if (keymap_plan(&map, keysyms, 6, &plan, &e) != 0)
		return 0;
	for (size_t i = 0; i < plan.count; i++) {
		struct keymap_stroke s;

		if (!keymap_find(&map, keysyms[i], &s))
			abort();
	}
	keymap_fresh(&map, fresh);
	buf_init(&out, XKBMAP_MAX_LEN);
	if (xkbmap_rebind(data, len, fresh, &out, &change, &e) == 0 &&
	    out.len != change.count * 8U + change.syms_count * 4U)
		abort();
	buf_finish(&out);
	return 0;
}
