#include "ops/treewire.h"

#include "tests/support/unit.h"

#include <string.h>

static struct treewire_str str(const char *s)
{
	return treewire_str(s, strlen(s));
}

static void assert_str(struct treewire_str got, struct treewire_str want)
{
	assert_int_equal(got.len, want.len);
	if (want.len > 0)
		assert_memory_equal(got.p, want.p, want.len);
}

static void assert_same(const struct treewire_record *a,
			const struct treewire_record *b)
{
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->version, b->version);
	assert_int_equal(a->index, b->index);
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->offset, b->offset);
	assert_int_equal(a->code, b->code);
	assert_str(a->name, b->name);
	assert_str(a->bytes, b->bytes);
	assert_str(a->text, b->text);
	assert_int_equal(a->entry.type, b->entry.type);
	assert_int_equal(a->entry.mode, b->entry.mode);
	assert_int_equal(a->entry.mtime_s, b->entry.mtime_s);
	assert_int_equal(a->entry.mtime_ns, b->entry.mtime_ns);
	assert_int_equal(a->entry.len, b->entry.len);
	assert_str(a->entry.path, b->entry.path);
	assert_str(a->entry.target, b->entry.target);
	assert_memory_equal(&a->result, &b->result, sizeof(a->result));
}

static const char binary[] = "a\0b\xff\n";

/* One of each type, with extremes. */
static const struct treewire_record samples[] = {
	{.type = TREE_HEAD, .version = 1, .name = {"", 0}},
	{.type = TREE_HEAD, .version = 255, .name = {"n\n", 2}},
	{.type = TREE_ENTRY,
	 .entry = {.type = 'd', .mode = 0755, .mtime_s = -1, .path = {"", 0}}},
	{.type = TREE_ENTRY,
	 .entry = {.type = 'f',
		   .mode = 0,
		   .mtime_s = INT64_MAX,
		   .mtime_ns = 999999999,
		   .len = UINT64_MAX,
		   .path = {"a/b", 3}}},
	{.type = TREE_ENTRY,
	 .entry = {.type = 'l',
		   .mode = 0777,
		   .mtime_s = INT64_MIN,
		   .path = {binary, sizeof(binary)},
		   .target = {"/etc", 4}}},
	{.type = TREE_WARN, .text = {"left out", 8}},
	{.type = TREE_TROUBLE, .code = ERR_DENIED, .text = {"no", 2}},
	{.type = TREE_MANIFEST_END, .count = UINT32_MAX},
	{.type = TREE_WANT, .index = 7, .offset = UINT64_MAX},
	{.type = TREE_WANT_END, .count = 0},
	{.type = TREE_FILE, .index = UINT32_MAX, .offset = 1},
	{.type = TREE_DATA, .bytes = {binary, sizeof(binary)}},
	{.type = TREE_DATA, .bytes = {"", 0}},
	{.type = TREE_FILE_END},
	{.type = TREE_CONFIRM},
	{.type = TREE_DROP},
	{.type = TREE_DONE},
	{.type = TREE_RESULT, .result = {1, 2, 3, 4, 5, UINT64_MAX}},
	{.type = TREE_RESULT, .code = ERR_STATE, .text = {"shrank", 6}},
	{.type = TREE_FAIL, .code = ERR_NOSPACE, .text = {"full", 4}},
};

static void round_trip(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(samples); i++) {
		struct err e = {0};
		struct treewire_record got;
		struct buf b;
		size_t used;

		buf_init(&b, TREEWIRE_RECORD_LEN);
		assert_ok(treewire_encode(&b, &samples[i], &e), &e);
		/* every prefix is incomplete, none is an error */
		for (size_t n = 0; n < b.len; n++)
			assert_int_equal(treewire_decode(b.data, n, &got,
							 &used, &e),
					 0);
		assert_int_equal(
			treewire_decode(b.data, b.len, &got, &used, &e), 1);
		assert_int_equal(used, b.len);
		assert_same(&got, &samples[i]);
		buf_finish(&b);
	}
}

static void malformed(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		enum err_code code;
	} rows[] = {
#define ROW(s, code) {s, sizeof(s) - 1, code}
		ROW("\0\0\0\0\x01", ERR_PROTOCOL),	   /* empty */
		ROW("\0\0\0\x01\0", ERR_PROTOCOL),	   /* type 0 */
		ROW("\0\0\0\x01\x0f", ERR_PROTOCOL),	   /* past the last */
		ROW("\0\0\0\x01\xff", ERR_PROTOCOL),
		ROW("\xff\xff\xff\xff\x0a", ERR_LIMIT),
		ROW("\0\x04\0\x3d\x0a", ERR_LIMIT),
		ROW("\0\0\0\x02\x0b!", ERR_PROTOCOL),	   /* FILE_END + 1 */
		ROW("\0\0\0\x04\x05\0\0\0", ERR_PROTOCOL), /* count cut */
		ROW("\0\0\0\x06\x05\0\0\0\0!", ERR_PROTOCOL),
		ROW("\0\0\0\x05\x01\x01\0\x05n", ERR_PROTOCOL), /* name cut */
		ROW("\0\0\0\x02\x04\0", ERR_PROTOCOL),	   /* no failure */
		ROW("\0\0\0\x02\x0f\x7f", ERR_PROTOCOL),
#define ENTRY(type, mode, ns, len, target)                                     \
	"\0\0\0\x1e\x02" type mode "\0\0\0\0\0\0\0\0" ns "\0\0\0\0\0\0\0" len  \
	"\0\x01p" target
		ROW(ENTRY("b", "\0\0", "\0\0\0\0", "\0", "\0\x01t"),
		    ERR_PROTOCOL), /* a block device */
		ROW(ENTRY("l", "\x0a\0", "\0\0\0\0", "\0", "\0\x01t"),
		    ERR_PROTOCOL), /* setuid */
		ROW(ENTRY("l", "\0\0", "\x3b\x9a\xca\0", "\0", "\0\x01t"),
		    ERR_PROTOCOL), /* 10^9 ns */
		ROW(ENTRY("l", "\0\0", "\0\0\0\0", "\x01", "\0\x01t"),
		    ERR_PROTOCOL), /* a link with bytes */
		ROW(ENTRY("f", "\0\0", "\0\0\0\0", "\x01", "\0\x01t"),
		    ERR_PROTOCOL), /* a file with a target */
		ROW(ENTRY("l", "\0\0", "\0\0\0\0", "\0", "\0\0!"),
		    ERR_PROTOCOL), /* a link without one */
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		struct err e = {0};
		struct treewire_record got;
		size_t used;

		assert_fails(treewire_decode(rows[i].bytes, rows[i].len, &got,
					     &used, &e),
			     &e, rows[i].code, "copy: ");
	}
}

struct seen {
	unsigned at;
	int fail_at;
};

static int see(const struct treewire_record *r, void *ctx, struct err *e)
{
	struct seen *s = ctx;

	if ((int)s->at == s->fail_at)
		return err_set(e, ERR_STATE, "stop");
	assert_same(r, &samples[s->at++]);
	return 0;
}

/* Records arrive whole whatever the pieces. */
static void pieces(void **state)
{
	struct err e = {0};
	struct buf all, in;

	(void)state;
	buf_init(&all, SIZE_MAX);
	buf_init(&in, TREEWIRE_RECORD_LEN);
	for (unsigned i = 0; i < ARRAY_COUNT(samples); i++)
		assert_ok(treewire_encode(&all, &samples[i], &e), &e);
	for (size_t piece = 1; piece <= all.len; piece++) {
		struct seen s = {.fail_at = -1};

		for (size_t at = 0; at < all.len; at += piece) {
			size_t n = all.len - at < piece ? all.len - at : piece;

			assert_ok(treewire_feed(&in, all.data + at, n, see, &s,
						&e),
				  &e);
		}
		assert_int_equal(s.at, ARRAY_COUNT(samples));
		assert_int_equal(in.len, 0);
	}
	struct seen s = {.fail_at = 3};
	assert_fails(treewire_feed(&in, all.data, all.len, see, &s, &e), &e,
		     ERR_STATE, "stop");
	buf_finish(&all);
	buf_finish(&in);
}

static void caps(void **state)
{
	static char big[TREEWIRE_DATA_LEN + 64];
	struct treewire_record r = {.type = TREE_DATA};
	struct treewire_record got;
	struct err e = {0}, told = {0};
	struct buf b;
	size_t used;

	(void)state;
	buf_init(&b, SIZE_MAX);
	r.bytes = treewire_str(big, TREEWIRE_DATA_LEN);
	assert_ok(treewire_encode(&b, &r, &e), &e);
	assert_int_equal(treewire_decode(b.data, b.len, &got, &used, &e), 1);
	buf_reset(&b);
	r.bytes.len = sizeof(big);
	assert_fails(treewire_encode(&b, &r, &e), &e, ERR_LIMIT, "record");
	assert_int_equal(b.len, 0);

	/* texts are cut, failures keep their code */
	memset(big, 'x', sizeof(big));
	r = (struct treewire_record){.type = TREE_FAIL,
				     .code = ERR_NOSPACE,
				     .text = {big, sizeof(big)}};
	assert_ok(treewire_encode(&b, &r, &e), &e);
	assert_int_equal(treewire_decode(b.data, b.len, &got, &used, &e), 1);
	assert_int_equal(got.text.len, 500);
	assert_int_equal(treewire_to_err(&got, &told), -1);
	assert_int_equal(told.code, ERR_NOSPACE);

	told = (struct err){0};
	err_set(&told, ERR_DENIED, "not yours");
	r = treewire_failure(TREE_TROUBLE, &told);
	assert_int_equal(r.code, ERR_DENIED);
	assert_str(r.text, str("not yours"));
	buf_finish(&b);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(round_trip),
	cmocka_unit_test(malformed),
	cmocka_unit_test(pieces),
	cmocka_unit_test(caps),
};

UNIT_MAIN(tests)
