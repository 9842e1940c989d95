/*
 * Which windows are open, by their titles, as the window manager lists them. A
 * window may vanish while we ask about it: X errors count as "no".
 */
#include "desktop/x11_conn.h"

#include <string.h>

enum {
	WINDOWS_COUNT = 1024,
	TITLE_LEN = 1024,
	/* windows asked about at once, with two requests each */
	BATCH_COUNT = 24,
};

/* Titles of a batch; the first of either kind that holds part will do. */
static int find_in(struct x11 *x, const uint32_t *windows, unsigned count,
		   const char *part, bool *ret, struct err *e)
{
	const uint32_t kinds[] = {x->atoms[X11_ATOM_NET_WM_NAME],
				  XCB_ATOM_WM_NAME};
	unsigned seqs[BATCH_COUNT * ARRAY_COUNT(kinds)], asked = 0;

	for (unsigned i = 0; i < count; i++) {
		for (size_t k = 0; k < ARRAY_COUNT(kinds); k++) {
			if (x11_ask_property(x, windows[i], kinds[k], TITLE_LEN,
					     &seqs[asked++], e) != 0)
				return -1;
		}
	}
	for (unsigned i = 0; i < asked; i++) {
		char title[TITLE_LEN];

		if (x11_take_text(x, seqs[i], title, sizeof(title), e) != 0) {
			x->failed = true; /* replies may be left over */
			return -1;
		}
		*ret |= strcasestr(title, part) != NULL;
	}
	return 0;
}

int x11_find_title(struct x11 *x, const char *part, bool *ret, struct err *e)
{
	uint32_t windows[WINDOWS_COUNT];
	unsigned count;
	bool found = false;

	if (x11_get_words(
		    x, (struct x11_of){x->setup.root, X11_ATOM_NET_CLIENT_LIST},
		    windows, WINDOWS_COUNT, &count, e) != 0)
		return -1;
	for (unsigned i = 0; i < count && !found; i += BATCH_COUNT) {
		unsigned n = count - i < BATCH_COUNT ? count - i : BATCH_COUNT;

		if (find_in(x, windows + i, n, part, &found, e) != 0)
			return -1;
	}
	*ret = found;
	return 0;
}
