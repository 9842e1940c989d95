/* A guest agent's answers: taken with what they must hold, or refused. */
#include "base/alloc.h"
#include "base/cleanup.h"
#include "vmctl/agentwire.h"
#include "vmctl/hostkey.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LEN 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	autofree char *answer = alloc_strn((const char *)data, len);
	autofree char *text = NULL;
	char finger[HOSTKEY_FINGERPRINT_SIZE];
	struct err e = {0}, why = {0};
	int64_t handle = 0;

	if (agentwire_parse_open(answer, &handle, &e) && e.code == ERR_NONE)
		abort();
	if (agentwire_parse_read(answer, MAX_LEN, &text, &why)) {
		if (why.code == ERR_NONE || text)
			abort();
		return 0;
	}
	if (strlen(text) > MAX_LEN)
		abort();
	/* what passes for a key has a fingerprint and is like itself */
	if (hostkey_check_line(text, NULL) == 0 &&
	    (hostkey_fingerprint(text, finger, NULL) ||
	     !hostkey_same(text, text)))
		abort();
	return 0;
}
