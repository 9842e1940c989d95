#include "desktop/tiles.h"

#include "base/alloc.h"
#include "tests/support/unit.h"

#include <string.h>

#define MAX 64

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static bool covered(const struct coords_rect *boxes, unsigned count, unsigned x,
		    unsigned y)
{
	for (unsigned i = 0; i < count; i++) {
		if (x >= boxes[i].x && x - boxes[i].x < boxes[i].width_px &&
		    y >= boxes[i].y && y - boxes[i].y < boxes[i].height_px)
			return true;
	}
	return false;
}

static void nothing_is_no_box(void **state)
{
	struct coords_rect boxes[MAX];
	struct tiles t = {0};

	(void)state;
	tiles_reset(&t, (struct coords_size){1920, 1080}, 5);
	assert_int_equal(tiles_boxes(&t, 5, boxes, MAX), 0);
	assert_int_equal(tiles_boxes(&t, 4, boxes, MAX), 1);
	assert_int_equal(boxes[0].x + boxes[0].y, 0);
	assert_int_equal(boxes[0].width_px, 1920);
	assert_int_equal(boxes[0].height_px, 1080);
	tiles_finish(&t);
}

/* A hostile server names any rectangle. */
static void marks_are_cut(void **state)
{
	static const struct coords_rect outside[] = {
		{1920, 0, 10, 10},
		{0, 1080, 10, 10},
		{5, 5, 0, 9},
		{5, 5, 9, 0},
		{UINT32_MAX, 0, 9, 9},
		{0, UINT32_MAX, 9, UINT32_MAX},
		{65535, 65535, 65535, 1},
	};
	struct coords_rect boxes[MAX];
	struct tiles t = {0};

	(void)state;
	tiles_reset(&t, (struct coords_size){1920, 1080}, 0);
	for (size_t i = 0; i < ARRAY_COUNT(outside); i++) {
		tiles_mark(&t, &outside[i], 1);
		assert_false(tiles_touched(&t, &outside[i], 0));
	}
	assert_int_equal(tiles_boxes(&t, 0, boxes, MAX), 0);
	tiles_mark(&t,
		   &(struct coords_rect){1900, 1000, UINT32_MAX, UINT32_MAX},
		   1);
	assert_int_equal(tiles_boxes(&t, 0, boxes, MAX), 1);
	assert_int_equal(boxes[0].x, 1888);
	assert_int_equal(boxes[0].x + boxes[0].width_px, 1920);
	assert_int_equal(boxes[0].y + boxes[0].height_px, 1080);
	tiles_finish(&t);
}

static void two_corners_are_two_boxes(void **state)
{
	struct coords_rect boxes[MAX];
	struct tiles t = {0};

	(void)state;
	tiles_reset(&t, (struct coords_size){1367, 769}, 0);
	tiles_mark(&t, &(struct coords_rect){0, 0, 1, 1}, 1);
	tiles_mark(&t, &(struct coords_rect){1366, 768, 1, 1}, 2);
	assert_int_equal(tiles_boxes(&t, 0, boxes, MAX), 2);
	assert_int_equal(boxes[0].width_px, TILES_SIDE_PX);
	assert_int_equal(boxes[1].x + boxes[1].width_px, 1367);
	assert_int_equal(boxes[1].y + boxes[1].height_px, 769);
	/* only what is later */
	assert_int_equal(tiles_boxes(&t, 1, boxes, MAX), 1);
	assert_int_equal(boxes[0].x + boxes[0].width_px, 1367);
	/* in one box when there may be but one */
	assert_int_equal(tiles_boxes(&t, 0, boxes, 1), 1);
	assert_int_equal(boxes[0].width_px, 1367);
	assert_int_equal(boxes[0].height_px, 769);
	tiles_finish(&t);
}

/* Whatever was marked is covered, by few boxes, without much else. */
static void boxes_cover_all_marks(void **state)
{
	static const struct coords_size sizes[] = {
		{1920, 1080}, {17, 9}, {1, 1}, {801, 599}, {16, 8192}};
	uint32_t seed = 3;

	(void)state;
	for (unsigned round = 0; round < 300; round++) {
		struct coords_size size = sizes[round % ARRAY_COUNT(sizes)];
		unsigned max = 1 + next(&seed) % 48;
		struct coords_rect boxes[MAX];
		struct tiles t = {0};
		unsigned count, marks = next(&seed) % 60;

		tiles_reset(&t, size, 0);
		for (unsigned i = 0; i < marks; i++) {
			struct coords_rect r = {next(&seed) % size.width_px,
						next(&seed) % size.height_px,
						1 + next(&seed) % 90,
						1 + next(&seed) % 90};

			tiles_mark(&t, &r, 1);
			assert_true(tiles_touched(&t, &r, 0));
		}
		count = tiles_boxes(&t, 0, boxes, max);
		assert_true(count <= max && (count > 0) == (marks > 0));
		for (unsigned i = 0; i < t.columns * t.rows; i++) {
			unsigned x = i % t.columns * TILES_SIDE_PX;
			unsigned y = i / t.columns * TILES_SIDE_PX;

			if (t.stamps[i])
				assert_true(covered(boxes, count, x, y));
		}
		for (unsigned i = 0; i < count; i++)
			assert_true(boxes[i].x + boxes[i].width_px <=
					    size.width_px &&
				    boxes[i].y + boxes[i].height_px <=
					    size.height_px);
		tiles_finish(&t);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(nothing_is_no_box),
	cmocka_unit_test(marks_are_cut),
	cmocka_unit_test(two_corners_are_two_boxes),
	cmocka_unit_test(boxes_cover_all_marks),
};

UNIT_MAIN(tests)
