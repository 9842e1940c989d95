/*
 * Any bytes, made visible: what comes out is UTF-8 of which every character
 * is plain, and for a dialog nothing that marks up stands without its
 * backslash. The first byte picks the medium and the cap.
 */
#include "base/utf8.h"
#include "grants/visible.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(const char *text, enum visible_medium medium)
{
	size_t len = strlen(text);
	bool escaped = false;

	while (len > 0) {
		uint32_t cp = 0;
		size_t n = utf8_next(text, len, &cp);

		if (n == 0 || !visible_is_plain(cp))
			abort();
		if (medium == VISIBLE_DIALOG && !escaped && cp < 0x80 &&
		    strchr("`*[]<>|~&@$", (int)cp))
			abort();
		escaped = cp == '\\' && !escaped;
		text += n;
		len -= n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	enum visible_medium medium;
	size_t max;
	char *text;

	if (len == 0)
		return 0;
	medium = data[0] & 1 ? VISIBLE_DIALOG : VISIBLE_TERMINAL;
	max = data[0] & 2 ? 20 : 4096;
	text = visible_text((const char *)data + 1, len - 1, max, medium);
	check(text, medium);
	free(text);
	return 0;
}
