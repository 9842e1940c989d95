#include "tests/support/unit.h"

#include "base/path.h"
#include "vmctl/shape.h"

#include <string.h>

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

static void parsing(void **state)
{
	static const struct {
		const char *json, *name;
		struct shape want;
		const char *error;
	} cases[] = {
		{"{}", "small", {1, GIB, 8 * GIB}, NULL},
		{"{\"small\": {\"cpus\": 3}}", "small", {3, GIB, 8 * GIB},
		 NULL},
		{"{\"small\": {\"memory\": \"512M\", \"disk\": 5368709120}}",
		 "small", {1, 512 * MIB, 5 * GIB}, NULL},
		{"{\"large\": {\"cpus\": 3}}", "small", {1, GIB, 8 * GIB},
		 NULL},
		{"{}", "huge", {0, 0, 0}, "no shape 'huge'"},
		{"{\"huge\": {}}", "small", {0, 0, 0}, "no shape 'huge'"},
		{"{\"small\": {\"gpus\": 1}}", "small", {0, 0, 0},
		 "small.gpus"},
		/* a mistake in another shape is told, too */
		{"{\"large\": {\"cpus\": 0}}", "small", {0, 0, 0},
		 "large.cpus"},
		{"{\"small\": {\"cpus\": \"2\"}}", "small", {0, 0, 0},
		 "small.cpus"},
		{"{\"small\": {\"cpus\": 65}}", "small", {0, 0, 0},
		 "from 1 to 64"},
		{"{\"small\": {\"memory\": \"1M\"}}", "small", {0, 0, 0},
		 "from 256 to"},
		{"{\"small\": {\"memory\": -1}}", "small", {0, 0, 0},
		 "small.memory"},
		{"{\"small\": {\"disk\": true}}", "small", {0, 0, 0},
		 "expected a size"},
		{"{\"small\": 3}", "small", {0, 0, 0}, "expected an object"},
		{"[]", "small", {0, 0, 0}, "expected an object"},
		{"{\"small\": {}, \"small\": {}}", "small", {0, 0, 0},
		 "duplicate"},
		{"", "small", {0, 0, 0}, ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct shape s = {77, 77, 77};
		struct err e = {0};
		int rc = shape_parse(cases[i].json, strlen(cases[i].json),
				     cases[i].name, &s, &e);

		if (cases[i].error) {
			assert_fails(rc, &e, ERR_INVALID, cases[i].error);
			assert_int_equal(s.cpus, 77);
			continue;
		}
		assert_ok(rc, &e);
		assert_int_equal(s.cpus, cases[i].want.cpus);
		assert_int_equal(s.memory_len, cases[i].want.memory_len);
		assert_int_equal(s.disk_len, cases[i].want.disk_len);
	}
}

static void file(void **state)
{
	static const char text[] = "{\"standard\": {\"cpus\": 5}}";
	const char *path = unit_path("shapes.json");
	struct err e = {0};
	struct shape s;

	(void)state;
	assert_ok(shape_load(path, "standard", &s, &e), &e);
	assert_int_equal(s.cpus, 2);
	assert_ok(path_write_file(path, text, strlen(text), 0600, &e), &e);
	assert_ok(shape_load(path, "standard", &s, &e), &e);
	assert_int_equal(s.cpus, 5);
	assert_ok(path_write_file(path, "{", 1, 0600, &e), &e);
	assert_fails(shape_load(path, "standard", &s, &e), &e, ERR_INVALID,
		     "shapes.json");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(parsing),
	cmocka_unit_test(file),
};
UNIT_MAIN(tests)
