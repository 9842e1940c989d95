#include "desktop/scale.h"

#include "base/alloc.h"
#include "tests/support/unit.h"

#include <math.h>
#include <string.h>

static uint8_t *picture(struct coords_size s)
{
	uint8_t *p = alloc_array((size_t)s.width_px * s.height_px, 4);
	uint32_t v = 12345;

	for (size_t i = 0; i < (size_t)s.width_px * s.height_px * 4; i++) {
		v = v * 1103515245 + 12345;
		p[i] = (uint8_t)(v >> 16);
	}
	return p;
}

/* How much of [a, a+1) lies in [from, to). */
static double overlap(double a, double from, double to)
{
	double lo = fmax(a, from), hi = fmin(a + 1, to);

	return hi > lo ? hi - lo : 0;
}

/* The true mean of one channel over what an image pixel covers. */
static double mean(const uint8_t *p, struct coords_size from,
		   struct coords_size to, unsigned x, unsigned y,
		   unsigned channel)
{
	double w = (double)from.width_px / to.width_px;
	double h = (double)from.height_px / to.height_px;
	double sum = 0;

	for (unsigned r = (unsigned)(y * h);
	     r < from.height_px && r < (y + 1) * h; r++) {
		for (unsigned c = (unsigned)(x * w);
		     c < from.width_px && c < (x + 1) * w; c++)
			sum += overlap(r, y * h, (y + 1) * h) *
			       overlap(c, x * w, (x + 1) * w) *
			       p[((size_t)r * from.width_px + c) * 4 + channel];
	}
	return sum / (w * h);
}

static const struct {
	struct coords_size from, to;
} sizes[] = {
	{{192, 108}, {146, 82}},  {{100, 100}, {100, 100}},
	{{7, 5}, {3, 2}},	  {{512, 3}, {98, 1}},
	{{300, 200}, {299, 199}}, {{64, 64}, {32, 16}},
	{{1, 1}, {1, 1}},	  {{500, 40}, {97, 13}},
	{{640, 480}, {123, 92}},
};

static void means_over_area(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
		struct coords_size from = sizes[i].from, to = sizes[i].to;
		size_t count = (size_t)to.width_px * to.height_px;
		autofree uint8_t *in = picture(from);
		autofree uint8_t *out = alloc_array(count * 3 + 1, 1);

		out[count * 3] = 0xa5;
		scale_to_rgb(in, (size_t)from.width_px * 4, from, out, to);
		assert_int_equal(out[count * 3], 0xa5);
		for (size_t k = 0; k < count * 3; k++) {
			unsigned x = (unsigned)(k / 3 % to.width_px);
			unsigned y = (unsigned)(k / 3 / to.width_px);
			double want =
				mean(in, from, to, x, y, 2 - (unsigned)(k % 3));

			assert_true(fabs(out[k] - want) <= 2);
		}
	}
}

static void one_colour_stays(void **state)
{
	(void)state;
	for (unsigned v = 0; v < 256; v += 5) {
		struct coords_size from = {331, 207}, to = {251, 157};
		size_t count = (size_t)from.width_px * from.height_px;
		autofree uint8_t *in = alloc_array(count, 4);
		autofree uint8_t *out =
			alloc_array((size_t)to.width_px * to.height_px, 3);

		memset(in, (int)v, count * 4);
		scale_to_rgb(in, (size_t)from.width_px * 4, from, out, to);
		for (size_t k = 0; k < (size_t)to.width_px * to.height_px * 3;
		     k++)
			assert_int_equal(out[k], v);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(means_over_area),
	cmocka_unit_test(one_colour_stays),
};

UNIT_MAIN(tests)
