#include "mcp/protocol_modern.h"

#include <string.h>

/*
 * Lists come from a table that is compiled in and do not depend on who asks;
 * an hour bounds how long a client may miss an upgrade of ours. "private"
 * because --vm makes the instructions differ between servers.
 */
#define TTL_MS (3600 * 1000LL)
#define CACHE_SCOPE "private"

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

	json_object_set_new(r, "supportedVersions", supported_versions());
	json_object_set_new(r, "capabilities", protocol_capabilities());
	json_object_set_new(r, "instructions",
			    json_string(server->instructions));
	ret->kind = ASK_HELLO;
	ret->result = r;
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
	rc = protocol_read_common(m, ret, f);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (strcmp(m->method, "server/discover") == 0) {
		read_discover(server, ret);
		return 0;
	}
	/* initialize, ping and their kin are gone from this revision */
	return protocol_unknown_method(m, f);
}

void protocol_modern_dress(const struct protocol_server *server,
			   enum ask_kind kind, json_t *result)
{
	json_t *meta = json_object_get(result, "_meta");

	json_object_set_new(result, "resultType", json_string("complete"));
	if (!meta) {
		meta = json_object();
		json_object_set_new(result, "_meta", meta);
	}
	json_object_set_new(meta, PROTOCOL_META_SERVER_INFO,
			    protocol_server_info(server));
	if (kind != ASK_HELLO && kind != ASK_TOOLS_LIST)
		return;
	json_object_set_new(result, "ttlMs", json_integer(TTL_MS));
	json_object_set_new(result, "cacheScope", json_string(CACHE_SCOPE));
}
