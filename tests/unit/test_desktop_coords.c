#include "desktop/coords.h"

#include "base/limits.h"
#include "tests/support/unit.h"

static unsigned patches(struct coords_size s)
{
	return ((s.width_px + 27) / 28) * ((s.height_px + 27) / 28);
}

static void known_sizes(void **state)
{
	static const struct {
		struct coords_size desktop, shot;
	} cases[] = {
		{{1920, 1080}, {1456, 819}},
		{{1080, 1920}, {819, 1456}},
		{{1024, 768}, {1024, 768}},
		{{1280, 720}, {1280, 720}},
		{{1, 1}, {1, 1}},
		{{8192, 1}, {1568, 1}},
		{{1568, 784}, {1568, 784}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct coords_size s =
			coords_fit(cases[i].desktop, COORDS_STANDARD);

		assert_int_equal(s.width_px, cases[i].shot.width_px);
		assert_int_equal(s.height_px, cases[i].shot.height_px);
	}
}

static void high_tier(void **state)
{
	static const struct {
		struct coords_size desktop, shot;
	} cases[] = {
		{{1920, 1080}, {1920, 1080}}, {{3840, 2160}, {2576, 1449}},
		{{2576, 1456}, {2576, 1456}}, {{2000, 2000}, {1932, 1932}},
		{{8192, 1}, {2576, 1}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct coords_size s =
			coords_fit(cases[i].desktop, COORDS_HIGH);

		assert_int_equal(s.width_px, cases[i].shot.width_px);
		assert_int_equal(s.height_px, cases[i].shot.height_px);
	}
}

/* Every desktop pixel of a rectangle is below the one that it becomes. */
static void rectangles_cover(void **state)
{
	static const struct coords_rect rects[] = {
		{0, 0, 1, 1},	    {16, 32, 16, 16}, {1919, 1079, 1, 1},
		{0, 0, 1920, 1080}, {5, 7, 333, 111},
	};
	const struct coords_view v =
		coords_view((struct coords_size){1920, 1080}, COORDS_STANDARD);

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rects); i++) {
		struct coords_rect s = coords_rect_from_desktop(&v, &rects[i]);
		struct coords_region region = {s.x, s.y, s.width_px,
					       s.height_px};
		struct coords_rect back;
		struct err e = {0};

		assert_ok(coords_region_to_desktop(&v, &region, &back, &e), &e);
		assert_true(back.x <= rects[i].x && back.y <= rects[i].y);
		assert_true(back.x + back.width_px >=
			    rects[i].x + rects[i].width_px);
		assert_true(back.y + back.height_px >=
			    rects[i].y + rects[i].height_px);
		assert_true(s.width_px <= rects[i].width_px + 1);
	}
}

/* Within the tier, the shape kept, nothing larger would do, no growth. */
static void fits_every_size(void **state)
{
	(void)state;
	for (unsigned w = 1; w <= LIMIT_DESKTOP_SIDE_PX; w += 97) {
		for (unsigned h = 1; h <= LIMIT_DESKTOP_SIDE_PX; h += 89) {
			struct coords_size d = {w, h};
			struct coords_size s = coords_fit(d, COORDS_STANDARD);
			struct coords_size up = {s.width_px + 1,
						 s.height_px + 1};

			assert_true(s.width_px >= 1 && s.height_px >= 1);
			assert_true(s.width_px <= 1568 && s.height_px <= 1568);
			assert_true(patches(s) <= 1568);
			assert_true(s.width_px <= w && s.height_px <= h);
			if (s.width_px == w && s.height_px == h)
				continue;
			assert_true(up.width_px > 1568 || up.height_px > 1568 ||
				    patches(up) > 1568 - 56);
		}
	}
}

/* Each pixel of the shot lands inside the desktop area below it, and comes
 * back from there. */
static void points_go_and_return(void **state)
{
	static const struct coords_size desktops[] = {
		{1920, 1080}, {1080, 1920}, {800, 600}, {3840, 2160},
		{1367, 769},  {8192, 3},    {1, 1},	{2560, 1440},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(desktops); i++) {
		const struct coords_view v =
			coords_view(desktops[i], COORDS_STANDARD);
		struct coords_size d = v.desktop, s = v.shot;

		for (unsigned x = 0; x < s.width_px; x += 3) {
			unsigned y = x % s.height_px;
			struct coords_point p, back;
			struct err e = {0};

			assert_ok(coords_to_desktop(&v, x, y, &p, &e), &e);
			assert_true(p.x >= 0 && (unsigned)p.x < d.width_px);
			assert_true(p.y >= 0 && (unsigned)p.y < d.height_px);
			assert_int_equal((unsigned)p.x,
					 (2 * x + 1) * d.width_px /
						 (2 * s.width_px));
			back = coords_from_desktop(&v, p);
			assert_int_equal(back.x, x);
			assert_int_equal(back.y, y);
		}
	}
}

static void outside_is_an_error(void **state)
{
	const struct coords_view v =
		coords_view((struct coords_size){1920, 1080}, COORDS_STANDARD);
	static const int64_t bad[][2] = {
		{-1, 0},      {0, -1},	      {1456, 0},      {0, 819},
		{1919, 1079}, {INT64_MAX, 0}, {0, INT64_MIN},
	};
	struct coords_point p = {7, 7};
	struct err e = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
		assert_fails(
			coords_to_desktop(&v, bad[i][0], bad[i][1], &p, &e), &e,
			ERR_INVALID, "1456x819");
	assert_int_equal(p.x, 7);
	assert_ok(coords_to_desktop(&v, 1455, 818, &p, &e), &e);
	assert_int_equal(p.x, 1919);
	assert_int_equal(p.y, 1079);
}

static void pointer_outside_shows_at_the_edge(void **state)
{
	const struct coords_view v =
		coords_view((struct coords_size){1920, 1080}, COORDS_STANDARD);
	struct coords_point p;

	(void)state;
	p = coords_from_desktop(&v, (struct coords_point){-5, 40000});
	assert_int_equal(p.x, 0);
	assert_int_equal(p.y, 818);
}

static void regions(void **state)
{
	const struct coords_view v =
		coords_view((struct coords_size){1920, 1080}, COORDS_STANDARD);
	static const struct coords_region bad[] = {
		{0, 0, 1457, 1},      {0, 0, 1, 820},  {1456, 0, 1, 1},
		{0, 819, 1, 1},	      {-1, 0, 10, 10}, {0, 0, 0, 5},
		{0, 0, 5, 0},	      {1, 0, 1456, 1}, {INT64_MAX, 0, 1, 1},
		{0, 0, INT64_MAX, 1},
	};
	struct coords_rect r;
	struct err e = {0};

	(void)state;
	assert_ok(coords_region_to_desktop(
			  &v, &(struct coords_region){0, 0, 1456, 819}, &r, &e),
		  &e);
	assert_int_equal(r.x + r.y, 0);
	assert_int_equal(r.width_px, 1920);
	assert_int_equal(r.height_px, 1080);
	assert_ok(coords_region_to_desktop(
			  &v, &(struct coords_region){728, 0, 728, 1}, &r, &e),
		  &e);
	assert_int_equal(r.x, 960);
	assert_int_equal(r.width_px, 960);
	assert_int_equal(r.height_px, 2);
	assert_ok(coords_region_to_desktop(
			  &v, &(struct coords_region){1455, 818, 1, 1}, &r, &e),
		  &e);
	assert_int_equal(r.x + r.width_px, 1920);
	assert_int_equal(r.y + r.height_px, 1080);
	for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
		assert_fails(coords_region_to_desktop(&v, &bad[i], &r, &e), &e,
			     ERR_INVALID, "region");
}

static void frames_reach_over_the_edges(void **state)
{
	const struct coords_view v =
		coords_view((struct coords_size){1920, 1080}, COORDS_STANDARD);
	const struct coords_region frame = {-40, 960, 1920, 500};
	struct coords_region shown = coords_frame_from_desktop(&v, &frame);
	struct coords_region back = coords_frame_to_desktop(&v, &shown);

	(void)state;
	assert_int_equal(shown.x, -30);
	assert_int_equal(shown.y, 728);
	assert_int_equal(shown.width_px, 1456);
	assert_int_equal(shown.height_px, 379);
	assert_int_equal(back.x, -40);
	assert_int_equal(back.y, 960);
	assert_int_equal(back.width_px, 1920);
	assert_int_equal(back.height_px, 500);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(known_sizes),
	cmocka_unit_test(high_tier),
	cmocka_unit_test(rectangles_cover),
	cmocka_unit_test(fits_every_size),
	cmocka_unit_test(points_go_and_return),
	cmocka_unit_test(outside_is_an_error),
	cmocka_unit_test(pointer_outside_shows_at_the_edge),
	cmocka_unit_test(regions),
	cmocka_unit_test(frames_reach_over_the_edges),
};

UNIT_MAIN(tests)
