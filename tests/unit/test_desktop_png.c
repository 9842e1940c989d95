#include "desktop/png.h"

#include "base/alloc.h"
#include "tests/support/unit.h"

#include <png.h>
#include <string.h>

static void comes_back_whole(void **state)
{
	static const struct coords_size sizes[] = {
		{1, 1}, {3, 1}, {1, 200}, {640, 480}, {1456, 819}};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
		size_t len = (size_t)sizes[i].width_px * sizes[i].height_px * 3;
		autofree uint8_t *in = alloc_array(len, 1);
		autofree uint8_t *out = alloc_array(len, 1);
		png_image image = {.version = PNG_IMAGE_VERSION};
		struct err e = {0};
		struct buf b;

		for (size_t k = 0; k < len; k++)
			in[k] = (uint8_t)(k * 7 ^ k >> 9);
		buf_init(&b, 16 * 1024 * 1024);
		assert_ok(png_encode(in, sizes[i], &b, &e), &e);
		assert_true(png_image_begin_read_from_memory(&image, b.data,
							     b.len));
		assert_int_equal(image.width, sizes[i].width_px);
		assert_int_equal(image.height, sizes[i].height_px);
		image.format = PNG_FORMAT_RGB;
		assert_true(png_image_finish_read(&image, NULL, out, 0, NULL));
		assert_memory_equal(in, out, len);
		buf_finish(&b);
	}
}

static void keeps_the_cap(void **state)
{
	static uint8_t noise[200 * 200 * 3];
	struct err e = {0};
	uint32_t v = 1;
	struct buf b;

	(void)state;
	for (size_t i = 0; i < sizeof(noise); i++) {
		v = v * 1103515245 + 12345;
		noise[i] = (uint8_t)(v >> 16);
	}
	for (size_t cap = 0; cap < 100000; cap += 9000) {
		buf_init(&b, cap);
		assert_fails(png_encode(noise, (struct coords_size){200, 200},
					&b, &e),
			     &e, ERR_LIMIT, "");
		assert_true(b.len <= cap);
		buf_finish(&b);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(comes_back_whole),
	cmocka_unit_test(keeps_the_cap),
};

UNIT_MAIN(tests)
