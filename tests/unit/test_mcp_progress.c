#include "mcp/progress.h"

#include "tests/support/unit.h"

#include "base/json.h"

static void rises_strictly(void **state)
{
	static const struct {
		int64_t done, total;
		const char *text;
		int64_t at_ms;
		const char *sent; /* NULL: nothing */
	} rows[] = {
		{0, 10, "", 0,
		 "{\"progressToken\":7,\"progress\":0.0,\"total\":10}"},
		{1, 10, "a", 100,
		 "{\"progressToken\":7,\"progress\":1.0,\"total\":10,"
		 "\"message\":\"a\"}"},
		/* too soon after the last */
		{2, 10, "a", 150, NULL},
		{3, 10, "a", 200,
		 "{\"progressToken\":7,\"progress\":3.0,\"total\":10,"
		 "\"message\":\"a\"}"},
		/* the same again */
		{3, 10, "a", 300, NULL},
		/* a new phase counts from zero */
		{0, 2, "b", 500,
		 "{\"progressToken\":7,\"progress\":3.0009765625,"
		 "\"message\":\"b\"}"},
		{1, 2, "b", 700, NULL},
		{50, 0, "b", 900,
		 "{\"progressToken\":7,\"progress\":50.0,\"message\":\"b\"}"},
	};
	json_t *token = json_integer(7);
	struct progress p;

	(void)state;
	progress_init(&p, token);
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		struct client_progress c = {.done = rows[i].done,
					    .total = rows[i].total,
					    .text = rows[i].text};
		json_t *params = progress_report(&p, &c, rows[i].at_ms);
		autofree char *text = NULL;

		if (!params != !rows[i].sent)
			fail_msg("row %zu", i);
		if (params) {
			text = json_print(params);
			assert_string_equal(text, rows[i].sent);
			json_decref(params);
		}
	}
	progress_finish(&p);
	json_decref(token);
}

static void silent_without_a_token(void **state)
{
	struct client_progress c = {.done = 5, .total = 10, .text = "x"};
	struct progress p;

	(void)state;
	progress_init(&p, NULL);
	assert_null(progress_report(&p, &c, 1000));
	progress_finish(&p);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(rises_strictly),
	cmocka_unit_test(silent_without_a_token),
};
UNIT_MAIN(tests)
