#include "desktop/picture.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "tests/support/unit.h"

#include <string.h>
#include <turbojpeg.h>

static const struct coords_size shot = {1456, 819};

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* Panels with lines of letter-like specks: what a desktop looks like. */
static uint8_t *user_interface(struct coords_size s)
{
	uint8_t *rgb = alloc_array((size_t)s.width_px * s.height_px, 3);
	uint32_t seed = 1;

	for (unsigned y = 0; y < s.height_px; y++) {
		for (unsigned x = 0; x < s.width_px; x++) {
			bool text = y % 20 > 8 && x % 400 < 200 &&
				    next(&seed) % 5 == 0;

			memset(rgb + ((size_t)y * s.width_px + x) * 3,
			       text ? 20 : 225 + (int)(y / 100), 3);
		}
	}
	return rgb;
}

/* Smooth, with the grain of a camera. */
static uint8_t *photograph(struct coords_size s, unsigned grain)
{
	uint8_t *rgb = alloc_array((size_t)s.width_px * s.height_px, 3);
	uint32_t seed = 1;

	for (size_t i = 0; i < (size_t)s.width_px * s.height_px * 3; i++) {
		unsigned x = (unsigned)(i / 3 % s.width_px);

		rgb[i] = (uint8_t)(40 + x * 120 / s.width_px +
				   next(&seed) % grain);
	}
	return rgb;
}

static struct picture *encode(uint8_t *rgb, struct coords_size s)
{
	struct picture *p = NULL;
	struct err e = {0};

	assert_ok(picture_encode(rgb, s, &p, &e), &e);
	free(rgb);
	assert_int_equal(p->size.width_px, s.width_px);
	assert_true(p->len > 0 && p->len <= LIMIT_SHOT_LEN);
	return p;
}

static void a_user_interface_is_png(void **state)
{
	auto_picture struct picture *p = encode(user_interface(shot), shot);

	(void)state;
	assert_string_equal(p->mime, "image/png");
	assert_memory_equal(p->bytes, "\x89PNG", 4);
}

/* Also the worst there is stays within what clients hand on. */
static void a_photograph_is_jpeg(void **state)
{
	(void)state;
	for (unsigned grain = 9; grain < 200; grain += 60) {
		auto_picture struct picture *p =
			encode(photograph(shot, grain), shot);
		tjhandle tj = tjInitDecompress();
		int width = 0, height = 0, sampling, colour;

		assert_string_equal(p->mime, "image/jpeg");
		assert_int_equal(tjDecompressHeader3(tj, p->bytes, p->len,
						     &width, &height, &sampling,
						     &colour),
				 0);
		tjDestroy(tj);
		assert_int_equal(width, shot.width_px);
		assert_int_equal(height, shot.height_px);
	}
}

/* A small cut of a photograph needs no JPEG. */
static void small_is_png(void **state)
{
	static const struct coords_size sizes[] = {{1, 1}, {300, 200}};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
		auto_picture struct picture *p =
			encode(photograph(sizes[i], 20), sizes[i]);

		assert_string_equal(p->mime, "image/png");
	}
}

static void the_shelf_keeps_the_last(void **state)
{
	struct picture_shelf *s = picture_shelf_new();
	struct picture_shelf *other = picture_shelf_hold(s);
	struct picture *a = encode(user_interface(shot), shot);
	struct picture *b = encode(user_interface(shot), shot);
	struct picture *found;

	(void)state;
	assert_null(picture_shelf_find(s, &(struct picture_key){1, 2, 0}));
	picture_shelf_put(s, &(struct picture_key){1, 2, 0}, a);
	assert_null(picture_shelf_find(s, &(struct picture_key){2, 2, 0}));
	assert_null(picture_shelf_find(s, &(struct picture_key){1, 3, 0}));
	assert_null(picture_shelf_find(s, &(struct picture_key){1, 2, 1}));
	found = picture_shelf_find(s, &(struct picture_key){1, 2, 0});
	assert_ptr_equal(found, a);
	picture_shelf_put(s, &(struct picture_key){2, 2, 0}, b);
	picture_free(a);
	picture_shelf_free(s);
	/* what was found lives on */
	assert_memory_equal(found->bytes, "\x89PNG", 4);
	picture_free(found);
	picture_shelf_free(other);
	picture_free(b);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_user_interface_is_png),
	cmocka_unit_test(a_photograph_is_jpeg),
	cmocka_unit_test(small_is_png),
	cmocka_unit_test(the_shelf_keeps_the_last),
};

UNIT_MAIN(tests)
