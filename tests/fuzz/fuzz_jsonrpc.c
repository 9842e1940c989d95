/* A line from an MCP client: whatever it is, it becomes a message or a fault,
 * and either can be answered with valid JSON of one line. */
#include "base/cleanup.h"
#include "mcp/jsonrpc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_answer(json_t *answer)
{
	autofree char *text = json_print(answer);
	json_t *back = json_parse(text, strlen(text), NULL);

	if (!back || strchr(text, '\n') || !json_equal(back, answer))
		abort();
	json_decref(back);
	json_decref(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct jsonrpc_msg m;
	struct jsonrpc_fault f = {0};

	if (jsonrpc_parse((const char *)data, len, &m, &f) == 0) {
		if (m.kind == JSONRPC_REQUEST && !jsonrpc_is_id(m.id))
			abort();
		check_answer(jsonrpc_result(m.id, json_object()));
		jsonrpc_msg_finish(&m);
	} else {
		check_answer(jsonrpc_error(f.id, f.code, err_msg(&f.why),
					   NULL));
		jsonrpc_fault_finish(&f);
	}
	return 0;
}
