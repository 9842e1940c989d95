#include "base/rpc.h"

#include "base/cleanup.h"
#include "base/limits.h"

#include <endian.h>
#include <string.h>

#define LENGTH_LEN 4
#define HEAD_LEN 5   /* what every length counts: type and call id */
#define CREDIT_LEN 5 /* stream and bytes */

static uint32_t get_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static int check_head(uint8_t type, uint32_t call, struct err *e)
{
	if (type < RPC_HELLO || type >= RPC_TYPE_END)
		return err_set(e, ERR_PROTOCOL, "a frame of unknown type %u",
			       type);
	if (type == RPC_HELLO && call != 0)
		return err_set(e, ERR_PROTOCOL, "a HELLO within call %u", call);
	if (type != RPC_HELLO && type != RPC_ERROR && call == 0)
		return err_set(e, ERR_PROTOCOL,
			       "a frame of type %u outside of a call", type);
	return 0;
}

int rpc_decode(const uint8_t *p, size_t len, struct rpc_frame *ret_frame,
	       size_t *ret_used, struct err *e)
{
	uint32_t frame_len, call;

	if (len < LENGTH_LEN)
		return 0;
	frame_len = get_u32(p);
	if (frame_len > LIMIT_RPC_FRAME_LEN)
		return err_set(e, ERR_LIMIT,
			       "a frame of %u bytes: %d is the most", frame_len,
			       LIMIT_RPC_FRAME_LEN);
	if (frame_len < HEAD_LEN)
		return err_set(e, ERR_PROTOCOL, "a frame of %u bytes",
			       frame_len);
	if (len < LENGTH_LEN + HEAD_LEN)
		return 0;
	call = get_u32(p + LENGTH_LEN + 1);
	if (check_head(p[LENGTH_LEN], call, e) < 0)
		return -1;
	if (len - LENGTH_LEN < frame_len)
		return 0;
	*ret_frame = (struct rpc_frame){
		.type = (enum rpc_type)p[LENGTH_LEN],
		.call = call,
		.payload = p + LENGTH_LEN + HEAD_LEN,
		.payload_len = frame_len - HEAD_LEN,
	};
	*ret_used = LENGTH_LEN + (size_t)frame_len;
	return 1;
}

json_t *rpc_payload_json(const struct rpc_frame *f, struct err *e)
{
	struct err why = {0};
	auto_json json_t *v = NULL;

	if (f->type == RPC_DATA || f->type == RPC_CREDIT) {
		err_set(e, ERR_PROTOCOL, "a frame of type %u is not JSON",
			f->type);
		return NULL;
	}
	v = json_parse((const char *)f->payload, f->payload_len, &why);
	if (!v) {
		err_set(e, ERR_PROTOCOL, "a frame of type %u: %s", f->type,
			err_msg(&why));
		return NULL;
	}
	if (!json_is_object(v)) {
		err_set(e, ERR_PROTOCOL,
			"a frame of type %u must hold a JSON object", f->type);
		return NULL;
	}
	return TAKE_PTR(v);
}

static int get_stream(const struct rpc_frame *f, enum rpc_stream *ret,
		      struct err *e)
{
	if (f->payload_len < 1 || f->payload[0] >= RPC_STREAM_COUNT)
		return err_set(e, ERR_PROTOCOL,
			       "a frame of type %u for no known stream",
			       f->type);
	*ret = (enum rpc_stream)f->payload[0];
	return 0;
}

int rpc_payload_data(const struct rpc_frame *f, enum rpc_stream *ret_stream,
		     const uint8_t **ret_bytes, size_t *ret_len, struct err *e)
{
	enum rpc_stream stream = RPC_STDIN;

	if (f->type != RPC_DATA)
		return err_set(e, ERR_PROTOCOL, "type %u is not DATA", f->type);
	if (get_stream(f, &stream, e) < 0)
		return -1;
	*ret_stream = stream;
	*ret_bytes = f->payload + 1;
	*ret_len = f->payload_len - 1;
	return 0;
}

int rpc_payload_credit(const struct rpc_frame *f, enum rpc_stream *ret_stream,
		       uint32_t *ret_credit, struct err *e)
{
	enum rpc_stream stream = RPC_STDIN;

	if (f->type != RPC_CREDIT || f->payload_len != CREDIT_LEN)
		return err_set(e, ERR_PROTOCOL,
			       "type %u with %zu bytes is not a CREDIT",
			       f->type, f->payload_len);
	if (get_stream(f, &stream, e) < 0)
		return -1;
	*ret_stream = stream;
	*ret_credit = get_u32(f->payload + 1);
	return 0;
}

/* Room for the whole frame with its head filled in, or NULL. The caller fills
 * the payload in and commits *ret_len bytes: a frame is never there in part. */
static uint8_t *begin(struct buf *out, enum rpc_type type, uint32_t call,
		      size_t payload_len, size_t *ret_len, struct err *e)
{
	uint32_t be_len, be_call = htobe32(call);
	uint8_t *p;

	if (payload_len > LIMIT_RPC_FRAME_LEN - HEAD_LEN) {
		err_set(e, ERR_LIMIT,
			"a message of %zu bytes does not fit a frame of %d",
			payload_len, LIMIT_RPC_FRAME_LEN);
		return NULL;
	}
	*ret_len = LENGTH_LEN + HEAD_LEN + payload_len;
	p = (uint8_t *)buf_reserve(out, *ret_len, e);
	if (!p)
		return NULL;
	be_len = htobe32((uint32_t)(HEAD_LEN + payload_len));
	memcpy(p, &be_len, sizeof(be_len));
	p[LENGTH_LEN] = (uint8_t)type;
	memcpy(p + LENGTH_LEN + 1, &be_call, sizeof(be_call));
	return p + LENGTH_LEN + HEAD_LEN;
}

int rpc_encode_json(struct buf *out, enum rpc_type type, uint32_t call,
		    const json_t *payload, struct err *e)
{
	autofree char *text = NULL;
	size_t frame_len, len;
	uint8_t *p;

	if (!json_is_object(payload))
		return err_set(e, ERR_INTERNAL,
			       "the payload of a frame of type %u is no object",
			       type);
	text = json_print(payload);
	len = strlen(text);
	p = begin(out, type, call, len, &frame_len, e);
	if (!p)
		return -1;
	memcpy(p, text, len);
	buf_commit(out, frame_len);
	return 0;
}

int rpc_encode_data(struct buf *out, uint32_t call, enum rpc_stream stream,
		    const void *p, size_t len, struct err *e)
{
	size_t frame_len;
	uint8_t *to = begin(out, RPC_DATA, call, 1 + len, &frame_len, e);

	if (!to)
		return -1;
	to[0] = (uint8_t)stream;
	if (len > 0)
		memcpy(to + 1, p, len);
	buf_commit(out, frame_len);
	return 0;
}

int rpc_encode_credit(struct buf *out, uint32_t call, enum rpc_stream stream,
		      uint32_t credit, struct err *e)
{
	uint32_t be = htobe32(credit);
	size_t frame_len;
	uint8_t *to = begin(out, RPC_CREDIT, call, CREDIT_LEN, &frame_len, e);

	if (!to)
		return -1;
	to[0] = (uint8_t)stream;
	memcpy(to + 1, &be, sizeof(be));
	buf_commit(out, frame_len);
	return 0;
}
