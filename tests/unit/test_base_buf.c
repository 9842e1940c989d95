#include "base/alloc.h"
#include "base/buf.h"

#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

static void starts_as_a_string(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 10);
	assert_string_equal(b.data, "");
	assert_int_equal(b.len, 0);
	buf_finish(&b);
	buf_finish(&b);
	buf_init(&b, 10);
	buf_finish(&b);
}

static void cap_holds(void **state)
{
	static const struct {
		size_t cap, before, add;
		bool ok;
	} rows[] = {
		{0, 0, 0, true},     {0, 0, 1, false},
		{5, 0, 5, true},     {5, 0, 6, false},
		{5, 3, 2, true},     {5, 3, 3, false},
		{64, 1, 63, true},   {64, 1, 64, false},
		{5, 5, 0, true},     {SIZE_MAX, 5, SIZE_MAX - 5, false},
		{SIZE_MAX, 0, SIZE_MAX, false},
		{1000000, 1, 999999, true},
	};
	static char zeros[1000000];

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		struct err e = {0};
		struct buf b;
		int rc;

		buf_init(&b, rows[i].cap);
		assert_ok(buf_add(&b, zeros, rows[i].before, &e), &e);
		if (rows[i].add > sizeof(zeros))
			rc = buf_reserve(&b, rows[i].add, &e) ? 0 : -1;
		else
			rc = buf_add(&b, zeros, rows[i].add, &e);
		assert_int_equal(rc, rows[i].ok ? 0 : -1);
		if (!rows[i].ok) {
			assert_int_equal(e.code, ERR_LIMIT);
			assert_int_equal(b.len, rows[i].before);
		}
		assert_int_equal(b.data[b.len], 0);
		buf_finish(&b);
	}
}

static void all_ways_of_adding(void **state)
{
	struct err e = {0};
	struct buf b;
	char *taken;

	(void)state;
	buf_init(&b, 100);
	assert_ok(buf_add_str(&b, "one ", &e), &e);
	assert_ok(buf_printf(&b, &e, "%s %d ", "two", 3), &e);
	assert_ok(buf_printf(&b, &e, "%s", ""), &e);
	assert_string_equal(b.data, "one two 3 ");
	assert_fails(buf_printf(&b, &e, "%100d", 1), &e, ERR_LIMIT, "100");
	assert_string_equal(b.data, "one two 3 ");
	buf_consume(&b, 4);
	assert_string_equal(b.data, "two 3 ");
	buf_consume(&b, b.len);
	assert_string_equal(b.data, "");
	assert_ok(buf_add_u32(&b, 0x01020304, &e), &e);
	assert_memory_equal(b.data, "\1\2\3\4", 5);
	taken = buf_take(&b);
	assert_memory_equal(taken, "\1\2\3\4", 5);
	free(taken);
	assert_string_equal(b.data, "");
	assert_int_equal(b.cap, 100);
	assert_ok(buf_add_str(&b, "again", &e), &e);
	buf_reset(&b);
	assert_string_equal(b.data, "");
	buf_finish(&b);
}

static void reads(void **state)
{
	struct err e = {0};
	struct buf b;
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	buf_init(&b, 8);
	assert_int_equal(buf_read_fd(&b, fds[0], 8, &e), -1);
	assert_int_equal(e.errnum, EAGAIN);
	assert_string_equal(b.data, "");
	assert_int_equal(write(fds[1], "0123456789", 10), 10);
	assert_int_equal(buf_read_fd(&b, fds[0], 3, &e), 3);
	assert_string_equal(b.data, "012");
	assert_int_equal(buf_read_fd(&b, fds[0], 100, &e), 5);
	assert_string_equal(b.data, "01234567");
	assert_fails(buf_read_fd(&b, fds[0], 100, &e), &e, ERR_LIMIT, "8");
	buf_consume(&b, 8);
	close(fds[1]);
	assert_int_equal(buf_read_fd(&b, fds[0], 100, &e), 2);
	assert_int_equal(buf_read_fd(&b, fds[0], 100, &e), 0);
	assert_string_equal(b.data, "89");
	buf_finish(&b);
	close(fds[0]);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(starts_as_a_string),
	cmocka_unit_test(cap_holds),
	cmocka_unit_test(all_ways_of_adding),
	cmocka_unit_test(reads),
};

UNIT_MAIN(tests)
