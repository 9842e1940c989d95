#include "vmctl/agentwire.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/crypto.h"
#include "base/json.h"

#include <string.h>

/* -- commands ---------------------------------------------------------------- */

static char *command(const char *name, json_t *arguments)
{
	auto_json json_t *o = json_pack("{s:s, s:o}", "execute", name,
					"arguments", arguments);

	return json_print(o);
}

char *agentwire_open(const char *path)
{
	return command("guest-file-open",
		       json_pack("{s:s, s:s}", "path", path, "mode", "r"));
}

char *agentwire_read(int64_t handle, size_t max_len)
{
	return command("guest-file-read",
		       json_pack("{s:I, s:I}", "handle", (json_int_t)handle,
				 "count", (json_int_t)max_len));
}

char *agentwire_close(int64_t handle)
{
	return command("guest-file-close",
		       json_pack("{s:I}", "handle", (json_int_t)handle));
}

/* -- answers ----------------------------------------------------------------- */

static int not_so(struct err *e, const char *what)
{
	return err_set(e, ERR_PROTOCOL, "the guest agent %s", what);
}

/* The answer, with *ret_value borrowed from it. */
static json_t *parse(const char *answer, const json_t **ret_value,
		     struct err *e)
{
	size_t len = strnlen(answer, AGENTWIRE_ANSWER_LEN + 1);
	json_t *o;

	if (len > AGENTWIRE_ANSWER_LEN) {
		err_set(e, ERR_LIMIT, "the guest agent answers with more than "
				      "%d bytes",
			AGENTWIRE_ANSWER_LEN);
		return NULL;
	}
	o = json_parse(answer, len, NULL);
	if (json_is_object(o) && json_object_size(o) == 1 &&
	    json_object_get(o, "return")) {
		*ret_value = json_object_get(o, "return");
		return o;
	}
	json_decref(o);
	(void)!not_so(e, "does not answer as it must");
	return NULL;
}

int agentwire_parse_open(const char *answer, int64_t *ret_handle,
			 struct err *e)
{
	const json_t *value = NULL;
	auto_json json_t *o = parse(answer, &value, e);

	if (!o)
		return -1;
	if (!json_is_integer(value))
		return not_so(e, "opens a file and gives no handle");
	*ret_handle = json_integer_value(value);
	return 0;
}

static int take_bytes(const json_t *value, size_t max_len, char **ret_text,
		      struct err *e)
{
	const json_t *text = json_object_get(value, "buf-b64");
	const json_t *count = json_object_get(value, "count");
	const json_t *eof = json_object_get(value, "eof");
	autofree char *bytes = NULL;
	size_t len = 0;

	if (json_object_size(value) != 3 || !json_is_string(text) ||
	    !json_is_integer(count) || !json_is_boolean(eof))
		return not_so(e, "reads a file and does not say what");
	bytes = alloc_zero(max_len + 1);
	if (crypto_base64_decode(json_string_value(text),
				 json_string_length(text), (uint8_t *)bytes,
				 max_len, &len, e)) {
		if (e && e->code == ERR_LIMIT)
			return -1;
		return not_so(e, "gives bytes that are no base64");
	}
	if (json_integer_value(count) != (json_int_t)len)
		return not_so(e, "miscounts the bytes of a file");
	if (json_is_false(eof))
		return err_set(e, ERR_LIMIT, "more than %zu bytes", max_len);
	if (strlen(bytes) != len)
		return err_set(e, ERR_PROTOCOL, "not a text file");
	*ret_text = TAKE_PTR(bytes);
	return 0;
}

int agentwire_parse_read(const char *answer, size_t max_len, char **ret_text,
			 struct err *e)
{
	const json_t *value = NULL;
	auto_json json_t *o = parse(answer, &value, e);

	return o ? take_bytes(value, max_len, ret_text, e) : -1;
}
