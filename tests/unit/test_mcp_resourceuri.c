#include "mcp/resourceuri.h"

#include "tests/support/unit.h"

#include "base/cleanup.h"

#include <string.h>

static void ours(void **state)
{
	static const struct {
		const char *uri;
		enum resourceuri_kind kind;
		const char *name;
	} rows[] = {
		{"boxery://vm/demo/screenshot", RESOURCEURI_SCREENSHOT, "demo"},
		{"boxery://vm/a-1/console", RESOURCEURI_CONSOLE, "a-1"},
		{"boxery://copied/a.txt", RESOURCEURI_COPIED, "a.txt"},
		{"boxery://copied/out/a%20b%25.txt", RESOURCEURI_COPIED,
		 "out/a b%.txt"},
		{"boxery://copied/r%C3%A9", RESOURCEURI_COPIED, "r\303\251"},
		{"ui://boxery/view", RESOURCEURI_PAGE, "view"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		autofree char *again = NULL;
		struct resourceuri u;

		assert_true(resourceuri_parse(rows[i].uri, &u));
		assert_int_equal(u.kind, rows[i].kind);
		assert_string_equal(u.name, rows[i].name);
		again = resourceuri_print(u.kind, u.name);
		assert_string_equal(again, rows[i].uri);
		resourceuri_finish(&u);
	}
}

static void none_of_ours(void **state)
{
	static const char *const rows[] = {
		"",
		"boxery:",
		"boxery://",
		"boxery://vm/",
		"boxery://vm/demo",
		"boxery://vm/demo/",
		"boxery://vm/demo/console/",
		"boxery://vm/demo/console?x",
		"boxery://vm/Demo/console",
		"boxery://vm/../console",
		"boxery://vm//console",
		"boxery://vm/de%6Do/console",
		"BOXERY://vm/demo/console",
		"boxery://copied/",
		"boxery://copied/a b",
		"boxery://copied/a%",
		"boxery://copied/a%2",
		"boxery://copied/a%00b",
		"boxery://copied/a%c3%a9",
		"boxery://copied/%61",
		"boxery://copied/a?b",
		"ui://boxery/view/",
		"file:///etc/passwd",
		"http://localhost/",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		struct resourceuri u;

		if (resourceuri_parse(rows[i], &u))
			fail_msg("%s", rows[i]);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(ours),
	cmocka_unit_test(none_of_ours),
};
UNIT_MAIN(tests)
