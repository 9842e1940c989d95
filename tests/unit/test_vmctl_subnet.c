#include "tests/support/unit.h"

#include "vmctl/subnet.h"

#include <stdio.h>
#include <string.h>

static const char routes_text[] =
	"Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\t"
	"MTU\tWindow\tIRTT\n"
	"eth0\t00000000\t0100A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
	"eth0\t0000A8C0\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"
	"docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n";

static void routes(void **state)
{
	struct subnet_range r[8];

	(void)state;
	/* the header and the default route do not count */
	assert_int_equal(subnet_parse_routes(routes_text, r, 8), 2);
	assert_int_equal(r[0].address, 0xc0a80000);
	assert_int_equal(r[0].mask, 0xffff0000);
	assert_int_equal(r[1].address, 0xac110000);
	assert_int_equal(subnet_parse_routes(routes_text, r, 1), 1);
	assert_int_equal(subnet_parse_routes("", r, 8), 0);
	assert_int_equal(subnet_parse_routes("x\n\ny z\n", r, 8), 0);
}

static void ranges(void **state)
{
	static const struct {
		const char *address, *mask;
		bool good;
		uint32_t want;
	} cases[] = {
		{"192.168.122.1", "255.255.255.0", true, 0xffffff00},
		{"192.168.122.1", "24", true, 0xffffff00},
		{"10.0.0.1", "8", true, 0xff000000},
		{"10.0.0.1", "0", true, 0},
		{"10.0.0.1", "32", true, 0xffffffff},
		{"10.0.0.1", "33", false, 0},
		{"10.0.0.1", "8x", false, 0},
		{"fd00::1", "64", false, 0},
		{"", "8", false, 0},
	};
	struct subnet_range r;

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		assert_int_equal(subnet_parse_range(cases[i].address,
						    cases[i].mask, &r),
				 cases[i].good);
		if (cases[i].good)
			assert_int_equal(r.mask, cases[i].want);
	}
}

#define DEFAULT 0xc0a87a00 /* 192.168.122.0 */

static void choosing(void **state)
{
	const struct subnet_range taken[] = {
		{0xc0a87a00, 0xffffff00},
		{0xc0a88200, 0xffffff00},
		/* a route to one host in it takes it, too */
		{0xc0a8834d, 0xffffffff},
	};
	const struct subnet_range all_192 = {0xc0a80000, 0xffff0000};
	const struct subnet_range everything[] = {
		{0xc0a80000, 0xffff0000},
		{0x0a000000, 0xff000000},
		{0xac100000, 0xfff00000},
	};
	struct err e = {0};
	uint32_t subnet;

	(void)state;
	/* B01 */
	assert_ok(subnet_choose(NULL, 0, &subnet, &e), &e);
	assert_int_equal(subnet, DEFAULT);
	assert_ok(subnet_choose(taken, 1, &subnet, &e), &e);
	assert_int_equal(subnet, 0xc0a88200);
	assert_ok(subnet_choose(taken, 3, &subnet, &e), &e);
	assert_int_equal(subnet, 0xc0a88400);
	assert_ok(subnet_choose(&all_192, 1, &subnet, &e), &e);
	assert_int_equal(subnet & 0xff000000, 0x0a000000);
	assert_fails(subnet_choose(everything, 3, &subnet, &e), &e,
		     ERR_UNAVAILABLE, "no private /24");
}

static bool taken_below_4(void *ctx, const char *address)
{
	(void)ctx;
	return strcmp(address, "192.168.122.2") == 0 ||
	       strcmp(address, "192.168.122.3") == 0;
}

static bool all_taken(void *ctx, const char *address)
{
	(void)ctx;
	(void)address;
	return true;
}

static void picking(void **state)
{
	static const struct {
		uint32_t mask;
		const char *wanted, *got;
	} cases[] = {
		{0xffffff00, "192.168.122.77", "192.168.122.77"},
		{0xffffff00, "192.168.122.3", "192.168.122.4"},   /* taken */
		{0xffffff00, "192.168.131.77", "192.168.122.4"},  /* not there */
		{0xffffff00, "192.168.122.1", "192.168.122.4"},   /* the host */
		{0xffffff00, "192.168.122.0", "192.168.122.4"},
		{0xffffff00, "192.168.122.255", "192.168.122.4"},
		{0xffffff00, "", "192.168.122.4"},
		/* other people's network may be larger or smaller */
		{0xffff0000, "192.168.7.255", "192.168.7.255"},
		{0xffff0000, "192.168.255.255", "192.168.0.1"},
		{0xfffffff8, "192.168.122.8", "192.168.122.4"},
	};
	struct subnet_range net = {DEFAULT | 1, 0};
	char got[SUBNET_ADDRESS_SIZE];
	struct err e = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		net.mask = cases[i].mask;
		assert_ok(subnet_pick(&net, cases[i].wanted, taken_below_4,
				      NULL, got, &e),
			  &e);
		assert_string_equal(got, cases[i].got);
	}
	assert_fails(subnet_pick(&net, "", all_taken, NULL, got, &e), &e,
		     ERR_LIMIT, "boxery rm");
}

/* Of two homes none takes the other's entries for its own. */
static void macs(void **state)
{
	char a[SUBNET_MAC_SIZE], again[SUBNET_MAC_SIZE], b[SUBNET_MAC_SIZE];
	struct err e = {0};

	(void)state;
	assert_ok(subnet_mac("u1000", "192.168.122.2", a, &e), &e);
	assert_ok(subnet_mac("u1000", "192.168.122.2", again, &e), &e);
	assert_string_equal(a, again);
	assert_memory_equal(a, "52:54:", 6);
	assert_string_equal(a + 12, "7a:02");
	assert_ok(subnet_mac("u1001", "192.168.122.2", b, &e), &e);
	assert_memory_not_equal(a, b, 11);
	assert_fails(subnet_mac("u1000", "", a, &e), &e, ERR_INTERNAL,
		     "no address");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(routes),
	cmocka_unit_test(ranges),
	cmocka_unit_test(choosing),
	cmocka_unit_test(picking),
	cmocka_unit_test(macs),
};
UNIT_MAIN(tests)
