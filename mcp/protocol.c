#include "mcp/protocol.h"

#include <string.h>

static const json_t *meta_of(const struct jsonrpc_msg *m)
{
	return json_object_get(m->params, "_meta");
}

bool protocol_is_modern(const struct jsonrpc_msg *m)
{
	return json_object_get(meta_of(m), PROTOCOL_META_VERSION) != NULL;
}

json_t *protocol_server_info(const struct protocol_server *server)
{
	json_t *info = json_object();

	json_object_set_new(info, "name", json_string(server->name));
	json_object_set_new(info, "title", json_string(server->title));
	json_object_set_new(info, "version", json_string(server->version));
	return info;
}

json_t *protocol_capabilities(void)
{
	json_t *c = json_object();

	/* the list of tools never changes while a server lives */
	json_object_set_new(c, "tools", json_object());
	return c;
}

static int read_tool_call(const struct jsonrpc_msg *m, struct ask *ret,
			  struct jsonrpc_fault *f)
{
	const json_t *args = json_object_get(m->params, "arguments");

	ret->kind = ASK_TOOL_CALL;
	ret->tool = json_string_value(json_object_get(m->params, "name"));
	if (!ret->tool)
		return jsonrpc_fault_set(f, JSONRPC_INVALID_PARAMS,
					 "name: must be the name of a tool");
	if (args && !json_is_object(args))
		return jsonrpc_fault_set(f, JSONRPC_INVALID_PARAMS,
					 "arguments: must be an object");
	ret->args = args;
	return 0;
}

static int read_tools_list(const struct jsonrpc_msg *m, struct ask *ret,
			   struct jsonrpc_fault *f)
{
	ret->kind = ASK_TOOLS_LIST;
	/* the list fits one page, so nobody has a cursor from us */
	if (json_object_get(m->params, "cursor"))
		return jsonrpc_fault_set(f, JSONRPC_INVALID_PARAMS,
					 "cursor: not one that this server "
					 "gave");
	return 0;
}

static int read_progress_token(const struct jsonrpc_msg *m, struct ask *ret,
			       struct jsonrpc_fault *f)
{
	const json_t *meta = meta_of(m);
	const json_t *token = json_object_get(meta, "progressToken");

	if (meta && !json_is_object(meta))
		return jsonrpc_fault_set(f, JSONRPC_INVALID_PARAMS,
					 "_meta: must be an object");
	if (token && !jsonrpc_is_id(token))
		return jsonrpc_fault_set(
			f, JSONRPC_INVALID_PARAMS,
			"_meta.progressToken: must be a string "
			"or an integer");
	ret->progress_token = token;
	return 0;
}

static int read_notification(const struct jsonrpc_msg *m, struct ask *ret)
{
	const json_t *id = json_object_get(m->params, "requestId");

	ret->kind = ASK_NOTHING;
	if (strcmp(m->method, "notifications/cancelled") == 0 &&
	    jsonrpc_is_id(id)) {
		ret->kind = ASK_CANCEL;
		ret->cancel_id = id;
	}
	/* all others inform of what nothing here depends on */
	return 1;
}

int protocol_read_common(const struct jsonrpc_msg *m, struct ask *ret,
			 struct jsonrpc_fault *f)
{
	int rc;

	if (m->kind == JSONRPC_NOTIFICATION)
		return read_notification(m, ret);
	if (read_progress_token(m, ret, f) != 0)
		return -1;
	if (strcmp(m->method, "tools/list") == 0)
		rc = read_tools_list(m, ret, f);
	else if (strcmp(m->method, "tools/call") == 0)
		rc = read_tool_call(m, ret, f);
	else
		return 0;
	return rc == 0 ? 1 : -1;
}

int protocol_unknown_method(const struct jsonrpc_msg *m,
			    struct jsonrpc_fault *f)
{
	return jsonrpc_fault_set(f, JSONRPC_METHOD_NOT_FOUND,
				 "method not found: %.100s", m->method);
}
