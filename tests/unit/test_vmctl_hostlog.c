#include "tests/support/unit.h"

#include "base/limits.h"
#include "vmctl/hostlog.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_size : -1;
}

/* What goes to stderr is in the file, and the file does not grow for ever. */
static void test_rotation(void **state)
{
	const char *path = unit_path("host.log");
	const char *aside = unit_path("host.log.1");
	int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	struct err e = {0};
	int64_t lens[3];

	(void)state;
	assert_ok(hostlog_open(path, &e), &e);
	assert_int_equal(write(STDERR_FILENO, "one\n", 4), 4);
	hostlog_rotate(path);
	lens[0] = size_of(path);
	if (ftruncate(STDERR_FILENO, LIMIT_LOG_LEN + 1) == 0)
		hostlog_rotate(path);
	assert_int_equal(write(STDERR_FILENO, "two!\n", 5), 5);
	lens[1] = size_of(path);
	lens[2] = size_of(aside);
	dup2(saved, STDERR_FILENO);
	close(saved);
	assert_int_equal(lens[0], 4);
	assert_int_equal(lens[1], 5);
	assert_int_equal(lens[2], LIMIT_LOG_LEN + 1);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_rotation),
};

UNIT_MAIN(tests)
