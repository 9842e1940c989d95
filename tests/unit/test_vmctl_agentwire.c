/* A guest agent's answers, honest and not. */
#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/crypto.h"
#include "base/json.h"
#include "vmctl/agentwire.h"

#include <string.h>

static void commands(void **state)
{
	autofree char *open = agentwire_open("/etc/a\"b");
	autofree char *read = agentwire_read(1000, 1024);
	autofree char *close = agentwire_close(-1);

	(void)state;
	assert_string_equal(open, "{\"execute\":\"guest-file-open\","
				  "\"arguments\":{\"path\":\"/etc/a\\\"b\","
				  "\"mode\":\"r\"}}");
	assert_string_equal(read, "{\"execute\":\"guest-file-read\","
				  "\"arguments\":{\"handle\":1000,"
				  "\"count\":1024}}");
	assert_string_equal(close, "{\"execute\":\"guest-file-close\","
				   "\"arguments\":{\"handle\":-1}}");
}

static void handles(void **state)
{
	static const struct {
		const char *answer;
		bool good;
	} cases[] = {
		{"{\"return\":1000}", true},
		{"{\"return\":-3}", true},
		{"{\"return\":1e3}", false},
		{"{\"return\":\"1000\"}", false},
		{"{\"return\":null}", false},
		{"{\"return\":{}}", false},
		{"{\"return\":1,\"id\":2}", false},
		{"{\"return\":1,\"return\":2}", false},
		{"{\"return\":99999999999999999999}", false},
		{"{\"return\":1} {\"return\":2}", false},
		{"{\"error\":{\"class\":\"GenericError\",\"desc\":\"no\"}}",
		 false},
		{"{}", false},
		{"[1000]", false},
		{"1000", false},
		{"", false},
		{"{\"return\":", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		int64_t handle = 77;
		struct err e = {0};
		bool good = agentwire_parse_open(cases[i].answer, &handle,
						 &e) == 0;

		if (good != cases[i].good || (!good && handle != 77))
			fail_msg("%s: %d", cases[i].answer, good);
		if (!good)
			assert_int_equal(e.code, ERR_PROTOCOL);
	}
}

static void files(void **state)
{
	static const struct {
		const char *value;
		const char *text; /* NULL: refused */
		enum err_code code;
	} cases[] = {
		{"{\"count\":3,\"buf-b64\":\"YWIK\",\"eof\":true}", "ab\n",
		 ERR_NONE},
		{"{\"eof\":true,\"buf-b64\":\"\",\"count\":0}", "", ERR_NONE},
		/* more than was asked for, or more to come */
		{"{\"count\":9,\"buf-b64\":\"YWFhYWFhYWFh\",\"eof\":true}",
		 NULL, ERR_LIMIT},
		{"{\"count\":3,\"buf-b64\":\"YWIK\",\"eof\":false}", NULL,
		 ERR_LIMIT},
		{"{\"count\":4,\"buf-b64\":\"YWIK\",\"eof\":true}", NULL,
		 ERR_PROTOCOL},
		{"{\"count\":-3,\"buf-b64\":\"YWIK\",\"eof\":true}", NULL,
		 ERR_PROTOCOL},
		{"{\"count\":3,\"buf-b64\":\"YWI\",\"eof\":true}", NULL,
		 ERR_PROTOCOL},
		{"{\"count\":3,\"buf-b64\":\"YW\\u0000K\",\"eof\":true}", NULL,
		 ERR_PROTOCOL},
		{"{\"count\":3,\"buf-b64\":\"YQBi\",\"eof\":true}", NULL,
		 ERR_PROTOCOL},
		{"{\"count\":3,\"buf-b64\":\"YWIK\",\"eof\":1}", NULL,
		 ERR_PROTOCOL},
		{"{\"count\":3,\"buf-b64\":\"YWIK\"}", NULL, ERR_PROTOCOL},
		{"{\"count\":3,\"buf-b64\":\"YWIK\",\"eof\":true,\"x\":1}",
		 NULL, ERR_PROTOCOL},
		{"\"YWIK\"", NULL, ERR_PROTOCOL},
		{"[]", NULL, ERR_PROTOCOL},
		{"null", NULL, ERR_PROTOCOL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		autofree char *answer =
			alloc_printf("{\"return\":%s}", cases[i].value);
		autofree char *text = NULL;
		struct err e = {0};

		if (cases[i].text) {
			assert_ok(agentwire_parse_read(answer, 8, &text, &e),
				  &e);
			assert_string_equal(text, cases[i].text);
			continue;
		}
		assert_fails(agentwire_parse_read(answer, 8, &text, &e), &e,
			     cases[i].code, "");
		assert_null(text);
	}
}

/* However long a guest goes on: it is not even parsed. */
static void too_long(void **state)
{
	autofree char *answer = alloc_zero(AGENTWIRE_ANSWER_LEN + 2);
	struct err e = {0};
	int64_t handle;

	(void)state;
	memset(answer, ' ', AGENTWIRE_ANSWER_LEN);
	memcpy(answer, "{\"return\":1}", 12);
	assert_ok(agentwire_parse_open(answer, &handle, &e), &e);
	answer[AGENTWIRE_ANSWER_LEN] = ' ';
	assert_fails(agentwire_parse_open(answer, &handle, &e), &e, ERR_LIMIT,
		     "more than 16384 bytes");
}

/* The most that is asked for fits an answer. */
static void longest(void **state)
{
	autofree char *bytes = alloc_zero(AGENTWIRE_FILE_LEN);
	autofree char *text = NULL, *answer = NULL, *base64 = NULL;
	struct err e = {0};

	(void)state;
	memset(bytes, 'a', AGENTWIRE_FILE_LEN);
	base64 = crypto_base64(bytes, AGENTWIRE_FILE_LEN);
	answer = alloc_printf("{\"return\":{\"count\":%d,\"buf-b64\":\"%s\","
			      "\"eof\":true}}",
			      AGENTWIRE_FILE_LEN, base64);
	assert_ok(agentwire_parse_read(answer, AGENTWIRE_FILE_LEN, &text, &e),
		  &e);
	assert_int_equal(strlen(text), AGENTWIRE_FILE_LEN);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(commands), cmocka_unit_test(handles),
	cmocka_unit_test(files),    cmocka_unit_test(too_long),
	cmocka_unit_test(longest),
};

UNIT_MAIN(tests)
