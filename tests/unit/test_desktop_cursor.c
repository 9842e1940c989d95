#include "desktop/cursor.h"

#include "tests/support/unit.h"

#include <string.h>

#define W 6
#define H 4

static void blends_premultiplied(void **state)
{
	static const struct {
		uint32_t argb;
		uint8_t below, b, g, r;
	} cases[] = {
		{0x00000000, 200, 200, 200, 200},    /* nothing */
		{0xff102030, 200, 0x30, 0x20, 0x10}, /* solid */
		{0x80800000, 200, 100, 100, 228},    /* half red */
		{0x80000000, 255, 127, 127, 127},    /* half black */
		{0x00ffffff, 200, 255, 255, 255},    /* above its alpha: full */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		uint8_t p[4];

		memset(p, cases[i].below, sizeof(p));
		cursor_draw(p, (struct coords_size){1, 1},
			    (struct coords_point){0, 0}, &cases[i].argb,
			    (struct coords_size){1, 1});
		assert_int_equal(p[0], cases[i].b);
		assert_int_equal(p[1], cases[i].g);
		assert_int_equal(p[2], cases[i].r);
	}
}

static void clips_at_every_edge(void **state)
{
	uint32_t argb[9];

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(argb); i++)
		argb[i] = 0xffffffff;
	for (int y = -5; y < H + 3; y++) {
		for (int x = -5; x < W + 3; x++) {
			uint8_t p[W * H * 4] = {0};
			int drawn = 0, want = 0;

			cursor_draw(p, (struct coords_size){W, H},
				    (struct coords_point){x, y}, argb,
				    (struct coords_size){3, 3});
			for (int i = 0; i < W * H; i++) {
				int px = i % W, py = i / W;

				drawn += p[i * 4] == 255;
				want += px >= x && px < x + 3 && py >= y &&
					py < y + 3;
				assert_true((p[i * 4] == 255) ==
					    (px >= x && px < x + 3 && py >= y &&
					     py < y + 3));
			}
			assert_int_equal(drawn, want);
		}
	}
	/* nothing to draw */
	cursor_draw(NULL, (struct coords_size){0, 0},
		    (struct coords_point){0, 0}, argb,
		    (struct coords_size){3, 3});
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(blends_premultiplied),
	cmocka_unit_test(clips_at_every_edge),
};

UNIT_MAIN(tests)
