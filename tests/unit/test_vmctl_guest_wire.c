#include "vmctl/guest_wire.h"

#include "tests/support/unit.h"

#include <string.h>

static void a_request_as_bytes(void **state)
{
	static const char want[] = "\0\0\0\x1f\x06\0\0\0\x2a" /* WRITE, 42 */
				   "\0\0\0\x02hh"
				   "\0\0\0\x01\0\0\0\x02"
				   "\0\0\0\x04path"
				   "\0\0\0\x07";
	struct buf b;
	struct err e = {0};

	(void)state;
	buf_init(&b, 1024);
	assert_ok(guest_wire_put(&b, GUEST_WIRE_WRITE, 42, &e, "bqsu", "hh",
				 (size_t)2, (uint64_t)0x100000002, "path", 7U),
		  &e);
	assert_int_equal(b.len, sizeof(want) - 1);
	assert_memory_equal(b.data, want, sizeof(want) - 1);
	assert_fails(guest_wire_put(&b, GUEST_WIRE_WRITE, 1, &e, "b", "",
				    (size_t)GUEST_WIRE_PACKET_LEN + 1),
		     &e, ERR_LIMIT, "too many");
	buf_finish(&b);
}

static void packets_are_found_whole(void **state)
{
	static const char two[] = "\0\0\0\x07\x65\0\0\0\x01xy\0\0\0\x05\x66\0\0"
				  "\0\x02";
	struct guest_reply r;
	size_t used;
	struct err e = {0};

	(void)state;
	for (size_t len = 0; len < 11; len++)
		assert_int_equal(guest_wire_next(two, len, &r, &used, &e), 0);
	assert_int_equal(guest_wire_next(two, sizeof(two) - 1, &r, &used, &e),
			 1);
	assert_int_equal(r.type, GUEST_WIRE_STATUS);
	assert_int_equal(r.id, 1);
	assert_int_equal(r.left, 2);
	assert_int_equal(used, 11);
	assert_int_equal(guest_wire_next(two + 11, 9, &r, &used, &e), 1);
	assert_int_equal(r.left, 0);

	assert_fails(guest_wire_next("\0\0\0\x04zzzz", 8, &r, &used, &e), &e,
		     ERR_PROTOCOL, "malformed");
	e = (struct err){0};
	assert_fails(guest_wire_next("\xff\xff\xff\xff", 4, &r, &used, &e), &e,
		     ERR_LIMIT, "more than");
}

static struct guest_reply reply_of(const char *p, size_t len)
{
	return (struct guest_reply){.at = (const uint8_t *)p, .left = len};
}

static void attributes(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		char type;
		uint32_t mode;
		uint64_t size;
		int64_t mtime_s;
	} cases[] = {
		{"\0\0\0\0", 4, '?', 0, 0, 0},
		{"\0\0\0\x04\0\0\x81\xa4", 8, 'f', 0644, 0, 0},
		{"\0\0\0\x04\0\0\x41\xed", 8, 'd', 0755, 0, 0},
		{"\0\0\0\x04\0\0\xa1\xff", 8, 'l', 0777, 0, 0},
		{"\0\0\0\x04\0\0\x11\xa4", 8, '?', 0644, 0, 0}, /* FIFO */
		{"\0\0\0\x0f\0\0\0\x01\0\0\0\0\0\0\0\1\0\0\0\1\0\0\x89\xa4\0\0"
		 "\0\x09\0\0\0\x0a",
		 32, 'f', 04644, 0x100000000, 10},
		{"\x80\0\0\0\0\0\0\1\0\0\0\1a\0\0\0\0", 17, '?', 0, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct guest_reply r = reply_of(cases[i].bytes, cases[i].len);
		struct guest_stat st = {.type = 'x'};
		struct err e = {0};

		assert_ok(guest_wire_get_attrs(&r, &st, &e), &e);
		assert_int_equal(st.type, cases[i].type);
		assert_int_equal(st.mode, cases[i].mode);
		assert_int_equal(st.len, cases[i].size);
		assert_int_equal(st.mtime_s, cases[i].mtime_s);
		assert_int_equal(r.left, 0);
		/* any shorter is a lie, and leaves the result alone */
		for (size_t len = 0; len < cases[i].len; len++) {
			r = reply_of(cases[i].bytes, len);
			st.type = 'x';
			e = (struct err){0};
			assert_fails(guest_wire_get_attrs(&r, &st, &e), &e,
				     ERR_PROTOCOL, "malformed");
			assert_int_equal(st.type, 'x');
		}
	}
}

/* M17: a count or a length is only believed as far as there are bytes */
static void lies(void **state)
{
	static const char pairs[] =
		"\x80\0\0\0\xff\xff\xff\xff\0\0\0\0\0\0\0\0";
	struct guest_reply r = reply_of(pairs, sizeof(pairs) - 1);
	struct guest_stat st;
	struct guest_text text;
	struct err e = {0};

	(void)state;
	assert_fails(guest_wire_get_attrs(&r, &st, &e), &e, ERR_PROTOCOL,
		     "malformed");
	r = reply_of("\xff\xff\xff\xff...", 7);
	e = (struct err){0};
	assert_fails(guest_wire_get_text(&r, &text, &e), &e, ERR_PROTOCOL,
		     "malformed");
}

static void names(void **state)
{
	static const struct {
		const char *p;
		size_t len;
		bool good;
	} cases[] = {
		{"a", 1, true},	   {".", 1, true},     {"a\nb", 3, true},
		{"\xff", 1, true}, {"", 0, false},     {"a/b", 3, false},
		{"/", 1, false},   {"a\0b", 3, false}, {"../x", 4, false},
	};
	char longest[256];
	struct guest_text t = {.p = longest, .len = 255};
	struct err e = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		const struct guest_text name = {.p = cases[i].p,
						.len = cases[i].len};

		assert_int_equal(guest_wire_check_name(&name, NULL),
				 cases[i].good ? 0 : -1);
	}
	memset(longest, 'n', sizeof(longest));
	assert_ok(guest_wire_check_name(&t, &e), &e);
	t.len = 256;
	assert_fails(guest_wire_check_name(&t, &e), &e, ERR_PROTOCOL, "name");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_request_as_bytes),
	cmocka_unit_test(packets_are_found_whole),
	cmocka_unit_test(attributes),
	cmocka_unit_test(lies),
	cmocka_unit_test(names),
};
UNIT_MAIN(tests)
