/* Lines of the audit: complete, and without what does not apply. */
#include "tests/support/unit.h"

#include "base/json.h"
#include "grants/event.h"

static void lines(void **state)
{
	struct grant llm = {.kind = GRANT_LLM, .name = (char[]){"openai"}};
	struct grantset set = {&llm, 1};
	const struct {
		struct event ev;
		const char *want;
	} rows[] = {
		{{.what = EVENT_ANSWERED,
		  .vm = "demo",
		  .set = &set,
		  .client = "1:stdio",
		  .agent = true,
		  .terms = "--for 2h",
		  .way = "dialog",
		  .outcome = "yes"},
		 "{\"event\":\"answered\",\"vm\":\"demo\",\"grants\":"
		 "[\"llm:openai\"],\"client\":\"1:stdio\",\"agent\":true,"
		 "\"terms\":\"--for 2h\",\"way\":\"dialog\",\"outcome\":"
		 "\"yes\"}"},
		{{.what = EVENT_ASKED,
		  .vm = "demo",
		  .set = &set,
		  .client = "1:cli",
		  .terms = "",
		  .way = "pending",
		  .approval = "a1"},
		 "{\"event\":\"asked\",\"vm\":\"demo\",\"grants\":"
		 "[\"llm:openai\"],\"client\":\"1:cli\",\"agent\":false,"
		 "\"way\":\"pending\",\"approval\":\"a1\"}"},
		{{.what = EVENT_EXPIRED, .vm = "demo", .text = "env:A"},
		 "{\"event\":\"expired\",\"vm\":\"demo\",\"grants\":"
		 "[\"env:A\"]}"},
		{{.what = EVENT_TOKEN, .vm = "demo", .outcome = "minted"},
		 "{\"event\":\"token\",\"vm\":\"demo\",\"outcome\":"
		 "\"minted\"}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		auto_json json_t *line = event_json(&rows[i].ev);
		autofree char *text = json_print(line);

		assert_string_equal(text, rows[i].want);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(lines),
};
UNIT_MAIN(tests)
