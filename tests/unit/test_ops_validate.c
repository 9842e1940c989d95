/* Every type and its edges, against a row of our own; then who may send what,
 * against the real rows. */
#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/limits.h"
#include "ops/validate.h"

#include <string.h>

static const char *const colours[] = {"red", "green", NULL};
static const struct op_param params[] = {
	{.name = "string", .type = OP_STRING, .max = 8},
	{.name = "text", .type = OP_TEXT, .min = 1, .max = 8},
	{.name = "vm", .type = OP_VM},
	{.name = "path", .type = OP_PATH},
	{.name = "end", .type = OP_ENDPOINT},
	{.name = "int", .type = OP_INT, .min = -5, .max = 100},
	{.name = "size", .type = OP_SIZE, .min = 1024, .max = 1LL << 40},
	{.name = "number", .type = OP_NUMBER, .min = 0, .max = 45},
	{.name = "bool", .type = OP_BOOL},
	{.name = "enum", .type = OP_ENUM, .choices = colours},
	{.name = "strings", .type = OP_STRINGS, .min = 1, .max = 2},
	{.name = "key", .type = OP_KEY, .min = 1, .max = 16},
	{.name = "point", .type = OP_POINT},
	{.name = "points", .type = OP_POINTS, .min = 2, .max = 3},
	{.name = "region", .type = OP_REGION},
	{.name = "layers", .type = OP_LAYERS},
	{.name = "env", .type = OP_ENV},
	{.name = "def", .type = OP_INT, .max = 9, .def = "7"},
	{.name = NULL}};
static const struct op row = {
	.name = "row", .flags = OP_AGENT, .params = params};

/* Each input is {"NAME": VALUE}; want is the whole output, or the error. */
static const struct {
	const char *in, *want, *error;
} cases[] = {
	{"{}", "{\"def\":7}", NULL},
	{"{\"int\":null}", "{\"def\":7}", NULL},
	{"{\"def\":9}", "{\"def\":9}", NULL},
	{"{\"what\":1}", NULL, "row: what: unknown parameter"},
	/* strings: no control characters, a length in bytes */
	{"{\"string\":\"abc\"}", "\"abc\"", NULL},
	{"{\"string\":\"\"}", "\"\"", NULL},
	{"{\"string\":\"12345678\"}", "\"12345678\"", NULL},
	{"{\"string\":\"123456789\"}", NULL, "must be at most 8 bytes"},
	{"{\"string\":\"äöüäö\"}", NULL, "must be at most 8 bytes"},
	{"{\"string\":\"a\\nb\"}", NULL, "control characters"},
	{"{\"string\":\"a\\u007f\"}", NULL, "control characters"},
	{"{\"string\":5}", NULL, "row: string: must be a string"},
	{"{\"text\":\"a\\nb\\t\"}", "\"a\\nb\\t\"", NULL},
	{"{\"text\":\"\"}", NULL, "row: text: must not be empty"},
	/* names */
	{"{\"vm\":\"a\"}", "\"a\"", NULL},
	{"{\"vm\":\"a-1\"}", "\"a-1\"", NULL},
	{"{\"vm\":\"-a\"}", NULL, "is no VM name"},
	{"{\"vm\":\"a-\"}", NULL, "is no VM name"},
	{"{\"vm\":\"A\"}", NULL, "letters a-z, digits and hyphens"},
	{"{\"vm\":\"a.b\"}", NULL, "is no VM name"},
	{"{\"vm\":\"../a\"}", NULL, "is no VM name"},
	{"{\"vm\":\"\"}", NULL, "is no VM name"},
	{"{\"vm\":\"local\"}", NULL, "means this computer"},
	{"{\"path\":\"/a b\\nc\"}", "\"/a b\\nc\"", NULL},
	{"{\"path\":\"\"}", NULL, "row: path: must not be empty"},
	{"{\"end\":\"local:x\"}", "\"local:x\"", NULL},
	{"{\"end\":\"demo:\"}", "\"demo:\"", NULL},
	{"{\"end\":\"demo:/a:b\"}", "\"demo:/a:b\"", NULL},
	{"{\"end\":\"local:\"}", NULL, "must be followed by a path"},
	{"{\"end\":\"/etc/passwd\"}", NULL, "must be local:PATH or VM:PATH"},
	{"{\"end\":\":/x\"}", NULL, "must be local:PATH or VM:PATH"},
	{"{\"end\":\"Demo:/x\"}", NULL, "is no VM name"},
	/* numbers */
	{"{\"int\":-5}", "-5", NULL},
	{"{\"int\":100}", "100", NULL},
	{"{\"int\":3.0}", "3", NULL},
	{"{\"int\":\"42\"}", "42", NULL},
	{"{\"int\":\"-3\"}", "-3", NULL},
	{"{\"int\":101}", NULL, "row: int: must be at most 100"},
	{"{\"int\":-6}", NULL, "row: int: must be at least -5"},
	{"{\"int\":3.5}", NULL, "must be a whole number"},
	{"{\"int\":1e300}", NULL, "must be a whole number"},
	{"{\"int\":\" 4\"}", NULL, "must be a whole number"},
	{"{\"int\":\"4x\"}", NULL, "must be a whole number"},
	{"{\"int\":\"\"}", NULL, "must be a whole number"},
	{"{\"int\":\"99999999999999999999\"}", NULL, "must be a whole number"},
	{"{\"int\":true}", NULL, "must be a whole number"},
	{"{\"int\":[1]}", NULL, "must be a whole number"},
	{"{\"size\":1024}", "1024", NULL},
	{"{\"size\":\"4G\"}", "4294967296", NULL},
	{"{\"size\":\"4g\"}", "4294967296", NULL},
	{"{\"size\":\"4GiB\"}", "4294967296", NULL},
	{"{\"size\":\"2048\"}", "2048", NULL},
	{"{\"size\":\"1T\"}", "1099511627776", NULL},
	{"{\"size\":\"2T\"}", NULL, "must be 1K to 1T"},
	{"{\"size\":\"1\"}", NULL, "must be 1K to 1T"},
	{"{\"size\":\"4X\"}", NULL, "such as 512M or 4G"},
	{"{\"size\":\"G\"}", NULL, "such as 512M or 4G"},
	{"{\"size\":\"-4G\"}", NULL, "such as 512M or 4G"},
	{"{\"size\":\"9999999999P\"}", NULL, "such as 512M or 4G"},
	{"{\"size\":\"99999999999999999999\"}", NULL, "such as 512M or 4G"},
	{"{\"size\":[]}", NULL, "a text such as 4G"},
	{"{\"number\":0}", "0.0", NULL},
	{"{\"number\":0.5}", "0.5", NULL},
	{"{\"number\":\"1.5\"}", "1.5", NULL},
	{"{\"number\":45}", "45.0", NULL},
	{"{\"number\":45.1}", NULL, "must be at most 45"},
	{"{\"number\":-0.1}", NULL, "must be at least 0"},
	{"{\"number\":\"inf\"}", NULL, "must be a number"},
	{"{\"number\":\"0x1\"}", NULL, "must be a number"},
	{"{\"number\":\"\"}", NULL, "must be a number"},
	{"{\"bool\":true}", "true", NULL},
	{"{\"bool\":\"false\"}", "false", NULL},
	{"{\"bool\":1}", NULL, "must be true or false"},
	{"{\"enum\":\"green\"}", "\"green\"", NULL},
	{"{\"enum\":\"gree\"}", NULL, "must be one of red, green"},
	{"{\"enum\":0}", NULL, "must be one of red, green"},
	/* lists */
	{"{\"strings\":[\"a\",\"\"]}", "[\"a\",\"\"]", NULL},
	{"{\"strings\":[]}", NULL, "must not be empty"},
	{"{\"strings\":[\"a\",\"b\",\"c\"]}", NULL, "at most 2 strings"},
	{"{\"strings\":[1]}", NULL, "must hold strings only"},
	{"{\"strings\":\"a\"}", NULL, "must be an array of strings"},
	{"{\"key\":\"ctrl+a\"}", "\"ctrl+a\"", NULL},
	{"{\"key\":\"a\\u0000\"}", NULL, ""},
	{"{\"point\":[1,2]}", "[1,2]", NULL},
	{"{\"point\":[\"1\",2.0]}", "[1,2]", NULL},
	{"{\"point\":[1]}", NULL, "must be an array of 2 numbers"},
	{"{\"point\":[1,-1]}", NULL, "must be at least 0"},
	{"{\"point\":[1,9000]}", NULL, "must be at most 8192"},
	{"{\"points\":[[1,2],[3,4]]}", "[[1,2],[3,4]]", NULL},
	{"{\"points\":[[1,2]]}", NULL, "number of points: must be at least 2"},
	{"{\"points\":[[1,2],[3]]}", NULL, "row: points: point 2: must be"},
	{"{\"points\":[[1,1],[1,1],[1,1],[1,1]]}", NULL, "at most 3"},
	{"{\"points\":{}}", NULL, "must be an array of [x, y] points"},
	{"{\"region\":[0,0,10,20]}", "[0,0,10,20]", NULL},
	{"{\"region\":[0,0,0,20]}", NULL, "width and height must be at least"},
	{"{\"layers\":\"desktop,browser\"}", "\"desktop,browser\"", NULL},
	{"{\"layers\":\"\"}", NULL, "names joined by commas"},
	{"{\"layers\":\"a,,b\"}", NULL, "names joined by commas"},
	{"{\"layers\":\"a,\"}", NULL, "names joined by commas"},
	{"{\"layers\":\"../x\"}", NULL, "names joined by commas"},
	{"{\"env\":{\"A_1\":\"x\",\"b\":\"\"}}", "{\"A_1\":\"x\",\"b\":\"\"}",
	 NULL},
	{"{\"env\":{\"1A\":\"x\"}}", NULL, "is no variable name"},
	{"{\"env\":{\"A=B\":\"x\"}}", NULL, "is no variable name"},
	{"{\"env\":{\"\":\"x\"}}", NULL, "is no variable name"},
	{"{\"env\":{\"A\":1}}", NULL, "must hold strings only"},
	{"{\"env\":[]}", NULL, "must be an object of strings"},
	{"[]", NULL, "row: arguments must be an object"},
	{"null", "{\"def\":7}", NULL},
};

static void check_case(const char *in, const char *want, const char *error)
{
	auto_json json_t *args =
		json_loads(in, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	auto_json json_t *out = NULL;
	autofree char *text = NULL;
	struct err e = {0};

	assert_non_null(args);
	out = validate_args(&row, args, true, &e);
	if (error) {
		if (out || e.code != ERR_INVALID || !strstr(e.msg, error))
			fail_msg("%s: wanted \"%s\", got \"%s\"", in, error,
				 e.msg);
		return;
	}
	if (!out)
		fail_msg("%s: %s", in, e.msg);
	/* whole objects are compared whole, values by the key of the input */
	if (want[0] == '{' && strstr(want, "def")) {
		text = json_dumps(out, JSON_COMPACT);
	} else {
		const char *key = json_object_iter_key(json_object_iter(args));

		text = json_dumps(json_object_get(out, key),
				  JSON_COMPACT | JSON_ENCODE_ANY);
	}
	if (strcmp(text, want) != 0)
		fail_msg("%s: wanted %s, got %s", in, want, text);
}

static void test_types(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
		check_case(cases[i].in, cases[i].want, cases[i].error);
}

static void test_lengths(void **state)
{
	autofree char *name = alloc_zero(LIMIT_NAME_LEN + 2);
	autofree char *path = alloc_zero(LIMIT_PATH_LEN + 16);
	struct validate_endpoint end;
	struct err e = {0};

	(void)state;
	memset(name, 'a', LIMIT_NAME_LEN);
	assert_ok(validate_vm_name(name, &e), &e);
	name[LIMIT_NAME_LEN] = 'a';
	assert_fails(validate_vm_name(name, &e), &e, ERR_INVALID, "at most 63");

	memcpy(path, "vm:", 3);
	memset(path + 3, 'p', LIMIT_PATH_LEN);
	assert_ok(validate_endpoint(path, &end, &e), &e);
	assert_string_equal(end.vm, "vm");
	assert_ptr_equal(end.path, path + 3);
	path[3 + LIMIT_PATH_LEN] = 'p';
	assert_fails(validate_endpoint(path, &end, &e), &e, ERR_INVALID,
		     "longer than");
}

/* What all strings of a command weigh together is bounded too. */
static void test_argument_list(void **state)
{
	const struct op *op = op_find("vm_run");
	autofree char *word = alloc_zero(LIMIT_ARG_LEN + 2);
	auto_json json_t *args = json_pack("{s:s, s:[]}", "vm", "a", "argv");
	json_t *argv = json_object_get(args, "argv");
	auto_json json_t *ok = NULL;
	struct err e = {0};

	(void)state;
	memset(word, 'w', LIMIT_ARG_LEN);
	json_array_append_new(argv, json_string(word));
	ok = validate_args(op, args, false, &e);
	assert_non_null(ok);
	for (int i = 0; i < 5; i++)
		json_array_append_new(argv, json_string(word));
	assert_null(validate_args(op, args, false, &e));
	assert_non_null(strstr(e.msg, "bytes in all"));
	word[LIMIT_ARG_LEN] = 'w';
	json_array_clear(argv);
	json_array_append_new(argv, json_string(word));
	assert_null(validate_args(op, args, false, &e));
	assert_non_null(strstr(e.msg, "one string is longer"));
}

static json_t *validate_text(const char *op, const char *text, bool agent,
			     struct err *e)
{
	auto_json json_t *args = json_loads(text, 0, NULL);

	assert_non_null(args);
	*e = (struct err){0};
	return validate_args(op_find(op), args, agent, e);
}

/* A person and an agent see different halves of a row. */
static void test_sides(void **state)
{
	static const struct {
		const char *op, *args;
		bool agent;
		const char *error; /* NULL: fine */
	} sides[] = {
		{"vm_run", "{\"vm\":\"a\",\"command\":\"ls\"}", true, NULL},
		{"vm_run", "{\"vm\":\"a\",\"argv\":[\"ls\"]}", false, NULL},
		{"vm_run", "{\"vm\":\"a\",\"argv\":[\"ls\"]}", true,
		 "vm_run: argv: not open to this caller"},
		{"vm_run", "{\"vm\":\"a\",\"command\":\"ls\"}", false,
		 "vm_run: command: not open to this caller"},
		{"vm_run", "{\"vm\":\"a\"}", true,
		 "vm_run: command: is required"},
		{"vm_run", "{\"vm\":\"a\"}", false,
		 "run: ARGV: is required: Program and its arguments; no word "
		 "is interpreted (boxery help run)"},
		{"vm_new", "{\"vm\":\"a\",\"memory\":\"1\"}", false,
		 "new: --memory: must be 256M to 1T"},
		{"vm_rm", "{\"vm\":\"a\",\"force\":true}", false, NULL},
		{"vm_rm", "{\"vm\":\"a\",\"force\":true}", true,
		 "vm_rm: force: not open to this caller"},
		{"vm_click", "{\"vm\":\"a\",\"screenshot\":true}", true, NULL},
		{"vm_click", "{}", true, "vm_click: vm: is required"},
		{"vm_click", "{\"vm\":\"a\",\"x\":-1}", true,
		 "vm_click: x: must be at least 0"},
		{"build_base", "{}", true, "build_base: not open to agents"},
		{"build_base", "{}", false, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(sides); i++) {
		struct err e;
		auto_json json_t *out = validate_text(
			sides[i].op, sides[i].args, sides[i].agent, &e);

		if (!sides[i].error && !out)
			fail_msg("%s: %s", sides[i].args, e.msg);
		if (sides[i].error && (out || !strstr(e.msg, sides[i].error)))
			fail_msg("%s: wanted \"%s\", got \"%s\"", sides[i].args,
				 sides[i].error, e.msg);
	}
}

/* Handlers rely on it: what has a default is there, whoever asks. */
static void test_defaults_complete(void **state)
{
	struct err e;
	auto_json json_t *agent =
		validate_text("vm_rm", "{\"vm\":\"a\"}", true, &e);
	auto_json json_t *person =
		validate_text("vm_click", "{\"vm\":\"a\"}", false, &e);

	(void)state;
	assert_true(json_is_false(json_object_get(agent, "force")));
	assert_true(json_is_false(json_object_get(person, "screenshot")));
	/* what is complete passes again */
	auto_json json_t *again =
		validate_args(op_find("vm_rm"), agent, true, &e);
	assert_non_null(again);
	assert_true(json_equal(again, agent));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_types),
	cmocka_unit_test(test_lengths),
	cmocka_unit_test(test_argument_list),
	cmocka_unit_test(test_sides),
	cmocka_unit_test(test_defaults_complete),
};

UNIT_MAIN(tests)
