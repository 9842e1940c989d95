#include "base/secret.h"

#include "tests/support/unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static void holds_bytes(void **state)
{
	auto_secret struct secret *a = secret_copy("abc\0def", 7);
	auto_secret struct secret *b = secret_new(7);
	auto_secret struct secret *c = secret_copy("abc", 3);
	auto_secret struct secret *none = secret_new(0);
	auto_secret struct secret *big = secret_new(100000);

	(void)state;
	assert_int_equal(secret_len(a), 7);
	assert_memory_equal(secret_bytes(a), "abc\0def", 7);
	assert_ptr_equal(secret_bytes(a), secret_const_bytes(a));
	assert_memory_equal(secret_bytes(b), "\0\0\0\0\0\0\0", 7);
	assert_false(secret_equal(a, b));
	memcpy(secret_bytes(b), "abc\0def", 7);
	assert_true(secret_equal(a, b));
	assert_false(secret_equal(a, c));
	assert_int_equal(secret_len(none), 0);
	assert_false(secret_equal(none, c));
	memset(secret_bytes(big), 1, 100000);
	secret_free(NULL);
}

/* The VmFlags that the kernel has for the page at p. */
static void get_flags(const void *p, char *ret, size_t size)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	char line[512];
	bool here = false;

	ret[0] = '\0';
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		uintptr_t from, to;

		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
			here = (uintptr_t)p >= from && (uintptr_t)p < to;
		else if (here && strncmp(line, "VmFlags:", 8) == 0)
			snprintf(ret, size, "%s", line);
	}
	fclose(f);
}

static void locked_and_not_dumped(void **state)
{
	auto_secret struct secret *s = secret_copy("x", 1);
	struct rlimit lock;
	char flags[512];

	(void)state;
	get_flags(secret_bytes(s), flags, sizeof(flags));
	assert_non_null(strstr(flags, " dd"));
	getrlimit(RLIMIT_MEMLOCK, &lock);
	/* AddressSanitizer and ThreadSanitizer turn mlock(2) off */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	if (lock.rlim_cur >= 1 << 20)
		assert_non_null(strstr(flags, " lo"));
#endif
}

static void wipes_other_buffers(void **state)
{
	char text[] = "hunter2";

	(void)state;
	secret_wipe(text, sizeof(text));
	assert_memory_equal(text, "\0\0\0\0\0\0\0", 8);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(holds_bytes),
	cmocka_unit_test(locked_and_not_dumped),
	cmocka_unit_test(wipes_other_buffers),
};

UNIT_MAIN(tests)
