/* What a hostile guest may write to its console. */
#include "vmctl/consoletext.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1);
	size_t kept;

	if (!text)
		return 0;
	memcpy(text, data, len);
	kept = consoletext_clean(text, len);
	if (kept > len)
		abort();
	for (size_t i = 0; i < kept; i++) {
		unsigned char c = (unsigned char)text[i];

		if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
			abort();
	}
	/* what was cleaned is clean */
	if (consoletext_clean(text, kept) != kept)
		abort();
	free(text);
	return 0;
}
