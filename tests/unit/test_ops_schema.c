#include "ops/schema.h"

#include "tests/support/unit.h"

#include "base/json.h"

#include <string.h>


static json_t *property(const json_t *schema, const char *name)
{
	return json_object_get(json_object_get(schema, "properties"), name);
}

static void check_param(const struct op *op, const struct op_param *p,
			const json_t *schema)
{
	const json_t *s = property(schema, p->name);
	const char *text;

	if (p->flags & (OP_CLI_ONLY | OP_FILLED)) {
		assert_null(s);
		return;
	}
	if (!json_is_string(json_object_get(s, "type")))
		fail_msg("%s.%s has no type", op->name, p->name);
	text = json_string_value(json_object_get(s, "description"));
	assert_non_null(text);
	if (strlen(text) < 5)
		fail_msg("%s.%s has no description", op->name, p->name);
	if (p->unit && !strstr(text, p->unit))
		fail_msg("%s.%s does not say its unit", op->name, p->name);
	if (p->def && !json_object_get(s, "default"))
		fail_msg("%s.%s does not say its default", op->name, p->name);
}

/* An agent is told of every member of what it gets; vm_wait's are those of the
 * job. */
static void check_output(const struct op *op, const json_t *out)
{
	bool structured = op->result == OP_RESULT_OBJECT ||
			  op->result == OP_RESULT_TABLE;
	const json_t *properties = json_object_get(out, "properties");

	if ((op->flags & OP_AGENT) && strcmp(op->name, "vm_wait") != 0 &&
	    !op->fields)
		fail_msg("%s: what does it answer?", op->name);
	if (!op->fields || !structured) {
		assert_null(out);
		return;
	}
	assert_string_equal(json_string_value(json_object_get(out, "type")),
			    "object");
	for (const struct op_field *f = op->fields; f->name; f++) {
		const json_t *s = json_object_get(properties, f->name);

		if (!json_object_get(s, "type") ||
		    !json_object_get(s, "description"))
			fail_msg("%s: %s: not described", op->name, f->name);
	}
	if (op->kind == OP_JOB) {
		assert_non_null(json_object_get(properties, "job"));
		assert_null(json_object_get(out, "required"));
	}
}

static void every_row_has_a_schema(void **state)
{
	(void)state;
	for (unsigned i = 0; op_at(i); i++) {
		const struct op *op = op_at(i);
		json_t *s = schema_input(op);
		json_t *out = schema_output(op);

		assert_string_equal(
			json_string_value(json_object_get(s, "type")),
			"object");
		assert_true(json_is_false(
			json_object_get(s, "additionalProperties")));
		for (const struct op_param *p = op->params; p->name; p++)
			check_param(op, p, s);
		check_output(op, out);
		json_decref(s);
		json_decref(out);
	}
}

static bool says(const json_t *annotations, const char *hint)
{
	const json_t *v = json_object_get(annotations, hint);

	assert_true(json_is_boolean(v));
	return json_is_true(v);
}

/*
 * What a client decides by. A tool that can lose somebody's work says so, and
 * one that only looks must not be kept from an agent.
 */
static void annotations_are_true(void **state)
{
	static const struct {
		const char *op;
		bool reads, destroys, open;
	} rows[] = {
		{"vm_list", true, false, false},
		{"vm_info", true, false, false},
		{"vm_screenshot", true, false, false},
		{"vm_read", true, false, false},
		{"vm_wait", true, false, false},
		{"vm_new", false, false, false},
		{"vm_start", false, false, false},
		{"vm_move", false, false, false},
		{"vm_stop", false, true, false},
		{"vm_rm", false, true, false},
		{"vm_copy", false, true, false},
		{"vm_write", false, true, false},
		{"vm_edit", false, true, false},
		{"vm_run", false, true, true},
		{"vm_click", false, true, true},
		{"vm_type", false, true, true},
		{"vm_key", false, true, true},
		{"vm_actions", false, true, true},
		{"vm_view", true, false, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		json_t *a = schema_annotations(op_find(rows[i].op));

		if (says(a, "readOnlyHint") != rows[i].reads ||
		    says(a, "destructiveHint") != rows[i].destroys ||
		    says(a, "openWorldHint") != rows[i].open)
			fail_msg("%s", rows[i].op);
		says(a, "idempotentHint");
		json_decref(a);
	}
}

static void check_schema(const char *op, const char *param, const char *want)
{
	json_t *s = schema_input(op_find(op));
	json_t *p = property(s, param);
	autofree char *text = NULL;

	json_object_del(p, "description");
	text = json_print(p);
	assert_string_equal(text, want);
	json_decref(s);
}

static void types_say_their_limits(void **state)
{
	(void)state;
	check_schema("vm_click", "count",
		     "{\"type\":\"integer\",\"minimum\":1,\"maximum\":3,"
		     "\"default\":1}");
	check_schema("vm_click", "button",
		     "{\"type\":\"string\",\"enum\":[\"left\",\"middle\","
		     "\"right\",\"back\",\"forward\"],\"default\":\"left\"}");
	check_schema("vm_click", "x",
		     "{\"type\":\"integer\",\"minimum\":0,\"maximum\":8191}");
	check_schema("vm_wait", "seconds",
		     "{\"type\":\"number\",\"minimum\":0,\"maximum\":45,"
		     "\"default\":30}");
	check_schema("vm_drag", "points",
		     "{\"type\":\"array\",\"items\":{\"type\":\"array\","
		     "\"items\":{\"type\":\"integer\",\"minimum\":0,"
		     "\"maximum\":8192},\"minItems\":2,\"maxItems\":2},"
		     "\"minItems\":2,\"maxItems\":1000}");
	check_schema("vm_run", "env",
		     "{\"type\":\"object\",\"additionalProperties\":"
		     "{\"type\":\"string\"}}");
	check_schema("vm_new", "headless",
		     "{\"type\":\"boolean\",\"default\":false}");
	check_schema("vm_run", "vm",
		     "{\"type\":\"string\",\"minLength\":1,\"maxLength\":63,"
		     "\"pattern\":\"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$\"}");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(every_row_has_a_schema),
	cmocka_unit_test(annotations_are_true),
	cmocka_unit_test(types_say_their_limits),
};
UNIT_MAIN(tests)
