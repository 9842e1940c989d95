/* The same message read as either era of MCP; what it asks for can be
 * answered in that era. */
#include "base/cleanup.h"
#include "mcp/protocol_legacy.h"
#include "mcp/protocol_modern.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const struct protocol_server server = {
	.name = "boxery",
	.title = "boxery",
	.version = "1",
	.instructions = "Look.",
	.icon = "data:image/png;base64,AAAA",
	.has_library = true,
};

static void check_ask(struct ask *ask, const struct jsonrpc_msg *m, bool modern)
{
	json_t *result = ask->result ? ask->result : json_object();
	autofree char *text = NULL;

	if ((ask->kind == ASK_TOOL_CALL && !ask->tool) ||
	    (ask->kind == ASK_PROMPT_GET && !ask->prompt) ||
	    (ask->kind == ASK_COMPLETE &&
	     (!ask->complete.of || !ask->complete.name ||
	      !ask->complete.value)) ||
	    (ask->kind == ASK_SET_LEVEL && ask->level == LEVEL_NONE) ||
	    ((ask->kind == ASK_RESOURCE_READ || ask->kind == ASK_SUBSCRIBE) &&
	     !ask->uri))
		abort();
	if (ask->kind != ASK_NOTHING && ask->kind != ASK_CANCEL &&
	    m->kind != JSONRPC_REQUEST)
		abort();
	if (modern)
		protocol_modern_dress(&server, ask->kind, result);
	text = json_print(result);
	if (strchr(text, '\n'))
		abort();
	json_decref(result);
}

static void read_as(const struct jsonrpc_msg *m, bool modern)
{
	struct protocol_legacy legacy = {0};
	struct jsonrpc_fault f = {0};
	struct ask ask = {0};
	int rc = modern ? protocol_modern_read(&server, m, &ask, &f)
			: protocol_legacy_read(&legacy, &server, m, &ask, &f);

	if (rc == 0)
		check_ask(&ask, m, modern);
	else if (f.code == 0)
		abort();
	jsonrpc_fault_finish(&f);
	protocol_legacy_finish(&legacy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct jsonrpc_msg m;
	struct jsonrpc_fault f = {0};

	if (jsonrpc_parse((const char *)data, len, &m, &f) != 0) {
		jsonrpc_fault_finish(&f);
		return 0;
	}
	if (m.kind != JSONRPC_RESPONSE) {
		(void)protocol_is_modern(&m);
		read_as(&m, false);
		read_as(&m, true);
	}
	jsonrpc_msg_finish(&m);
	return 0;
}
