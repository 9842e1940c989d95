#include "desktop/keymap.h"

#include "tests/support/unit.h"

#include <string.h>

/* a, A on 38; 1, ! on 10; Shift on 50; free: 100-102, 110; ours: 120. */
struct board {
	struct xkbmap map;
	bool unused[XKBMAP_KEYCODES], bound[XKBMAP_KEYCODES];
};

static void key(struct board *b, unsigned keycode, uint32_t plain,
		uint32_t shifted)
{
	b->map.keys[keycode].plain = plain;
	b->map.keys[keycode].shifted = shifted;
	b->map.keys[keycode].used = true;
}

static void make(struct board *b)
{
	*b = (struct board){0};
	for (unsigned i = 8; i < XKBMAP_KEYCODES; i++)
		key(b, i, 0x1000, 0x1000);
	key(b, 38, 'a', 'A');
	key(b, 10, '1', '!');
	key(b, 50, 0xffe1, 0xffe1);
	b->map.keys[50].mods = 1;
	for (unsigned i = 100; i <= 110; i += i == 102 ? 8 : 1) {
		b->map.keys[i] = (struct xkbmap_key){0};
		b->unused[i] = true;
	}
	key(b, 120, 0x01004e2d, 0x01004e2d);
	b->bound[120] = true;
}

static struct keymap_plan plan(struct keymap *k, const uint32_t *keysyms,
			       size_t count)
{
	struct keymap_plan p;
	struct err e = {0};

	assert_ok(keymap_plan(k, keysyms, count, &p, &e), &e);
	return p;
}

static void layout_first(void **state)
{
	static const uint32_t keysyms[] = {'a', 'A', '!', 0x01004e2d};
	struct keymap k = {0};
	struct keymap_stroke s;
	struct keymap_plan p;
	struct board b;

	(void)state;
	make(&b);
	keymap_load(&k, &b.map, b.unused, b.bound);
	p = plan(&k, keysyms, 4);
	assert_int_equal(p.count, 4);
	assert_false(p.binds);
	assert_true(keymap_find(&k, 'A', &s));
	assert_int_equal(s.keycode, 38);
	assert_true(s.shift);
	assert_true(keymap_find(&k, '1', &s));
	assert_false(s.shift);
	assert_true(keymap_find(&k, 0x01004e2d, &s));
	assert_int_equal(s.keycode, 120);
	assert_false(s.shift);
	assert_false(keymap_find(&k, 0xe9, &s));
}

static void from_the_bottom(void **state)
{
	static const uint32_t keysyms[] = {0xe9, 'a', 0xe8, 0xe9, 0xe7, 0xe6};
	uint32_t fresh[XKBMAP_KEYCODES];
	bool bound[XKBMAP_KEYCODES];
	struct keymap k = {0};
	struct keymap_plan p;
	struct board b;

	(void)state;
	make(&b);
	keymap_load(&k, &b.map, b.unused, b.bound);
	p = plan(&k, keysyms, 6);
	assert_int_equal(p.count, 6);
	assert_true(p.binds);
	assert_false(p.recycles);
	keymap_fresh(&k, fresh);
	assert_int_equal(fresh[100], 0xe9);
	assert_int_equal(fresh[101], 0xe8);
	assert_int_equal(fresh[102], 0xe7);
	assert_int_equal(fresh[110], 0xe6);
	assert_int_equal(fresh[103] | fresh[120] | fresh[38], 0);
	keymap_bound(&k, bound);
	assert_true(bound[100] && bound[102] && bound[110] && bound[120]);
	assert_false(bound[38] || bound[103]);
	/* the next plan has nothing new */
	plan(&k, keysyms, 6);
	keymap_fresh(&k, fresh);
	assert_int_equal(fresh[100], 0);
}

/* More than there is room for: in parts, the oldest binding goes first, and
 * none that the part itself needs. */
static void recycles_oldest(void **state)
{
	static const uint32_t first[] = {0xe0, 0xe1, 0xe2, 0xe3};
	static const uint32_t again[] = {0xe0};
	static const uint32_t more[] = {0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5};
	struct keymap k = {0};
	struct keymap_plan p;
	struct keymap_stroke s;
	struct board b;

	(void)state;
	make(&b);
	keymap_load(&k, &b.map, b.unused, b.bound);
	plan(&k, first, 4);
	plan(&k, again, 1);
	/* 120, of unknown age, goes before those pressed since */
	p = plan(&k, more, 1);
	assert_true(p.recycles);
	assert_false(keymap_find(&k, 0x01004e2d, &s));
	/* then 101 to 110, then 100, which was pressed again; 0xf0 itself is
	 * needed by the same plan */
	p = plan(&k, more, 6);
	assert_int_equal(p.count, 5);
	assert_false(keymap_find(&k, 0xe0, &s));
	assert_true(keymap_find(&k, 0xf0, &s));
	assert_int_equal(s.keycode, 120);
	assert_true(keymap_find(&k, 0xf1, &s));
	assert_int_equal(s.keycode, 101);
	p = plan(&k, more + p.count, 1);
	assert_int_equal(p.count, 1);
}

/* What the server says is what counts: the map may be replaced any time. */
static void loads_anew(void **state)
{
	static const uint32_t keysyms[] = {0xe9, 0x01004e2d};
	struct keymap k = {0};
	struct keymap_stroke s;
	struct board b;

	(void)state;
	make(&b);
	keymap_load(&k, &b.map, b.unused, b.bound);
	plan(&k, keysyms, 2);
	/* as another setxkbmap leaves it: our keycodes mean something else */
	key(&b, 100, 0x1000, 0x1001);
	key(&b, 120, 'q', 'Q');
	b.unused[100] = false;
	b.bound[100] = true;
	keymap_load(&k, &b.map, b.unused, b.bound);
	assert_false(keymap_find(&k, 0xe9, &s));
	plan(&k, keysyms, 2);
	assert_true(keymap_find(&k, 0xe9, &s));
	assert_int_equal(s.keycode, 101);
	assert_true(keymap_find(&k, 'q', &s));
}

static void no_room(void **state)
{
	static const uint32_t keysyms[] = {'a', 0xe9};
	struct keymap k = {0};
	struct keymap_plan p;
	struct board b;
	struct err e = {0};

	(void)state;
	make(&b);
	for (unsigned i = 100; i <= 120; i++)
		key(&b, i, 0x1000, 0x1001);
	/* taken on another keyboard only */
	b.map.keys[130] = (struct xkbmap_key){0};
	keymap_load(&k, &b.map, b.unused, b.bound);
	assert_int_equal(plan(&k, keysyms, 2).count, 1);
	assert_fails(keymap_plan(&k, keysyms + 1, 1, &p, &e), &e, ERR_STATE,
		     "no keycode free");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(layout_first),	   cmocka_unit_test(from_the_bottom),
	cmocka_unit_test(recycles_oldest), cmocka_unit_test(loads_anew),
	cmocka_unit_test(no_room),
};

UNIT_MAIN(tests)
