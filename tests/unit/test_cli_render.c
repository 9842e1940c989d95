/* Results as they reach a terminal. */
#include "tests/support/unit.h"

#include "cli/render.h"

#include <string.h>

static const struct op table = {.name = "t",
				.result = OP_RESULT_TABLE,
				.columns = "name,state,disk_bytes,last_seen,"
					   "why?"};
static const struct op record = {.name = "r", .result = OP_RESULT_OBJECT};

static const struct op brief = {.name = "b",
				.result = OP_RESULT_OBJECT,
				.brief = "{name} is {state}."};

static const struct {
	const struct op *op;
	const char *json, *want;
} cases[] = {
	{&table, "{\"rows\":[]}", "NAME  STATE  DISK BYTES  LAST SEEN\n"},
	{&table,
	 "{\"rows\":[{\"name\":\"a\",\"state\":\"running\","
	 "\"disk_bytes\":1536,\"last_seen\":\"\",\"more\":1},"
	 "{\"name\":\"long-name\",\"disk_bytes\":5}]}",
	 "NAME       STATE    DISK BYTES  LAST SEEN\n"
	 "a          running  1.5 KiB     -\n"
	 "long-name  -        5 bytes     -\n"},
	{&table,
	 "{\"rows\":[{\"name\":\"a\",\"why\":\"dull\"},{\"name\":\"b\"}]}",
	 "NAME  STATE  DISK BYTES  LAST SEEN  WHY\n"
	 "a     -      -           -          dull\n"
	 "b     -      -           -          -\n"},
	/* a guest's words: nothing a terminal would act upon, no second line */
	{&table,
	 "{\"rows\":[{\"name\":\"\\u001b[2Jx\\ny\",\"state\":\"\\u202ez\"}]}",
	 "NAME           STATE          DISK BYTES  LAST SEEN\n"
	 "\\x1B[2Jx\\x0Ay  \\xE2\\x80\\xAEz  -           -\n"},
	{&record, "{}", ""},
	{&record, "{\"done\":true}", ""},
	/* what a person is told; all of it when that says nothing */
	{&brief,
	 "{\"name\":\"a\\u0007\",\"state\":\"off\",\"x\":1,"
	 "\"warnings\":[\"slow\"]}",
	 "a\\x07 is off.\nwarning: slow\n"},
	{&brief, "{\"name\":\"a\",\"job\":\"j1\"}", "name  a\njob   j1\n"},
	{&record, "{\"text\":\"all is well\\u0007\"}", "all is well\\x07\n"},
	{&record,
	 "{\"name\":\"demo\",\"ok\":true,\"memory_bytes\":4294967296,"
	 "\"scale\":0.5,\"none\":null,\"list\":[1,2],\"empty\":\"\"}",
	 "name          demo\n"
	 "ok            yes\n"
	 "memory_bytes  4 GiB\n"
	 "scale         0.5\n"
	 "none          -\n"
	 "list          [1,2]\n"
	 "empty         -\n"},
	{&record,
	 "{\"name\":\"x\",\"image\":{\"built\":\"today\",\"layers\":[{\"n\":\"a\"},"
	 "{\"n\":\"b\"}]}}",
	 "name  x\n"
	 "image\n"
	 "  built  today\n"
	 "  layers\n"
	 "    n  a\n"
	 "    n  b\n"},
};

static void test_results(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		json_t *result = json_loads(cases[i].json, 0, NULL);
		struct err e = {0};
		struct buf out;

		assert_non_null(result);
		buf_init(&out, 65536);
		assert_ok(render_result(&out, cases[i].op, result, &e), &e);
		if (strcmp(out.data, cases[i].want) != 0)
			fail_msg("%s: wanted\n%sgot\n%s", cases[i].json,
				 cases[i].want, out.data);
		buf_finish(&out);
		json_decref(result);
	}
}

static void test_json(void **state)
{
	json_t *result =
		json_loads("{\"b\":\"\\u202e\\u001b\",\"a\":1}", 0, NULL);
	struct err e = {0};
	struct buf out;

	(void)state;
	buf_init(&out, 65536);
	assert_ok(render_json(&out, result, false, &e), &e);
	assert_string_equal(out.data,
			    "{\"b\":\"\xe2\x80\xae\\u001B\",\"a\":1}\n");
	buf_reset(&out);
	assert_ok(render_json(&out, result, true, &e), &e);
	assert_string_equal(out.data, "{\n  \"b\": \"\\u202E\\u001B\",\n"
				      "  \"a\": 1\n}\n");
	/* a result larger than we would print is an error, not a cut */
	buf_finish(&out);
	buf_init(&out, 8);
	assert_fails(render_json(&out, result, false, &e), &e, ERR_LIMIT, "");
	buf_finish(&out);
	json_decref(result);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_results),
	cmocka_unit_test(test_json),
};

UNIT_MAIN(tests)
