/* Whatever parses prints to a text that parses to the same and prints alike,
 * holds nothing that does not show, and is within the cap. */
#include "base/limits.h"
#include "base/utf8.h"
#include "grants/grant.h"
#include "grants/visible.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct grant g = {0};
	struct grant again = {0};
	struct err e = {0};
	char *text, *slot;

	if (grant_parse((const char *)data, len, &g, &e) < 0) {
		if (e.code == ERR_NONE || g.name)
			abort();
		return 0;
	}
	text = grant_print(&g);
	if (strlen(text) > LIMIT_GRANT_LEN ||
	    grant_parse(text, strlen(text), &again, NULL) < 0 ||
	    again.kind != g.kind || again.read_only != g.read_only ||
	    strcmp(again.name, g.name) != 0 || !grant_equal(&g, &again))
		abort();
	for (const char *p = text; *p;) {
		uint32_t cp = 0;
		size_t n = utf8_next(p, strlen(p), &cp);

		if (n == 0 || !visible_is_plain(cp))
			abort();
		p += n;
	}
	slot = grant_slot(&g);
	free(slot);
	free(text);
	grant_finish(&again);
	grant_finish(&g);
	return 0;
}
