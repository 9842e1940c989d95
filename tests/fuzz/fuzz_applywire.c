/* What a guest answers about its grants: each word is known, or it is refused. */
#include "base/alloc.h"
#include "vmctl/applywire.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct applywire_item items[2] = {{.id = "aaaaaaaaaaaa"},
					  {.id = "bbbbbbbbbbbb"}};
	struct err e = {0};
	int rc = applywire_parse((const char *)data, len, items, 2, &e);

	if ((rc < 0) != (e.code != ERR_NONE))
		abort();
	for (size_t i = 0; i < 2; i++) {
		if (items[i].ok && items[i].why)
			abort();
		/* ours: it does not lie in what the guest sent */
		if (items[i].why && items[i].why >= (const char *)data &&
		    items[i].why < (const char *)data + len)
			abort();
	}
	return 0;
}
