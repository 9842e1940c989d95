/* A guest's .Xauthority: a cookie or an error, never past its end. */
#include "desktop/xauth.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t cookie[XAUTH_COOKIE_LEN];
	struct err e = {0};

	for (unsigned display = 0; display < 3; display++) {
		int rc = xauth_find(data, len, display, cookie, &e);

		if (rc != 0 && e.code == ERR_NONE)
			abort();
	}
	return 0;
}
