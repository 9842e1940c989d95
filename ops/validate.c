#include "ops/validate.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "ops/help.h"
#include "ops/steps.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Doubles hold every integer up to here exactly. */
#define EXACT_MAX 9007199254740992.0

/* ---- one value ----------------------------------------------------------
 *
 * Each check returns the value as a handler will see it (a new reference), or
 * NULL with the rule that was broken; the caller puts operation and parameter
 * in front.
 */

static json_t *fail(struct err *e, const char *rule)
{
	err_set(e, ERR_INVALID, "%s", rule);
	return NULL;
}

static int check_len(const struct op_param *p, size_t len, struct err *e)
{
	size_t max = p->max > 0 ? (size_t)p->max : LIMIT_STRING_LEN;

	if (p->min > 0 && len < (size_t)p->min)
		return err_set(e, ERR_INVALID, "must not be empty");
	if (len > max)
		return err_set(e, ERR_INVALID, "must be at most %zu bytes",
			       max);
	return 0;
}

static bool has_control(const char *s)
{
	for (; *s; s++) {
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return true;
	}
	return false;
}

/* A string without NUL, within the parameter's length. */
static const char *get_text(const struct op_param *p, const json_t *v,
			    struct err *e)
{
	const char *s = json_string_value(v);

	if (!s) {
		fail(e, "must be a string");
		return NULL;
	}
	if (strlen(s) != json_string_length(v)) {
		fail(e, "must not contain a NUL byte");
		return NULL;
	}
	if (check_len(p, json_string_length(v), e) != 0)
		return NULL;
	return s;
}

static json_t *check_text(const struct op_param *p, const json_t *v,
			  struct err *e)
{
	const char *s = get_text(p, v, e);

	return s ? json_string(s) : NULL;
}

static json_t *check_string(const struct op_param *p, const json_t *v,
			    struct err *e)
{
	const char *s = get_text(p, v, e);

	if (s && has_control(s))
		return fail(e, "must not contain control characters");
	return s ? json_string(s) : NULL;
}

static json_t *check_vm(const struct op_param *p, const json_t *v,
			struct err *e)
{
	const char *s = get_text(p, v, e);

	if (!s || validate_vm_name(s, e) != 0)
		return NULL;
	return json_string(s);
}

static json_t *check_path(const struct op_param *p, const json_t *v,
			  struct err *e)
{
	const char *s = get_text(p, v, e);

	if (s && !*s)
		return fail(e, "must not be empty");
	return s ? json_string(s) : NULL;
}

static json_t *check_endpoint(const struct op_param *p, const json_t *v,
			      struct err *e)
{
	struct validate_endpoint end;
	struct op_param wide = *p;
	const char *s;

	wide.max = LIMIT_NAME_LEN + 1 + LIMIT_PATH_LEN;
	s = get_text(&wide, v, e);
	if (!s || validate_endpoint(s, &end, e) != 0)
		return NULL;
	return json_string(s);
}

/*
 * Whole numbers come as 3, as 3.0 (the same to JSON Schema) and, from some
 * models, as "3": all unambiguous.
 */
static int get_int(const json_t *v, int64_t *ret, struct err *e)
{
	if (json_is_integer(v)) {
		*ret = json_integer_value(v);
		return 0;
	}
	if (json_is_real(v)) {
		double d = json_real_value(v);

		if (d == floor(d) && fabs(d) <= EXACT_MAX) {
			*ret = (int64_t)d;
			return 0;
		}
	}
	if (json_is_string(v)) {
		const char *s = json_string_value(v);
		char *end;
		long long n;

		errno = 0;
		n = strtoll(s, &end, 10);
		if (errno == 0 && end != s &&
		    (size_t)(end - s) == json_string_length(v) &&
		    (*s == '-' || (*s >= '0' && *s <= '9'))) {
			*ret = n;
			return 0;
		}
	}
	return err_set(e, ERR_INVALID, "must be a whole number");
}

static int check_range(int64_t n, int64_t min, int64_t max, struct err *e)
{
	if (n < min)
		return err_set(e, ERR_INVALID, "must be at least %" PRId64,
			       min);
	if (n > max)
		return err_set(e, ERR_INVALID, "must be at most %" PRId64, max);
	return 0;
}

static json_t *check_int(const struct op_param *p, const json_t *v,
			 struct err *e)
{
	int64_t n;

	if (get_int(v, &n, e) != 0 || check_range(n, p->min, p->max, e) != 0)
		return NULL;
	return json_integer(n);
}

static json_t *check_size(const struct op_param *p, const json_t *v,
			  struct err *e)
{
	int64_t n;

	if (json_is_string(v)) {
		if (validate_size(json_string_value(v), &n, e) != 0)
			return NULL;
	} else if (get_int(v, &n, e) != 0) {
		return fail(e, "must be a size: bytes, or a text such as 4G");
	}
	if (n < p->min || n > p->max) {
		autofree char *min = help_size(p->min);
		autofree char *max = help_size(p->max);

		err_set(e, ERR_INVALID, "must be %s to %s", min, max);
		return NULL;
	}
	return json_integer(n);
}

static json_t *check_number(const struct op_param *p, const json_t *v,
			    struct err *e)
{
	double d;

	if (json_is_number(v)) {
		d = json_number_value(v);
	} else if (json_is_string(v)) {
		const char *s = json_string_value(v);
		char *end;

		d = strtod(s, &end);
		/* strtod() also takes "inf", "0x1p3" and leading blanks */
		if (!*s || *end || strspn(s, "0123456789.") != strlen(s))
			return fail(e, "must be a number");
	} else {
		return fail(e, "must be a number");
	}
	if (!(d >= (double)p->min)) {
		err_set(e, ERR_INVALID, "must be at least %" PRId64, p->min);
		return NULL;
	}
	if (!(d <= (double)p->max)) {
		err_set(e, ERR_INVALID, "must be at most %" PRId64, p->max);
		return NULL;
	}
	return json_real(d);
}

static json_t *check_bool(const struct op_param *p, const json_t *v,
			  struct err *e)
{
	const char *s = json_string_value(v);

	(void)p;
	if (json_is_boolean(v))
		return json_boolean(json_is_true(v));
	if (s && strcmp(s, "true") == 0)
		return json_true();
	if (s && strcmp(s, "false") == 0)
		return json_false();
	return fail(e, "must be true or false");
}

static json_t *check_enum(const struct op_param *p, const json_t *v,
			  struct err *e)
{
	const char *s = json_string_value(v);
	char list[256] = "";
	size_t len = 0;

	for (unsigned i = 0; p->choices[i]; i++) {
		size_t n = strlen(p->choices[i]);

		if (s && strcmp(s, p->choices[i]) == 0 &&
		    json_string_length(v) == n)
			return json_string(s);
		if (len + n + 3 > sizeof(list))
			continue;
		if (len > 0) {
			memcpy(list + len, ", ", 2);
			len += 2;
		}
		memcpy(list + len, p->choices[i], n + 1);
		len += n;
	}
	err_set(e, ERR_INVALID, "must be one of %s", list);
	return NULL;
}

/* Adds up what an argument list or an environment weighs. */
static int weigh(const json_t *v, size_t *total, struct err *e)
{
	const char *s = json_string_value(v);

	if (!s)
		return err_set(e, ERR_INVALID, "must hold strings only");
	if (strlen(s) != json_string_length(v))
		return err_set(e, ERR_INVALID, "must not contain a NUL byte");
	if (json_string_length(v) > LIMIT_ARG_LEN)
		return err_set(e, ERR_INVALID,
			       "one string is longer than %d bytes",
			       LIMIT_ARG_LEN);
	*total += json_string_length(v) + 1;
	if (*total > LIMIT_ARGS_LEN)
		return err_set(e, ERR_INVALID, "more than %d bytes in all",
			       LIMIT_ARGS_LEN);
	return 0;
}

static json_t *check_strings(const struct op_param *p, const json_t *v,
			     struct err *e)
{
	int64_t max = p->max > 0 ? p->max : LIMIT_ARGS_COUNT;
	auto_json json_t *out = json_array();
	size_t total = 0;

	if (!json_is_array(v))
		return fail(e, "must be an array of strings");
	if ((int64_t)json_array_size(v) < p->min)
		return fail(e, "must not be empty");
	if ((int64_t)json_array_size(v) > max) {
		err_set(e, ERR_INVALID, "must hold at most %" PRId64 " strings",
			max);
		return NULL;
	}
	for (size_t i = 0; i < json_array_size(v); i++) {
		const json_t *item = json_array_get(v, i);

		if (weigh(item, &total, e) != 0)
			return NULL;
		json_array_append_new(out,
				      json_string(json_string_value(item)));
	}
	return TAKE_PTR(out);
}

static bool is_env_name(const char *s)
{
	static const char chars[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz_0123456789";

	return *s && !(*s >= '0' && *s <= '9') && strspn(s, chars) == strlen(s);
}

static json_t *check_env(const struct op_param *p, const json_t *v,
			 struct err *e)
{
	auto_json json_t *out = json_object();
	size_t total = 0;
	const char *name;
	json_t *value;

	(void)p;
	if (!json_is_object(v))
		return fail(e, "must be an object of strings");
	if (json_object_size(v) > LIMIT_ARGS_COUNT)
		return fail(e, "holds too many variables");
	/* jansson's iterator takes no const; nothing is changed */
	json_object_foreach((json_t *)(uintptr_t)v, name, value)
	{
		if (!is_env_name(name)) {
			err_set(e, ERR_INVALID,
				"\"%.40s\" is no variable name: letters, "
				"digits and _, not starting with a digit",
				name);
			return NULL;
		}
		total += strlen(name) + 1;
		if (weigh(value, &total, e) != 0)
			return NULL;
		json_object_set_new(out, name,
				    json_string(json_string_value(value)));
	}
	return TAKE_PTR(out);
}

/* count whole numbers, each from 0 to the side of the largest desktop. */
static json_t *get_pixels(const json_t *v, size_t count, struct err *e)
{
	auto_json json_t *out = json_array();

	if (!json_is_array(v) || json_array_size(v) != count) {
		err_set(e, ERR_INVALID, "must be an array of %zu numbers",
			count);
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		int64_t n;

		if (get_int(json_array_get(v, i), &n, e) != 0 ||
		    check_range(n, 0, LIMIT_DESKTOP_SIDE_PX, e) != 0)
			return NULL;
		json_array_append_new(out, json_integer(n));
	}
	return TAKE_PTR(out);
}

static json_t *check_point(const struct op_param *p, const json_t *v,
			   struct err *e)
{
	(void)p;
	return get_pixels(v, 2, e);
}

static json_t *check_points(const struct op_param *p, const json_t *v,
			    struct err *e)
{
	auto_json json_t *out = json_array();
	size_t count = json_array_size(v);

	if (!json_is_array(v))
		return fail(e, "must be an array of [x, y] points");
	if (check_range((int64_t)count, p->min, p->max, e) != 0) {
		err_wrap(e, "number of points");
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		json_t *point = get_pixels(json_array_get(v, i), 2, e);

		if (!point) {
			err_wrap(e, "point %zu", i + 1);
			return NULL;
		}
		json_array_append_new(out, point);
	}
	return TAKE_PTR(out);
}

static json_t *check_region(const struct op_param *p, const json_t *v,
			    struct err *e)
{
	auto_json json_t *out = get_pixels(v, 4, e);

	(void)p;
	if (!out)
		return NULL;
	if (json_integer_value(json_array_get(out, 2)) == 0 ||
	    json_integer_value(json_array_get(out, 3)) == 0)
		return fail(e, "width and height must be at least 1");
	return TAKE_PTR(out);
}

static json_t *check_layers(const struct op_param *p, const json_t *v,
			    struct err *e)
{
	const char *s = get_text(p, v, e);

	if (!s)
		return NULL;
	for (const char *word = s;; word++) {
		size_t len = strspn(word, "abcdefghijklmnopqrstuvwxyz"
					  "0123456789-");

		word += len;
		if (len == 0 || (*word && *word != ','))
			return fail(e, "must be names joined by commas, such "
				       "as desktop,browser");
		if (!*word)
			return json_string(s);
	}
}

typedef json_t *check_fn(const struct op_param *p, const json_t *v,
			 struct err *e);
static check_fn *const checks[] = {
	[OP_STRING] = check_string, [OP_TEXT] = check_text,
	[OP_VM] = check_vm,	    [OP_NEW_VM] = check_vm,
	[OP_PATH] = check_path,	    [OP_ENDPOINT] = check_endpoint,
	[OP_INT] = check_int,	    [OP_SIZE] = check_size,
	[OP_NUMBER] = check_number, [OP_BOOL] = check_bool,
	[OP_ENUM] = check_enum,	    [OP_STRINGS] = check_strings,
	[OP_KEY] = check_string,    [OP_POINT] = check_point,
	[OP_POINTS] = check_points, [OP_REGION] = check_region,
	[OP_LAYERS] = check_layers, [OP_ENV] = check_env,
	[OP_STEPS] = steps_check,
};

/* ---- the whole ------------------------------------------------------------
 */

static bool is_for(const struct op_param *p, bool from_agent)
{
	return !(p->flags & (from_agent ? OP_CLI_ONLY : OP_MCP_ONLY));
}

/* Arguments that were made complete once may be checked again: a default says
 * nothing that leaving it out does not. */
static bool is_default(const struct op_param *p, const json_t *value)
{
	auto_json json_t *def = NULL;
	auto_json json_t *checked = NULL;

	if (!p->def)
		return false;
	def = json_loads(p->def, JSON_DECODE_ANY, NULL);
	checked = checks[p->type](p, def, NULL);
	return json_equal(checked, value);
}

/* What the caller wrote: "vm_new: memory" of an agent, "new: --memory" of a
 * person. */
static int name_fault(const struct op *op, const struct op_param *p,
		      bool from_agent, struct err *e)
{
	autofree char *name = NULL;

	if (from_agent || !op->verb || !argv_offers(p))
		return err_wrap(e, "%s: %s", op->name, p->name);
	name = help_param_name(p);
	return err_wrap(e, "%s: %s", op->verb, name);
}

static int fail_missing(const struct op *op, const struct op_param *p,
			bool from_agent, struct err *e)
{
	if (from_agent || !op->verb)
		err_set(e, ERR_INVALID, "is required: %s", p->help);
	else
		err_set(e, ERR_INVALID, "is required: %s (boxery help %s)",
			p->help, op->verb);
	return name_fault(op, p, from_agent, e);
}

static int check_known(const struct op *op, const json_t *args, bool from_agent,
		       struct err *e)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)args, key, value)
	{
		const struct op_param *p = op_param_find(op, key);

		if (p && (is_for(p, from_agent) || is_default(p, value)))
			continue;
		return err_set(e, ERR_INVALID, "%s: %.64s: %s", op->name, key,
			       p ? "not open to this caller"
				 : "unknown parameter");
	}
	return 0;
}

json_t *validate_args(const struct op *op, const json_t *args, bool from_agent,
		      struct err *e)
{
	auto_json json_t *out = json_object();

	if (from_agent && !(op->flags & OP_AGENT)) {
		err_set(e, ERR_DENIED, "%s: not open to agents", op->name);
		return NULL;
	}
	if (json_is_null(args))
		args = NULL;
	if (args && !json_is_object(args)) {
		err_set(e, ERR_INVALID, "%s: arguments must be an object",
			op->name);
		return NULL;
	}
	if (args && check_known(op, args, from_agent, e) != 0)
		return NULL;
	for (const struct op_param *p = op->params; p->name; p++) {
		const json_t *v = json_object_get(args, p->name);
		auto_json json_t *def = NULL;
		json_t *checked;

		/* clients send null for what they leave out */
		if ((!v || json_is_null(v)) && p->def) {
			def = json_loads(p->def, JSON_DECODE_ANY, NULL);
			v = def;
		}
		if (!v || json_is_null(v)) {
			if (!(p->flags & OP_REQUIRED) || !is_for(p, from_agent))
				continue;
			(void)!fail_missing(op, p, from_agent, e);
			return NULL;
		}
		checked = checks[p->type](p, v, e);
		if (!checked) {
			(void)!name_fault(op, p, from_agent, e);
			return NULL;
		}
		json_object_set_new(out, p->name, checked);
	}
	return TAKE_PTR(out);
}
