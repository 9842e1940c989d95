#include "base/secret.h"

#include "base/alloc.h"
#include "base/log.h"

#include <openssl/crypto.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * The bytes have pages of their own: mlock(2) and MADV_DONTDUMP work on whole
 * pages, and unlocking a page must not unlock a neighbour's secret.
 */
struct secret {
	void *map;
	size_t map_len;
	size_t len;
};

struct secret *secret_new(size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct secret *s = ALLOC_NEW(struct secret);

	s->len = len;
	if (len > PTRDIFF_MAX - page)
		alloc_fail("the size of a secret overflows");
	s->map_len = (len / page + 1) * page;
	s->map = mmap(NULL, s->map_len, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->map == MAP_FAILED)
		alloc_fail("no memory for a secret");
	if (mlock(s->map, s->map_len) < 0)
		log_debug("a secret could not be locked in memory: %m");
	if (madvise(s->map, s->map_len, MADV_DONTDUMP) < 0)
		log_debug("a secret could not be kept out of core dumps: %m");
	return s;
}

struct secret *secret_copy(const void *p, size_t len)
{
	struct secret *s = secret_new(len);

	if (len > 0)
		memcpy(s->map, p, len);
	return s;
}

void secret_free(struct secret *s)
{
	if (!s)
		return;
	secret_wipe(s->map, s->map_len);
	munmap(s->map, s->map_len);
	free(s);
}

void *secret_bytes(struct secret *s)
{
	return s->map;
}

const void *secret_const_bytes(const struct secret *s)
{
	return s->map;
}

size_t secret_len(const struct secret *s)
{
	return s->len;
}

bool secret_equal(const struct secret *a, const struct secret *b)
{
	return a->len == b->len && CRYPTO_memcmp(a->map, b->map, a->len) == 0;
}

void secret_wipe(void *p, size_t len)
{
	OPENSSL_cleanse(p, len);
}
