#include "base/path.h"

#include "base/alloc.h"
#include "base/deadline.h"
#include "base/limits.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void joins(void **state)
{
	static const char *const rows[][3] = {
		{"/a", "b", "/a/b"},
		{"/a/", "b", "/a/b"},
		{"/", "b", "/b"},
		{"a", "b/c", "a/b/c"},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		autofree char *path = path_join(rows[i][0], rows[i][1]);

		assert_string_equal(path, rows[i][2]);
	}
}

static void relative_names(void **state)
{
	static const struct {
		const char *in;
		enum err_code want;
	} rows[] = {
		{"a", ERR_NONE},
		{"a/b/c", ERR_NONE},
		{"..a/b..", ERR_NONE},
		{"...", ERR_NONE},
		{".a", ERR_NONE},
		{"new\nline and \xff", ERR_NONE},
		{"", ERR_INVALID},
		{"/", ERR_INVALID},
		{"/a", ERR_INVALID},
		{".", ERR_INVALID},
		{"..", ERR_INVALID},
		{"a/..", ERR_INVALID},
		{"a/../b", ERR_INVALID},
		{"../a", ERR_INVALID},
		{"a/./b", ERR_INVALID},
		{"a//b", ERR_INVALID},
		{"a/", ERR_INVALID},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		struct err e = {0};
		int rc = path_check_relative(rows[i].in, &e);

		assert_int_equal(rc, rows[i].want ? -1 : 0);
		assert_int_equal(e.code, rows[i].want);
	}
}

/* A path of count parts of len bytes each. */
static char *many(size_t count, size_t len)
{
	char *path = alloc_zero(count * (len + 1));

	for (size_t i = 0; i < count; i++) {
		memset(path + i * (len + 1), 'a', len);
		path[i * (len + 1) + len] = i + 1 < count ? '/' : '\0';
	}
	return path;
}

static void relative_limits(void **state)
{
	static const struct {
		size_t count, len;
		bool ok;
	} rows[] = {
		{LIMIT_PATH_DEPTH, 1, true}, {LIMIT_PATH_DEPTH + 1, 1, false},
		{1, 255, true},		     {1, 256, false},
		{15, 255, true},	     {17, 255, false},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		autofree char *path = many(rows[i].count, rows[i].len);
		struct err e = {0};

		if (rows[i].ok)
			assert_ok(path_check_relative(path, &e), &e);
		else
			assert_fails(path_check_relative(path, &e), &e,
				     ERR_LIMIT, "");
	}
}

static void put(const char *path, const char *text)
{
	struct err e = {0};

	assert_ok(path_write_file(path, text, strlen(text), 0600, &e), &e);
}

static void makes_dirs(void **state)
{
	const char *deep = unit_path("a/b/c");
	mode_t old = umask(077);
	struct err e = {0};
	struct stat st;

	(void)state;
	assert_ok(path_make_dirs(deep, 0751, &e), &e);
	umask(old);
	assert_int_equal(stat(deep, &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0751);
	/* once more is fine and changes nothing */
	assert_ok(path_make_dirs(unit_path("a/b/c/"), 0700, &e), &e);
	assert_int_equal(stat(deep, &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0751);
	put(unit_path("a/file"), "");
	assert_fails(path_make_dirs(unit_path("a/file"), 0700, &e), &e,
		     ERR_SYSTEM, "Not a directory");
	assert_fails(path_make_dirs(unit_path("a/file/x"), 0700, &e), &e,
		     ERR_SYSTEM, "Not a directory");
	assert_fails(path_make_dirs("", 0700, &e), &e, ERR_NOT_FOUND, "");
}

/* in/ is the root, out/ is what must not be reached */
static int make_trap(void)
{
	struct err e = {0};
	int root;

	assert_ok(path_make_dirs(unit_path("in/dir"), 0700, &e), &e);
	assert_ok(path_make_dirs(unit_path("out"), 0700, &e), &e);
	put(unit_path("in/file"), "in");
	put(unit_path("in/dir/file"), "in");
	put(unit_path("out/file"), "out");
	assert_int_equal(symlink("../out", unit_path("in/rel")), 0);
	assert_int_equal(symlink(unit_path("out"), unit_path("in/abs")), 0);
	assert_int_equal(symlink("file", unit_path("in/link")), 0);
	assert_int_equal(symlink("nowhere", unit_path("in/dangling")), 0);
	assert_int_equal(symlink("dir", unit_path("in/inside")), 0);
	assert_int_equal(symlink("/proc/self/cwd", unit_path("in/magic")), 0);
	root = path_open_dir(unit_path("in"), &e);
	assert_ok(root, &e);
	return root;
}

static void opens_only_beneath(void **state)
{
	static const struct {
		const char *rel;
		int flags;
		enum err_code want;
	} rows[] = {
		{"file", O_RDONLY, ERR_NONE},
		{"dir/file", O_RDONLY, ERR_NONE},
		{"dir", O_RDONLY | O_DIRECTORY, ERR_NONE},
		{"dir/new", O_WRONLY | O_CREAT | O_EXCL, ERR_NONE},
		{"file", O_WRONLY | O_CREAT | O_EXCL, ERR_EXISTS},
		{"missing", O_RDONLY, ERR_NOT_FOUND},
		{"missing/file", O_WRONLY | O_CREAT, ERR_NOT_FOUND},
		{"rel/file", O_RDONLY, ERR_DENIED},
		{"abs/file", O_RDONLY, ERR_DENIED},
		{"rel/new", O_WRONLY | O_CREAT, ERR_DENIED},
		{"link", O_RDONLY, ERR_DENIED},
		{"link", O_WRONLY | O_TRUNC, ERR_DENIED},
		{"dangling", O_WRONLY | O_CREAT, ERR_DENIED},
		{"inside/file", O_RDONLY, ERR_DENIED},
		{"magic/etc/passwd", O_RDONLY, ERR_DENIED},
		{"../out/file", O_RDONLY, ERR_INVALID},
		{"dir/../../out/file", O_RDONLY, ERR_INVALID},
		{"/etc/passwd", O_RDONLY, ERR_INVALID},
		{"", O_RDONLY, ERR_INVALID},
	};
	int root = make_trap();

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		struct err e = {0};
		int fd = path_open_beneath(root, rows[i].rel, rows[i].flags,
					   0640, &e);

		if (rows[i].want != e.code)
			print_error("%s: %s\n", rows[i].rel, err_msg(&e));
		assert_int_equal(e.code, rows[i].want);
		assert_int_equal(fd >= 0, rows[i].want == ERR_NONE);
		if (fd >= 0) {
			assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
			close(fd);
		}
	}
	close(root);
	assert_int_equal(access(unit_path("out/new"), F_OK), -1);
	assert_int_equal(access(unit_path("in/nowhere"), F_OK), -1);
}

static void opens_parents(void **state)
{
	static const struct {
		const char *rel;
		bool make;
		enum err_code want;
		const char *base;
	} rows[] = {
		{"new", false, ERR_NONE, "new"},
		{"dir/new", false, ERR_NONE, "new"},
		{"a/b/new", false, ERR_NOT_FOUND, NULL},
		{"a/b/new", true, ERR_NONE, "new"},
		{"a/b/c/d/new", true, ERR_NONE, "new"},
		{"dir/x/new", true, ERR_NONE, "new"},
		{"file/new", true, ERR_SYSTEM, NULL},
		{"file/x/new", true, ERR_SYSTEM, NULL},
		{"rel/new", true, ERR_DENIED, NULL},
		{"rel/x/new", true, ERR_DENIED, NULL},
		{"dangling/x/new", true, ERR_DENIED, NULL},
		{"dangling/new", true, ERR_DENIED, NULL},
		{"../new", true, ERR_INVALID, NULL},
	};
	int root = make_trap();

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		const char *base = NULL;
		struct err e = {0};
		int fd = path_open_parent(root, rows[i].rel, rows[i].make,
					  &base, &e);

		if (rows[i].want != e.code)
			print_error("%s: %s\n", rows[i].rel, err_msg(&e));
		assert_int_equal(e.code, rows[i].want);
		if (rows[i].base) {
			autofree char *path = path_join("in", rows[i].rel);
			int file = openat(fd, base, O_CREAT | O_WRONLY, 0600);

			assert_string_equal(base, rows[i].base);
			assert_true(file >= 0);
			assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
			assert_int_equal(access(unit_path(path), F_OK), 0);
			close(file);
			close(fd);
		} else {
			assert_int_equal(fd, -1);
			assert_null(base);
		}
	}
	close(root);
	assert_int_equal(access(unit_path("out/x"), F_OK), -1);
}

static atomic_bool stop;

/* Swap in/dir for a link to out and back, as fast as it goes. */
static void *swapper(void *arg)
{
	int root = *(int *)arg;

	while (!atomic_load(&stop)) {
		renameat2(root, "dir", root, "rel", 1u << 1 /* EXCHANGE */);
	}
	return NULL;
}

static void a_rename_race_leads_nowhere(void **state)
{
	int root = make_trap();
	struct deadline d = deadline_in_ms(300);
	pthread_t thread;
	int opened = 0;

	(void)state;
	atomic_store(&stop, false);
	pthread_create(&thread, NULL, swapper, &root);
	while (!deadline_passed(d)) {
		const char *base;
		struct err e = {0};
		char c = 0;
		int fd = path_open_beneath(root, "dir/file", O_RDONLY, 0, &e);

		if (fd >= 0) {
			assert_int_equal(read(fd, &c, 1), 1);
			assert_int_equal(c, 'i');
			close(fd);
			opened++;
		}
		fd = path_open_parent(root, "dir/x/y/new", true, &base, &e);
		if (fd >= 0)
			close(fd);
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	close(root);
	assert_true(opened > 0);
	assert_int_equal(access(unit_path("out/x"), F_OK), -1);
}

static void writes_whole_files(void **state)
{
	const char *path = unit_path("file");
	struct err e = {0};
	struct stat st;
	size_t len = 0;
	char *data = NULL;
	mode_t old = umask(0777);

	(void)state;
	assert_ok(path_write_file(path, "one", 3, 0644, &e), &e);
	umask(old);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0644);
	assert_ok(path_write_file(path, "two\0x", 5, 0600, &e), &e);
	assert_ok(path_read_file(path, 5, &data, &len, &e), &e);
	assert_int_equal(len, 5);
	assert_memory_equal(data, "two\0x", 6);
	free(data);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);

	/* a link is replaced, not written through */
	put(unit_path("target"), "kept");
	assert_int_equal(symlink("target", unit_path("link")), 0);
	put(unit_path("link"), "new");
	assert_ok(path_read_file(unit_path("target"), 10, &data, &len, &e),
		  &e);
	assert_string_equal(data, "kept");
	free(data);
	assert_int_equal(unlink(unit_path("target")), 0);
	assert_int_equal(unlink(unit_path("link")), 0);
	assert_int_equal(unlink(path), 0);

	/* failures leave nothing behind */
	assert_int_equal(mkdir(unit_path("dir"), 0700), 0);
	assert_fails(path_write_file(unit_path("dir"), "x", 1, 0600, &e), &e,
		     ERR_SYSTEM, "dir");
	assert_fails(path_write_file(unit_path("no/file"), "x", 1, 0600, &e),
		     &e, ERR_NOT_FOUND, "no/file");
	assert_int_equal(rmdir(unit_path("dir")), 0);
	assert_int_equal(rmdir(unit_dir()), 0); /* nothing else is there */
	assert_int_equal(mkdir(unit_dir(), 0700), 0);
}

/* A disk that is full in the middle: the old file stays, no other appears. */
static void a_failed_write_changes_nothing(void **state)
{
	static char big[100000];
	const char *path = unit_path("file");
	struct rlimit old, small;
	struct err e = {0};
	char *data = NULL;
	size_t len;
	int rc;

	(void)state;
	put(path, "old");
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = old;
	small.rlim_cur = 5000;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	rc = path_write_file(path, big, sizeof(big), 0600, &e);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_fails(rc, &e, ERR_SYSTEM, "file: writing: File too large");
	assert_ok(path_read_file(path, 10, &data, &len, &e), &e);
	assert_string_equal(data, "old");
	free(data);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(unit_dir()), 0); /* nothing else is there */
	assert_int_equal(mkdir(unit_dir(), 0700), 0);
}

static void reads_only_files_and_not_too_much(void **state)
{
	struct err e = {0};
	char *data = NULL;
	size_t len = 99;

	(void)state;
	put(unit_path("file"), "12345");
	assert_int_equal(mkfifo(unit_path("fifo"), 0600), 0);
	assert_fails(path_read_file(unit_path("file"), 4, &data, &len, &e), &e,
		     ERR_LIMIT, "file: more than the 4 bytes");
	assert_fails(path_read_file(unit_path("fifo"), 4, &data, &len, &e), &e,
		     ERR_INVALID, "not a regular file");
	assert_fails(path_read_file(unit_dir(), 4, &data, &len, &e), &e,
		     ERR_INVALID, "not a regular file");
	assert_fails(path_read_file(unit_path("none"), 4, &data, &len, &e), &e,
		     ERR_NOT_FOUND, "none");
	assert_null(data);
	assert_int_equal(len, 99);
	put(unit_path("file"), "");
	assert_ok(path_read_file(unit_path("file"), 0, &data, &len, &e), &e);
	assert_string_equal(data, "");
	assert_int_equal(len, 0);
	free(data);
}

static void removes_trees(void **state)
{
	struct err e = {0};
	int root = make_trap();

	(void)state;
	close(root);
	assert_int_equal(mkfifo(unit_path("in/dir/fifo"), 0600), 0);
	assert_ok(path_make_dirs(unit_path("in/a/b/c/d"), 0700, &e), &e);
	put(unit_path("in/a/b/c/read-only"), "x");
	assert_int_equal(chmod(unit_path("in/a/b/c"), 0500), 0);
	assert_ok(path_remove_tree(unit_path("in/"), &e), &e);
	assert_int_equal(access(unit_path("in"), F_OK), -1);
	assert_int_equal(access(unit_path("out/file"), F_OK), 0);
	/* gone already, and its parent too */
	assert_ok(path_remove_tree(unit_path("in"), &e), &e);
	assert_ok(path_remove_tree(unit_path("in/x/y"), &e), &e);
	/* a link to a folder, and a file */
	assert_int_equal(symlink("out", unit_path("link")), 0);
	assert_ok(path_remove_tree(unit_path("link"), &e), &e);
	assert_int_equal(access(unit_path("out/file"), F_OK), 0);
	assert_ok(path_remove_tree(unit_path("out/file"), &e), &e);
	assert_int_equal(access(unit_path("out/file"), F_OK), -1);
	assert_fails(path_remove_tree("/", &e), &e, ERR_INVALID, "/");
	assert_fails(path_remove_tree("", &e), &e, ERR_INVALID, "");
	assert_fails(path_remove_tree(unit_path("out/.."), &e), &e,
		     ERR_INVALID, "..");
}

/* Too deep to be ours: refused without a leak, and what is there is kept. */
static void removes_no_bottomless_tree(void **state)
{
	const size_t depth = 150;
	autofree char *rel = many(depth, 1);
	autofree char *half = many(depth / 2, 1);
	struct err e = {0};

	(void)state;
	assert_ok(path_make_dirs(unit_path(rel), 0700, &e), &e);
	assert_fails(path_remove_tree(unit_path("a"), &e), &e, ERR_LIMIT,
		     "deeper than");
	assert_int_equal(access(unit_path(rel), F_OK), 0);
	/* in two parts it goes */
	assert_int_equal(rename(unit_path(half), unit_path("rest")), 0);
	assert_ok(path_remove_tree(unit_path("a"), &e), &e);
	assert_ok(path_remove_tree(unit_path("rest"), &e), &e);
}

static void real_of_what_is_not_there_yet(void **state)
{
	static const struct {
		const char *in, *want; /* in the case's folder; NULL: none */
	} rows[] = {
		{"in", "in"},
		{"in/dir/../file", "in/file"},
		{"in/rel/file", "out/file"},
		{"in/abs/new", "out/new"},
		{"in/rel/new/deeper", "out/new/deeper"},
		{"in/dangling", "in/nowhere"},
		{"in/dangling/x", "in/nowhere/x"},
		{"in/new/", "in/new"},
		{"in/new/./x", "in/new/x"},
		{"in/new/../../out", NULL}, /* what .. means is not known */
		{"in/file/x", NULL},
		{"in/loop", NULL},
	};
	int root = make_trap();

	(void)state;
	close(root);
	assert_int_equal(symlink("loop", unit_path("in/loop")), 0);
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		autofree char *real = path_real(unit_path(rows[i].in));

		if (rows[i].want)
			assert_string_equal(real, unit_path(rows[i].want));
		else
			assert_null(real);
	}
}

static void beneath(void **state)
{
	static const struct {
		const char *path, *dir;
		bool want;
	} rows[] = {
		{"in", "in", true},
		{"in/file", "in", true},
		{"in/new", "in", true},
		{"out/file", "in", false},
		{"in-other", "in", false},
		{"in/rel/file", "in", false},
		{"in/rel/file", "out", true},
		{"in/abs/new", "out", true},
		{"in/dangling", "in", true},
		{"in/dangling", "out", false},
		{"in/dir/../../out/file", "out", true},
		{"in", "in/dir", false},
		{"none/x", "none", true},
	};
	int root = make_trap();

	(void)state;
	close(root);
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++)
		assert_int_equal(path_is_beneath(unit_path(rows[i].path),
						 unit_path(rows[i].dir)),
				 rows[i].want);
	assert_true(path_is_beneath("/etc", "/"));
	assert_true(path_is_beneath("/", "/"));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(joins),
	cmocka_unit_test(relative_names),
	cmocka_unit_test(relative_limits),
	cmocka_unit_test(makes_dirs),
	cmocka_unit_test(opens_only_beneath),
	cmocka_unit_test(opens_parents),
	cmocka_unit_test(a_rename_race_leads_nowhere),
	cmocka_unit_test(writes_whole_files),
	cmocka_unit_test(a_failed_write_changes_nothing),
	cmocka_unit_test(reads_only_files_and_not_too_much),
	cmocka_unit_test(removes_trees),
	cmocka_unit_test(removes_no_bottomless_tree),
	cmocka_unit_test(real_of_what_is_not_there_yet),
	cmocka_unit_test(beneath),
};

UNIT_MAIN(tests)
