/* A person's variables: read strictly, and never repeated in a message. */
#include "tests/support/tree.h"
#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "grants/envfile.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
	const char *text, *want; /* of A; "-": not there; NULL: refused */
	const char *why;
} rows[] = {
	{"", "-", NULL},
	{"A=x", "x", NULL},
	{"A=x\n", "x", NULL},
	{"A=x\r\n", "x", NULL},
	{" A = x y \n", "x y", NULL},
	{"A=", "", NULL},
	{"A=a=b#c", "a=b#c", NULL},
	{"# A=x\n\n\tB=1\n", "-", NULL},
	{"A=1\nB=2\nA=3\n", "3", NULL},
	{"a=1", "-", NULL},
	{"AB=1\nA_=2", "-", NULL},
	{"A='x'", "'x'", NULL},
	{"A=x\"y", "x\"y", NULL},
	{"A=\" x \"", " x ", NULL},
	{"A=\"\"", "", NULL},
	{"A=\"l\\n\\t\\\"q\\\\\"", "l\n\t\"q\\", NULL},
	{"A=\"canary", NULL, "env:1: a value that starts"},
	{"A=\"", NULL, "env:1: a value that starts"},
	{"A=\"canary\" x", NULL, "env:1: a value that starts"},
	{"A=\"canary\\", NULL, "env:1: a value that starts"},
	{"A=\"canary\\x\"", NULL, "env:1: a value that starts"},
	{"B=1\ncanary\nA=1", NULL, "env:2: must be NAME=VALUE"},
	{"A=1\nexport B=canary", NULL, "env:2: a name has"},
	{"=canary", NULL, "env:1: a name has"},
	{"1A=canary", NULL, "env:1: a name has"},
	{"A-B=canary", NULL, "env:1: a name has"},
};

static void lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		auto_secret struct secret *s = NULL;
		struct err e = {0};
		int rc = envfile_find(rows[i].text, strlen(rows[i].text), "A",
				      &s, &e);

		if (!rows[i].want) {
			assert_fails(rc, &e, ERR_INVALID, rows[i].why);
			assert_null(strstr(e.msg, "canary"));
			continue;
		}
		assert_ok(rc, &e);
		if (strcmp(rows[i].want, "-") == 0) {
			assert_null(s);
			continue;
		}
		if (!s || secret_len(s) != strlen(rows[i].want) ||
		    memcmp(secret_const_bytes(s), rows[i].want,
			   secret_len(s)) != 0)
			fail_msg("row %zu: %s", i, rows[i].text);
	}
}

static void values(void **state)
{
	autofree char *text = alloc_zero(LIMIT_GRANT_ENV_LEN + 4);
	struct secret *s = NULL;
	struct err e = {0};

	(void)state;
	assert_fails(envfile_find("A=x\0y", 5, "A", &s, &e), &e, ERR_INVALID,
		     "NUL");
	memset(text, 'x', LIMIT_GRANT_ENV_LEN + 3);
	memcpy(text, "A=", 2);
	assert_fails(envfile_find(text, LIMIT_GRANT_ENV_LEN + 3, "A", &s, &e),
		     &e, ERR_LIMIT, "env:A");
	assert_ok(envfile_find(text, LIMIT_GRANT_ENV_LEN + 2, "A", &s, &e), &e);
	secret_free(s);
}

static void files(void **state)
{
	struct home h = {.config = alloc_str(unit_path("."))};
	struct secret *s = NULL;
	struct err e = {0};

	(void)state;
	assert_ok(envfile_get(&h, "A", &s, &e), &e);
	assert_null(s);
	tree_text(unit_path("env"), "A=canary\n");
	assert_int_equal(chmod(unit_path("env"), 0640), 0);
	assert_fails(envfile_get(&h, "A", &s, &e), &e, ERR_DENIED, "chmod 600");
	assert_int_equal(chmod(unit_path("env"), 0600), 0);
	assert_ok(envfile_get(&h, "A", &s, &e), &e);
	assert_int_equal(secret_len(s), strlen("canary"));
	secret_free(s);
	s = NULL;
	assert_ok(envfile_get(&h, "B", &s, &e), &e);
	assert_null(s);
	assert_int_equal(truncate(unit_path("env"), (1 << 20) + 1), 0);
	assert_fails(envfile_get(&h, "A", &s, &e), &e, ERR_LIMIT, "env");
	assert_int_equal(unlink(unit_path("env")), 0);
	tree_link(unit_path("env"), "/etc/passwd");
	assert_fails(envfile_get(&h, "A", &s, &e), &e, ERR_SYSTEM, "env");
	assert_int_equal(unlink(unit_path("env")), 0);
	assert_int_equal(mkfifo(unit_path("env"), 0600), 0);
	assert_fails(envfile_get(&h, "A", &s, &e), &e, ERR_INVALID,
		     "regular file");
	free(h.config);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(lines),
	cmocka_unit_test(values),
	cmocka_unit_test(files),
};
UNIT_MAIN(tests)
