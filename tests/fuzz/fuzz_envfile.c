/* A person's file of variables, whatever is in it: what is found is a value
 * that may be granted. */
#include "base/limits.h"
#include "grants/envfile.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct secret *s = NULL;
	struct err e = {0};

	if (envfile_find((const char *)data, len, "A", &s, &e) < 0) {
		if (s || e.code == ERR_NONE)
			abort();
		return 0;
	}
	if (s && (secret_len(s) > LIMIT_GRANT_ENV_LEN ||
		  memchr(secret_const_bytes(s), '\0', secret_len(s))))
		abort();
	secret_free(s);
	return 0;
}
