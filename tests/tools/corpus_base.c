/*
 * Writes the seed corpora of fuzz_rpc and fuzz_json with our own encoders:
 *
 *	make tools && build/release/tools/corpus_base tests/fuzz/corpus
 *
 * Run it when the formats change, and commit what it wrote.
 */
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/rpc.h"

#include <stdio.h>
#include <string.h>

static const char *root;

static int save(const char *kind, const char *name, const struct buf *b)
{
	autofree char *dir = path_join(root, kind);
	autofree char *path = path_join(dir, name);
	struct err e = {0};

	if (path_make_dirs(dir, 0755, &e) < 0 ||
	    path_write_file(path, b->data, b->len, 0644, &e) < 0) {
		fprintf(stderr, "%s\n", err_msg(&e));
		return -1;
	}
	return 0;
}

static const struct {
	const char *name;
	enum rpc_type type;
	uint32_t call;
	const char *json;
} messages[] = {
	{"hello", RPC_HELLO, 0,
	 "{\"version\":1,\"client\":\"cli\",\"scope\":{\"vms\":[\"demo\"]}}"},
	{"call", RPC_CALL, 1,
	 "{\"op\":\"vm_run\",\"args\":{\"vm\":\"demo\",\"command\":\"true\"},"
	 "\"opts\":{}}"},
	{"progress", RPC_PROGRESS, 1,
	 "{\"done\":10,\"total\":100,\"text\":\"copying a.txt\"}"},
	{"confirm", RPC_CONFIRM, 1, "{\"question\":\"Remove demo?\"}"},
	{"answer", RPC_ANSWER, 1, "{\"yes\":true,\"how\":\"tty\"}"},
	{"result", RPC_RESULT, 4294967295u, "{\"exit\":0,\"text\":\"\xc3\xb6\"}"},
	{"error", RPC_ERROR, 0,
	 "{\"code\":\"protocol\",\"message\":\"speaks another version\"}"},
	{"cancel", RPC_CANCEL, 2, "{}"},
};

static int encode_message(struct buf *b, size_t i, struct err *e)
{
	auto_json json_t *v =
		json_parse(messages[i].json, strlen(messages[i].json), e);

	return v ? rpc_encode_json(b, messages[i].type, messages[i].call, v, e)
		 : -1;
}

static int write_rpc(struct err *e)
{
	static const char bytes[300] = "bytes of a stream";
	struct buf one, all;
	int rc = 0;

	buf_init(&one, LIMIT_RPC_FRAME_LEN);
	buf_init(&all, LIMIT_RPC_FRAME_LEN);
	for (size_t i = 0; rc == 0 && i < ARRAY_COUNT(messages); i++) {
		buf_reset(&one);
		rc = encode_message(&one, i, e);
		if (rc == 0)
			rc = save("rpc", messages[i].name, &one);
		if (rc == 0)
			rc = buf_add(&all, one.data, one.len, e);
	}
	for (unsigned s = 0; rc == 0 && s < RPC_STREAM_COUNT; s++) {
		enum rpc_stream stream = (enum rpc_stream)s;

		rc = rpc_encode_data(&all, 1, stream, bytes, s * 50, e);
		if (rc == 0)
			rc = rpc_encode_credit(&all, 1, stream, 1u << s * 5, e);
	}
	if (rc == 0)
		rc = save("rpc", "conversation", &all);
	buf_finish(&one);
	buf_finish(&all);
	return rc;
}

static int write_json(struct err *e)
{
	struct buf b;
	int rc = 0;

	buf_init(&b, 4096);
	for (size_t i = 0; rc == 0 && i < ARRAY_COUNT(messages); i++) {
		auto_json json_t *v = json_parse(messages[i].json,
						 strlen(messages[i].json), e);
		autofree char *text = v ? json_print(v) : alloc_str("");

		buf_reset(&b);
		rc = buf_add_str(&b, text, e);
		if (rc == 0)
			rc = save("json", messages[i].name, &b);
	}
	buf_reset(&b);
	if (rc == 0) {
		/* what a guest's output may look like */
		auto_json json_t *v =
			json_lossy("a\0b \xff \xed\xa0\x80 \xe7\xae\xb1 \033[m",
				   19);
		autofree char *text = json_print(v);

		rc = buf_add_str(&b, text, e);
	}
	if (rc == 0)
		rc = save("json", "lossy", &b);
	buf_finish(&b);
	return rc;
}

int main(int argc, char *argv[])
{
	struct err e = {0};

	if (argc != 2) {
		fprintf(stderr, "usage: corpus_base FOLDER\n");
		return 2;
	}
	root = argv[1];
	if (write_rpc(&e) < 0 || write_json(&e) < 0) {
		fprintf(stderr, "%s\n", err_msg(&e));
		return 1;
	}
	return 0;
}
