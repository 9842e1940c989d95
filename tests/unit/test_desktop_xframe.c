#include "desktop/xframe.h"

#include "base/path.h"
#include "tests/support/unit.h"

#include <string.h>

#define SETUP "tests/fuzz/corpus/xsetup/xvnc"

/* A message of 32 bytes: kind, request, length of more. */
static void message(uint8_t p[32], uint8_t kind, uint16_t request,
		    uint32_t more_len)
{
	uint32_t units = more_len / 4;

	memset(p, 0, 32);
	p[0] = kind;
	memcpy(p + 2, &request, sizeof(request));
	memcpy(p + 4, &units, sizeof(units));
}

/* A filter past its setup, `sent` requests sent. */
static void start(struct xframe *f, unsigned sent)
{
	static const uint8_t hello[12] = "l\0\13";
	static const uint8_t request[4] = {43, 0, 1, 0};
	autofree char *setup = NULL;
	struct xframe_piece piece;
	struct err e = {0};
	size_t len;

	xframe_init(f);
	assert_ok(path_read_file(SETUP, XSETUP_MAX_LEN, &setup, &len, &e), &e);
	xframe_up(f, hello, sizeof(hello));
	assert_ok(xframe_down(f, (uint8_t *)setup, len - 1, &piece, &e), &e);
	assert_int_equal(piece.len, 0); /* not before it is whole */
	assert_ok(xframe_down(f, (uint8_t *)setup, len, &piece, &e), &e);
	assert_int_equal(piece.len, len);
	assert_true(piece.passes);
	for (unsigned i = 0; i < sent; i++)
		xframe_up(f, request, sizeof(request));
	assert_int_equal(f->sent, sent);
}

static void assert_piece(struct xframe *f, const uint8_t *p, size_t len,
			 size_t want_len, bool want_passes)
{
	struct xframe_piece piece;
	struct err e = {0};

	assert_ok(xframe_down(f, p, len, &piece, &e), &e);
	assert_int_equal(piece.len, want_len);
	assert_int_equal(piece.passes, want_passes);
}

static void counts_requests(void **state)
{
	/* setup with 18 + 16 bytes of authorization, a request of 8 bytes,
	 * one of 12 with a long length, one of 4 */
	static const uint8_t up[] = "l\0\13\0\0\0\22\0\20\0\0\0"
				    "01234567890123456789"
				    "0123456789012345"
				    "\1\0\2\0----"
				    "\2\0\0\0\3\0\0\0++++"
				    "\3\0\1";
	struct xframe f;

	(void)state;
	/* in every partition into three */
	for (size_t a = 0; a < sizeof(up); a++) {
		for (size_t b = a; b < sizeof(up); b++) {
			xframe_init(&f);
			xframe_up(&f, up, a);
			xframe_up(&f, up + a, b - a);
			xframe_up(&f, up + b, sizeof(up) - b);
			assert_int_equal(f.sent, 3);
		}
	}
}

static void replies_as_announced(void **state)
{
	uint8_t m[64] = {0};
	struct xframe f;

	(void)state;
	start(&f, 3);
	assert_ok(xframe_expect(&f, 2, 64, NULL), NULL);
	assert_ok(xframe_expect(&f, 3, 32, NULL), NULL);
	message(m, 1, 2, 32);
	assert_piece(&f, m, 31, 0, false);
	assert_piece(&f, m, 64, 32, true);
	assert_piece(&f, m + 32, 10, 10, true);
	assert_piece(&f, m + 42, 22, 22, true);
	message(m, 1, 3, 0);
	assert_piece(&f, m, 32, 32, true);
}

static void faults(void **state)
{
	static const struct {
		uint8_t kind;
		uint16_t request;
		uint32_t more_len;
		enum err_code code;
		const char *text;
	} cases[] = {
		{1, 2, 36, ERR_LIMIT, "68"},
		{1, 2, 0xfffffffc, ERR_LIMIT, "4294967324"},
		{1, 1, 0, ERR_PROTOCOL, "has no reply"},
		{1, 3, 0, ERR_PROTOCOL, "has no reply"},
		{1, 4, 0, ERR_PROTOCOL, "not made"},
		{0, 4, 0, ERR_PROTOCOL, "not made"},
		{1, 0, 0, ERR_PROTOCOL, "not made"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct xframe_piece piece;
		struct err e = {0};
		struct xframe f;
		uint8_t m[32];

		start(&f, 3);
		assert_ok(xframe_expect(&f, 2, 64, &e), &e);
		message(m, cases[i].kind, cases[i].request, cases[i].more_len);
		assert_fails(xframe_down(&f, m, 32, &piece, &e), &e,
			     cases[i].code, cases[i].text);
	}
}

static void an_answer_each(void **state)
{
	struct xframe_piece piece;
	struct err e = {0};
	struct xframe f;
	uint8_t m[32];

	(void)state;
	start(&f, 3);
	assert_ok(xframe_expect(&f, 1, 32, &e), &e);
	message(m, 1, 1, 0);
	assert_piece(&f, m, 32, 32, true);
	assert_fails(xframe_down(&f, m, 32, &piece, &e), &e, ERR_PROTOCOL, "");
	/* an error takes the place of a reply, and of those before it */
	start(&f, 3);
	assert_ok(xframe_expect(&f, 1, 32, &e), &e);
	assert_ok(xframe_expect(&f, 2, 32, &e), &e);
	message(m, 0, 2, 0xffffffff); /* errors have no length */
	assert_piece(&f, m, 32, 32, true);
	message(m, 1, 1, 0);
	assert_fails(xframe_down(&f, m, 32, &piece, &e), &e, ERR_PROTOCOL, "");
	message(m, 1, 3, 0);
	assert_fails(xframe_down(&f, m, 32, &piece, &e), &e, ERR_PROTOCOL, "");
}

static void events(void **state)
{
	uint8_t m[32 + 400] = {0};
	struct xframe f;

	(void)state;
	start(&f, 3);
	message(m, 33, 1, 0);
	assert_piece(&f, m, 32, 32, false);
	xframe_allow_event(&f, 33);
	message(m, 33 | 0x80, 1, 0);
	for (int i = 0; i < XFRAME_EVENTS_COUNT; i++)
		assert_piece(&f, m, 32, 32, true);
	assert_piece(&f, m, 32, 32, false); /* a flood */
	assert_ok(xframe_expect(&f, 4, 32, NULL), NULL);
	assert_piece(&f, m, 32, 32, true);
	message(m, 34, 1, 0);
	assert_piece(&f, m, 32, 32, false);
	message(m, 11, 9999, 0); /* KeymapNotify has no number */
	assert_piece(&f, m, 32, 32, false);
	/* a generic event is dropped with all of its body */
	message(m, 35, 1, 400);
	assert_piece(&f, m, 32, 32, false);
	assert_piece(&f, m + 32, 300, 300, false);
	assert_piece(&f, m + 332, 100, 100, false);
	message(m, 33, 1, 0);
	assert_piece(&f, m, 32, 32, true);
}

/* Numbers on the wire have 16 bits. */
static void numbers_wrap(void **state)
{
	struct xframe_piece piece;
	struct err e = {0};
	struct xframe f;
	uint8_t m[32];

	(void)state;
	start(&f, 70000);
	assert_ok(xframe_expect(&f, 65530, 32, &e), &e);
	assert_ok(xframe_expect(&f, 65537, 32, &e), &e);
	message(m, 1, 65530, 0);
	assert_piece(&f, m, 32, 32, true);
	message(m, 1, 1, 0);
	assert_piece(&f, m, 32, 32, true);
	message(m, 1, 65530, 0);
	assert_fails(xframe_down(&f, m, 32, &piece, &e), &e, ERR_PROTOCOL, "");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(counts_requests),
	cmocka_unit_test(replies_as_announced),
	cmocka_unit_test(faults),
	cmocka_unit_test(an_answer_each),
	cmocka_unit_test(events),
	cmocka_unit_test(numbers_wrap),
};

UNIT_MAIN(tests)
