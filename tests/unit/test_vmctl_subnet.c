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

static bool inside(uint32_t subnet, uint32_t address, uint32_t mask)
{
	return (subnet & mask) == (address & mask);
}

static void choosing(void **state)
{
	struct subnet_range all_192 = {0xc0a80000, 0xffff0000};
	struct subnet_range everything[] = {
		{0xc0a80000, 0xffff0000},
		{0x0a000000, 0xff000000},
		{0xac100000, 0xfff00000},
	};
	struct subnet_range host_route = {0, 0xffffffff};
	struct err e = {0};
	uint32_t a, b, c;

	(void)state;
	assert_ok(subnet_choose(NULL, 0, "u1000", &a, &e), &e);
	assert_true(inside(a, 0xc0a80000, 0xffff0000));
	/* the same home always starts at the same place, another elsewhere */
	assert_ok(subnet_choose(NULL, 0, "u1000", &b, &e), &e);
	assert_int_equal(a, b);
	assert_ok(subnet_choose(NULL, 0, "u1001", &c, &e), &e);
	assert_int_not_equal(a, c);
	/* a route to one host in it takes it, too */
	host_route.address = a | 77;
	assert_ok(subnet_choose(&host_route, 1, "u1000", &b, &e), &e);
	assert_int_not_equal(a, b);
	assert_ok(subnet_choose(&all_192, 1, "u1000", &b, &e), &e);
	assert_true(inside(b, 0x0a000000, 0xff000000));
	assert_fails(subnet_choose(everything, 3, "u1000", &b, &e), &e,
		     ERR_UNAVAILABLE, "no private /24");
}

static bool taken_below_4(void *ctx, const char *address)
{
	unsigned host = subnet_host(0xc0a88200, address);

	(void)ctx;
	return host < 4;
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
		const char *wanted, *got;
	} cases[] = {
		{"192.168.130.77", "192.168.130.77"},
		{"192.168.130.3", "192.168.130.4"},   /* taken */
		{"192.168.131.77", "192.168.130.4"},  /* another network's */
		{"192.168.130.1", "192.168.130.4"},   /* the host */
		{"192.168.130.255", "192.168.130.4"}, /* broadcast */
		{"", "192.168.130.4"},
	};
	char got[SUBNET_ADDRESS_SIZE];
	struct err e = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		assert_ok(subnet_pick(0xc0a88200, cases[i].wanted,
				      taken_below_4, NULL, got, &e),
			  &e);
		assert_string_equal(got, cases[i].got);
	}
	assert_fails(subnet_pick(0xc0a88200, "", all_taken, NULL, got, &e), &e,
		     ERR_LIMIT, "boxery rm");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(routes),
	cmocka_unit_test(ranges),
	cmocka_unit_test(choosing),
	cmocka_unit_test(picking),
};
UNIT_MAIN(tests)
