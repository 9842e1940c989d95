/*
 * secret.h - bytes that must not be seen
 *
 * Shapes:  struct secret is opaque; its pages are mlocked and left out of
 *          dumps, and are wiped on free. There is no way to print one.
 * Errors:  a failing mlock (RLIMIT_MEMLOCK) is logged at debug and accepted.
 * Threads: one owner at a time.
 */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>

struct secret;

struct secret *secret_new(size_t len) __attribute__((returns_nonnull));
struct secret *secret_copy(const void *p, size_t len)
	__attribute__((returns_nonnull));
void secret_free(struct secret *s);
void *secret_bytes(struct secret *s);
const void *secret_const_bytes(const struct secret *s);
size_t secret_len(const struct secret *s);
bool secret_equal(const struct secret *a, const struct secret *b);
void secret_wipe(void *p, size_t len); /* for buffers that held one */

CLEANUP_DEFINE(secret, struct secret, secret_free)
#define auto_secret __attribute__((cleanup(cleanup_secret_)))

#endif
