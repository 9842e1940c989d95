#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/path.h"
#include "vmctl/conffile.h"

#include <string.h>

static void finding(void **state)
{
	static const struct {
		const char *text, *value, *error;
	} cases[] = {
		{"K=v", "v", NULL},
		{"# K=no\n\n  K = two words \t\r\n", "two words", NULL},
		{"K=1\nK=2\n", "2", NULL},
		{"K=", "", NULL},
		{"K=a=b", "a=b", NULL},
		{"KK=1", NULL, NULL},
		{"", NULL, NULL},
		{"A=1\nK", NULL, "line 2"},
		{"=1", NULL, "line 1"},
		/* a mistake elsewhere in the file counts */
		{"K=1\nrubbish\n", NULL, "line 2"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		autofree char *text = alloc_str(cases[i].text);
		const char *value = NULL;
		struct err e = {0};
		int rc = conffile_find(text, "host.env", "K", &value, &e);

		if (cases[i].error) {
			assert_fails(rc, &e, ERR_INVALID, cases[i].error);
			continue;
		}
		assert_ok(rc, &e);
		if (cases[i].value)
			assert_string_equal(value, cases[i].value);
		else
			assert_null(value);
	}
}

static void files(void **state)
{
	const char *path = unit_path("config");
	autofree char *value = NULL;
	struct err e = {0};
	int64_t n = 4;

	(void)state;
	assert_ok(conffile_get(path, "agent_vms", &value, &e), &e);
	assert_null(value);
	assert_ok(conffile_get_int(path, "agent_vms", 1, 9, &n, &e), &e);
	assert_int_equal(n, 4);
	assert_ok(path_write_file(path, "agent_vms=7\n", 12, 0600, &e), &e);
	assert_ok(conffile_get_int(path, "agent_vms", 1, 9, &n, &e), &e);
	assert_int_equal(n, 7);
	assert_fails(conffile_get_int(path, "agent_vms", 1, 6, &n, &e), &e,
		     ERR_INVALID, "from 1 to 6");
	assert_ok(path_write_file(path, "agent_vms=7x\n", 13, 0600, &e), &e);
	assert_fails(conffile_get_int(path, "agent_vms", 1, 9, &n, &e), &e,
		     ERR_INVALID, "agent_vms must be a number");
	assert_int_equal(n, 7);
	assert_ok(path_write_file(path, "a=\0b\n", 5, 0600, &e), &e);
	assert_fails(conffile_get_int(path, "a", 1, 9, &n, &e), &e, ERR_INVALID,
		     "not a text file");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(finding),
	cmocka_unit_test(files),
};
UNIT_MAIN(tests)
