#include "vmctl/runs.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "base/path.h"
#include "tests/support/unit.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct home home_here(void)
{
	static char state[4096];

	snprintf(state, sizeof(state), "%s", unit_dir());
	return (struct home){.state = state};
}

static void kept_and_read_back(void **state)
{
	struct home h = home_here();
	struct err e = {0};
	struct run r;
	struct stat st;
	char got[16] = "";
	autoclose int fd = -1;

	(void)state;
	assert_ok(runs_create(&h, "demo", &r, &e), &e);
	runs_add(&r, "out\n", 4);
	runs_add(&r, "err\n", 4);
	assert_false(r.cut);
	assert_int_equal(r.kept_len, 8);
	runs_close(&r);
	fd = runs_open(&h, "demo", r.id, &e);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, got, sizeof(got)), 8);
	assert_string_equal(got, "out\nerr\n");
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);

	/* another VM's name opens nothing */
	assert_fails(runs_open(&h, "other", r.id, &e), &e, ERR_NOT_FOUND, r.id);
	e = (struct err){0};
	assert_ok(runs_forget(&h, "demo", &e), &e);
	assert_fails(runs_open(&h, "demo", r.id, &e), &e, ERR_NOT_FOUND, r.id);
}

static void ids_are_not_paths(void **state)
{
	static const char *const bad[] = {
		"",
		"x",
		"../../secret",
		"..",
		"abcdefghijk/",
		"ABCDEFGHIJKL",
		"abcdefghijklm",
		"abcdefghij.k",
		"abcdefghijk ",
	};
	struct home h = home_here();

	(void)state;
	assert_int_equal(
		path_write_file(unit_path("secret.out"), "s", 1, 0600, NULL),
		0);
	for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
		struct err e = {0};

		assert_fails(runs_open(&h, "demo", bad[i], &e), &e,
			     ERR_NOT_FOUND, "no output of that name");
	}
}

static int files_in(const char *path)
{
	DIR *dir = opendir(path);
	int n = -2; /* . and .. */

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void old_ones_go(void **state)
{
	struct home h = home_here();
	struct err e = {0};
	struct run r = {.fd = -1};
	char newest[RUNS_ID_LEN + 1];

	(void)state;
	for (int i = 0; i < LIMIT_RUNS_COUNT + 5; i++) {
		assert_ok(runs_create(&h, "demo", &r, &e), &e);
		runs_close(&r);
	}
	memcpy(newest, r.id, sizeof(newest));
	assert_int_equal(files_in(unit_path("runs/demo")), LIMIT_RUNS_COUNT);
	r.fd = runs_open(&h, "demo", newest, &e);
	assert_true(r.fd >= 0);
	runs_close(&r);
}

static void one_is_bounded(void **state)
{
	const size_t step = 1 << 20;
	autofree char *bytes = alloc_zero(step);
	struct home h = home_here();
	struct err e = {0};
	struct run r;

	(void)state;
	assert_ok(runs_create(&h, "demo", &r, &e), &e);
	for (size_t at = 0; at < LIMIT_RUN_KEPT_LEN; at += step)
		runs_add(&r, bytes, step);
	assert_false(r.cut);
	runs_add(&r, bytes, 1);
	assert_true(r.cut);
	assert_int_equal(r.kept_len, LIMIT_RUN_KEPT_LEN);
	runs_close(&r);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(kept_and_read_back),
	cmocka_unit_test(ids_are_not_paths),
	cmocka_unit_test(old_ones_go),
	cmocka_unit_test(one_is_bounded),
};
UNIT_MAIN(tests)
