#include "tests/support/unit.h"

#include "base/alloc.h"
#include "vmctl/netread.h"

#include <string.h>

static void parses(void **state)
{
	static const char text[] =
		"ebtables 5\n*nat\niptables 12\n*filter\nend\nend\n";
	struct netread r = {0};
	struct err e = {0};

	(void)state;
	assert_ok(netread_parse(text, strlen(text), &r, &e), &e);
	assert_string_equal(r.ebtables, "*nat\n");
	/* what looks like the end in a table is none */
	assert_string_equal(r.iptables, "*filter\nend\n");
	netread_finish(&r);
	assert_null(r.ebtables);
	netread_finish(&r);
}

static void refuses(void **state)
{
	static const struct {
		const char *text;
		size_t len;
	} cases[] = {
#define CASE(text) {text, sizeof(text) - 1}
		CASE(""),
		CASE("ebtables"),
		CASE("ebtables 5\n*nat\n"),
		CASE("ebtables 5\n*nat\niptables 8\n*filter\n"),
		CASE("ebtables 5\n*nat\niptables 8\n*filter\nend"),
		CASE("ebtables 5\n*nat\niptables 8\n*filter\nend\nx"),
		CASE("ebtables 6\n*nat\niptables 8\n*filter\nend\n"),
		CASE("ebtables 5\n*nat\niptables 9999\n*filter\nend\n"),
		CASE("ebtables 5\n*n\0t\niptables 8\n*filter\nend\n"),
		CASE("iptables 8\n*filter\nebtables 5\n*nat\nend\n"),
		CASE("ebtables -5\n*nat\niptables 8\n*filter\nend\n"),
		CASE("ebtables \n*nat\niptables 8\n*filter\nend\n"),
		CASE("ebtables 18446744073709551621\n*nat\niptables 8\n"
		     "*filter\nend\n"),
		CASE("ebtables 99999999\n*nat\niptables 8\n*filter\nend\n"),
#undef CASE
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		/* its exact length: reading on is seen by the sanitizer */
		autofree char *text =
			alloc_array(cases[i].len ? cases[i].len : 1, 1);
		struct netread r = {0};
		struct err e = {0};

		memcpy(text, cases[i].text, cases[i].len);
		assert_fails(netread_parse(text, cases[i].len, &r, &e), &e,
			     ERR_PROTOCOL, "boxery init");
		assert_null(r.ebtables);
		assert_null(r.iptables);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(parses),
	cmocka_unit_test(refuses),
};

UNIT_MAIN(tests)
