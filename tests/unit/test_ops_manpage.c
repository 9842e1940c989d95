/* What is derived from the table and committed equals what the table says now;
 * and a person's help of some rows, word by word. */
#include "tests/support/unit.h"

#include "base/path.h"
#include "ops/completion.h"
#include "ops/help.h"
#include "ops/manpage.h"

#include <string.h>

static void check_file(const char *path, void (*write)(struct buf *out))
{
	autofree char *text = NULL;
	struct err e = {0};
	struct buf want;
	size_t len;

	buf_init(&want, HELP_CAP);
	write(&want);
	assert_ok(path_read_file(path, HELP_CAP, &text, &len, &e), &e);
	if (strcmp(text, want.data) != 0)
		fail_msg("%s is not what the table says: make docs", path);
	buf_finish(&want);
}

static void test_committed(void **state)
{
	(void)state;
	check_file("docs/man/boxery.1", manpage_mdoc);
	check_file("docs/OPERATIONS.md", manpage_operations);
}

static const char run_help[] =
	"usage: boxery run [--cwd PATH] [--env NAME=VALUE]... "
	"[--timeout-s SECONDS] VM ARGV...\n"
	"\n"
	"Run a command in a VM.\n"
	"\n";

static const char click_help[] =
	"  VM\n"
	"          Name of the VM.\n"
	"  X\n"
	"          Horizontal position in the full screenshot, from its left "
	"edge; 0 to\n"
	"          8191 px.\n";

static void test_help(void **state)
{
	struct buf out;

	(void)state;
	buf_init(&out, HELP_CAP);
	help_op(&out, op_find("vm_run"));
	assert_memory_equal(out.data, run_help, strlen(run_help));
	/* an agent's half of the row is not offered */
	assert_null(strstr(out.data, "COMMAND"));
	assert_null(strstr(out.data, "--stdin"));
	buf_reset(&out);
	help_op(&out, op_find("vm_click"));
	assert_non_null(strstr(out.data, click_help));
	buf_reset(&out);
	help_op(&out, op_find("vm_screenshot"));
	assert_non_null(strstr(out.data, "-o, --output FILE\n"));
	assert_non_null(strstr(out.data, "--region X,Y,WIDTH,HEIGHT\n"));
	buf_finish(&out);
}

/* No line of any help is wider than a terminal, but usage lines. */
static void test_width(void **state)
{
	struct buf out;

	(void)state;
	buf_init(&out, HELP_CAP);
	help_overview(&out);
	for (unsigned i = 0; op_at(i); i++) {
		if (op_at(i)->verb)
			help_op(&out, op_at(i));
	}
	for (const char *line = out.data; *line;) {
		size_t len = strcspn(line, "\n");

		if (len > 80 && strncmp(line, "usage:", 6) != 0)
			fail_msg("%.*s", (int)len, line);
		line += len + 1;
	}
	buf_finish(&out);
}

static void test_completion(void **state)
{
	struct err e = {0};
	struct buf out;

	(void)state;
	buf_init(&out, HELP_CAP);
	assert_ok(completion_script(&out, "bash", &e), &e);
	assert_non_null(strstr(out.data, "second='status stop restart'"));
	assert_non_null(strstr(out.data, "'scroll') opts='--notches"));
	assert_non_null(strstr(out.data, "kinds='v w:up,down,left,right'"));
	assert_fails(completion_script(&out, "fish", &e), &e, ERR_INVALID,
		     "bash or zsh");
	buf_finish(&out);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_committed),
	cmocka_unit_test(test_help),
	cmocka_unit_test(test_width),
	cmocka_unit_test(test_completion),
};

UNIT_MAIN(tests)
