#include "mcp/protocol_modern.h"

#include "mcp/elicit.h"
#include "mcp/protocol_library.h"

#include <string.h>

/*
 * Lists come from a table that is compiled in and do not depend on who asks;
 * an hour bounds how long a client may miss an upgrade of ours. "private"
 * because --vm makes the instructions differ between servers.
 */
#define TTL_MS (3600 * 1000LL)
#define CACHE_SCOPE "private"
/* VMs come and go */
#define LIST_TTL_MS 2000LL

static json_t *supported_versions(void)
{
	json_t *v = json_array();

	json_array_append_new(v, json_string(PROTOCOL_MODERN_VERSION));
	return v;
}

static int unsupported(const char *asked, struct jsonrpc_fault *f)
{
	json_t *data = json_object();

	json_object_set_new(data, "supported", supported_versions());
	json_object_set_new(data, "requested", json_string(asked));
	f->data = data;
	return jsonrpc_fault_set(f, JSONRPC_UNSUPPORTED_VERSION,
				 "unsupported protocol version: %.40s", asked);
}

static int check_envelope(const struct jsonrpc_msg *m, struct jsonrpc_fault *f)
{
	const json_t *meta = json_object_get(m->params, "_meta");
	const char *version =
		json_string_value(json_object_get(meta, PROTOCOL_META_VERSION));

	if (!version)
		return jsonrpc_fault_set(f, JSONRPC_INVALID_PARAMS,
					 "_meta: needs %s, a string (or send "
					 "initialize first)",
					 PROTOCOL_META_VERSION);
	if (strcmp(version, PROTOCOL_MODERN_VERSION) != 0)
		return unsupported(version, f);
	if (!json_is_object(json_object_get(meta, PROTOCOL_META_CAPABILITIES)))
		return jsonrpc_fault_set(f, JSONRPC_INVALID_PARAMS,
					 "_meta: needs %s, an object",
					 PROTOCOL_META_CAPABILITIES);
	return 0;
}

static void read_discover(const struct protocol_server *server, struct ask *ret)
{
	json_t *r = json_object();
	json_t *meta = json_object();

	json_object_set_new(meta, PROTOCOL_META_SERVER_INFO,
			    protocol_server_card(server));
	json_object_set_new(r, "supportedVersions", supported_versions());
	json_object_set_new(r, "capabilities", protocol_capabilities(server));
	json_object_set_new(r, "instructions",
			    json_string(server->instructions));
	json_object_set_new(r, "_meta", meta);
	ret->kind = ASK_HELLO;
	ret->result = r;
}

/* Logged is what the request asks for, and nothing when it does not. */
static int read_level(const struct jsonrpc_msg *m, struct ask *ret,
		      struct jsonrpc_fault *f)
{
	const json_t *level = json_object_get(
		json_object_get(m->params, "_meta"), PROTOCOL_META_LOG_LEVEL);

	ret->level = protocol_level(json_string_value(level));
	if (!level || ret->level != LEVEL_NONE)
		return 0;
	return jsonrpc_fault_set(f, JSONRPC_INVALID_PARAMS,
				 "_meta: %s is no level",
				 PROTOCOL_META_LOG_LEVEL);
}

/* What a request says beside what it asks. */
static void read_envelope(const struct jsonrpc_msg *m, struct ask *ret)
{
	const json_t *meta = json_object_get(m->params, "_meta");

	ret->abilities = elicit_abilities(
		json_object_get(meta, PROTOCOL_META_CAPABILITIES));
	ret->client_info = json_object_get(meta, PROTOCOL_META_CLIENT_INFO);
	ret->request_state = json_object_get(m->params, "requestState");
	ret->input_responses = json_object_get(m->params, "inputResponses");
}

int protocol_modern_read(const struct protocol_server *server,
			 const struct jsonrpc_msg *m, struct ask *ret,
			 struct jsonrpc_fault *f)
{
	int rc;

	if (m->kind == JSONRPC_REQUEST && check_envelope(m, f) != 0) {
		f->refused = true;
		return -1;
	}
	if (read_level(m, ret, f) != 0)
		return -1;
	read_envelope(m, ret);
	rc = protocol_read_common(server, m, ret, f);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (strcmp(m->method, "server/discover") == 0) {
		read_discover(server, ret);
		return 0;
	}
	if (strcmp(m->method, "subscriptions/listen") == 0)
		return protocol_library_listen(m, ret, f);
	/* initialize, ping and their kin are gone from this revision */
	return protocol_unknown_method(m, f);
}

/* For how long a client may keep what it got; -1: it may not. */
static int64_t ttl_ms(enum ask_kind kind)
{
	switch (kind) {
	case ASK_HELLO:
	case ASK_TOOLS_LIST:
	case ASK_TEMPLATES_LIST:
	case ASK_PROMPTS_LIST:
		return TTL_MS;
	case ASK_RESOURCES_LIST:
		return LIST_TTL_MS;
	case ASK_RESOURCE_READ:
		return 0;
	case ASK_NOTHING:
	case ASK_PING:
	case ASK_TOOL_CALL:
	case ASK_CANCEL:
	case ASK_PROMPT_GET:
	case ASK_COMPLETE:
	case ASK_SUBSCRIBE:
	case ASK_UNSUBSCRIBE:
	case ASK_LISTEN:
	case ASK_SET_LEVEL:
		break;
	}
	return -1;
}

void protocol_modern_dress(const struct protocol_server *server,
			   enum ask_kind kind, json_t *result)
{
	json_t *meta = json_object_get(result, "_meta");
	int64_t ttl = ttl_ms(kind);

	if (!json_object_get(result, "resultType"))
		json_object_set_new(result, "resultType",
				    json_string("complete"));
	if (!meta) {
		meta = json_object();
		json_object_set_new(result, "_meta", meta);
	}
	if (!json_object_get(meta, PROTOCOL_META_SERVER_INFO))
		json_object_set_new(meta, PROTOCOL_META_SERVER_INFO,
				    protocol_server_info(server));
	if (ttl < 0)
		return;
	if (!json_object_get(result, "ttlMs"))
		json_object_set_new(result, "ttlMs", json_integer(ttl));
	json_object_set_new(result, "cacheScope", json_string(CACHE_SCOPE));
}
