/* A window's property, as titles, classes, lists of windows and selections
 * come: valid text, or items within the reply, never past its end. */
#include "base/utf8.h"
#include "desktop/xprop.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_text(const struct xprop *v, unsigned skip, size_t size)
{
	char text[64];
	size_t n, at = 0;
	uint32_t cp;

	xprop_text(v, skip, text, size);
	n = strlen(text);
	if (n >= size)
		abort();
	for (; at < n; at += utf8_next(text + at, n - at, &cp)) {
		if (utf8_next(text + at, n - at, &cp) == 0)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint32_t words[16];
	struct xprop v;

	if (xprop_parse(data, len, &v) != 0)
		return 0;
	if (v.len > len - 32)
		abort();
	for (unsigned skip = 0; skip < 3; skip++) {
		check_text(&v, skip, 64);
		check_text(&v, skip, 3);
		check_text(&v, skip, 1);
	}
	if (xprop_words(&v, words, 16) > v.len / 4)
		abort();
	return 0;
}
