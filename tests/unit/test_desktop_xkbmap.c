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
		{38, 'a', 'A'},	      {10, '1', '!'},
		{36, 0xff0d, 0xff0d}, /* Return: one level */
		{23, 0xff09, 0xfe20}, /* Tab, ISO_Left_Tab */
		{67, 0xffbe, 0xffbe}, /* F1: its second level is not Shift's */
		{87, 0xff9c, 0xff9c}, /* KP_End; KP_1 needs Num Lock */
		{50, 0xffe1, 0xffe1}, /* Shift_L */
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
		{12, 3}, /* not the parts that were asked for */
		{14, 1}, /* types not from the first */
		{15, 0}, /* keys of types that are not there */
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

/* What would be sent, set into the reply it came from, reads as wanted. */
static void rebinds(void **state)
{
	uint32_t keysyms[XKBMAP_KEYCODES] = {0};
	struct xkbmap before, after;
	struct xkbmap_change c;
	autofree char *p = NULL;
	struct err e = {0};
	size_t len, at = 40, old_len = 0;
	struct buf out, all;

	(void)state;
	p = us_map(&len);
	assert_ok(xkbmap_parse((uint8_t *)p, len, &before, &e), &e);
	keysyms[93] = 0x01004e2d;
	keysyms[97] = 0xe9;
	keysyms[230] = 0x0101f600;
	buf_init(&out, XKBMAP_MAX_LEN);
	assert_ok(xkbmap_rebind((uint8_t *)p, len, keysyms, &out, &c, &e), &e);
	assert_int_equal(c.min_keycode, 8);
	assert_int_equal(c.max_keycode, 255);
	assert_int_equal(c.first, 93);
	assert_int_equal(c.count, 138);
	assert_int_equal(out.len, c.count * 8U + c.syms_count * 4U);
	/* past the types and the keys before the range */
	for (uint8_t i = 0; i < (uint8_t)p[15]; i++)
		at += 8 + (size_t)(uint8_t)p[at + 5] * (p[at + 6] ? 12 : 8);
	for (unsigned i = 8; i < 93U + c.count; i++) {
		size_t n = at + old_len;
		size_t key_len = 8 + (size_t)(uint8_t)p[n + 6] * 4;

		if (i < 93)
			at += key_len;
		else
			old_len += key_len;
	}
	buf_init(&all, XKBMAP_MAX_LEN);
	assert_ok(buf_add(&all, p, at, &e), &e);
	assert_ok(buf_add(&all, out.data, out.len, &e), &e);
	assert_ok(buf_add(&all, p + at + old_len, len - at - old_len, &e), &e);
	assert_ok(xkbmap_parse((uint8_t *)all.data, all.len, &after, &e), &e);
	for (unsigned i = 0; i < XKBMAP_KEYCODES; i++) {
		const struct xkbmap_key *k = &after.keys[i];

		assert_int_equal(k->plain, keysyms[i] ? keysyms[i]
						      : before.keys[i].plain);
		assert_int_equal(k->shifted, keysyms[i]
						     ? keysyms[i]
						     : before.keys[i].shifted);
		assert_int_equal(k->mods, before.keys[i].mods);
	}
	buf_finish(&out);
	buf_finish(&all);
}

static void rebinds_nothing_else(void **state)
{
	uint32_t none[XKBMAP_KEYCODES] = {0}, outside[XKBMAP_KEYCODES] = {0};
	struct xkbmap_change c;
	autofree char *p = NULL;
	struct err e = {0};
	struct buf out;
	size_t len;

	(void)state;
	p = us_map(&len);
	buf_init(&out, XKBMAP_MAX_LEN);
	assert_fails(xkbmap_rebind((uint8_t *)p, len, none, &out, &c, &e), &e,
		     ERR_PROTOCOL, "");
	outside[7] = 'a';
	assert_fails(xkbmap_rebind((uint8_t *)p, len, outside, &out, &c, &e),
		     &e, ERR_PROTOCOL, "");
	outside[100] = 'a';
	outside[7] = 0;
	for (size_t n = 0; n < 1000; n += 9) {
		buf_reset(&out);
		assert_fails(
			xkbmap_rebind((uint8_t *)p, n, outside, &out, &c, &e),
			&e, ERR_PROTOCOL, "");
	}
	buf_finish(&out);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(real_map),
	cmocka_unit_test(cut_short),
	cmocka_unit_test(wrong_counts),
	cmocka_unit_test(rebinds),
	cmocka_unit_test(rebinds_nothing_else),
};

UNIT_MAIN(tests)
