#include "mcp/protocol.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "mcp/protocol_library.h"

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

json_t *protocol_server_card(const struct protocol_server *server)
{
	json_t *card = protocol_server_info(server);
	json_t *icon;

	if (!server->icon)
		return card;
	icon = json_object();
	json_object_set_new(icon, "src", json_string(server->icon));
	json_object_set_new(icon, "mimeType", json_string("image/png"));
	json_object_set_new(card, "icons", json_pack("[o]", icon));
	return card;
}

/* {"listChanged": true}, or what says no more than that there is a list. */
static json_t *list_capability(bool changes)
{
	json_t *c = json_object();

	if (changes)
		json_object_set_new(c, "listChanged", json_true());
	return c;
}

json_t *protocol_capabilities(const struct protocol_server *server)
{
	json_t *c = json_object();
	json_t *resources;

	json_object_set_new(c, "tools", list_capability(server->tools_change));
	json_object_set_new(c, "logging", json_object());
	if (!server->has_library)
		return c;
	resources = list_capability(true);
	json_object_set_new(resources, "subscribe", json_true());
	json_object_set_new(c, "resources", resources);
	json_object_set_new(c, "prompts",
			    list_capability(server->prompts_change));
	json_object_set_new(c, "completions", json_object());
	return c;
}

static const char *const levels[] = {
	[LEVEL_DEBUG] = "debug",   [LEVEL_INFO] = "info",
	[LEVEL_NOTICE] = "notice", [LEVEL_WARNING] = "warning",
	[LEVEL_ERROR] = "error",   [LEVEL_CRITICAL] = "critical",
	[LEVEL_ALERT] = "alert",   [LEVEL_EMERGENCY] = "emergency",
};

enum protocol_level protocol_level(const char *name)
{
	for (int i = LEVEL_DEBUG; name && i <= LEVEL_EMERGENCY; i++) {
		if (strcmp(levels[i], name) == 0)
			return (enum protocol_level)i;
	}
	return LEVEL_NONE;
}

const char *protocol_level_name(enum protocol_level level)
{
	return levels[level];
}

int protocol_read_string(const json_t *from, const char *key, const char **ret,
			 struct jsonrpc_fault *f)
{
	const json_t *v = json_object_get(from, key);

	if (!json_is_string(v) || json_string_length(v) > LIMIT_MCP_WORD_LEN)
		return jsonrpc_fault_set(f, JSONRPC_INVALID_PARAMS,
					 "%s: must be a string of at most %d "
					 "bytes",
					 key, LIMIT_MCP_WORD_LEN);
	*ret = json_string_value(v);
	return 0;
}

char *protocol_client_name(const json_t *info)
{
	const char *name = json_string_value(json_object_get(info, "name"));
	const char *version =
		json_string_value(json_object_get(info, "version"));

	return name ? alloc_printf("%.200s%s%.100s", name, version ? " " : "",
				   version ? version : "")
		    : NULL;
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

int protocol_read_common(const struct protocol_server *server,
			 const struct jsonrpc_msg *m, struct ask *ret,
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
		return server->has_library ? protocol_library_read(m, ret, f)
					   : 0;
	return rc == 0 ? 1 : -1;
}

int protocol_unknown_method(const struct jsonrpc_msg *m,
			    struct jsonrpc_fault *f)
{
	return jsonrpc_fault_set(f, JSONRPC_METHOD_NOT_FOUND,
				 "method not found: %.100s", m->method);
}
