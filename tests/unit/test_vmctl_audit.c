#include "tests/support/unit.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "vmctl/audit.h"
#include "vmctl/audit_read.h"

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

/* The newest that are wanted, oldest first, over both files; lines that a full
 * disk cut short are passed over. */
static void test_read(void **state)
{
	const char *path = unit_path("audit.jsonl");
	static const char older[] =
		"{\"t\":\"1\",\"client\":\"0:cli\",\"op\":\"vm_new\","
		"\"vm\":\"demo\",\"outcome\":\"ok\",\"ms\":1}\n"
		"{\"t\":\"2\",\"op\":\"vm_n";
	static const char newer[] =
		"\n{\"t\":\"3\",\"event\":\"granted\",\"vm\":\"demo\","
		"\"grants\":[\"env:A\",\"env:B\"],\"client\":\"0:cli\"}\n"
		"[1]\n\"x\"\n{}\n"
		"{\"t\":\"4\",\"op\":\"vm_copy\",\"vm\":\"demo2,demo\","
		"\"outcome\":\"denied\"}\n"
		"{\"t\":\"5\",\"op\":\"vm_list\",\"vm\":\"\","
		"\"outcome\":\"ok\"}\n";
	static const struct {
		struct audit_want want;
		const char *times;
	} rows[] = {
		{{.count = 50}, "1345"},
		{{.count = 2}, "45"},
		{{.vm = "demo", .count = 50}, "134"},
		{{.vm = "demo2", .count = 50}, "4"},
		{{.vm = "dem", .count = 50}, ""},
		{{.grants_only = true, .count = 50}, "3"},
	};
	struct err e = {0};

	(void)state;
	assert_ok(path_write_file(unit_path("audit.jsonl.1"), older,
				  strlen(older), 0600, &e),
		  &e);
	assert_ok(path_write_file(path, newer, strlen(newer), 0600, &e), &e);
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		auto_json json_t *got = NULL;
		size_t count = strlen(rows[i].times);

		assert_ok(audit_read(path, &rows[i].want, &got, &e), &e);
		assert_int_equal(json_array_size(got), count);
		for (size_t j = 0; j < count; j++) {
			const json_t *row = json_array_get(got, j);
			const char *t =
				json_string_value(json_object_get(row, "t"));

			assert_int_equal(*t, rows[i].times[j]);
			if (*t == '3')
				assert_string_equal(
					json_string_value(json_object_get(
						row, "grants")),
					"env:A,env:B");
		}
	}
}

static void test_read_nothing(void **state)
{
	const struct audit_want want = {.count = 1};
	auto_json json_t *got = NULL;
	struct err e = {0};

	(void)state;
	assert_ok(audit_read(unit_path("none"), &want, &got, &e), &e);
	assert_int_equal(json_array_size(got), 0);
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
	cmocka_unit_test(test_read),
	cmocka_unit_test(test_read_nothing),
};

UNIT_MAIN(tests)
