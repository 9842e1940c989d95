#include "base/version.h"

#include "tests/support/unit.h"

#include <string.h>

static void says_something_short(void **state)
{
	(void)state;
	assert_true(strlen(version_string()) > 0);
	assert_true(strlen(version_string()) < 100);
	assert_null(strpbrk(version_string(), " \n\""));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(says_something_short),
};

UNIT_MAIN(tests)
