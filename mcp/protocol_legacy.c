#include "mcp/protocol_legacy.h"

#include "base/cleanup.h"
#include "mcp/elicit.h"

#include <string.h>

static const char *const versions[] = {"2025-11-25", "2025-06-18", "2025-03-26",
				       "2024-11-05"};

bool protocol_legacy_speaks(const char *version)
{
	for (size_t i = 0; i < ARRAY_COUNT(versions); i++) {
		if (strcmp(versions[i], version) == 0)
			return true;
	}
	return false;
}

/* The client's version when we speak it, else our newest: it may then leave. */
static const char *negotiate(const char *asked)
{
	for (size_t i = 0; i < ARRAY_COUNT(versions); i++) {
		if (strcmp(versions[i], asked) == 0)
			return versions[i];
	}
	return versions[0];
}

void protocol_legacy_finish(struct protocol_legacy *state)
{
	free(state->client);
	*state = (struct protocol_legacy){0};
}

static int read_initialize(struct protocol_legacy *state,
			   const struct protocol_server *server,
			   const struct jsonrpc_msg *m, struct ask *ret,
			   struct jsonrpc_fault *f)
{
	const char *asked = json_string_value(
		json_object_get(m->params, "protocolVersion"));
	json_t *r;

	if (!asked)
		return jsonrpc_fault_set(f, JSONRPC_INVALID_PARAMS,
					 "protocolVersion: must be a string "
					 "such as %s",
					 versions[0]);
	protocol_legacy_finish(state);
	state->version = negotiate(asked);
	state->abilities = elicit_abilities(
		json_object_get(m->params, "capabilities"));
	state->client = protocol_client_name(
		json_object_get(m->params, "clientInfo"));
	r = json_object();
	json_object_set_new(r, "protocolVersion", json_string(state->version));
	json_object_set_new(r, "capabilities", protocol_capabilities(server));
	json_object_set_new(r, "serverInfo", protocol_server_card(server));
	json_object_set_new(r, "instructions",
			    json_string(server->instructions));
	ret->kind = ASK_HELLO;
	ret->result = r;
	return 0;
}

static int read_subscribe(const struct jsonrpc_msg *m, enum ask_kind kind,
			  struct ask *ret, struct jsonrpc_fault *f)
{
	ret->kind = kind;
	return protocol_read_string(m->params, "uri", &ret->uri, f);
}

static int read_set_level(const struct jsonrpc_msg *m, struct ask *ret,
			  struct jsonrpc_fault *f)
{
	ret->kind = ASK_SET_LEVEL;
	ret->level = protocol_level(
		json_string_value(json_object_get(m->params, "level")));
	if (ret->level != LEVEL_NONE)
		return 0;
	return jsonrpc_fault_set(f, JSONRPC_INVALID_PARAMS,
				 "level: must be debug, info, notice, warning, "
				 "error, critical, alert or emergency");
}

int protocol_legacy_read(struct protocol_legacy *state,
			 const struct protocol_server *server,
			 const struct jsonrpc_msg *m, struct ask *ret,
			 struct jsonrpc_fault *f)
{
	int rc = protocol_read_common(server, m, ret, f);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (strcmp(m->method, "initialize") == 0)
		return read_initialize(state, server, m, ret, f);
	if (strcmp(m->method, "ping") == 0) {
		ret->kind = ASK_PING;
		return 0;
	}
	if (strcmp(m->method, "logging/setLevel") == 0)
		return read_set_level(m, ret, f);
	if (server->has_library &&
	    strcmp(m->method, "resources/subscribe") == 0)
		return read_subscribe(m, ASK_SUBSCRIBE, ret, f);
	if (server->has_library &&
	    strcmp(m->method, "resources/unsubscribe") == 0)
		return read_subscribe(m, ASK_UNSUBSCRIBE, ret, f);
	return protocol_unknown_method(m, f);
}
