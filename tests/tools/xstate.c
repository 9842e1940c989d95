/*
 * A look at a display from beside, and a hand on it:
 *
 *   xstate                     locks, and what is held down
 *   xstate lock MODS GROUP     lock modifiers and a layout
 *   xstate key KEYCODE 0|1     press or release a key by XTEST
 *   xstate same FILE.png       compare the screen with an image of its size:
 *                              how many pixels differ, and where
 *   xstate noise SEED COUNT    draw COUNT pictures on the root window, one
 *                              every 20 ms; says so after the first
 *   xstate photo SEED          draw something like a photograph all over
 *   xstate blink X Y WIDTH HEIGHT MS COUNT
 *                              give a part of the root window another colour
 *                              COUNT times, every MS; says so after the first
 */
#include <png.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xcb/xcb.h>
#include <xcb/xkb.h>
#include <xcb/xtest.h>

static xcb_connection_t *c;
static xcb_screen_t *screen;

static unsigned number(const char *s)
{
	return (unsigned)strtoul(s, NULL, 0);
}

static void sync_server(void)
{
	free(xcb_get_input_focus_reply(c, xcb_get_input_focus(c), NULL));
}

static int print_state(void)
{
	xcb_xkb_get_state_reply_t *s = xcb_xkb_get_state_reply(
		c, xcb_xkb_get_state(c, XCB_XKB_ID_USE_CORE_KBD), NULL);
	xcb_query_keymap_reply_t *k =
		xcb_query_keymap_reply(c, xcb_query_keymap(c), NULL);
	xcb_query_pointer_reply_t *p = xcb_query_pointer_reply(
		c, xcb_query_pointer(c, screen->root), NULL);

	if (!s || !k || !p)
		return 1;
	printf("locked %u group %u base %u buttons %u keys", s->lockedMods,
	       s->lockedGroup, s->baseMods, p->mask >> 8 & 31);
	for (unsigned i = 0; i < 256; i++) {
		if (k->keys[i / 8] >> i % 8 & 1)
			printf(" %u", i);
	}
	printf("\n");
	free(s);
	free(k);
	free(p);
	return 0;
}

/* The screen as RGB; dies without one. */
static uint8_t *screen_rgb(unsigned width_px, unsigned height_px)
{
	xcb_get_image_reply_t *r = xcb_get_image_reply(
		c,
		xcb_get_image(c, XCB_IMAGE_FORMAT_Z_PIXMAP, screen->root, 0, 0,
			      (uint16_t)width_px, (uint16_t)height_px,
			      UINT32_MAX),
		NULL);
	size_t count = (size_t)width_px * height_px;
	uint8_t *rgb = malloc(count * 3);
	const uint8_t *p = r ? xcb_get_image_data(r) : NULL;

	if (!p || !rgb || (size_t)xcb_get_image_data_length(r) != count * 4) {
		fprintf(stderr, "xstate: the screen is not %ux%u\n", width_px,
			height_px);
		exit(1);
	}
	for (size_t i = 0; i < count; i++) {
		rgb[i * 3] = p[i * 4 + 2];
		rgb[i * 3 + 1] = p[i * 4 + 1];
		rgb[i * 3 + 2] = p[i * 4];
	}
	free(r);
	return rgb;
}

static int compare(const char *file)
{
	png_image image = {.version = PNG_IMAGE_VERSION};
	unsigned x0 = UINT32_MAX, y0 = UINT32_MAX, x1 = 0, y1 = 0;
	size_t count, differ = 0;
	uint8_t *want, *got;

	if (!png_image_begin_read_from_file(&image, file)) {
		fprintf(stderr, "xstate: %s: %s\n", file, image.message);
		return 1;
	}
	image.format = PNG_FORMAT_RGB;
	count = (size_t)image.width * image.height;
	got = malloc(count * 3);
	if (!got || !png_image_finish_read(&image, NULL, got, 0, NULL))
		return 1;
	want = screen_rgb(image.width, image.height);
	for (size_t i = 0; i < count; i++) {
		unsigned x = (unsigned)(i % image.width);
		unsigned y = (unsigned)(i / image.width);

		if (memcmp(want + i * 3, got + i * 3, 3) == 0)
			continue;
		differ++;
		x0 = x < x0 ? x : x0;
		x1 = x > x1 ? x : x1;
		y0 = y < y0 ? y : y0;
		y1 = y > y1 ? y : y1;
	}
	printf("differ %zu", differ);
	if (differ)
		printf(" from %u %u to %u %u", x0, y0, x1, y1);
	printf("\n");
	free(want);
	free(got);
	return 0;
}

/* Many small rectangles of many colours. */
static void draw_noise(uint32_t seed)
{
	xcb_gcontext_t gc = xcb_generate_id(c);
	const uint32_t inferiors = XCB_SUBWINDOW_MODE_INCLUDE_INFERIORS;

	xcb_create_gc(c, gc, screen->root, XCB_GC_SUBWINDOW_MODE, &inferiors);
	for (int i = 0; i < 4000; i++) {
		xcb_rectangle_t r;
		uint32_t colour;

		seed = seed * 1664525 + 1013904223;
		r.x = (int16_t)((seed >> 8) % 1920);
		r.width = (uint16_t)(1 + (seed >> 24) % 40);
		seed = seed * 1664525 + 1013904223;
		r.y = (int16_t)((seed >> 8) % 1080);
		r.height = (uint16_t)(1 + (seed >> 24) % 30);
		colour = seed * 2654435761U >> 8;
		xcb_change_gc(c, gc, XCB_GC_FOREGROUND, &colour);
		xcb_poly_fill_rectangle(c, screen->root, gc, 1, &r);
	}
	sync_server();
}

static int draw_pictures(uint32_t seed, unsigned count)
{
	const struct timespec gap = {0, 20 * 1000000};

	for (unsigned i = 0; i < count; i++) {
		draw_noise(seed + i);
		if (i == 0) {
			printf("drawing\n");
			fflush(stdout);
		}
		if (i + 1 < count)
			nanosleep(&gap, NULL);
	}
	return 0;
}

/* Soft shapes of many colours, and the grain of a camera. */
static void paint(uint8_t *bgrx, unsigned width_px, unsigned at_y,
		  unsigned rows, uint32_t seed)
{
	uint32_t grain = seed * 2654435761U + at_y;

	for (unsigned y = at_y; y < at_y + rows; y++) {
		for (unsigned x = 0; x < width_px; x++) {
			for (unsigned k = 0; k < 3; k++) {
				unsigned u = (x + seed * 97 + k * 171) % 1024;
				unsigned v = (y * 2 + seed * 31 + k * 87) % 512;
				unsigned soft = (u < 512 ? u : 1023 - u) / 4 +
						(v < 256 ? v : 511 - v) / 4;

				grain = grain * 1664525 + 1013904223;
				*bgrx++ = (uint8_t)(20 + soft + (grain >> 29));
			}
			*bgrx++ = 0;
		}
	}
}

static int draw_photo(uint32_t seed)
{
	enum { ROWS = 32 };
	const uint32_t inferiors = XCB_SUBWINDOW_MODE_INCLUDE_INFERIORS;
	const unsigned width_px = screen->width_in_pixels;
	xcb_gcontext_t gc = xcb_generate_id(c);
	uint8_t *band = malloc((size_t)width_px * ROWS * 4);

	if (!band)
		return 1;
	xcb_create_gc(c, gc, screen->root, XCB_GC_SUBWINDOW_MODE, &inferiors);
	for (unsigned y = 0; y < screen->height_in_pixels; y += ROWS) {
		paint(band, width_px, y, ROWS, seed);
		xcb_put_image(c, XCB_IMAGE_FORMAT_Z_PIXMAP, screen->root, gc,
			      (uint16_t)width_px, ROWS, 0, (int16_t)y, 0,
			      screen->root_depth, width_px * ROWS * 4, band);
	}
	sync_server();
	free(band);
	return 0;
}

static int blink(char *argv[])
{
	const unsigned gap_ms = number(argv[4]), count = number(argv[5]);
	const struct timespec gap = {gap_ms / 1000,
				     (long)(gap_ms % 1000) * 1000000};
	const xcb_rectangle_t r = {(int16_t)number(argv[0]),
				   (int16_t)number(argv[1]),
				   (uint16_t)number(argv[2]),
				   (uint16_t)number(argv[3])};
	const uint32_t inferiors = XCB_SUBWINDOW_MODE_INCLUDE_INFERIORS;
	xcb_gcontext_t gc = xcb_generate_id(c);

	xcb_create_gc(c, gc, screen->root, XCB_GC_SUBWINDOW_MODE, &inferiors);
	for (unsigned i = 0; i < count; i++) {
		const uint32_t colour = 0x400000 + i * 0x10305;

		xcb_change_gc(c, gc, XCB_GC_FOREGROUND, &colour);
		xcb_poly_fill_rectangle(c, screen->root, gc, 1, &r);
		sync_server();
		if (i == 0) {
			printf("blinking\n");
			fflush(stdout);
		}
		if (i + 1 < count)
			nanosleep(&gap, NULL);
	}
	return 0;
}

int main(int argc, char *argv[])
{
	c = xcb_connect(NULL, NULL);
	if (xcb_connection_has_error(c)) {
		fprintf(stderr, "xstate: no display\n");
		return 1;
	}
	screen = xcb_setup_roots_iterator(xcb_get_setup(c)).data;
	free(xcb_xkb_use_extension_reply(c, xcb_xkb_use_extension(c, 1, 0),
					 NULL));
	if (argc == 1)
		return print_state();
	if (argc == 3 && strcmp(argv[1], "same") == 0)
		return compare(argv[2]);
	if (argc == 4 && strcmp(argv[1], "noise") == 0)
		return draw_pictures(number(argv[2]), number(argv[3]));
	if (argc == 3 && strcmp(argv[1], "photo") == 0)
		return draw_photo(number(argv[2]));
	if (argc == 8 && strcmp(argv[1], "blink") == 0)
		return blink(argv + 2);
	if (argc == 4 && strcmp(argv[1], "lock") == 0)
		xcb_xkb_latch_lock_state(c, XCB_XKB_ID_USE_CORE_KBD, 0xff,
					 (uint8_t)number(argv[2]), 1,
					 (uint8_t)number(argv[3]), 0xff, 1, 0);
	else if (argc == 4 && strcmp(argv[1], "key") == 0)
		xcb_test_fake_input(
			c, number(argv[3]) ? XCB_KEY_PRESS : XCB_KEY_RELEASE,
			(uint8_t)number(argv[2]), 0, screen->root, 0, 0, 0);
	else
		return 2;
	sync_server();
	xcb_disconnect(c);
	return 0;
}
