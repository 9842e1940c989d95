/*
 * rpc.h - frames between our programs: encoding, decoding, no I/O policy
 *
 * Shapes:  a frame is u32 length (of what follows), u8 type, u32 call id,
 *          payload. Payloads are JSON objects, but for DATA (u8 stream, bytes;
 *          no bytes = end of stream) and CREDIT (u8 stream, u32 bytes).
 *          Call id 0 is the connection itself (HELLO, fatal ERROR).
 * Units:   integers are big endian; lengths in bytes, at most
 *          LIMIT_RPC_FRAME_LEN.
 * Errors:  ERR_PROTOCOL for a malformed frame, ERR_LIMIT for a large one.
 * Threads: no shared state.
 * Source:  docs/FORMATS.md.
 */
#ifndef BASE_RPC_H
#define BASE_RPC_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

#include <stdint.h>

#define RPC_VERSION 1

enum rpc_type {
	RPC_HELLO = 1, /* both ways, first: version, client, scope / version */
	RPC_CALL,      /* c→s {op, args, opts} */
	RPC_PROGRESS,  /* s→c {done, total?, text, job?} */
	RPC_DATA,      /* both: stream bytes */
	RPC_CREDIT,    /* both: reader allows so many more bytes */
	RPC_CONFIRM,   /* s→c {question}: a person must answer */
	RPC_ANSWER,    /* c→s {yes, how} */
	RPC_RESULT,    /* s→c the call's result; ends the call */
	RPC_ERROR,     /* s→c {code, message}; ends the call */
	RPC_CANCEL,    /* c→s {}: stop and undo */
	RPC_TYPE_END,
};

/* Streams of a call, numbered as a process's fds where that fits. */
enum rpc_stream {
	RPC_STDIN = 0,	/* c→s */
	RPC_STDOUT = 1, /* s→c */
	RPC_STDERR = 2, /* s→c */
	RPC_IMAGE = 3,	/* s→c, an image that belongs to the result */
	RPC_TREE_UP = 4,   /* c→s, records of ops/treewire.h */
	RPC_TREE_DOWN = 5, /* s→c */
	RPC_STREAM_COUNT,
};

struct rpc_frame {
	enum rpc_type type;
	uint32_t call;
	const uint8_t *payload; /* borrowed from the input */
	size_t payload_len;
};

/*
 * Look for one whole frame at the start of [p, p+len): 1 and *ret_frame with
 * *ret_used bytes, 0 when more bytes are needed, -1 when it is malformed.
 */
int rpc_decode(const uint8_t *p, size_t len, struct rpc_frame *ret_frame,
	       size_t *ret_used, struct err *e)
	__attribute__((warn_unused_result));
/* The payload as a JSON object (new reference), or NULL. */
json_t *rpc_payload_json(const struct rpc_frame *f, struct err *e)
	__attribute__((warn_unused_result));
int rpc_payload_data(const struct rpc_frame *f, enum rpc_stream *ret_stream,
		     const uint8_t **ret_bytes, size_t *ret_len,
		     struct err *e) __attribute__((warn_unused_result));
int rpc_payload_credit(const struct rpc_frame *f, enum rpc_stream *ret_stream,
		       uint32_t *ret_credit, struct err *e)
	__attribute__((warn_unused_result));

/* Append a frame; out's cap bounds what a slow peer may make us hold. A NULL
 * payload (json_pack() was given text that is no UTF-8) is ERR_INTERNAL. */
int rpc_encode_json(struct buf *out, enum rpc_type type, uint32_t call,
		    const json_t *payload, struct err *e)
	__attribute__((warn_unused_result));
int rpc_encode_data(struct buf *out, uint32_t call, enum rpc_stream stream,
		    const void *p, size_t len, struct err *e)
	__attribute__((warn_unused_result));
int rpc_encode_credit(struct buf *out, uint32_t call, enum rpc_stream stream,
		      uint32_t credit, struct err *e)
	__attribute__((warn_unused_result));

#endif
