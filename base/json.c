#include "base/json.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "base/utf8.h"

#include <string.h>

/*
 * jansson recurses once a level and allows 2048 of them; the depth is found
 * here first, by brackets outside of strings. What is not well formed is left
 * to jansson to refuse.
 */
static bool is_too_deep(const char *text, size_t len)
{
	bool in_string = false;
	int depth = 0;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (in_string) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_string = false;
			continue;
		}
		if (c == '"')
			in_string = true;
		else if (c == '{' || c == '[')
			depth++;
		else if (c == '}' || c == ']')
			depth--;
		if (depth > LIMIT_JSON_DEPTH)
			return true;
	}
	return false;
}

json_t *json_parse(const char *text, size_t len, struct err *e)
{
	json_error_t why;
	json_t *v;

	if (is_too_deep(text, len)) {
		err_set(e, ERR_INVALID, "JSON nested deeper than %d levels",
			LIMIT_JSON_DEPTH);
		return NULL;
	}
	v = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY,
		       &why);
	if (!v)
		err_set(e, ERR_INVALID, "not valid JSON (line %d, column %d): %s",
			why.line, why.column, why.text);
	return v;
}

char *json_print(const json_t *v)
{
	char *text;

	if (!v)
		return alloc_str("null");
	text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
	/* a tree of valid strings fails for want of memory alone */
	if (!text)
		alloc_fail("out of memory");
	return text;
}

static int check_str(const json_t *v, const char *key, const char **ret,
		     struct err *e)
{
	const char *s = json_string_value(v);

	if (!s)
		return err_set(e, ERR_INVALID, "%s: expected a string", key);
	if (strlen(s) != json_string_length(v))
		return err_set(e, ERR_INVALID, "%s: contains a NUL byte", key);
	*ret = s;
	return 0;
}

/* The member, or NULL when it is absent or null. */
static const json_t *member(const json_t *obj, const char *key)
{
	const json_t *v = json_object_get(obj, key);

	return json_is_null(v) ? NULL : v;
}

int json_get_str(const json_t *obj, const char *key, const char **ret,
		 struct err *e)
{
	return check_str(json_object_get(obj, key), key, ret, e);
}

int json_opt_str(const json_t *obj, const char *key, const char **ret,
		 struct err *e)
{
	const json_t *v = member(obj, key);

	return v ? check_str(v, key, ret, e) : 0;
}

static int check_int(const json_t *v, const char *key, int64_t *ret,
		     struct err *e)
{
	if (!json_is_integer(v))
		return err_set(e, ERR_INVALID, "%s: expected an integer", key);
	*ret = json_integer_value(v);
	return 0;
}

int json_get_int(const json_t *obj, const char *key, int64_t *ret,
		 struct err *e)
{
	return check_int(json_object_get(obj, key), key, ret, e);
}

int json_opt_int(const json_t *obj, const char *key, int64_t *ret,
		 struct err *e)
{
	const json_t *v = member(obj, key);

	return v ? check_int(v, key, ret, e) : 0;
}

int json_opt_bool(const json_t *obj, const char *key, bool *ret, struct err *e)
{
	const json_t *v = member(obj, key);

	if (!v)
		return 0;
	if (!json_is_boolean(v))
		return err_set(e, ERR_INVALID, "%s: expected true or false",
			       key);
	*ret = json_is_true(v);
	return 0;
}

json_t *json_lossy(const char *p, size_t len)
{
	static const char replacement[] = "\xef\xbf\xbd";
	char *text = alloc_array(len + 1, 3);
	size_t at = 0;
	json_t *v;

	while (len > 0) {
		uint32_t cp = 0;
		size_t n = utf8_next(p, len, &cp);

		/* NUL is valid UTF-8, but json_parse() refuses it */
		if (n > 0 && cp != 0) {
			memcpy(text + at, p, n);
			at += n;
		} else {
			memcpy(text + at, replacement, 3);
			at += 3;
			n = 1;
		}
		p += n;
		len -= n;
	}
	v = json_stringn(text, at);
	free(text);
	return v;
}
