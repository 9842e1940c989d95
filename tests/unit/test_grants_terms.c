/* For how long and how often. */
#include "tests/support/unit.h"

#include "base/limits.h"
#include "grants/terms.h"

#include <stdlib.h>
#include <string.h>

#define NOW 1790000000 /* 2026-09-21T14:13:20Z */

static void durations(void **state)
{
	static const struct {
		const char *text;
		int64_t s; /* 0: refused */
		const char *printed;
	} rows[] = {
		{"1s", 1, "--for 1s"},
		{"90s", 90, "--for 90s"},
		{"60s", 60, "--for 1m"},
		{"30m", 1800, "--for 30m"},
		{"2h", 7200, "--for 2h"},
		{"24h", 86400, "--for 1d"},
		{"14d", 1209600, "--for 2w"},
		{"366d", LIMIT_GRANT_S, "--for 366d"},
		{"007m", 420, "--for 7m"},
		{"367d", 0, NULL},
		{"53w", 0, NULL},
		{"99999999999999999999999s", 0, NULL},
		{"0s", 0, NULL},
		{"", 0, NULL},
		{"2", 0, NULL},
		{"h", 0, NULL},
		{"2H", 0, NULL},
		{"2h ", 0, NULL},
		{"2 h", 0, NULL},
		{"-2h", 0, NULL},
		{"+2h", 0, NULL},
		{"1.5h", 0, NULL},
		{"1h30m", 0, NULL},
		{"forever", 0, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		struct terms t = {0};
		struct err e = {0};
		int rc = terms_parse(rows[i].text, NULL, 0, NOW, &t, &e);

		if (!rows[i].s) {
			assert_fails(rc, &e, ERR_INVALID, "for ");
			continue;
		}
		assert_ok(rc, &e);
		assert_int_equal(t.for_s, rows[i].s);
		assert_int_equal(terms_end(&t, NOW), NOW + rows[i].s);
		autofree char *text = terms_print(&t);
		assert_string_equal(text, rows[i].printed);
		/* what is printed is the same again */
		assert_ok(terms_parse(text + strlen("--for "), NULL, 0, NOW, &t,
				      &e),
			  &e);
		assert_int_equal(t.for_s, rows[i].s);
	}
}

static void times(void **state)
{
	static const struct {
		const char *text;
		int64_t s; /* 0: refused */
	} rows[] = {
		{"2026-09-21T14:13:21Z", NOW + 1},
		{"2026-09-21T14:14Z", NOW + 40},
		{"2026-09-21T16:14:00+02:00", NOW + 40},
		{"2026-09-21T09:44:00-04:30", NOW + 40},
		{"2027-02-28T00:00:00Z", 1803772800},
		{"2026-09-21T14:13:20Z", 0}, /* now */
		{"2026-09-21T14:13:20+01:00", 0},
		{"2028-01-01T00:00:00Z", 0}, /* too far */
		{"2027-02-29T00:00:00Z", 0},
		{"2027-13-01T00:00:00Z", 0},
		{"2027-00-01T00:00:00Z", 0},
		{"2027-01-01T24:00:00Z", 0},
		{"2027-01-01T23:60:00Z", 0},
		{"2027-01-01T23:59:60Z", 0},
		{"2027-01-01T23:59:59", 0}, /* whose? */
		{"2027-01-01 23:59:59Z", 0},
		{"2027-01-01", 0},
		{"2027-01-01T23:59:59z", 0},
		{"2027-01-01T23:59:59Zx", 0},
		{"2027-01-01T23:59:59+1:00", 0},
		{"2027-01-01T23:59:59+24:00", 0},
		{"27-01-01T23:59:59Z", 0},
		{"", 0},
		{"18:00", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		char text[TERMS_TIME_SIZE];
		struct terms t = {0};
		struct err e = {0};
		int rc = terms_parse(NULL, rows[i].text, 0, NOW, &t, &e);

		if (!rows[i].s) {
			assert_fails(rc, &e, ERR_INVALID, "until ");
			continue;
		}
		assert_ok(rc, &e);
		assert_int_equal(t.until_s, rows[i].s);
		assert_int_equal(terms_end(&t, NOW), rows[i].s);
		assert_ok(terms_parse(NULL, terms_print_time(t.until_s, text),
				      0, NOW, &t, &e),
			  &e);
		assert_int_equal(t.until_s, rows[i].s);
	}
}

static void uses(void **state)
{
	struct grant llm = {.kind = GRANT_LLM};
	struct grant agent = {.kind = GRANT_SSH_AGENT};
	struct grant env = {.kind = GRANT_ENV};
	struct grant file = {.kind = GRANT_FILE};
	struct terms t = {0};
	struct err e = {0};

	(void)state;
	assert_fails(terms_parse("1h", "2027-01-01T00:00:00Z", 0, NOW, &t, &e),
		     &e, ERR_INVALID, "not both");
	assert_fails(terms_parse(NULL, NULL, -1, NOW, &t, &e), &e, ERR_INVALID,
		     "uses");
	assert_fails(terms_parse(NULL, NULL, LIMIT_GRANT_USES_COUNT + 1, NOW,
				 &t, &e),
		     &e, ERR_INVALID, "uses");
	assert_ok(terms_parse("2h", NULL, 5, NOW, &t, &e), &e);
	autofree char *text = terms_print(&t);
	assert_string_equal(text, "--for 2h --uses 5");
	assert_ok(terms_check(&t, &llm, &e), &e);
	assert_ok(terms_check(&t, &agent, &e), &e);
	assert_fails(terms_check(&t, &env, &e), &e, ERR_INVALID, "uses of env");
	assert_fails(terms_check(&t, &file, &e), &e, ERR_INVALID,
		     "uses of file");
	t.uses = 0;
	assert_ok(terms_check(&t, &env, &e), &e);
}

/* F12: what is no more than what is held need not be asked. */
static void within(void **state)
{
	static const struct {
		struct terms asked;
		int64_t end_s, left;
		bool want;
	} rows[] = {
		{{0, 0, 0}, 0, TERMS_USES_ANY, true},
		{{3600, 0, 0}, 0, TERMS_USES_ANY, true},
		{{0, 0, 5}, 0, TERMS_USES_ANY, true},
		{{0, 0, 0}, NOW + 60, TERMS_USES_ANY, false},
		{{60, 0, 0}, NOW + 60, TERMS_USES_ANY, true},
		{{61, 0, 0}, NOW + 60, TERMS_USES_ANY, false},
		{{0, NOW + 60, 0}, NOW + 60, TERMS_USES_ANY, true},
		{{0, NOW + 61, 0}, NOW + 60, TERMS_USES_ANY, false},
		{{0, 0, 0}, 0, 5, false},
		{{0, 0, 5}, 0, 5, true},
		{{0, 0, 6}, 0, 5, false},
		{{0, 0, 1}, 0, 0, false},
		{{1, 0, 0}, NOW, TERMS_USES_ANY, false},
		{{0, NOW - 1, 0}, NOW, TERMS_USES_ANY, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		if (terms_within(&rows[i].asked, rows[i].end_s, rows[i].left,
				 NOW) != rows[i].want)
			fail_msg("row %zu", i);
	}
}

static void words(void **state)
{
	static const struct {
		struct terms t;
		const char *want;
	} rows[] = {
		{{0, 0, 0}, "Without end, until you revoke it."},
		{{3600, 0, 0}, "For 1 hour from your yes."},
		{{5400, 0, 1}, "For 90 minutes from your yes, at most 1 time."},
		{{0, NOW, 20}, "Until 2026-09-21T14:13:20Z, at most 20 times."},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		autofree char *text = terms_words(&rows[i].t);

		assert_string_equal(text, rows[i].want);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(durations), cmocka_unit_test(times),
	cmocka_unit_test(uses),	     cmocka_unit_test(within),
	cmocka_unit_test(words),
};
UNIT_MAIN(tests)
