#include "base/rpc.h"

#include "base/limits.h"
#include "tests/support/unit.h"

#include <string.h>

#define CAP (2 * LIMIT_RPC_FRAME_LEN)

/* What the wire looks like; docs/FORMATS.md promises it. */
static void bytes_on_the_wire(void **state)
{
	auto_json json_t *obj = json_pack("{s:i}", "a", 1);
	struct err e = {0};
	struct buf b;

	(void)state;
	buf_init(&b, CAP);
	assert_ok(rpc_encode_json(&b, RPC_CALL, 0x01020304, obj, &e), &e);
	assert_int_equal(b.len, 16);
	assert_memory_equal(b.data, "\0\0\0\14\2\1\2\3\4{\"a\":1}", 16);
	buf_reset(&b);
	assert_ok(rpc_encode_data(&b, 7, RPC_STDERR, "xy", 2, &e), &e);
	assert_int_equal(b.len, 12);
	assert_memory_equal(b.data, "\0\0\0\10\4\0\0\0\7\2xy", 12);
	buf_reset(&b);
	assert_ok(rpc_encode_credit(&b, 7, RPC_STDIN, 0xfffefdfc, &e), &e);
	assert_int_equal(b.len, 14);
	assert_memory_equal(b.data,
			    "\0\0\0\12\5\0\0\0\7\0\xff\xfe\xfd\xfc", 14);
	buf_finish(&b);
}

/* Every frame comes back, and every prefix of one asks for more. */
static void round_trips(void **state)
{
	struct err e = {0};
	struct buf b;

	(void)state;
	buf_init(&b, CAP);
	for (unsigned t = RPC_HELLO; t < RPC_TYPE_END; t++) {
		uint32_t call = t == RPC_HELLO ? 0 : 0x80000000u + t;
		enum rpc_type type = (enum rpc_type)t;
		auto_json json_t *obj = json_pack("{s:i}", "type", (int)t);
		enum rpc_stream stream = RPC_STREAM_COUNT;
		const uint8_t *bytes = NULL;
		uint32_t credit = 0;
		struct rpc_frame f = {0};
		size_t used = 0, len = 0;

		buf_reset(&b);
		if (type == RPC_DATA)
			assert_ok(rpc_encode_data(&b, call, RPC_IMAGE, "png", 3,
						  &e),
				  &e);
		else if (type == RPC_CREDIT)
			assert_ok(rpc_encode_credit(&b, call, RPC_TREE_DOWN,
						    4096, &e),
				  &e);
		else
			assert_ok(rpc_encode_json(&b, type, call, obj, &e), &e);
		for (size_t cut = 0; cut < b.len; cut++)
			assert_int_equal(rpc_decode((uint8_t *)b.data, cut, &f,
						    &used, &e),
					 0);
		assert_int_equal(used, 0);
		len = b.len;
		assert_ok(buf_add_str(&b, "and what follows", &e), &e);
		assert_int_equal(
			rpc_decode((uint8_t *)b.data, b.len, &f, &used, &e), 1);
		assert_int_equal(used, len);
		assert_int_equal(f.type, type);
		assert_int_equal(f.call, call);
		auto_json json_t *back = rpc_payload_json(&f, &e);
		if (type == RPC_DATA) {
			assert_null(back);
			assert_ok(rpc_payload_data(&f, &stream, &bytes, &len,
						   &e),
				  &e);
			assert_int_equal(stream, RPC_IMAGE);
			assert_int_equal(len, 3);
			assert_memory_equal(bytes, "png", 3);
		} else if (type == RPC_CREDIT) {
			assert_null(back);
			assert_ok(rpc_payload_credit(&f, &stream, &credit, &e),
				  &e);
			assert_int_equal(stream, RPC_TREE_DOWN);
			assert_int_equal(credit, 4096);
		} else {
			assert_true(json_equal(back, obj));
			assert_int_equal(rpc_payload_data(&f, &stream, &bytes,
							  &len, &e),
					 -1);
			assert_int_equal(rpc_payload_credit(&f, &stream,
							    &credit, &e),
					 -1);
		}
	}
	buf_finish(&b);
}

static void malformed_frames(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		int want;
		enum err_code code;
	} rows[] = {
		{"", 0, 0, ERR_NONE},
		{"\0\0\0", 3, 0, ERR_NONE},
		{"\0\0\0\0", 4, -1, ERR_PROTOCOL},
		{"\0\0\0\4", 4, -1, ERR_PROTOCOL},
		{"\0\0\0\5\2\0\0\0\1", 9, 1, ERR_NONE},
		/* one byte over the limit, known before anything else is */
		{"\0\x10\0\1", 4, -1, ERR_LIMIT},
		{"\xff\xff\xff\xff", 4, -1, ERR_LIMIT},
		{"\0\x10\0\0", 4, 0, ERR_NONE},
		/* types */
		{"\0\0\0\x10\0\0\0\0\1", 9, -1, ERR_PROTOCOL},
		{"\0\0\0\x10\13\0\0\0\1", 9, -1, ERR_PROTOCOL},
		{"\0\0\0\x10\xff\0\0\0\1", 9, -1, ERR_PROTOCOL},
		/* call ids: HELLO has none, the others do, ERROR may */
		{"\0\0\0\x10\1\0\0\0\1", 9, -1, ERR_PROTOCOL},
		{"\0\0\0\x10\2\0\0\0\0", 9, -1, ERR_PROTOCOL},
		{"\0\0\0\x10\4\0\0\0\0", 9, -1, ERR_PROTOCOL},
		{"\0\0\0\x10\11\0\0\0\0", 9, 0, ERR_NONE},
		{"\0\0\0\x10\11\0\0\0\1", 9, 0, ERR_NONE},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		struct err e = {0};
		struct rpc_frame f = {0};
		size_t used = 0;
		int rc = rpc_decode((const uint8_t *)rows[i].bytes, rows[i].len,
				    &f, &used, &e);

		assert_int_equal(rc, rows[i].want);
		assert_int_equal(e.code, rows[i].code);
		if (rc <= 0)
			assert_int_equal(used, 0);
	}
}

static void malformed_payloads(void **state)
{
	static const struct {
		enum rpc_type type;
		const char *bytes;
		size_t len;
	} rows[] = {
		{RPC_DATA, "", 0},
		{RPC_DATA, "\6x", 2},
		{RPC_DATA, "\xff", 1},
		{RPC_CREDIT, "", 0},
		{RPC_CREDIT, "\0\0\0\1", 4},
		{RPC_CREDIT, "\0\0\0\0\1\0", 6},
		{RPC_CREDIT, "\6\0\0\0\1", 5},
		{RPC_CALL, "", 0},
		{RPC_CALL, "[]", 2},
		{RPC_CALL, "1", 1},
		{RPC_CALL, "{", 1},
		{RPC_CALL, "{}{}", 4},
		{RPC_CALL, "{\"a\":1,\"a\":1}", 13},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		const struct rpc_frame f = {
			.type = rows[i].type,
			.call = 1,
			.payload = (const uint8_t *)rows[i].bytes,
			.payload_len = rows[i].len,
		};
		enum rpc_stream stream = RPC_STDERR;
		const uint8_t *bytes = NULL;
		struct err e = {0};
		uint32_t credit = 0;
		size_t len = 0;
		int rc;

		if (f.type == RPC_DATA)
			rc = rpc_payload_data(&f, &stream, &bytes, &len, &e);
		else if (f.type == RPC_CREDIT)
			rc = rpc_payload_credit(&f, &stream, &credit, &e);
		else
			rc = rpc_payload_json(&f, &e) ? 0 : -1;
		assert_fails(rc, &e, ERR_PROTOCOL, "");
		assert_int_equal(stream, RPC_STDERR);
	}
	/* the end of a stream */
	const struct rpc_frame end = {
		.type = RPC_DATA, .call = 1, .payload = (const uint8_t *)"\1",
		.payload_len = 1};
	enum rpc_stream stream;
	const uint8_t *bytes;
	struct err e = {0};
	size_t len = 99;
	assert_ok(rpc_payload_data(&end, &stream, &bytes, &len, &e), &e);
	assert_int_equal(len, 0);
}

static void limits(void **state)
{
	static char big[LIMIT_RPC_FRAME_LEN];
	const size_t most = LIMIT_RPC_FRAME_LEN - 6; /* type, call, stream */
	struct rpc_frame f;
	struct err e = {0};
	size_t used;
	struct buf b;

	(void)state;
	buf_init(&b, CAP);
	assert_fails(rpc_encode_data(&b, 1, RPC_STDIN, big, most + 1, &e), &e,
		     ERR_LIMIT, "does not fit");
	assert_int_equal(b.len, 0);
	assert_ok(rpc_encode_data(&b, 1, RPC_STDIN, big, most, &e), &e);
	assert_int_equal(
		rpc_decode((uint8_t *)b.data, b.len, &f, &used, &e), 1);
	assert_int_equal(used, b.len);
	/* what json_pack() makes of text that is no UTF-8 */
	auto_json json_t *none = json_pack("{s:s}", "text", "\xff");
	assert_fails(rpc_encode_json(&b, RPC_RESULT, 1, none, &e), &e,
		     ERR_INTERNAL, "no object");
	buf_finish(&b);

	/* a queue that is full takes no part of a frame */
	buf_init(&b, 20);
	assert_ok(rpc_encode_data(&b, 1, RPC_STDIN, "x", 1, &e), &e);
	assert_fails(rpc_encode_data(&b, 1, RPC_STDIN, "x", 1, &e), &e,
		     ERR_LIMIT, "20");
	assert_fails(rpc_encode_credit(&b, 1, RPC_STDIN, 1, &e), &e, ERR_LIMIT,
		     "20");
	auto_json json_t *obj = json_object();
	assert_fails(rpc_encode_json(&b, RPC_CANCEL, 1, obj, &e), &e, ERR_LIMIT,
		     "20");
	assert_int_equal(b.len, 11);
	buf_finish(&b);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(bytes_on_the_wire),
	cmocka_unit_test(round_trips),
	cmocka_unit_test(malformed_frames),
	cmocka_unit_test(malformed_payloads),
	cmocka_unit_test(limits),
};

UNIT_MAIN(tests)
