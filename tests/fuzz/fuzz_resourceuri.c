/* What is a URI of ours prints as the same URI again. */
#include "mcp/resourceuri.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "ops/validate.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	autofree char *uri = alloc_array(len + 1, 1);
	autofree char *again = NULL;
	struct resourceuri u;
	struct err e = {0};

	memcpy(uri, data, len);
	uri[len] = '\0';
	if (!resourceuri_parse(uri, &u))
		return 0;
	again = resourceuri_print(u.kind, u.name);
	if (strcmp(again, uri) != 0)
		abort();
	if ((u.kind == RESOURCEURI_SCREENSHOT ||
	     u.kind == RESOURCEURI_CONSOLE) &&
	    validate_vm_name(u.name, &e) != 0)
		abort();
	resourceuri_finish(&u);
	return 0;
}
