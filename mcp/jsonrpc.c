#include "mcp/jsonrpc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int jsonrpc_fault_set(struct jsonrpc_fault *f, int code, const char *fmt, ...)
{
	char draft[sizeof(f->why.msg) * 2];
	va_list ap;

	va_start(ap, fmt);
	if (vsnprintf(draft, sizeof(draft), fmt, ap) < 0)
		draft[0] = '\0';
	va_end(ap);
	f->code = code;
	/* err_set() escapes: a method's name comes from a stranger */
	return err_set(&f->why, ERR_PROTOCOL, "%s", draft);
}

void jsonrpc_fault_finish(struct jsonrpc_fault *f)
{
	json_decref(f->data);
	json_decref(f->id);
	*f = (struct jsonrpc_fault){0};
}

void jsonrpc_msg_finish(struct jsonrpc_msg *m)
{
	json_decref(m->root);
	*m = (struct jsonrpc_msg){0};
}

bool jsonrpc_is_id(const json_t *v)
{
	return json_is_string(v) || json_is_integer(v);
}

static int read_response(struct jsonrpc_msg *m, struct jsonrpc_fault *f)
{
	m->kind = JSONRPC_RESPONSE;
	m->result = json_object_get(m->root, "result");
	m->error = json_object_get(m->root, "error");
	if (!m->result == !m->error)
		return jsonrpc_fault_set(f, JSONRPC_INVALID_REQUEST,
					 "neither a request nor a response: "
					 "no method, result or error");
	/* an error that answers what had no usable id carries null */
	if (!m->id || (!jsonrpc_is_id(m->id) && !m->error))
		return jsonrpc_fault_set(f, JSONRPC_INVALID_REQUEST,
					 "a response needs the id of its "
					 "request");
	return 0;
}

static int read_call(struct jsonrpc_msg *m, const json_t *method,
		     struct jsonrpc_fault *f)
{
	if (m->id && !jsonrpc_is_id(m->id))
		return jsonrpc_fault_set(f, JSONRPC_INVALID_REQUEST,
					 "id: must be a string or an integer");
	m->kind = m->id ? JSONRPC_REQUEST : JSONRPC_NOTIFICATION;
	/* from here on the request can be answered by its id */
	f->id = json_deep_copy(m->id);
	m->method = json_string_value(method);
	if (!m->method)
		return jsonrpc_fault_set(f, JSONRPC_INVALID_REQUEST,
					 "method: must be a string");
	m->params = json_object_get(m->root, "params");
	f->unanswered = !m->id;
	if (m->params && !json_is_object(m->params))
		return jsonrpc_fault_set(f, JSONRPC_INVALID_PARAMS,
					 "params: must be an object");
	return 0;
}

static int read_message(struct jsonrpc_msg *m, struct jsonrpc_fault *f)
{
	const json_t *method;
	const char *version;

	if (json_is_array(m->root))
		return jsonrpc_fault_set(f, JSONRPC_INVALID_REQUEST,
					 "batches are not supported: send one "
					 "message at a time");
	if (!json_is_object(m->root))
		return jsonrpc_fault_set(f, JSONRPC_INVALID_REQUEST,
					 "a message must be a JSON object");
	version = json_string_value(json_object_get(m->root, "jsonrpc"));
	m->id = json_object_get(m->root, "id");
	if (!version || strcmp(version, "2.0") != 0) {
		if (jsonrpc_is_id(m->id))
			f->id = json_deep_copy(m->id);
		return jsonrpc_fault_set(f, JSONRPC_INVALID_REQUEST,
					 "jsonrpc: must be \"2.0\"");
	}
	method = json_object_get(m->root, "method");
	return method ? read_call(m, method, f) : read_response(m, f);
}

int jsonrpc_parse(const char *text, size_t len, struct jsonrpc_msg *ret,
		  struct jsonrpc_fault *ret_fault)
{
	struct jsonrpc_fault f = {0};
	struct jsonrpc_msg m = {0};
	struct err e = {0};

	m.root = json_parse(text, len, &e);
	if (!m.root) {
		jsonrpc_fault_set(&f, JSONRPC_PARSE_ERROR, "%s", err_msg(&e));
		*ret_fault = f;
		return -1;
	}
	if (read_message(&m, &f) != 0) {
		jsonrpc_msg_finish(&m);
		*ret_fault = f;
		return -1;
	}
	jsonrpc_fault_finish(&f);
	*ret = m;
	return 0;
}

static json_t *new_message(void)
{
	json_t *m = json_object();

	json_object_set_new(m, "jsonrpc", json_string("2.0"));
	return m;
}

static void put_id(json_t *m, const json_t *id)
{
	json_object_set_new(m, "id", id ? json_deep_copy(id) : json_null());
}

json_t *jsonrpc_result(const json_t *id, json_t *result)
{
	json_t *m = new_message();

	put_id(m, id);
	json_object_set_new(m, "result", result);
	return m;
}

json_t *jsonrpc_error(const json_t *id, int code, const char *message,
		      json_t *data)
{
	json_t *m = new_message();
	json_t *error = json_object();

	put_id(m, id);
	json_object_set_new(error, "code", json_integer(code));
	json_object_set_new(error, "message",
			    json_lossy(message, strlen(message)));
	if (data)
		json_object_set_new(error, "data", data);
	json_object_set_new(m, "error", error);
	return m;
}

json_t *jsonrpc_notification(const char *method, json_t *params)
{
	json_t *m = new_message();

	json_object_set_new(m, "method", json_string(method));
	if (params)
		json_object_set_new(m, "params", params);
	return m;
}
