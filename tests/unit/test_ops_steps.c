#include "ops/steps.h"

#include "base/json.h"
#include "tests/support/unit.h"

#include <string.h>

static const struct op_param steps = {
	.name = "actions", .type = OP_STEPS, .min = 1, .max = 3};

static json_t *parse(const char *text)
{
	struct err e = {0};
	json_t *v = json_parse(text, strlen(text), &e);

	assert_non_null(v);
	return v;
}

/* Complete and typed, as the action's own row has it. */
static void steps_are_completed(void **state)
{
	auto_json json_t *given =
		parse("{\"a\":[{\"action\":\"click\",\"x\":\"5\",\"y\":6},"
		      "{\"action\":\"wait\",\"seconds\":1}]}");
	auto_json json_t *want =
		parse("{\"a\":[{\"action\":\"click\",\"x\":5,\"y\":6,"
		      "\"button\":\"left\",\"count\":1},"
		      "{\"action\":\"wait\",\"seconds\":1.0}]}");
	auto_json json_t *out = NULL;
	struct err e = {0};

	(void)state;
	out = steps_check(&steps, json_object_get(given, "a"), &e);
	assert_ok(out ? 0 : -1, &e);
	assert_true(json_equal(out, json_object_get(want, "a")));
}

static void what_is_refused(void **state)
{
	static const struct {
		const char *steps, *why;
	} rows[] = {
		{"[]", "1 to 3 objects"},
		{"{}", "1 to 3 objects"},
		{"[{\"action\":\"wait\",\"seconds\":0},{},{},{}]",
		 "1 to 3 objects"},
		{"[5]", "action 1: action must be one of click, "},
		{"[{\"action\":7}]", "must be one of"},
		{"[{\"action\":\"rm\"}]", "must be one of"},
		{"[{\"action\":\"vm_click\"}]", "must be one of"},
		{"[{\"action\":\"actions\"}]", "must be one of"},
		{"[{\"action\":\"screenshot\"}]", "must be one of"},
		{"[{\"action\":\"click\"},{\"action\":\"move\",\"x\":1}]",
		 "action 2: vm_move: y"},
		{"[{\"action\":\"click\",\"z\":1}]", "unknown parameter"},
		{"[{\"action\":\"click\",\"vm\":\"other\"}]",
		 "vm belongs beside actions"},
		{"[{\"action\":\"click\",\"screenshot\":true}]",
		 "screenshot belongs beside actions"},
		{"[{\"action\":\"wait\",\"seconds\":11}]", "at most 10"},
		{"[{\"action\":\"wait\",\"vm\":\"x\"}]", "vm belongs"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		auto_json json_t *v = parse(rows[i].steps);
		auto_json json_t *out = NULL;
		struct err e = {0};

		out = steps_check(&steps, v, &e);
		assert_fails(out ? 0 : -1, &e, ERR_INVALID, rows[i].why);
	}
}

/* A model learns which action takes what. */
static void schema_has_every_parameter(void **state)
{
	auto_json json_t *s = steps_schema(&steps);
	const json_t *items = json_object_get(s, "items");
	const json_t *p = json_object_get(items, "properties");
	const char *help = json_string_value(
		json_object_get(json_object_get(p, "action"), "description"));

	(void)state;
	assert_non_null(strstr(help, "move: x, y; drag: points, button"));
	assert_non_null(strstr(help, "wait: seconds"));
	assert_int_equal(json_array_size(json_object_get(
				 json_object_get(p, "action"), "enum")),
			 10);
	assert_non_null(json_object_get(p, "notches"));
	assert_null(json_object_get(p, "vm"));
	assert_null(json_object_get(p, "settle_ms"));
	assert_true(
		json_is_false(json_object_get(items, "additionalProperties")));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(steps_are_completed),
	cmocka_unit_test(what_is_refused),
	cmocka_unit_test(schema_has_every_parameter),
};

UNIT_MAIN(tests)
