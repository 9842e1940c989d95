#include "mcp/prompts.h"

#include "tests/support/unit.h"

#include "base/cleanup.h"
#include "base/json.h"

#include <string.h>

static const char *text_of(const json_t *result)
{
	const json_t *m =
		json_array_get(json_object_get(result, "messages"), 0);

	return json_string_value(
		json_object_get(json_object_get(m, "content"), "text"));
}

static void each_says_what_it_was_given(void **state)
{
	auto_json json_t *list = prompts_list();
	const json_t *all = json_object_get(list, "prompts");

	(void)state;
	assert_true(json_array_size(all) >= 3);
	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *p = json_array_get(all, i);
		const json_t *args = json_object_get(p, "arguments");
		auto_json json_t *given = json_object();
		auto_json json_t *result = NULL;
		struct jsonrpc_fault f = {0};
		const char *other = NULL;

		for (size_t k = 0; k < json_array_size(args); k++) {
			const char *name = json_string_value(json_object_get(
				json_array_get(args, k), "name"));

			if (k > 0)
				other = name;
			json_object_set_new(
				given, name,
				json_string(k ? "a $1 task %s" : "demo"));
		}
		result = prompts_get(
			json_string_value(json_object_get(p, "name")), given,
			&f);
		assert_non_null(result);
		assert_non_null(strstr(text_of(result), "\"demo\""));
		/* what a person wrote is not looked at again */
		assert_non_null(other);
		assert_non_null(strstr(text_of(result), "a $1 task %s"));
	}
}

static void what_is_refused(void **state)
{
	static const struct {
		const char *name, *args, *says;
	} rows[] = {
		{"nothing", "{}", "unknown prompt: nothing"},
		{"use-desktop", "{}", "needs vm"},
		{"use-desktop", "{\"vm\":\"demo\"}", "needs task"},
		{"use-desktop", "{\"vm\":\"\",\"task\":\"x\"}", "needs vm"},
		{"use-desktop", "{\"vm\":\"a b\",\"task\":\"x\"}", "vm: "},
		{"look-into", "{\"vm\":\"../x\"}", "vm: "},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		struct err e = {0};
		struct jsonrpc_fault f = {0};
		auto_json json_t *args =
			json_parse(rows[i].args, strlen(rows[i].args), &e);

		assert_null(prompts_get(rows[i].name, args, &f));
		assert_int_equal(f.code, JSONRPC_INVALID_PARAMS);
		if (!strstr(err_msg(&f.why), rows[i].says))
			fail_msg("%s: %s", rows[i].says, err_msg(&f.why));
		jsonrpc_fault_finish(&f);
	}
}

static void what_may_be_left_out(void **state)
{
	auto_json json_t *args = json_pack("{s:s}", "vm", "demo");
	struct jsonrpc_fault f = {0};
	auto_json json_t *result = prompts_get("look-into", args, &f);

	(void)state;
	assert_non_null(result);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(each_says_what_it_was_given),
	cmocka_unit_test(what_is_refused),
	cmocka_unit_test(what_may_be_left_out),
};
UNIT_MAIN(tests)
