#include "mcp/jsonrpc.h"

#include "tests/support/unit.h"

#include "base/alloc.h"

#include <string.h>

static void takes_messages(void **state)
{
	static const struct {
		const char *text;
		enum jsonrpc_kind kind;
		const char *id, *method;
	} rows[] = {
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
		 JSONRPC_REQUEST, "1", "ping"},
		{"{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"method\":\"ping\"}",
		 JSONRPC_REQUEST, "\"1\"", "ping"},
		{"{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"ping\"}",
		 JSONRPC_REQUEST, "\"\"", "ping"},
		{"{\"jsonrpc\":\"2.0\",\"id\":-7,\"method\":\"\"}",
		 JSONRPC_REQUEST, "-7", ""},
		{"{\"jsonrpc\":\"2.0\",\"id\":9007199254740993,"
		 "\"method\":\"m\",\"params\":{}}",
		 JSONRPC_REQUEST, "9007199254740993", "m"},
		{"{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{\"a\":1}}",
		 JSONRPC_NOTIFICATION, NULL, "n"},
		{" {\"jsonrpc\":\"2.0\",\"method\":\"n\",\"extra\":[]} ",
		 JSONRPC_NOTIFICATION, NULL, "n"},
		{"{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}",
		 JSONRPC_RESPONSE, "5", NULL},
		{"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":1,"
		 "\"message\":\"m\"}}",
		 JSONRPC_RESPONSE, "\"x\"", NULL},
		{"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{}}",
		 JSONRPC_RESPONSE, "null", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		struct jsonrpc_msg m;
		struct jsonrpc_fault f = {0};
		autofree char *id = NULL;

		if (jsonrpc_parse(rows[i].text, strlen(rows[i].text), &m, &f))
			fail_msg("row %zu: %s", i, err_msg(&f.why));
		assert_int_equal(m.kind, rows[i].kind);
		assert_int_equal(!m.id, !rows[i].id);
		if (m.id) {
			id = json_print(m.id);
			assert_string_equal(id, rows[i].id);
		}
		if (rows[i].method)
			assert_string_equal(m.method, rows[i].method);
		jsonrpc_msg_finish(&m);
	}
}

#define DEEP10 "[[[[[[[[[["

static void refuses_what_is_no_message(void **state)
{
	static const struct {
		const char *text;
		int64_t code;
		const char *id; /* whom the error answers */
		bool unanswered;
	} rows[] = {
		{"", JSONRPC_PARSE_ERROR, NULL, false},
		{"{", JSONRPC_PARSE_ERROR, NULL, false},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}}",
		 JSONRPC_PARSE_ERROR, NULL, false},
		{"\xff\xfe", JSONRPC_PARSE_ERROR, NULL, false},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc3\x28\"}",
		 JSONRPC_PARSE_ERROR, NULL, false},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"a\"}",
		 JSONRPC_PARSE_ERROR, NULL, false},
		{"{\"jsonrpc\":\"2.0\",\"id\":\"a\\u0000b\",\"method\":\"a\"}",
		 JSONRPC_PARSE_ERROR, NULL, false},
		{DEEP10 DEEP10 DEEP10 DEEP10, JSONRPC_PARSE_ERROR, NULL, false},
		{"[]", JSONRPC_INVALID_REQUEST, NULL, false},
		{"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
		 JSONRPC_INVALID_REQUEST, NULL, false},
		{"1", JSONRPC_INVALID_REQUEST, NULL, false},
		{"null", JSONRPC_INVALID_REQUEST, NULL, false},
		{"\"x\"", JSONRPC_INVALID_REQUEST, NULL, false},
		{"{}", JSONRPC_INVALID_REQUEST, NULL, false},
		{"{\"id\":1,\"method\":\"a\"}", JSONRPC_INVALID_REQUEST, "1",
		 false},
		{"{\"jsonrpc\":2.0,\"id\":1,\"method\":\"a\"}",
		 JSONRPC_INVALID_REQUEST, "1", false},
		{"{\"jsonrpc\":\"1.0\",\"id\":\"q\",\"method\":\"a\"}",
		 JSONRPC_INVALID_REQUEST, "\"q\"", false},
		{"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"a\"}",
		 JSONRPC_INVALID_REQUEST, NULL, false},
		{"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"a\"}",
		 JSONRPC_INVALID_REQUEST, NULL, false},
		{"{\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"a\"}",
		 JSONRPC_INVALID_REQUEST, NULL, false},
		{"{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"a\"}",
		 JSONRPC_INVALID_REQUEST, NULL, false},
		{"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"a\"}",
		 JSONRPC_INVALID_REQUEST, NULL, false},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}",
		 JSONRPC_INVALID_REQUEST, "1", false},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":[]}",
		 JSONRPC_INVALID_PARAMS, "1", false},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\","
		 "\"params\":null}",
		 JSONRPC_INVALID_PARAMS, "1", false},
		{"{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":[]}",
		 JSONRPC_INVALID_PARAMS, NULL, true},
		{"{\"jsonrpc\":\"2.0\",\"id\":1}", JSONRPC_INVALID_REQUEST,
		 NULL, false},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1,\"error\":{}}",
		 JSONRPC_INVALID_REQUEST, NULL, false},
		{"{\"jsonrpc\":\"2.0\",\"result\":1}", JSONRPC_INVALID_REQUEST,
		 NULL, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		struct jsonrpc_msg m;
		struct jsonrpc_fault f = {0};
		autofree char *id = NULL;

		if (!jsonrpc_parse(rows[i].text, strlen(rows[i].text), &m, &f))
			fail_msg("row %zu was taken: %s", i, rows[i].text);
		if (f.code != rows[i].code)
			fail_msg("row %zu: %d %s", i, f.code, err_msg(&f.why));
		assert_int_equal(!f.id, !rows[i].id);
		if (f.id) {
			id = json_print(f.id);
			assert_string_equal(id, rows[i].id);
		}
		assert_int_equal(f.unanswered, rows[i].unanswered);
		jsonrpc_fault_finish(&f);
	}
}

static void check_text(json_t *message, const char *want)
{
	autofree char *text = json_print(message);

	assert_string_equal(text, want);
	json_decref(message);
}

static void builds_messages(void **state)
{
	json_t *id = json_string("a");

	(void)state;
	check_text(jsonrpc_result(id, json_object()),
		   "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}");
	check_text(jsonrpc_error(NULL, -32700, "no \xff", NULL),
		   "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,"
		   "\"message\":\"no \xef\xbf\xbd\"}}");
	check_text(jsonrpc_error(id, 5, "m", json_integer(3)),
		   "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{\"code\":5,"
		   "\"message\":\"m\",\"data\":3}}");
	check_text(jsonrpc_notification("n", NULL),
		   "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}");
	json_decref(id);
}

static void faults_are_one_line(void **state)
{
	struct jsonrpc_fault f = {0};

	(void)state;
	jsonrpc_fault_set(&f, -32601, "method not found: %s", "a\nb\x1b[1m");
	assert_null(strchr(f.why.msg, '\n'));
	assert_null(strchr(f.why.msg, '\x1b'));
	jsonrpc_fault_finish(&f);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(takes_messages),
	cmocka_unit_test(refuses_what_is_no_message),
	cmocka_unit_test(builds_messages),
	cmocka_unit_test(faults_are_one_line),
};
UNIT_MAIN(tests)
