/* Key chords and text as a client writes them. */
#include "base/alloc.h"
#include "base/cleanup.h"
#include "desktop/keysym.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct keysym_chord chords[KEYSYM_CHORDS_COUNT];
	autofree uint32_t *keysyms = alloc_array(len + 1, sizeof(*keysyms));
	autofree char *text = alloc_array(len + 1, 1);
	struct err e = {0};
	unsigned count;
	size_t n;

	memcpy(text, data, len);
	text[len] = '\0';
	if (keysym_parse_chords(text, chords, &count, &e) == 0) {
		for (unsigned i = 0; i < count; i++) {
			if (!chords[i].key && chords[i].mods_count == 0)
				abort();
		}
	} else if (e.code == ERR_NONE) {
		abort();
	}
	if (keysym_from_text(text, len, keysyms, &n, &e) == 0 && n > len)
		abort();
	if (keysym_parse_modifiers(text, &chords[0], &e) == 0 && chords[0].key)
		abort();
	return 0;
}
