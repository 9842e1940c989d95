/*
 * crypto.h - the few primitives we need, over OpenSSL
 *
 * Shapes:  digests are CRYPTO_SHA256_LEN bytes; hex is lower case.
 * Errors:  ERR_INTERNAL when OpenSSL fails (it should not).
 * Threads: any.
 * Source:  OpenSSL 3.0 EVP; OpenSSH's PROTOCOL.key for the key file format;
 *          RFC 4253 §6.6 / RFC 8709 for the public key line.
 */
#ifndef BASE_CRYPTO_H
#define BASE_CRYPTO_H

#include "base/err.h"
#include "base/secret.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CRYPTO_SHA256_LEN 32
#define CRYPTO_SHA256_HEX_SIZE 65

int crypto_random(void *p, size_t len, struct err *e)
	__attribute__((warn_unused_result));
/* n characters from [a-z0-9], NUL-terminated into ret (n+1 bytes). */
int crypto_random_name(char *ret, size_t n, struct err *e)
	__attribute__((warn_unused_result));
int crypto_sha256(const void *p, size_t len,
		  uint8_t ret_digest[CRYPTO_SHA256_LEN], struct err *e)
	__attribute__((warn_unused_result));
int crypto_sha256_hex(const void *p, size_t len,
		      char ret_hex[CRYPTO_SHA256_HEX_SIZE], struct err *e)
	__attribute__((warn_unused_result));
int crypto_hmac_sha256(const struct secret *key, const void *p, size_t len,
		       uint8_t ret_mac[CRYPTO_SHA256_LEN], struct err *e)
	__attribute__((warn_unused_result));
bool crypto_equal(const void *a, const void *b, size_t len); /* const time */
char *crypto_base64(const void *p, size_t len); /* free() */
/* Strict: whole groups, padding only at the end, nothing between, no bits left
 * over. ERR_INVALID, or ERR_LIMIT for more than size bytes. */
int crypto_base64_decode(const char *text, size_t len, uint8_t *ret,
			 size_t size, size_t *ret_len, struct err *e)
	__attribute__((warn_unused_result));
/*
 * A fresh ed25519 pair: the private half as an unencrypted OpenSSH key file,
 * the public half as "ssh-ed25519 AAAA… comment" without newline (free()).
 */
int crypto_ed25519_new(const char *comment, struct secret **ret_private,
		       char **ret_public, struct err *e)
	__attribute__((warn_unused_result));

#endif
