#include "mcp/library.h"

json_t *library_not_found(struct jsonrpc_fault *f, const char *uri)
{
	jsonrpc_fault_set(f, JSONRPC_INVALID_PARAMS, "resource not found: %.200s",
			  uri);
	f->data = json_object();
	json_object_set_new(f->data, "uri", json_string(uri));
	return NULL;
}
