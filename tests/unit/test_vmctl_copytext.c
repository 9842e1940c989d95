#include "vmctl/copytext.h"

#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

#define REC(y, m, s, t, p, l) y "\0" m "\0" s "\0" t "\0" p "\0" l "\0"

static void find_records(void **state)
{
	static const char text[] =
		REC("d", "755", "4096", "1700000000.1234567890", "", "")
		REC("f", "4755", "12", "-6.9999999950", "a\nb", "")
		REC("l", "777", "7", "0.0000000000", "\xff", "no where")
		REC("p", "600", "0", "1.0000000000", "fifo", "")
		"=\0find: 'x'\n=1\0";
	static const struct {
		char type;
		unsigned mode;
		uint64_t len;
		int64_t s;
		uint32_t ns;
		const char *path, *target;
	} want[] = {
		{'d', 0755, 0, 1700000000, 123456789, "", ""},
		{'f', 0755, 12, -6, 999999995, "a\nb", ""},
		{'l', 0777, 0, 0, 0, "\xff", "no where"},
		{'?', 0600, 0, 1, 0, "fifo", ""},
	};
	size_t at = 0, used, len = sizeof(text) - 1;
	struct copytext_item item;
	struct err e = {0};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(want); i++) {
		const struct treewire_entry *n = &item.entry;

		assert_int_equal(copytext_find(text + at, len - at, &item,
					       &used, &e),
				 1);
		/* any cut is only unfinished */
		for (size_t cut = 0; cut < used; cut++) {
			struct copytext_item other;
			size_t other_used;

			assert_int_equal(copytext_find(text + at, cut, &other,
						       &other_used, &e),
					 0);
		}
		at += used;
		assert_false(item.end);
		assert_int_equal(n->type, want[i].type);
		assert_int_equal(n->mode, want[i].mode);
		assert_int_equal(n->len, want[i].len);
		assert_int_equal(n->mtime_s, want[i].s);
		assert_int_equal(n->mtime_ns, want[i].ns);
		assert_string_equal(n->path.p, want[i].path);
		assert_int_equal(n->path.len, strlen(want[i].path));
		assert_string_equal(n->target.p, want[i].target);
	}
	assert_int_equal(copytext_find(text + at, len - at, &item, &used, &e),
			 1);
	assert_true(item.end);
	assert_string_equal(item.said.p, "find: 'x'\n=1");
	assert_int_equal(at + used, len);
}

static void find_lies(void **state)
{
	static const struct {
		const char *text;
		size_t len;
	} rows[] = {
#define ROW(t) {t, sizeof(t) - 1}
		ROW(REC("", "755", "1", "1.0", "p", "")),
		ROW(REC("ff", "755", "1", "1.0", "p", "")),
		ROW(REC("f", "", "1", "1.0", "p", "")),
		ROW(REC("f", "9", "1", "1.0", "p", "")),
		ROW(REC("f", "10000", "1", "1.0", "p", "")),
		ROW(REC("f", "-1", "1", "1.0", "p", "")),
		ROW(REC("f", "755", "-1", "1.0", "p", "")),
		ROW(REC("f", "755", "", "1.0", "p", "")),
		ROW(REC("f", "755", "1 ", "1.0", "p", "")),
		ROW(REC("f", "755", "18446744073709551616", "1.0", "p", "")),
		ROW(REC("f", "755", "1", "", "p", "")),
		ROW(REC("f", "755", "1", "x", "p", "")),
		ROW(REC("f", "755", "1", "1.", "p", "")),
		ROW(REC("f", "755", "1", "--1", "p", "")),
		ROW(REC("f", "755", "1", "9223372036854775807.0", "p", "")),
		ROW(REC("f", "755", "1", "1.1234567890123456789", "p", "")),
		ROW(REC("f", "755", "1", "1.0x", "p", "")),
		ROW(REC("f", "755", "1", "1.0", "p", "target")),
		ROW(REC("l", "755", "1", "1.0", "p", "")),
	};
	static char endless[COPYTEXT_RECORD_LEN + 1];
	struct copytext_item item;
	struct err e = {0};
	size_t used;

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++)
		assert_fails(copytext_find(rows[i].text, rows[i].len, &item,
					   &used, &e),
			     &e, ERR_PROTOCOL, "malformed");
	memset(endless, 'x', sizeof(endless));
	assert_fails(copytext_find(endless, sizeof(endless), &item, &used, &e),
		     &e, ERR_LIMIT, "too long");
}

static void stat_records(void **state)
{
	static const char text[] = "41ed 4096 -0.500000000 ./a b\n\0"
				   "81a4 5 1.5 ./-x";
	static const char *const lies[] = {
		"",	      "41ed",	      "41ed 1",	     "41ed 1 1.0",
		"zz 1 1.0 x", "41ed 1x 1.0 x", "41ed 1 1.0x x", "41ed -1 1 x",
		"1ffffffff 1 1.0 x", "41ed 1  x",
	};
	struct copytext_stat st;
	struct err e = {0};
	size_t used;

	(void)state;
	assert_ok(copytext_stat(text, sizeof(text), &st, &used, &e), &e);
	assert_int_equal(st.type, 'd');
	assert_int_equal(st.mode, 0755);
	assert_int_equal(st.mtime_s, -1);
	assert_int_equal(st.mtime_ns, 500000000);
	assert_string_equal(st.path, "./a b\n");
	assert_ok(copytext_stat(text + used, sizeof(text) - used, &st, &used,
				&e),
		  &e);
	assert_int_equal(st.type, 'f');
	assert_int_equal(st.len, 5);
	assert_string_equal(st.path, "./-x");
	for (unsigned i = 0; i < ARRAY_COUNT(lies); i++)
		assert_fails(copytext_stat(lies[i], strlen(lies[i]) + 1, &st,
					   &used, &e),
			     &e, ERR_PROTOCOL, "malformed");
	/* no NUL */
	assert_fails(copytext_stat("41ed 1 1.0 x", 12, &st, &used, &e), &e,
		     ERR_PROTOCOL, "malformed");
	assert_fails(copytext_stat("", 0, &st, &used, &e), &e, ERR_PROTOCOL,
		     "malformed");
}

static void times(void **state)
{
	static const struct {
		int64_t s;
		uint32_t ns;
		const char *text;
	} rows[] = {
		{0, 0, "0.000000000"},
		{0, 1, "0.000000001"},
		{1700000000, 999999999, "1700000000.999999999"},
		{-1, 0, "-1.000000000"},
		{-1, 500000000, "-0.500000000"},
		{-5, 5, "-4.999999995"},
		{INT64_MIN / 2, 0, "-4611686018427387904.000000000"},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		char text[COPYTEXT_TIME_SIZE], line[64];
		struct err e = {0};
		uint64_t len;
		int64_t s;
		uint32_t ns;

		copytext_time(rows[i].s, rows[i].ns, text);
		assert_string_equal(text, rows[i].text);
		snprintf(line, sizeof(line), "7 %s", text);
		if (rows[i].s == INT64_MIN / 2)
			continue; /* out of what is read, on either side */
		assert_ok(copytext_len_time(line, &len, &s, &ns, &e), &e);
		assert_int_equal(len, 7);
		assert_int_equal(s, rows[i].s);
		assert_int_equal(ns, rows[i].ns);
	}
	char text[COPYTEXT_TIME_SIZE];
	copytext_time(INT64_MIN, 999999999, text);
	assert_string_equal(text, "-9223372036854775807.000000001");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(find_records),
	cmocka_unit_test(find_lies),
	cmocka_unit_test(stat_records),
	cmocka_unit_test(times),
};

UNIT_MAIN(tests)
