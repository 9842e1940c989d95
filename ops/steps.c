#include "ops/steps.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "ops/schema.h"
#include "ops/table.h"
#include "ops/validate.h"

#include <stdio.h>
#include <string.h>

/* A moment within a row of actions. */
static const struct op_param wait_params[] = {{.name = "seconds",
					       .type = OP_NUMBER,
					       .flags = OP_REQUIRED,
					       .max = 10,
					       .unit = "s",
					       .help = "How long"},
					      TABLE_END};
static const struct op wait_row = {
	.name = "wait", .flags = OP_AGENT, .params = wait_params};

static const char *const actions[] = {
	"click", "move", "drag",       "scroll",   "type",
	"key",	 "hold", "mouse_down", "mouse_up", "wait",
};

static const struct op *row_of(const char *action)
{
	char name[32];

	if (strcmp(action, wait_row.name) == 0)
		return &wait_row;
	for (size_t i = 0; i < ARRAY_COUNT(actions); i++) {
		if (strcmp(actions[i], action) != 0)
			continue;
		snprintf(name, sizeof(name), "vm_%s", action);
		return op_find(name);
	}
	return NULL;
}

/* The batch says these, once. */
static bool is_of_batch(const char *name)
{
	static const char *const names[] = {"vm", "screenshot", "settle_ms",
					    "settle_cap_ms"};

	for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

/* ---- checking ---- */

/* NOLINTNEXTLINE(misc-no-recursion): a step has no steps */
static json_t *check_step(const json_t *step, struct err *e)
{
	const char *action = json_string_value(json_object_get(step, "action"));
	const struct op *row = action ? row_of(action) : NULL;
	auto_json json_t *given = json_copy((json_t *)(uintptr_t)step);
	json_t *out, *value;
	const char *key;

	if (!row) {
		err_set(e, ERR_INVALID,
			"action must be one of click, move, drag, scroll, "
			"type, key, hold, mouse_down, mouse_up, wait");
		return NULL;
	}
	json_object_foreach(given, key, value)
	{
		if (!is_of_batch(key))
			continue;
		err_set(e, ERR_INVALID, "%s belongs beside actions, not in one",
			key);
		return NULL;
	}
	json_object_del(given, "action");
	if (row != &wait_row) /* a name, for the row's sake */
		json_object_set_new(given, "vm", json_string("x"));
	out = validate_args(row, given, true, e);
	for (size_t i = 0; out && row->params[i].name; i++) {
		if (is_of_batch(row->params[i].name))
			json_object_del(out, row->params[i].name);
	}
	if (out)
		json_object_set_new(out, "action", json_string(action));
	return out;
}

/* NOLINTNEXTLINE(misc-no-recursion): as above */
json_t *steps_check(const struct op_param *p, const json_t *v, struct err *e)
{
	auto_json json_t *out = json_array();
	size_t count = json_array_size(v);

	if (!json_is_array(v) || (int64_t)count < p->min ||
	    (int64_t)count > p->max) {
		err_set(e, ERR_INVALID,
			"must be an array of %d to %d objects, such as "
			"{\"action\": \"click\", \"x\": 5, \"y\": 6}",
			(int)p->min, (int)p->max);
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		json_t *step = check_step(json_array_get(v, i), e);

		if (!step) {
			err_wrap(e, "action %zu", i + 1);
			return NULL;
		}
		json_array_append_new(out, step);
	}
	return TAKE_PTR(out);
}

/* ---- describing ---- */

/* The properties of a row; its names are added to help. */
static void add_row(json_t *properties, const struct op *row, struct buf *help)
{
	auto_json json_t *schema = schema_input(row);
	json_t *of_row = json_object_get(schema, "properties"), *value;
	const char *key, *before = ": ";

	json_object_foreach(of_row, key, value)
	{
		if (is_of_batch(key))
			continue;
		json_object_set(properties, key, value);
		if (buf_printf(help, NULL, "%s%s", before, key) == 0)
			before = ", ";
	}
}

json_t *steps_schema(const struct op_param *p)
{
	json_t *properties = json_object(), *action, *names = json_array();
	json_t *required = json_array();
	struct buf help;

	buf_init(&help, 4096);
	action = json_pack("{s:s, s:o}", "type", "string", "enum", names);
	json_object_set_new(properties, "action", action);
	for (size_t i = 0; i < ARRAY_COUNT(actions); i++) {
		json_array_append_new(names, json_string(actions[i]));
		if (buf_printf(&help, NULL, "%s%s", i ? "; " : "",
			       actions[i]) == 0)
			add_row(properties, row_of(actions[i]), &help);
	}
	json_object_set_new(action, "description", json_string(help.data));
	buf_finish(&help);
	json_array_append_new(required, json_string("action"));
	return json_pack("{s:s, s:I, s:I, s:{s:s, s:o, s:o, s:b}}", "type",
			 "array", "minItems", (json_int_t)p->min, "maxItems",
			 (json_int_t)p->max, "items", "type", "object",
			 "properties", properties, "required", required,
			 "additionalProperties", 0);
}
