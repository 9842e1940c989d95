#include "vmctl/capture.h"

#include "base/json.h"
#include "base/utf8.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

/* A capture of len bytes of `unit` over and over, added in pieces. */
static void fill(struct capture *c, const char *unit, size_t len, size_t piece)
{
	size_t unit_len = strlen(unit);
	char *all = test_malloc(len + 1);

	for (size_t i = 0; i < len; i++)
		all[i] = unit[i % unit_len];
	capture_init(c);
	for (size_t at = 0; at < len; at += piece)
		capture_add(c, all + at, len - at < piece ? len - at : piece);
	test_free(all);
}

static bool is_text(const char *p)
{
	size_t len = strlen(p), n;
	uint32_t cp;

	for (; len > 0; p += n, len -= n)
		if (!(n = utf8_next(p, len, &cp)))
			return false;
	return true;
}

static void short_output_is_whole(void **state)
{
	static const size_t lens[] = {0, 1, 100, 8000, LIMIT_RUN_SHOWN_LEN};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(lens); i++) {
		auto_json json_t *v = NULL;
		struct capture c;
		bool cut = true;

		fill(&c, "0123456789", lens[i], 7);
		v = capture_text(&c, LIMIT_RUN_SHOWN_LEN, "", &cut);
		assert_false(cut);
		assert_int_equal(json_string_length(v), lens[i]);
		capture_finish(&c);
	}
}

static void long_output_has_both_ends(void **state)
{
	static const size_t pieces[] = {1, 1000, 4096, 65536, 3000000};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(pieces); i++) {
		auto_json json_t *v = NULL;
		struct capture c;
		const char *text;
		size_t len;
		bool cut = false;

		fill(&c, "0123456789", 1000003, pieces[i]);
		v = capture_text(&c, 1000, "vm_read run:x", &cut);
		text = json_string_value(v);
		len = strlen(text);
		assert_true(cut);
		assert_memory_equal(text, "0123456789", 10);
		assert_string_equal(text + len - 10, "3456789012");
		assert_non_null(strstr(text,
				       "\n[… 999003 of 1000003 bytes left out; "
				       "all of it: vm_read run:x …]\n"));
		assert_true(len < 1000 + 100);
		capture_finish(&c);
	}
}

/* Each cut may fall inside of a character, wherever it is. */
static void cuts_are_between_characters(void **state)
{
	static const char *const units[] = {"ä", "€", "😀", "aä€😀"};

	(void)state;
	for (size_t u = 0; u < ARRAY_COUNT(units); u++) {
		for (size_t extra = 0; extra < 12; extra++) {
			auto_json json_t *v = NULL;
			struct capture c;
			/* whole characters, but any number of them */
			size_t len = (20000 + extra) * strlen(units[u]);
			unsigned long long missing = 0;
			const char *gap;
			bool cut = false;

			fill(&c, units[u], len, 999);
			v = capture_text(&c, 100 + extra, "", &cut);
			assert_true(cut);
			assert_true(is_text(json_string_value(v)));
			gap = strstr(json_string_value(v), "[… ");
			assert_non_null(gap);
			assert_int_equal(sscanf(gap, "[… %llu of", &missing),
					 1);
			assert_in_range(missing, len - 100 - extra, len - 80);
			capture_finish(&c);
		}
	}
}

/* Bytes that are no text grow when they are replaced; not past the bound. */
static void binary_stays_in_bounds(void **state)
{
	static const size_t lens[] = {10, 5000, 9000, 16384, 100000};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(lens); i++) {
		auto_json json_t *v = NULL;
		struct capture c;
		bool cut;

		fill(&c, "\xff\xfe", lens[i], 512);
		v = capture_text(&c, LIMIT_RUN_SHOWN_LEN, "", &cut);
		assert_true(json_string_length(v) <= LIMIT_RUN_SHOWN_LEN + 100);
		assert_true(is_text(json_string_value(v)));
		capture_finish(&c);
	}
}

static void shares(void **state)
{
	static const struct {
		uint64_t out, errs;
		size_t want_out, want_errs;
	} cases[] = {
		{0, 0, 16384, 0},	  {100, 100, 16284, 100},
		{1 << 20, 0, 16384, 0},	  {1 << 20, 1 << 20, 12288, 4096},
		{0, 1 << 20, 0, 16384},	  {1000, 1 << 20, 1000, 15384},
		{1 << 20, 50, 16334, 50},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		const struct capture out = {.total_len = cases[i].out},
				     errs = {.total_len = cases[i].errs};
		size_t out_len, errs_len;

		capture_share(&out, &errs, &out_len, &errs_len);
		assert_int_equal(out_len, cases[i].want_out);
		assert_int_equal(errs_len, cases[i].want_errs);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(short_output_is_whole),
	cmocka_unit_test(long_output_has_both_ends),
	cmocka_unit_test(cuts_are_between_characters),
	cmocka_unit_test(binary_stays_in_bounds),
	cmocka_unit_test(shares),
};
UNIT_MAIN(tests)
