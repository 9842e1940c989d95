/* What a guest may say to an ssh agent: list, and sign. */
#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/crypto.h"
#include "vmctl/agentproto.h"

#include <string.h>

#define MESSAGE(bytes) (const uint8_t *)(bytes), sizeof(bytes) - 1

static void framed(void **state)
{
	static const struct {
		const char *bytes;
		size_t len, want;
		bool broken;
	} cases[] = {
		{"", 0, 0, false},
		{"\0\0\0", 3, 0, false},
		{"\0\0\0\1", 4, 0, false},
		{"\0\0\0\1\x0b", 5, 5, false},
		{"\0\0\0\1\x0b\0\0", 7, 5, false},
		{"\0\0\0\0", 4, 0, true},
		{"\0\4\0\0", 4, 0, true},
		{"\xff\xff\xff\xff", 4, 0, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct err e = {0};
		size_t len = 99;
		int rc = agentproto_frame((const uint8_t *)cases[i].bytes,
					  cases[i].len, &len, &e);

		assert_int_equal(rc, cases[i].broken ? -1 : 0);
		if (rc == 0)
			assert_int_equal(len, cases[i].want);
	}
}

static void requests(void **state)
{
	static const char sign[] = "\0\0\0\x14\x0d"
				   "\0\0\0\3key"
				   "\0\0\0\4data"
				   "\0\0\0\0";
	struct agentproto_request r;
	struct err e = {0};

	(void)state;
	assert_ok(agentproto_parse(MESSAGE("\0\0\0\1\x0b"), &r, &e), &e);
	assert_int_equal(r.what, AGENTPROTO_LIST);
	assert_ok(agentproto_parse(MESSAGE(sign), &r, &e), &e);
	assert_int_equal(r.what, AGENTPROTO_SIGN);
	assert_int_equal(r.key_len, 3);
	assert_memory_equal(r.key, "key", 3);
	/* adding, removing, locking, extensions, and what is not yet */
	for (unsigned type = 0; type < 256; type++) {
		uint8_t m[] = {0, 0, 0, 1, (uint8_t)type};

		if (type == 11 || type == 13)
			continue;
		assert_ok(agentproto_parse(m, sizeof(m), &r, &e), &e);
		assert_int_equal(r.what, AGENTPROTO_OTHER);
	}
	/* each cut, and what is left over */
	for (size_t len = 5; len < sizeof(sign) - 1; len++)
		assert_int_equal(agentproto_parse((const uint8_t *)sign, len,
						  &r, &e),
				 -1);
	assert_int_equal(agentproto_parse((const uint8_t *)sign, sizeof(sign),
					  &r, &e),
			 -1);
	assert_int_equal(agentproto_parse(MESSAGE("\0\0\0\2\x0b!"), &r, &e),
			 -1);
}

static void keys(void **state)
{
	autofree char *one = crypto_base64("one", 3);
	autofree char *text = alloc_printf(
		"# %s\nssh-ed25519 AAAA a\nssh-ed25519 %s me@here\r\n"
		"ssh-rsa %sX\n%s",
		one, one, one, one);
	autofree char *last = alloc_printf("ssh-ed25519 %s", one);
	autofree char *remark = alloc_printf("# x %s\n", one);

	(void)state;
	assert_true(agentproto_allows(NULL, (const uint8_t *)"any", 3));
	assert_false(agentproto_allows("", (const uint8_t *)"one", 3));
	assert_true(agentproto_allows(text, (const uint8_t *)"one", 3));
	assert_true(agentproto_allows(last, (const uint8_t *)"one", 3));
	assert_false(agentproto_allows(text, (const uint8_t *)"on", 2));
	assert_false(agentproto_allows(text, (const uint8_t *)"two", 3));
	assert_false(agentproto_allows(remark, (const uint8_t *)"one", 3));
}

static void listed(void **state)
{
	static const char answer[] = "\0\0\0\x1d\x0c"
				     "\0\0\0\2"
				     "\0\0\0\3one\0\0\0\1a"
				     "\0\0\0\3two\0\0\0\1b";
	static const char without[] = "\0\0\0\x11\x0c"
				      "\0\0\0\1"
				      "\0\0\0\3two\0\0\0\1b";
	autofree char *two = crypto_base64("two", 3);
	autofree char *text = alloc_printf("ssh-ed25519 %s b\n", two);
	struct err e = {0};
	struct buf out;

	(void)state;
	buf_init(&out, AGENTPROTO_LEN);
	assert_ok(agentproto_filter(MESSAGE(answer), NULL, &out, &e), &e);
	assert_int_equal(out.len, sizeof(answer) - 1);
	assert_memory_equal(out.data, answer, out.len);
	buf_reset(&out);
	assert_ok(agentproto_filter(MESSAGE(answer), text, &out, &e), &e);
	assert_int_equal(out.len, sizeof(without) - 1);
	assert_memory_equal(out.data, without, out.len);
	buf_reset(&out);
	/* an agent that refuses, and one that lies */
	assert_ok(agentproto_filter(MESSAGE("\0\0\0\1\x05"), text, &out, &e),
		  &e);
	assert_memory_equal(out.data, "\0\0\0\1\x05", 5);
	assert_int_equal(agentproto_filter(MESSAGE("\0\0\0\5\x0c\xff\xff\xff"
						   "\xff"),
					   text, &out, &e),
			 -1);
	buf_finish(&out);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(framed),
	cmocka_unit_test(requests),
	cmocka_unit_test(keys),
	cmocka_unit_test(listed),
};

UNIT_MAIN(tests)
