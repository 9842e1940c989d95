#include "desktop/xkbmap.h"

#include "base/path.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

#define US_MAP "tests/fuzz/corpus/xkbmap/us"

static char *us_map(size_t *ret_len)
{
	struct err e = {0};
	char *p;

	assert_ok(path_read_file(US_MAP, XKBMAP_MAX_LEN, &p, ret_len, &e), &e);
	return p;
}

/* What an Xvnc sends for layout us. */
static void real_map(void **state)
{
	static const struct {
		unsigned keycode;
		uint32_t plain, shifted;
	} keys[] = {
		{38, 'a', 'A'},
		{10, '1', '!'},
		{36, 0xff0d, 0xff0d},	 /* Return: one level */
		{23, 0xff09, 0xfe20},	 /* Tab, ISO_Left_Tab */
		{67, 0xffbe, 0xffbe},	 /* F1: its second level is not Shift's */
		{87, 0xff9c, 0xff9c},	 /* KP_End; KP_1 needs Num Lock */
		{50, 0xffe1, 0xffe1},	 /* Shift_L */
	};
	autofree char *p = NULL;
	struct xkbmap map;
	struct err e = {0};
	unsigned free_count = 0;
	size_t len;

	(void)state;
	p = us_map(&len);
	assert_ok(xkbmap_parse((uint8_t *)p, len, &map, &e), &e);
	for (size_t i = 0; i < ARRAY_COUNT(keys); i++) {
		const struct xkbmap_key *k = &map.keys[keys[i].keycode];

		print_message("keycode %u\n", keys[i].keycode);
		assert_int_equal(k->plain, keys[i].plain);
		assert_int_equal(k->shifted, keys[i].shifted);
		assert_true(k->used);
	}
	assert_int_equal(map.keys[50].mods, 1);
	assert_int_equal(map.keys[66].mods, 2);
	assert_int_equal(map.keys[38].mods, 0);
	for (unsigned i = 8; i < XKBMAP_KEYCODES; i++)
		free_count += !map.keys[i].used;
	assert_true(free_count >= 10);
}

static void cut_short(void **state)
{
	autofree char *p = NULL;
	size_t len;

	(void)state;
	p = us_map(&len);
	for (size_t n = 0; n < len - 3; n += n < 64 ? 1 : 7) {
		char *exact = malloc(n ? n : 1);
		struct xkbmap map;
		struct err e = {0};

		assert_non_null(exact);
		memcpy(exact, p, n);
		assert_fails(xkbmap_parse((uint8_t *)exact, n, &map, &e), &e,
			     ERR_PROTOCOL, "keyboard map");
		free(exact);
	}
}

static void wrong_counts(void **state)
{
	static const struct {
		size_t at;
		uint8_t byte;
	} changes[] = {
		{12, 3},   /* not the parts that were asked for */
		{14, 1},   /* types not from the first */
		{15, 0},   /* keys of types that are not there */
		{15, 255}, {17, 255}, {20, 255}, {33, 255},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(changes); i++) {
		struct xkbmap map = {.keys[38].plain = 1};
		autofree char *p = NULL;
		struct err e = {0};
		size_t len;

		p = us_map(&len);
		p[changes[i].at] = (char)changes[i].byte;
		assert_fails(xkbmap_parse((uint8_t *)p, len, &map, &e), &e,
			     ERR_PROTOCOL, "");
		assert_int_equal(map.keys[38].plain, 1);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(real_map),
	cmocka_unit_test(cut_short),
	cmocka_unit_test(wrong_counts),
};

UNIT_MAIN(tests)
