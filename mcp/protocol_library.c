#include "mcp/protocol_library.h"

#include "base/cleanup.h"
#include "base/limits.h"

#include <string.h>

/* These lists fit one page, so nobody has a cursor from us. */
static int read_short_list(const struct jsonrpc_msg *m, struct jsonrpc_fault *f)
{
	if (!json_object_get(m->params, "cursor"))
		return 0;
	return jsonrpc_fault_set(f, JSONRPC_INVALID_PARAMS,
				 "cursor: not one that this server gave");
}

static int read_resources_list(const struct jsonrpc_msg *m, struct ask *ret,
			       struct jsonrpc_fault *f)
{
	if (!json_object_get(m->params, "cursor"))
		return 0;
	return protocol_read_string(m->params, "cursor", &ret->cursor, f);
}

/* Arguments of a prompt are texts, all of them. */
static int read_prompt(const struct jsonrpc_msg *m, struct ask *ret,
		       struct jsonrpc_fault *f)
{
	json_t *args = json_object_get(m->params, "arguments");
	const char *key;
	json_t *v;

	if (protocol_read_string(m->params, "name", &ret->prompt, f) != 0)
		return -1;
	if (args && !json_is_object(args))
		return jsonrpc_fault_set(f, JSONRPC_INVALID_PARAMS,
					 "arguments: must be an object");
	json_object_foreach(args, key, v)
	{
		if (!json_is_string(v))
			return jsonrpc_fault_set(
				f, JSONRPC_INVALID_PARAMS,
				"arguments: %.100s must be a string", key);
	}
	ret->args = args;
	return 0;
}

static int read_complete(const struct jsonrpc_msg *m, struct ask *ret,
			 struct jsonrpc_fault *f)
{
	const json_t *ref = json_object_get(m->params, "ref");
	const json_t *argument = json_object_get(m->params, "argument");
	struct ask_complete *c = &ret->complete;
	const char *type;

	if (protocol_read_string(ref, "type", &type, f) != 0)
		return -1;
	c->of_prompt = strcmp(type, "ref/prompt") == 0;
	if (!c->of_prompt && strcmp(type, "ref/resource") != 0)
		return jsonrpc_fault_set(f, JSONRPC_INVALID_PARAMS,
					 "ref: type must be ref/prompt or "
					 "ref/resource");
	if (protocol_read_string(ref, c->of_prompt ? "name" : "uri", &c->of,
				 f) != 0 ||
	    protocol_read_string(argument, "name", &c->name, f) != 0)
		return -1;
	return protocol_read_string(argument, "value", &c->value, f);
}

int protocol_library_read(const struct jsonrpc_msg *m, struct ask *ret,
			  struct jsonrpc_fault *f)
{
	static const struct {
		const char *method;
		enum ask_kind kind;
	} rows[] = {
		{"resources/list", ASK_RESOURCES_LIST},
		{"resources/templates/list", ASK_TEMPLATES_LIST},
		{"resources/read", ASK_RESOURCE_READ},
		{"prompts/list", ASK_PROMPTS_LIST},
		{"prompts/get", ASK_PROMPT_GET},
		{"completion/complete", ASK_COMPLETE},
	};
	int rc = 0;

	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		if (strcmp(rows[i].method, m->method) == 0)
			ret->kind = rows[i].kind;
	}
	if (ret->kind == ASK_NOTHING)
		return 0;
	if (ret->kind == ASK_RESOURCES_LIST)
		rc = read_resources_list(m, ret, f);
	else if (ret->kind == ASK_RESOURCE_READ)
		rc = protocol_read_string(m->params, "uri", &ret->uri, f);
	else if (ret->kind == ASK_PROMPT_GET)
		rc = read_prompt(m, ret, f);
	else if (ret->kind == ASK_COMPLETE)
		rc = read_complete(m, ret, f);
	else
		rc = read_short_list(m, f);
	return rc == 0 ? 1 : -1;
}

static int read_flag(const json_t *from, const char *key, bool *ret,
		     struct jsonrpc_fault *f)
{
	const json_t *v = json_object_get(from, key);

	if (v && !json_is_boolean(v))
		return jsonrpc_fault_set(f, JSONRPC_INVALID_PARAMS,
					 "notifications.%s: must be a boolean",
					 key);
	*ret = json_is_true(v);
	return 0;
}

int protocol_library_listen(const struct jsonrpc_msg *m, struct ask *ret,
			    struct jsonrpc_fault *f)
{
	const json_t *n = json_object_get(m->params, "notifications");
	const json_t *uris = json_object_get(n, "resourceSubscriptions");
	struct ask_listen *l = &ret->listen;

	ret->kind = ASK_LISTEN;
	if (!json_is_object(n))
		return jsonrpc_fault_set(f, JSONRPC_INVALID_PARAMS,
					 "notifications: must be an object");
	if (read_flag(n, "toolsListChanged", &l->tools, f) != 0 ||
	    read_flag(n, "promptsListChanged", &l->prompts, f) != 0 ||
	    read_flag(n, "resourcesListChanged", &l->resources, f) != 0)
		return -1;
	if (uris && (!json_is_array(uris) ||
		     json_array_size(uris) > LIMIT_MCP_WATCHES_COUNT))
		return jsonrpc_fault_set(f, JSONRPC_INVALID_PARAMS,
					 "notifications.resourceSubscriptions: "
					 "must be an array of at most %d URIs",
					 LIMIT_MCP_WATCHES_COUNT);
	for (size_t i = 0; i < json_array_size(uris); i++) {
		if (!json_is_string(json_array_get(uris, i)))
			return jsonrpc_fault_set(
				f, JSONRPC_INVALID_PARAMS,
				"notifications.resourceSubscriptions: must be "
				"strings");
	}
	l->uris = uris;
	return 0;
}
