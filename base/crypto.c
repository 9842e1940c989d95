#include "base/crypto.h"

#include "base/alloc.h"

/* OpenSSL has a type of the name of one of our error codes */
#define ERR_STATE OPENSSL_ERR_STATE

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#undef ERR_STATE

#include <endian.h>
#include <limits.h>
#include <string.h>

#define ED25519_LEN 32
#define KEY_TYPE "ssh-ed25519"
#define KEY_MAGIC "openssh-key-v1" /* its NUL belongs to the format */
#define KEY_BEGIN "-----BEGIN OPENSSH PRIVATE KEY-----\n"
#define KEY_END "-----END OPENSSH PRIVATE KEY-----\n"
#define KEY_LINE_LEN 70
#define KEY_BLOCK_LEN 8 /* of the cipher "none" */
#define COMMENT_LEN 255
/* generous: everything but the comment comes to less than 300 bytes */
#define KEY_BLOB_SIZE (512 + COMMENT_LEN)

static int openssl_failed(struct err *e, const char *what)
{
	char why[128];

	ERR_error_string_n(ERR_get_error(), why, sizeof(why));
	ERR_clear_error();
	return err_set(e, ERR_INTERNAL, "%s: %s", what, why);
}

int crypto_random(void *p, size_t len, struct err *e)
{
	if (len > INT_MAX)
		return err_set(e, ERR_INTERNAL, "%zu random bytes at once",
			       len);
	if (RAND_bytes(p, (int)len) != 1)
		return openssl_failed(e, "making random bytes");
	return 0;
}

int crypto_random_name(char *ret, size_t n, struct err *e)
{
	static const char set[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	const size_t set_len = sizeof(set) - 1;
	autofree char *name = alloc_zero(n + 1);
	size_t at = 0;

	while (at < n) {
		uint8_t c;

		if (crypto_random(&c, 1, e) < 0)
			return -1;
		/* 252 is a multiple of 36: no letter is likelier */
		if (c < 256 / set_len * set_len)
			name[at++] = set[c % set_len];
	}
	memcpy(ret, name, n + 1);
	return 0;
}

int crypto_sha256(const void *p, size_t len,
		  uint8_t ret_digest[CRYPTO_SHA256_LEN], struct err *e)
{
	uint8_t digest[CRYPTO_SHA256_LEN];

	if (EVP_Digest(p, len, digest, NULL, EVP_sha256(), NULL) != 1)
		return openssl_failed(e, "SHA-256");
	memcpy(ret_digest, digest, sizeof(digest));
	return 0;
}

int crypto_sha256_hex(const void *p, size_t len,
		      char ret_hex[CRYPTO_SHA256_HEX_SIZE], struct err *e)
{
	static const char hex[] = "0123456789abcdef";
	uint8_t digest[CRYPTO_SHA256_LEN];

	if (crypto_sha256(p, len, digest, e) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(digest); i++) {
		ret_hex[2 * i] = hex[digest[i] >> 4];
		ret_hex[2 * i + 1] = hex[digest[i] & 15];
	}
	ret_hex[CRYPTO_SHA256_HEX_SIZE - 1] = '\0';
	return 0;
}

int crypto_hmac_sha256(const struct secret *key, const void *p, size_t len,
		       uint8_t ret_mac[CRYPTO_SHA256_LEN], struct err *e)
{
	uint8_t mac[CRYPTO_SHA256_LEN];
	unsigned mac_len = 0;

	if (secret_len(key) > INT_MAX ||
	    !HMAC(EVP_sha256(), secret_const_bytes(key), (int)secret_len(key),
		  p, len, mac, &mac_len) ||
	    mac_len != sizeof(mac))
		return openssl_failed(e, "HMAC-SHA-256");
	memcpy(ret_mac, mac, sizeof(mac));
	return 0;
}

bool crypto_equal(const void *a, const void *b, size_t len)
{
	return CRYPTO_memcmp(a, b, len) == 0;
}

static size_t base64_len(size_t len)
{
	return (len + 2) / 3 * 4;
}

char *crypto_base64(const void *p, size_t len)
{
	char *text;

	if (len > INT_MAX / 2)
		alloc_fail("base64 of more than a gigabyte");
	text = alloc_zero(base64_len(len) + 1);
	EVP_EncodeBlock((unsigned char *)text, p, (int)len);
	return text;
}

/* Of one character; 64 for one that is none of the alphabet. */
static uint32_t base64_value(char c)
{
	static const char set[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(set, c) : NULL;

	return at ? (uint32_t)(at - set) : 64;
}

/* Four characters, at most the last two of them padding, as three bytes. */
static int decode_group(const char *text, unsigned pad, uint8_t ret[3])
{
	uint32_t bits = 0;

	for (unsigned i = 0; i < 4; i++) {
		uint32_t v = i < 4 - pad ? base64_value(text[i]) : 0;

		if (v > 63)
			return -1;
		bits = bits << 6 | v;
	}
	/* another text of the same bytes */
	if (bits & ((1U << 8 * pad) - 1))
		return -1;
	ret[0] = (uint8_t)(bits >> 16);
	ret[1] = (uint8_t)(bits >> 8);
	ret[2] = (uint8_t)bits;
	return 0;
}

int crypto_base64_decode(const char *text, size_t len, uint8_t *ret,
			 size_t size, size_t *ret_len, struct err *e)
{
	unsigned pad = 0;
	size_t at = 0;

	while (pad < 2 && pad < len && text[len - 1 - pad] == '=')
		pad++;
	if (len % 4 != 0)
		return err_set(e, ERR_INVALID, "not base64");
	if (len / 4 * 3 - pad > size)
		return err_set(e, ERR_LIMIT, "more than %zu bytes", size);
	for (size_t i = 0; i < len; i += 4) {
		unsigned missing = i + 4 == len ? pad : 0;
		uint8_t group[3];

		if (decode_group(text + i, missing, group))
			return err_set(e, ERR_INVALID, "not base64");
		memcpy(ret + at, group, 3 - missing);
		at += 3 - missing;
	}
	*ret_len = at;
	return 0;
}

/* -- the OpenSSH key file ---------------------------------------------------- */

/* Writes into a secret of KEY_BLOB_SIZE, which what we put never fills. */
struct writer {
	uint8_t *p;
	size_t len;
};

static void put(struct writer *w, const void *p, size_t len)
{
	if (len > KEY_BLOB_SIZE - w->len)
		alloc_fail("a key is larger than its buffer");
	memcpy(w->p + w->len, p, len);
	w->len += len;
}

static void put_u32(struct writer *w, size_t v)
{
	uint32_t be = htobe32((uint32_t)v);

	put(w, &be, sizeof(be));
}

static void put_string(struct writer *w, const void *p, size_t len)
{
	put_u32(w, len);
	put(w, p, len);
}

static void put_public(struct writer *w, const uint8_t pub[ED25519_LEN])
{
	put_string(w, KEY_TYPE, strlen(KEY_TYPE));
	put_string(w, pub, ED25519_LEN);
}

#define PUBLIC_BLOB_LEN (4 + sizeof(KEY_TYPE) - 1 + 4 + ED25519_LEN)

static int put_private_section(struct writer *w, const uint8_t *seed,
			       const uint8_t *pub, const char *comment,
			       struct err *e)
{
	uint32_t check;
	size_t len_at = w->len;
	size_t len;
	uint32_t be;

	if (crypto_random(&check, sizeof(check), e) < 0)
		return -1;
	put_u32(w, 0); /* the length, below */
	put(w, &check, sizeof(check));
	put(w, &check, sizeof(check));
	put_public(w, pub);
	put_u32(w, 2 * (size_t)ED25519_LEN);
	put(w, seed, ED25519_LEN);
	put(w, pub, ED25519_LEN);
	put_string(w, comment, strlen(comment));
	for (uint8_t pad = 1; (w->len - len_at - 4) % KEY_BLOCK_LEN; pad++)
		put(w, &pad, 1);
	len = w->len - len_at - 4;
	be = htobe32((uint32_t)len);
	memcpy(w->p + len_at, &be, sizeof(be));
	return 0;
}

/* The blob as text, in lines, between its markers. */
static struct secret *armour(const uint8_t *blob, size_t len)
{
	size_t text_len = base64_len(len);
	size_t lines = (text_len + KEY_LINE_LEN - 1) / KEY_LINE_LEN;
	auto_secret struct secret *text = secret_new(text_len + 1);
	struct secret *file = secret_new(strlen(KEY_BEGIN) + text_len + lines +
					 strlen(KEY_END));
	const char *from = secret_bytes(text);
	char *to = secret_bytes(file);

	EVP_EncodeBlock(secret_bytes(text), blob, (int)len);
	to = mempcpy(to, KEY_BEGIN, strlen(KEY_BEGIN));
	while (text_len > 0) {
		size_t n = text_len < KEY_LINE_LEN ? text_len : KEY_LINE_LEN;

		to = mempcpy(to, from, n);
		*to++ = '\n';
		from += n;
		text_len -= n;
	}
	memcpy(to, KEY_END, strlen(KEY_END));
	return file;
}

static struct secret *private_file(const uint8_t *seed, const uint8_t *pub,
				   const char *comment, struct err *e)
{
	auto_secret struct secret *blob = secret_new(KEY_BLOB_SIZE);
	struct writer w = {.p = secret_bytes(blob)};

	put(&w, KEY_MAGIC, sizeof(KEY_MAGIC));
	put_string(&w, "none", 4); /* cipher */
	put_string(&w, "none", 4); /* key derivation */
	put_string(&w, "", 0);	   /* its options */
	put_u32(&w, 1);		   /* keys */
	put_u32(&w, PUBLIC_BLOB_LEN);
	put_public(&w, pub);
	if (put_private_section(&w, seed, pub, comment, e) < 0)
		return NULL;
	return armour(w.p, w.len);
}

static char *public_line(const uint8_t *pub, const char *comment)
{
	uint8_t blob[KEY_BLOB_SIZE];
	struct writer w = {.p = blob};

	put_public(&w, pub);
	autofree char *text = crypto_base64(blob, w.len);
	return alloc_printf(KEY_TYPE " %s%s%s", text, comment[0] ? " " : "",
			    comment);
}

static int generate(uint8_t *ret_seed, uint8_t ret_pub[ED25519_LEN],
		    struct err *e)
{
	EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	size_t seed_len = ED25519_LEN;
	size_t pub_len = ED25519_LEN;
	int ok = key &&
		 EVP_PKEY_get_raw_private_key(key, ret_seed, &seed_len) == 1 &&
		 EVP_PKEY_get_raw_public_key(key, ret_pub, &pub_len) == 1 &&
		 seed_len == ED25519_LEN && pub_len == ED25519_LEN;

	EVP_PKEY_free(key);
	return ok ? 0 : openssl_failed(e, "making an ed25519 key");
}

int crypto_ed25519_new(const char *comment, struct secret **ret_private,
		       char **ret_public, struct err *e)
{
	auto_secret struct secret *seed = secret_new(ED25519_LEN);
	uint8_t pub[ED25519_LEN];
	struct secret *file;

	if (strlen(comment) > COMMENT_LEN)
		return err_set(e, ERR_INVALID,
			       "a key's comment may have %d bytes",
			       COMMENT_LEN);
	for (const char *p = comment; *p; p++) {
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return err_set(e, ERR_INVALID,
				       "a key's comment must be one line");
	}
	if (generate(secret_bytes(seed), pub, e) < 0)
		return -1;
	file = private_file(secret_bytes(seed), pub, comment, e);
	if (!file)
		return -1;
	*ret_private = file;
	*ret_public = public_line(pub, comment);
	return 0;
}
