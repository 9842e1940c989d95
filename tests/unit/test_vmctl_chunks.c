#include "tests/support/unit.h"

#include "base/alloc.h"
#include "vmctl/chunks.h"

#include <string.h>

/* What goes in comes out, in whatever pieces. */
static void test_order(void **state)
{
	struct chunks q = {0};
	unsigned char in = 0, out = 0;

	(void)state;
	for (size_t round = 1; round < 200; round++) {
		unsigned char piece[64], got[48];
		size_t n = round % sizeof(piece);

		for (size_t i = 0; i < n; i++)
			piece[i] = in++;
		chunks_add(&q, piece, n);
		n = chunks_take(&q, got, round % sizeof(got));
		for (size_t i = 0; i < n; i++)
			assert_int_equal(got[i], out++);
	}
	while (q.len > 0) {
		struct iovec iov[3];
		int n = chunks_peek(&q, iov, 3);
		size_t len = 0;

		assert_in_range(n, 1, 3);
		for (int i = 0; i < n; i++) {
			const unsigned char *p = iov[i].iov_base;

			for (size_t k = 0; k < iov[i].iov_len; k++)
				assert_int_equal(p[k], out++);
			len += iov[i].iov_len;
		}
		chunks_drop(&q, len);
	}
	assert_int_equal(in, out);
	chunks_finish(&q);
}

static void test_empty(void **state)
{
	struct chunks q = {0};
	struct iovec iov;
	char c;

	(void)state;
	chunks_add(&q, "", 0);
	chunks_add_taken(&q, alloc_str(""), 0);
	assert_int_equal(q.len, 0);
	assert_int_equal(chunks_peek(&q, &iov, 1), 0);
	assert_int_equal(chunks_take(&q, &c, 1), 0);
	chunks_drop(&q, 5);
	chunks_add(&q, "abc", 3);
	chunks_drop(&q, 5);
	assert_int_equal(q.len, 0);
	chunks_add(&q, "abc", 3);
	chunks_finish(&q);
	assert_int_equal(q.len, 0);
}

/* A peer that sends byte by byte: what is held is about what was sent. */
static void test_single_bytes(void **state)
{
	struct chunks q = {0};
	size_t count = 0;
	struct iovec iov[1];

	(void)state;
	for (int i = 0; i < 100000; i++)
		chunks_add(&q, "x", 1);
	assert_int_equal(q.len, 100000);
	while (chunks_peek(&q, iov, 1) > 0) {
		chunks_drop(&q, iov[0].iov_len);
		count++;
	}
	assert_true(count < 100);
	chunks_finish(&q);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_order),
	cmocka_unit_test(test_single_bytes),
	cmocka_unit_test(test_empty),
};

UNIT_MAIN(tests)
