#include "tests/support/unit.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "vmctl/audit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct audit_entry entry = {.client = "0:stdio",
					 .op = "vm_run",
					 .vm = "demo",
					 .job = "jabc",
					 .agent = true,
					 .outcome = ERR_DENIED,
					 .took_ms = 12};

static void test_line(void **state)
{
	const char *path = unit_path("audit.jsonl");
	autofree char *text = NULL;
	auto_json json_t *line = NULL;
	struct audit *a = NULL;
	struct err e = {0};
	struct stat st;
	size_t len;

	(void)state;
	assert_ok(audit_open(path, &a, &e), &e);
	audit_add(a, &entry);
	audit_add(a, &entry);
	audit_free(a);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_ok(path_read_file(path, 4096, &text, &len, &e), &e);
	line = json_loadb(text, (size_t)(strchr(text, '\n') - text), 0, NULL);
	assert_non_null(line);
	assert_string_equal(json_string_value(json_object_get(line, "op")),
			    "vm_run");
	assert_string_equal(json_string_value(json_object_get(line, "outcome")),
			    "denied");
	assert_string_equal(json_string_value(json_object_get(line, "job")),
			    "jabc");
	assert_int_equal(len, 2 * (size_t)(strchr(text, '\n') - text + 1));
}

/* It does not grow for ever, and one generation is kept. */
static void test_rotation(void **state)
{
	const char *path = unit_path("audit.jsonl");
	const char *older = unit_path("audit.jsonl.1");
	struct audit *a = NULL;
	struct err e = {0};
	struct stat st;

	(void)state;
	assert_ok(audit_open(path, &a, &e), &e);
	audit_free(a);
	assert_int_equal(truncate(path, LIMIT_AUDIT_LEN + 1), 0);
	assert_ok(audit_open(path, &a, &e), &e);
	audit_add(a, &entry);
	audit_add(a, &entry);
	audit_free(a);
	assert_int_equal(stat(older, &st), 0);
	assert_int_equal(st.st_size, LIMIT_AUDIT_LEN + 1);
	assert_int_equal(stat(path, &st), 0);
	assert_in_range(st.st_size, 200, 600);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_line),
	cmocka_unit_test(test_rotation),
};

UNIT_MAIN(tests)
