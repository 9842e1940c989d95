/*
 * cmocka calls a case as setup, test, teardown; all cases are given ours, which
 * call theirs. One case runs at a time: `current` is its own.
 */
#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/path.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FDS_COUNT 256
#define PATHS_COUNT 64

static struct {
	const struct CMUnitTest *test;
	bool open[FDS_COUNT];
	char *dir;
	char *paths[PATHS_COUNT];
	int path_count;
} current;

static void list_fds(bool ret_open[FDS_COUNT])
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *entry;

	memset(ret_open, 0, FDS_COUNT * sizeof(ret_open[0]));
	while (d && (entry = readdir(d))) {
		long fd = strtol(entry->d_name, NULL, 10);

		if (entry->d_name[0] != '.' && fd < FDS_COUNT && fd != dirfd(d))
			ret_open[fd] = true;
	}
	if (d)
		closedir(d);
}

static int count_leaks(void)
{
	bool now[FDS_COUNT];
	int leaks = 0;

	list_fds(now);
	for (int fd = 0; fd < FDS_COUNT; fd++) {
		char name[32], target[256];
		ssize_t n;

		if (!now[fd] || current.open[fd])
			continue;
		snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
		n = readlink(name, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		print_error("%s leaks fd %d: %s\n", current.test->name, fd,
			    target);
		leaks++;
	}
	return leaks;
}

static int set_up(void **state)
{
	const struct CMUnitTest *test = *state;

	current.test = test;
	list_fds(current.open);
	*state = test->initial_state;
	return test->setup_func ? test->setup_func(state) : 0;
}

static int tear_down(void **state)
{
	struct err e = {0};
	int rc = 0;

	if (current.test->teardown_func)
		rc = current.test->teardown_func(state);
	if (current.dir && path_remove_tree(current.dir, &e) < 0) {
		print_error("%s\n", err_msg(&e));
		rc = -1;
	}
	free(current.dir);
	current.dir = NULL;
	while (current.path_count > 0)
		free(current.paths[--current.path_count]);
	if (count_leaks() > 0)
		rc = -1;
	return rc;
}

const char *unit_dir(void)
{
	const char *tmp = getenv("TMPDIR");

	if (!current.dir) {
		current.dir = alloc_printf("%s/boxery-unit-XXXXXX",
					   tmp ? tmp : "/tmp");
		assert_non_null(mkdtemp(current.dir));
	}
	return current.dir;
}

const char *unit_path(const char *name)
{
	char *path = path_join(unit_dir(), name);

	assert_true(current.path_count < PATHS_COUNT);
	current.paths[current.path_count++] = path;
	return path;
}

int unit_run(const struct CMUnitTest *tests, size_t count, int argc,
	     char *argv[])
{
	struct CMUnitTest *ours = alloc_array(count, sizeof(*ours));
	int rc;

	for (size_t i = 0; i < count; i++) {
		ours[i] = tests[i];
		ours[i].setup_func = set_up;
		ours[i].teardown_func = tear_down;
		memcpy(&ours[i].initial_state, &(const void *){&tests[i]},
		       sizeof(void *));
	}
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	rc = _cmocka_run_group_tests(argv[0], ours, count, NULL, NULL);
	free(ours);
	return rc;
}

void unit_ok_(long rc, const struct err *e, const char *expr, const char *file,
	      int line)
{
	if (rc >= 0)
		return;
	print_error("%s: %s\n", expr, err_msg(e));
	_fail(file, line);
}

void unit_fails_(long rc, const struct err *e, enum err_code code,
		 const char *text, const char *file, int line)
{
	if (rc < 0 && e->code == code && strstr(e->msg, text))
		return;
	print_error("wanted %s with \"%s\", got %ld, %s, \"%s\"\n",
		    err_code_name(code), text, rc, err_code_name(e->code),
		    e->msg);
	_fail(file, line);
}
