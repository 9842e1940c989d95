/* Which calls count against the limit, and whose id is taken. */
#include "tests/support/unit.h"

#include "base/json.h"
#include "base/limits.h"
#include "mcp/inflight.h"

#include <jansson.h>

#define MAX LIMIT_CALLS_PER_CLIENT_COUNT

static int begin(struct inflight *f, int n, struct inflight_call **ret,
		 struct err *e)
{
	auto_json json_t *id = json_integer(n);

	return inflight_begin(f, id, false, ret, e);
}

/* A client that has its answers may ask as much again at once, whatever our
 * threads still have to put away. */
static void answered_calls_do_not_count(void **state)
{
	struct inflight_call *answered[MAX], *again[MAX], *more = NULL;
	struct inflight *f = NULL;
	struct err e = {0};

	(void)state;
	assert_ok(inflight_new(&f, &e), &e);
	for (int i = 0; i < MAX; i++)
		assert_ok(begin(f, i, &answered[i], &e), &e);
	assert_fails(begin(f, MAX, &more, &e), &e, ERR_LIMIT, "under way");
	assert_fails(begin(f, 0, &more, &e), &e, ERR_EXISTS, "id");
	for (int i = 0; i < MAX; i++)
		assert_true(inflight_settle(f, answered[i]));
	e = (struct err){0};
	for (int i = 0; i < MAX; i++)
		assert_ok(begin(f, i, &again[i], &e), &e);
	assert_fails(begin(f, MAX, &more, &e), &e, ERR_LIMIT, "under way");
	assert_int_equal(inflight_count(f), 2 * MAX);
	/* ended without an answer, as a cancelled one is */
	for (int i = 0; i < MAX; i++) {
		inflight_end(f, answered[i]);
		inflight_end(f, again[i]);
	}
	e = (struct err){0};
	assert_ok(begin(f, 0, &more, &e), &e);
	inflight_end(f, more);
	assert_int_equal(inflight_count(f), 0);
	inflight_free(f);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(answered_calls_do_not_count),
};

UNIT_MAIN(tests)
