#include "desktop/xauth.h"

#include "tests/support/unit.h"

#include <string.h>

/* family, address, number, name, data */
#define ENTRY(number, name, data) \
	"\1\0"                    \
	"\0\4demo" number name data
#define NUMBER_1 \
	"\0\1"   \
	"1"
#define NUMBER_2 \
	"\0\1"   \
	"2"
#define NUMBER_12 \
	"\0\2"    \
	"12"
#define NUMBER_ANY "\0\0"
#define MIT "\0\22MIT-MAGIC-COOKIE-1"
#define XDM "\0\23XDM-AUTHORIZATION-1"
#define COOKIE "\0\20abcdefghijklmnop"
#define OTHER "\0\20ABCDEFGHIJKLMNOP"
#define SHORT "\0\2xy"

static void finds_the_cookie(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		unsigned display;
		enum err_code code; /* 0: found */
	} cases[] = {
#define CASE(bytes, display, code) {bytes, sizeof(bytes) - 1, display, code}
		CASE(ENTRY(NUMBER_1, MIT, COOKIE), 1, 0),
		CASE(ENTRY(NUMBER_12, MIT, COOKIE), 12, 0),
		CASE(ENTRY(NUMBER_ANY, MIT, COOKIE), 7, 0),
		CASE(ENTRY(NUMBER_2, MIT, OTHER) ENTRY(NUMBER_1, XDM, OTHER)
			     ENTRY(NUMBER_1, MIT, SHORT)
				     ENTRY(NUMBER_1, MIT, COOKIE),
		     1, 0),
		/* what follows the entry does not matter */
		CASE(ENTRY(NUMBER_1, MIT, COOKIE) "\0", 1, 0),
		CASE("", 1, ERR_NOT_FOUND),
		CASE(ENTRY(NUMBER_12, MIT, COOKIE), 1, ERR_NOT_FOUND),
		CASE(ENTRY(NUMBER_1, MIT, SHORT), 1, ERR_NOT_FOUND),
		CASE("\1", 1, ERR_PROTOCOL),
		CASE("\1\0\377\377demo", 1, ERR_PROTOCOL),
		CASE(ENTRY(NUMBER_2, MIT, COOKIE) "\1\0\0\4de", 1,
		     ERR_PROTOCOL),
#undef CASE
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		uint8_t cookie[XAUTH_COOKIE_LEN] = {0};
		struct err e = {0};
		int rc = xauth_find(cases[i].bytes, cases[i].len,
				    cases[i].display, cookie, &e);

		assert_int_equal(e.code, cases[i].code);
		assert_int_equal(rc, cases[i].code ? -1 : 0);
		if (rc == 0)
			assert_memory_equal(cookie, "abcdefghijklmnop", 16);
	}
}

static void every_cut_is_an_error(void **state)
{
	static const char whole[] = ENTRY(NUMBER_1, MIT, COOKIE);

	(void)state;
	for (size_t len = 1; len < sizeof(whole) - 1; len++) {
		uint8_t cookie[XAUTH_COOKIE_LEN];
		struct err e = {0};

		assert_fails(xauth_find(whole, len, 1, cookie, &e), &e,
			     ERR_PROTOCOL, "malformed");
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(finds_the_cookie),
	cmocka_unit_test(every_cut_is_an_error),
};

UNIT_MAIN(tests)
