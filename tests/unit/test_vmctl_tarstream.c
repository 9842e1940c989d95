/* What tarstream writes, as tar reads it. */
#include "base/alloc.h"
#include "base/buf.h"
#include "base/path.h"
#include "base/proc.h"
#include "vmctl/tarstream.h"

#include "tests/support/unit.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void extract(const struct buf *b)
{
	const char *const argv[] = {"env",  "LC_ALL=C",	       "tar",
				    "-x",   "-p",	       "--no-same-owner",
				    "-f",   "-",	       "-C",
				    unit_dir(), NULL};
	const struct proc_run run = {.in = b->data, .in_len = b->len,
				     .cancel_fd = -1};
	struct err e = {0};

	assert_ok(proc_run(argv, &run, deadline_in_ms(20000), &e), &e);
}

static void tar_reads_it(void **state)
{
	char name[256], target[4096];
	static char bytes[1025];
	const struct tarstream_entry rows[] = {
		{.name = "g/plain", .mode = 0644, .mtime_s = 1700000000,
		 .mtime_ns = 5, .bytes = bytes, .len = 1025},
		{.name = "g/empty", .mode = 0, .mtime_s = -5,
		 .mtime_ns = 999999999},
		{.name = "g/block", .mode = 0777, .bytes = bytes, .len = 512},
		{.name = "g/-new\n\xff\x81'", .mode = 0400, .bytes = bytes,
		 .len = 1, .mtime_s = 8589934592},
		{.name = name, .mode = 0755, .bytes = bytes, .len = 2,
		 .mtime_s = 1, .mtime_ns = 123456789},
		{.name = "g/link", .target = "../../etc/passwd",
		 .mtime_s = 1700000001, .mtime_ns = 7},
		{.name = "g/far", .target = target, .mtime_s = 2},
	};
	struct err e = {0};
	struct buf b;

	(void)state;
	memset(name, 'n', sizeof(name));
	memcpy(name, "g/", 2);
	name[255] = '\0';
	memset(target, 't', sizeof(target));
	target[4000] = '\0';
	memset(bytes, 'b', sizeof(bytes));
	buf_init(&b, 1 << 20);
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++)
		assert_ok(tarstream_add(&b, &rows[i], &e), &e);
	assert_ok(tarstream_end(&b, &e), &e);
	assert_int_equal(b.len % TARSTREAM_BLOCK_LEN, 0);
	extract(&b);
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		autofree char *path = path_join(unit_dir(), rows[i].name);
		char now[4097] = "";
		struct stat st;

		if (lstat(path, &st) != 0)
			fail_msg("%s is missing", rows[i].name);
		assert_int_equal(st.st_mtim.tv_sec, rows[i].mtime_s);
		assert_int_equal(st.st_mtim.tv_nsec, rows[i].mtime_ns);
		if (rows[i].target) {
			assert_true(S_ISLNK(st.st_mode));
			assert_true(readlink(path, now, 4096) > 0);
			assert_string_equal(now, rows[i].target);
			continue;
		}
		assert_true(S_ISREG(st.st_mode));
		assert_int_equal(st.st_mode & 07777, rows[i].mode);
		assert_int_equal(st.st_size, rows[i].len);
	}
	buf_finish(&b);
}

static void cap_holds(void **state)
{
	const struct tarstream_entry n = {.name = "x", .bytes = "12345",
					  .len = 5};
	struct err e = {0};
	struct buf b;

	(void)state;
	buf_init(&b, 1024);
	assert_fails(tarstream_add(&b, &n, &e), &e, ERR_LIMIT, "");
	buf_finish(&b);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(tar_reads_it),
	cmocka_unit_test(cap_holds),
};

UNIT_MAIN(tests)
