#include "base/home.h"

#include "base/alloc.h"
#include "tests/support/unit.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int clean_environment(void **state)
{
	(void)state;
	unsetenv("BOXERY_HOME");
	setenv("HOME", "/home/somebody", 1);
	return 0;
}

static void default_places(void **state)
{
	autofree char *data = alloc_printf("/var/lib/boxery/%u", getuid());
	autofree char *instance = alloc_printf("u%u", getuid());
	struct err e = {0};
	struct home h;

	(void)state;
	assert_ok(home_init(&h, NULL, &e), &e);
	assert_string_equal(h.config, "/home/somebody/.config/boxery");
	assert_string_equal(h.state, "/home/somebody/.local/state/boxery");
	assert_string_equal(h.run, "/home/somebody/.local/state/boxery/run");
	assert_string_equal(h.socket, "/home/somebody/.local/state/boxery/run/"
				      "host.sock");
	assert_string_equal(h.db,
			    "/home/somebody/.local/state/boxery/boxery.db");
	assert_string_equal(h.data, data);
	assert_string_equal(h.instance, instance);
	assert_null(h.relocated);
	home_finish(&h);
	home_finish(&h);
	/* empty means unset */
	setenv("BOXERY_HOME", "", 1);
	assert_ok(home_init(&h, NULL, &e), &e);
	assert_null(h.relocated);
	home_finish(&h);
}

static void home_from_the_password_database(void **state)
{
	const struct passwd *pw = getpwuid(getuid());
	struct err e = {0};
	struct home h;

	(void)state;
	assert_non_null(pw);
	autofree char *want = alloc_printf("%s/.config/boxery", pw->pw_dir);
	unsetenv("HOME");
	assert_ok(home_init(&h, NULL, &e), &e);
	assert_string_equal(h.config, want);
	home_finish(&h);
	setenv("HOME", "", 1);
	assert_ok(home_init(&h, NULL, &e), &e);
	assert_string_equal(h.config, want);
	home_finish(&h);
	setenv("HOME", "not/absolute", 1);
	assert_fails(home_init(&h, NULL, &e), &e, ERR_INVALID,
		     "HOME is not/absolute");
}

static void relocated(void **state)
{
	const char *dir = unit_path("box");
	struct err e = {0};
	struct home h;

	(void)state;
	setenv("BOXERY_HOME", dir, 1);
	assert_ok(home_init(&h, NULL, &e), &e);
	assert_string_equal(h.relocated, dir);
	assert_string_equal(h.config, unit_path("box/config"));
	assert_string_equal(h.state, unit_path("box/state"));
	assert_string_equal(h.data, unit_path("box/data"));
	assert_string_equal(h.run, unit_path("box/run"));
	assert_string_equal(h.socket, unit_path("box/run/host.sock"));
	assert_string_equal(h.db, unit_path("box/state/boxery.db"));
	home_finish(&h);
	/* an argument wins over the environment */
	assert_ok(home_init(&h, unit_path("other/"), &e), &e);
	assert_string_equal(h.relocated, unit_path("other"));
	home_finish(&h);
}

static char *instance_of(const char *dir)
{
	struct err e = {0};
	struct home h;
	char *instance;

	assert_ok(home_init(&h, dir, &e), &e);
	instance = TAKE_PTR(h.instance);
	home_finish(&h);
	return instance;
}

/* One home has one instance: before it is made and after, and under each of
 * its names. */
static void instance_is_stable(void **state)
{
	const char *dir = unit_path("box");
	autofree char *before = instance_of(dir);

	(void)state;
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(symlink("box", unit_path("link")), 0);
	autofree char *after = instance_of(dir);
	autofree char *by_link = instance_of(unit_path("link"));
	autofree char *by_slash = instance_of(unit_path("box/"));
	autofree char *other = instance_of(unit_path("other"));
	assert_int_equal(strlen(before), 9);
	assert_int_equal(before[0], 'h');
	assert_int_equal(strspn(before + 1, "0123456789abcdef"), 8);
	assert_string_equal(before, after);
	assert_string_equal(before, by_link);
	assert_string_equal(before, by_slash);
	assert_string_not_equal(before, other);
	/* echo -n /boxery | sha256sum */
	autofree char *known = instance_of("/boxery");
	assert_string_equal(known, "hf59e87ce");
}

/* Folders that others may read are closed, those of others not used. */
static void folders_are_ours(void **state)
{
	struct err e = {0};
	struct home h;
	struct stat st;

	(void)state;
	assert_ok(home_init(&h, unit_dir(), &e), &e);
	assert_int_equal(mkdir(h.config, 0755), 0);
	assert_int_equal(chmod(h.config, 0777), 0);
	assert_ok(home_make_dirs(&h, &e), &e);
	assert_int_equal(stat(h.config, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	if (getuid() == 0) { /* only root can give a folder away */
		assert_int_equal(chown(h.run, 65534, 65534), 0);
		assert_fails(home_make_dirs(&h, &e), &e, ERR_DENIED,
			     "belongs to uid 65534 and not to you");
		assert_int_equal(chown(h.run, 0, 0), 0);
		assert_int_equal(chown(unit_dir(), 65534, 65534), 0);
		assert_fails(home_make_dirs(&h, &e), &e, ERR_DENIED,
			     "set BOXERY_HOME to a folder of your own");
		assert_int_equal(chown(unit_dir(), 0, 0), 0);
	}
	home_finish(&h);
}

static void bad_homes(void **state)
{
	char dir[200];
	struct err e = {0};
	struct home h = {.config = NULL};

	(void)state;
	assert_fails(home_init(&h, "relative", &e), &e, ERR_INVALID,
		     "absolute path");
	memset(dir, 'x', sizeof(dir));
	dir[0] = '/';
	/* 107 bytes are the most: "/run/host.sock" takes 14 */
	dir[94] = '\0';
	assert_fails(home_init(&h, dir, &e), &e, ERR_INVALID,
		     "run/host.sock: a socket's path may have 107 bytes, this "
		     "one has 108: set BOXERY_HOME to a shorter path");
	assert_null(h.config);
	dir[93] = '\0';
	assert_ok(home_init(&h, dir, &e), &e);
	assert_int_equal(strlen(h.socket), 107);
	home_finish(&h);
}

static void makes_private_dirs(void **state)
{
	const char *dir = unit_path("box");
	mode_t old = umask(0);
	struct err e = {0};
	struct stat st;
	struct home h;

	(void)state;
	assert_ok(home_init(&h, dir, &e), &e);
	assert_ok(home_make_dirs(&h, &e), &e);
	assert_ok(home_make_dirs(&h, &e), &e);
	umask(old);
	const char *dirs[] = {h.config, h.state, h.run};
	for (unsigned i = 0; i < ARRAY_COUNT(dirs); i++) {
		assert_int_equal(stat(dirs[i], &st), 0);
		assert_int_equal(st.st_mode, S_IFDIR | 0700);
	}
	assert_int_equal(access(h.data, F_OK), -1);
	home_finish(&h);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup(default_places, clean_environment),
	cmocka_unit_test_setup(home_from_the_password_database,
			       clean_environment),
	cmocka_unit_test_setup(relocated, clean_environment),
	cmocka_unit_test_setup(instance_is_stable, clean_environment),
	cmocka_unit_test(folders_are_ours),
	cmocka_unit_test_setup(bad_homes, clean_environment),
	cmocka_unit_test_setup(makes_private_dirs, clean_environment),
};

UNIT_MAIN(tests)
