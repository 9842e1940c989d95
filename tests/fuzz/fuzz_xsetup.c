/* An X server's setup: what is accepted is a setup libxcb can walk. */
#include "desktop/xsetup.h"

#include <stdlib.h>
#include <xcb/xcb.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct xsetup s;
	struct err e = {0};
	xcb_screen_iterator_t it;

	if (xsetup_parse(data, len, &s, &e) != 0) {
		if (e.code == ERR_NONE)
			abort();
		return 0;
	}
	/* the input is an exact-size copy: the sanitizer watches this walk */
	it = xcb_setup_roots_iterator((const xcb_setup_t *)data);
	if (it.data->root != s.root || it.data->root_depth != s.depth)
		abort();
	return 0;
}
