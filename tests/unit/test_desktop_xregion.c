#include "desktop/xregion.h"

#include "base/cleanup.h"
#include "tests/support/unit.h"

#include <string.h>

enum { HEAD_LEN = 32 };

static void rectangles_are_cut_at_the_corner(void **state)
{
	static const struct {
		int16_t at[2];
		uint16_t size[2];
		struct coords_rect want;
	} rows[] = {
		{{8, 9}, {100, 50}, {8, 9, 100, 50}},
		{{-5, -6}, {100, 50}, {0, 0, 95, 44}},
		{{-5, 0}, {5, 50}, {0, 0, 0, 0}},
		{{0, 0}, {0, 0}, {0, 0, 0, 0}},
		{{32767, 0}, {65535, 1}, {32767, 0, 65535, 1}},
		{{-32768, -32768}, {65535, 65535}, {0, 0, 32767, 32767}},
	};
	uint8_t reply[HEAD_LEN + 8 * ARRAY_COUNT(rows) + 4] = {1};
	autofree struct coords_rect *got = NULL;
	size_t count;

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		memcpy(reply + HEAD_LEN + 8 * i, rows[i].at, 4);
		memcpy(reply + HEAD_LEN + 8 * i + 4, rows[i].size, 4);
	}
	/* half a rectangle at the end is none */
	got = xregion_parse(reply, sizeof(reply), &count);
	assert_int_equal(count, ARRAY_COUNT(rows));
	for (size_t i = 0; i < count; i++)
		assert_memory_equal(&got[i], &rows[i].want, sizeof(got[i]));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(rectangles_are_cut_at_the_corner),
};

UNIT_MAIN(tests)
