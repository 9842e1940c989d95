/* A peer's bytes, frame by frame; what decodes encodes to the same bytes. */
#include "base/rpc.h"

#include "base/limits.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void check_json(const struct rpc_frame *f, struct buf *again)
{
	struct err e = {0};
	auto_json json_t *v = rpc_payload_json(f, &e);
	auto_json json_t *back = NULL;
	struct rpc_frame g;
	size_t used;

	if (!v)
		return;
	/* escapes may make it longer than a frame */
	if (rpc_encode_json(again, f->type, f->call, v, &e) < 0)
		return;
	must(rpc_decode((uint8_t *)again->data, again->len, &g, &used, &e) ==
	     1);
	must(used == again->len && g.type == f->type && g.call == f->call);
	back = rpc_payload_json(&g, &e);
	must(json_equal(v, back));
}

static void check_bytes(const struct rpc_frame *f, size_t frame_len,
			struct buf *again)
{
	enum rpc_stream stream;
	const uint8_t *bytes;
	struct err e = {0};
	uint32_t credit;
	size_t len;

	if (rpc_payload_data(f, &stream, &bytes, &len, &e) == 0) {
		must(f->type == RPC_DATA && stream < RPC_STREAM_COUNT);
		must(rpc_encode_data(again, f->call, stream, bytes, len, &e) ==
		     0);
	} else if (rpc_payload_credit(f, &stream, &credit, &e) == 0) {
		must(f->type == RPC_CREDIT && stream < RPC_STREAM_COUNT);
		must(rpc_encode_credit(again, f->call, stream, credit, &e) ==
		     0);
	} else {
		return;
	}
	must(again->len == frame_len);
	must(memcmp(again->data, f->payload - (frame_len - f->payload_len),
		    frame_len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct rpc_frame f;
	struct err e = {0};
	struct buf again;
	size_t used = 0;

	buf_init(&again, 2 * LIMIT_RPC_FRAME_LEN);
	while (rpc_decode(data, len, &f, &used, &e) == 1) {
		must(used <= len && f.payload + f.payload_len == data + used);
		buf_reset(&again);
		check_bytes(&f, used, &again);
		buf_reset(&again);
		check_json(&f, &again);
		data += used;
		len -= used;
	}
	buf_finish(&again);
	return 0;
}
