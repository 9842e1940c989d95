#include "mcp/copied.h"

#include "tests/support/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct home home;

static void put(const char *name, size_t len)
{
	int fd = open(unit_path(name), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
}

static void make_dir(const char *name)
{
	assert_int_equal(mkdir(unit_path(name), 0700), 0);
}

static void on_file(void *ctx, const char *path, long long size)
{
	char *all = ctx;
	size_t len = strlen(all);

	snprintf(all + len, 512 - len, "%s=%lld ", path, size);
}

static void open_home(void)
{
	struct err e = {0};

	make_dir("home");
	make_dir("root");
	assert_ok(home_init(&home, unit_path("home"), &e), &e);
}

static void what_was_copied_is_found(void **state)
{
	static const struct {
		const char *from, *to, *found;
	} rows[] = {
		{"demo:a.txt", "local:a.txt", "a.txt=1 "},
		{"demo:a.txt", "local:./a.txt", "a.txt=1 "},
		{"demo:/home/agent/a.txt", "local:.", "a.txt=1 "},
		{"demo:a.txt", "local:dir", "dir/a.txt=2 "},
		{"demo:a.txt", "local:dir/", "dir/a.txt=2 "},
		{"demo:x/dir/", "local:.", "dir/a.txt=2 "},
		{"demo:tree", "local:dir", "dir/a.txt=2 "},
		/* not there (any more), or nothing of a VM's */
		{"demo:b.txt", "local:b.txt", ""},
		{"local:a.txt", "demo:a.txt", ""},
		{"local:a.txt", "local:a.txt", ""},
		{"demo:a.txt", "other:a.txt", ""},
		{"demo:link", "local:link", ""},
		{"demo:fifo", "local:fifo", ""},
		/* outside of the root */
		{"demo:out.txt", "local:../out.txt", ""},
		{"demo:out.txt", "local:up", ""},
		{"demo:..", "local:.", ""},
	};

	(void)state;
	open_home();
	put("root/a.txt", 1);
	make_dir("root/dir");
	put("root/dir/a.txt", 2);
	put("out.txt", 3);
	assert_int_equal(symlink("a.txt", unit_path("root/link")), 0);
	assert_int_equal(symlink("..", unit_path("root/up")), 0);
	assert_int_equal(mkfifo(unit_path("root/fifo"), 0600), 0);
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		struct copied *c = copied_new(unit_path("root"), &home);
		char all[512] = "";

		copied_note(c, rows[i].from, rows[i].to);
		copied_each(c, on_file, all);
		if (strcmp(all, rows[i].found) != 0)
			fail_msg("%s %s: %s", rows[i].from, rows[i].to, all);
		copied_free(c);
	}
	home_finish(&home);
}

static void only_that_is_read(void **state)
{
	static const struct {
		const char *path;
		enum err_code code;
	} rows[] = {
		{"a.txt", ERR_NONE},	       {"b.txt", ERR_NOT_FOUND},
		{"./a.txt", ERR_NOT_FOUND},    {"dir", ERR_NOT_FOUND},
		{"../out.txt", ERR_NOT_FOUND}, {"large", ERR_LIMIT},
		{"", ERR_NOT_FOUND},
	};
	struct copied *c;

	(void)state;
	open_home();
	put("root/a.txt", 1);
	put("root/b.txt", 1);
	put("root/large", 20);
	c = copied_new(unit_path("root"), &home);
	copied_note(c, "demo:a.txt", "local:a.txt");
	copied_note(c, "demo:large", "local:large");
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		struct err e = {0};
		struct buf b;
		int rc;

		buf_init(&b, 16);
		rc = copied_read(c, rows[i].path, &b, &e);
		if (rc != (rows[i].code == ERR_NONE ? 0 : -1) ||
		    e.code != rows[i].code)
			fail_msg("%s: %s", rows[i].path, err_msg(&e));
		buf_finish(&b);
	}
	copied_free(c);
	home_finish(&home);
}

static void the_oldest_is_forgotten(void **state)
{
	struct copied *c;
	char all[512] = "", to[32];

	(void)state;
	open_home();
	put("root/a.txt", 1);
	put("root/b.txt", 1);
	c = copied_new(unit_path("root"), &home);
	copied_note(c, "demo:a.txt", "local:a.txt");
	copied_note(c, "demo:b.txt", "local:b.txt");
	for (int i = 0; i < 63; i++) {
		snprintf(to, sizeof(to), "local:%d", i);
		copied_note(c, "demo:x", to);
	}
	copied_each(c, on_file, all);
	assert_string_equal(all, "b.txt=1 ");
	copied_free(c);
	home_finish(&home);
}

static void without_a_root_there_is_nothing(void **state)
{
	struct copied *c;
	char all[512] = "";

	(void)state;
	c = copied_new(NULL, &home);
	copied_note(c, "demo:a.txt", "local:a.txt");
	copied_each(c, on_file, all);
	assert_string_equal(all, "");
	copied_free(c);
	copied_free(NULL);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(what_was_copied_is_found),
	cmocka_unit_test(only_that_is_read),
	cmocka_unit_test(the_oldest_is_forgotten),
	cmocka_unit_test(without_a_root_there_is_nothing),
};
UNIT_MAIN(tests)
