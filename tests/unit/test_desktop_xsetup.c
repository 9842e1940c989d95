#include "desktop/xsetup.h"

#include "tests/support/unit.h"

#include <string.h>

#define LEN \
	120 /* fixed 40, one format 8, a screen 40, a depth 8, a visual 24 */

static void put16(uint8_t *p, uint16_t v)
{
	memcpy(p, &v, sizeof(v));
}

static void put32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
}

/* The smallest setup that is accepted. */
static void make(uint8_t p[LEN])
{
	uint8_t *screen = p + 48, *depth = p + 88, *visual = p + 96;

	memset(p, 0, LEN);
	p[0] = 1;
	put16(p + 2, 11);
	put16(p + 6, (LEN - 8) / 4);
	put32(p + 16, 0x1fffff);
	put16(p + 26, 65535);
	p[28] = p[29] = 1;
	p[34] = 8;
	p[35] = 255;
	p[40] = 24; /* format: depth, bits a pixel, scan line pad */
	p[41] = p[42] = 32;
	put32(screen, 0x2c);
	put16(screen + 20, 1920);
	put16(screen + 22, 1080);
	put32(screen + 32, 0x21);
	screen[38] = 24;
	screen[39] = 1;
	depth[0] = 24;
	put16(depth + 2, 1);
	put32(visual, 0x21);
	visual[4] = 4;
	put32(visual + 8, 0xff0000);
	put32(visual + 12, 0xff00);
	put32(visual + 16, 0xff);
}

static void takes_what_is_needed(void **state)
{
	uint8_t p[LEN];
	struct xsetup s;
	struct err e = {0};

	(void)state;
	make(p);
	assert_ok(xsetup_parse(p, LEN, &s, &e), &e);
	assert_int_equal(s.root, 0x2c);
	assert_int_equal(s.width_px, 1920);
	assert_int_equal(s.height_px, 1080);
	assert_int_equal(s.depth, 24);
	assert_int_equal(s.min_keycode, 8);
	assert_int_equal(s.max_keycode, 255);
}

/* One byte is changed; what comes of it. */
static void refuses(void **state)
{
	static const struct {
		size_t at;
		uint8_t byte;
		enum err_code code;
		const char *text;
	} cases[] = {
		{2, 10, ERR_PROTOCOL, "malformed"},
		{6, 29, ERR_PROTOCOL, "malformed"},   /* length */
		{25, 255, ERR_PROTOCOL, "malformed"}, /* vendor past the end */
		{28, 0, ERR_PROTOCOL, "malformed"},   /* no screen */
		{29, 200, ERR_PROTOCOL, "malformed"}, /* formats past the end */
		{30, 1, ERR_STATE, "big-endian"},
		{34, 0, ERR_PROTOCOL, "malformed"},
		{35, 7, ERR_PROTOCOL, "malformed"},
		{41, 16, ERR_STATE, "32-bit"},
		{48, 0, ERR_STATE, "depth"},	       /* no root */
		{80, 0x22, ERR_PROTOCOL, "malformed"}, /* unknown visual */
		{86, 16, ERR_STATE, "depth 16"},
		{87, 0, ERR_PROTOCOL, "malformed"}, /* no depths */
		{91, 255, ERR_STATE, "colour"},	    /* still the first visual */
		{100, 3, ERR_STATE, "colour"},	    /* pseudo colour */
		{104, 1, ERR_STATE, "colour"},	    /* mask */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		uint8_t p[LEN];
		struct xsetup s;
		struct err e = {0};

		make(p);
		p[cases[i].at] = cases[i].byte;
		if (cases[i].at == 91) /* makes the visuals run past the end */
			put32(p + 96, 0x20);
		assert_fails(xsetup_parse(p, LEN, &s, &e), &e,
			     cases[i].at == 91 ? ERR_PROTOCOL : cases[i].code,
			     cases[i].at == 91 ? "malformed" : cases[i].text);
	}
}

static void no_mask_and_small_requests(void **state)
{
	uint8_t p[LEN];
	struct xsetup s;
	struct err e = {0};

	(void)state;
	make(p);
	put32(p + 16, 0);
	assert_fails(xsetup_parse(p, LEN, &s, &e), &e, ERR_PROTOCOL, "");
	make(p);
	put16(p + 26, 100);
	assert_fails(xsetup_parse(p, LEN, &s, &e), &e, ERR_PROTOCOL, "");
}

static void refusals(void **state)
{
	static const uint8_t no[] = "\0\16\13\0\0\0\4\0"
				    "No such cookie\0";
	static const uint8_t liar[] = "\0\377\13\0\0\0\1\0"
				      "no\n!";
	static const uint8_t more[] = "\2\0\13\0\0\0\0\0";
	struct xsetup s;
	struct err e = {0};

	(void)state;
	assert_fails(xsetup_parse(no, 24, &s, &e), &e, ERR_DENIED,
		     "No such cookie");
	assert_fails(xsetup_parse(liar, 12, &s, &e), &e, ERR_DENIED,
		     "no\\x0A!");
	assert_fails(xsetup_parse(more, 8, &s, &e), &e, ERR_DENIED,
		     "authentication");
}

static void lengths(void **state)
{
	uint8_t head[XSETUP_HEAD_LEN] = {1, 0, 11, 0, 0, 0, 0xff, 0xff};
	uint8_t p[LEN];
	struct xsetup s;
	struct err e = {0};
	size_t len;

	(void)state;
	assert_fails(xsetup_len(head, &len, &e), &e, ERR_LIMIT, "262148");
	make(p);
	for (size_t n = 0; n < LEN; n++)
		assert_fails(xsetup_parse(p, n, &s, &e), &e, ERR_PROTOCOL, "");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(takes_what_is_needed),
	cmocka_unit_test(refuses),
	cmocka_unit_test(no_mask_and_small_requests),
	cmocka_unit_test(refusals),
	cmocka_unit_test(lengths),
};

UNIT_MAIN(tests)
