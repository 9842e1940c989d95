#include "base/crypto.h"

#include "base/alloc.h"
#include "base/path.h"
#include "base/proc.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static void hex_of(const uint8_t *p, char ret[65])
{
	for (int i = 0; i < 32; i++)
		snprintf(ret + 2 * i, 3, "%02x", p[i]);
}

/* FIPS 180-2 appendix B and the empty message */
static void sha256_known_answers(void **state)
{
	static const struct {
		const char *in, *want;
	} rows[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb924"
		     "27ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223"
			"b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		 "248d6a61d20638b8e5c026930c3e6039"
		 "a33ce45964ff2167f6ecedd419db06c1"},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		char hex[CRYPTO_SHA256_HEX_SIZE];
		struct err e = {0};

		assert_ok(crypto_sha256_hex(rows[i].in, strlen(rows[i].in), hex,
					    &e),
			  &e);
		assert_string_equal(hex, rows[i].want);
	}
}

/* RFC 4231, cases 2 and 6 (a key longer than a block) */
static void hmac_known_answers(void **state)
{
	static char long_key[131];
	static const struct {
		const char *key;
		size_t key_len;
		const char *in, *want;
	} rows[] = {
		{"Jefe", 4, "what do ya want for nothing?",
		 "5bdcc146bf60754e6a042426089575c7"
		 "5a003f089d2739839dec58b964ec3843"},
		{long_key, sizeof(long_key),
		 "Test Using Larger Than Block-Size Key - Hash Key First",
		 "60e431591ee0b67f0d8a26aacbf5b77f"
		 "8e0bc6213728c5140546040f0ee37f54"},
	};

	(void)state;
	memset(long_key, 0xaa, sizeof(long_key));
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		auto_secret struct secret *key =
			secret_copy(rows[i].key, rows[i].key_len);
		uint8_t mac[CRYPTO_SHA256_LEN];
		struct err e = {0};
		char hex[65];

		assert_ok(crypto_hmac_sha256(key, rows[i].in,
					     strlen(rows[i].in), mac, &e),
			  &e);
		hex_of(mac, hex);
		assert_string_equal(hex, rows[i].want);
	}
}

/* RFC 4648 section 10 */
static void base64_known_answers(void **state)
{
	static const char *const rows[][2] = {
		{"", ""},	      {"f", "Zg=="},	  {"fo", "Zm8="},
		{"foo", "Zm9v"},      {"foob", "Zm9vYg=="},
		{"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		autofree char *text =
			crypto_base64(rows[i][0], strlen(rows[i][0]));

		uint8_t bytes[8];
		size_t len;
		struct err e = {0};

		assert_string_equal(text, rows[i][1]);
		assert_ok(crypto_base64_decode(text, strlen(text), bytes,
					       sizeof(bytes), &len, &e),
			  &e);
		assert_int_equal(len, strlen(rows[i][0]));
		assert_memory_equal(bytes, rows[i][0], len);
	}
}

/* One text for one run of bytes, and nothing around it. */
static void base64_is_strict(void **state)
{
	static const char *const bad[] = {
		"Z",	"Zg",	 "Zg=",	     "Zg==\n", " Zg==", "Zg==Zg==",
		"====", "Z===",	 "Zm9=",     "Zh==",   "Zm9v\n", "Zm9v Zm9v",
		"Zm-v", "Zg==A", "\xc3\xb6vA",
	};
	struct err e = {0};
	uint8_t bytes[4];
	size_t len;

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
		if (crypto_base64_decode(bad[i], strlen(bad[i]), bytes,
					 sizeof(bytes), &len, NULL) == 0)
			fail_msg("taken: \"%s\"", bad[i]);
	}
	assert_fails(crypto_base64_decode("Zm9vYmE=", 8, bytes, sizeof(bytes),
					  &len, &e),
		     &e, ERR_LIMIT, "4 bytes");
}

static void equal(void **state)
{
	(void)state;
	assert_true(crypto_equal("abc", "abc", 3));
	assert_true(crypto_equal("abc", "abd", 2));
	assert_false(crypto_equal("abc", "abd", 3));
}

static void random_names(void **state)
{
	char a[21], b[21];
	struct err e = {0};
	bool seen[256] = {0};
	int kinds = 0;

	(void)state;
	for (int i = 0; i < 100; i++) {
		assert_ok(crypto_random_name(a, 20, &e), &e);
		assert_ok(crypto_random_name(b, 20, &e), &e);
		assert_string_not_equal(a, b);
		assert_int_equal(strlen(a), 20);
		assert_int_equal(strspn(a, "abcdefghijklmnopqrstuvwxyz"
					   "0123456789"),
				 20);
		for (int j = 0; j < 20; j++)
			seen[(unsigned char)a[j]] = true;
	}
	for (int i = 0; i < 256; i++)
		kinds += seen[i];
	assert_int_equal(kinds, 36);
}

static char *ssh_keygen(const char *const *argv, const char *in)
{
	struct err e = {0};
	struct buf out;
	struct proc_run r = {.in = in,
			     .in_len = in ? strlen(in) : 0,
			     .out = &out,
			     .cancel_fd = -1};
	char *text;

	buf_init(&out, 65536);
	assert_ok(proc_run(argv, &r, deadline_in_ms(30000), &e), &e);
	text = buf_take(&out);
	buf_finish(&out);
	return text;
}

/* OpenSSH itself reads the key, with every padding there is. D08 */
static void ed25519_is_an_openssh_key(void **state)
{
	static const char *const comments[] = {
		"", "a", "ab", "abc", "abcd", "abcde", "abcdef", "abcdefg",
		"boxery demo, zwölf",
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(comments); i++) {
		autofree char *name = alloc_printf("key%u", i);
		const char *path = unit_path(name);
		const char *argv[] = {"ssh-keygen", "-y", "-P",
				      "",	    "-f", path, NULL};
		auto_secret struct secret *key = NULL;
		autofree char *pub = NULL;
		struct err e = {0};

		assert_ok(crypto_ed25519_new(comments[i], &key, &pub, &e), &e);
		assert_ok(path_write_file(path, secret_bytes(key),
					  secret_len(key), 0600, &e),
			  &e);
		autofree char *said = ssh_keygen(argv, NULL);
		assert_int_equal(said[strlen(said) - 1], '\n');
		said[strlen(said) - 1] = '\0';
		assert_string_equal(said, pub);
	}
}

/* The two halves belong together: what one signs the other verifies. */
static void ed25519_signs(void **state)
{
	const char *path = unit_path("key");
	const char *allowed = unit_path("allowed");
	const char *signature = unit_path("signature");
	const char *sign[] = {"ssh-keygen", "-Y", "sign", "-f",
			      path,	    "-n", "test", NULL};
	const char *verify[] = {"ssh-keygen", "-Y", "verify",  "-f",
				allowed,      "-I", "me",      "-n",
				"test",	      "-s", signature, NULL};
	auto_secret struct secret *key = NULL;
	autofree char *pub = NULL;
	struct err e = {0};

	(void)state;
	assert_ok(crypto_ed25519_new("me", &key, &pub, &e), &e);
	assert_ok(path_write_file(path, secret_bytes(key), secret_len(key),
				  0600, &e),
		  &e);
	autofree char *line = alloc_printf("me %s\n", pub);
	assert_ok(path_write_file(allowed, line, strlen(line), 0600, &e), &e);
	autofree char *sig = ssh_keygen(sign, "a message");
	assert_ok(path_write_file(signature, sig, strlen(sig), 0600, &e), &e);
	autofree char *said = ssh_keygen(verify, "a message");
	assert_non_null(strstr(said, "Good"));
}

static void ed25519_keys_differ_and_comments_are_one_line(void **state)
{
	auto_secret struct secret *a = NULL, *b = NULL, *none = NULL;
	autofree char *pub_a = NULL, *pub_b = NULL, *no_pub = NULL;
	char comment[300];
	struct err e = {0};

	(void)state;
	assert_ok(crypto_ed25519_new("x", &a, &pub_a, &e), &e);
	assert_ok(crypto_ed25519_new("x", &b, &pub_b, &e), &e);
	assert_false(secret_equal(a, b));
	assert_string_not_equal(pub_a, pub_b);
	assert_fails(crypto_ed25519_new("x\nssh-rsa AAAA", &none, &no_pub, &e),
		     &e, ERR_INVALID, "one line");
	memset(comment, 'c', sizeof(comment));
	comment[256] = '\0';
	assert_fails(crypto_ed25519_new(comment, &none, &no_pub, &e), &e,
		     ERR_INVALID, "255");
	assert_null(none);
	assert_null(no_pub);
	comment[255] = '\0';
	assert_ok(crypto_ed25519_new(comment, &none, &no_pub, &e), &e);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(sha256_known_answers),
	cmocka_unit_test(hmac_known_answers),
	cmocka_unit_test(base64_known_answers),
	cmocka_unit_test(base64_is_strict),
	cmocka_unit_test(equal),
	cmocka_unit_test(random_names),
	cmocka_unit_test(ed25519_is_an_openssh_key),
	cmocka_unit_test(ed25519_signs),
	cmocka_unit_test(ed25519_keys_differ_and_comments_are_one_line),
};

UNIT_MAIN(tests)
