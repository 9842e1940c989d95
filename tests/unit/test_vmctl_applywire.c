/* What a guest is told to hold, and what it may answer (F02). */
#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/secret.h"
#include "vmctl/applywire.h"

#include <string.h>

static struct applywire_item items[3];

static void fill_items(const struct secret *value)
{
	memset(items, 0, sizeof(items));
	memcpy(items[0].id, "aaaaaaaaaaaa", 12);
	items[0].kind = APPLYWIRE_ENV;
	items[0].name = "TOKEN";
	items[0].value = value;
	memcpy(items[1].id, "bbbbbbbbbbbb", 12);
	items[1].kind = APPLYWIRE_FILE;
	items[1].name = "with space ";
	items[1].left_s = 90;
	memcpy(items[2].id, "cccccccccccc", 12);
	items[2].kind = APPLYWIRE_LINK;
	items[2].name = "~/a/b";
	items[2].value = value;
}

static void printed(void **state)
{
	struct secret *value = secret_copy("two\nlines", 9);
	struct err e = {0};
	struct buf out;

	(void)state;
	fill_items(value);
	buf_init(&out, 4096);
	assert_ok(applywire_print(&out, items, 3, &e), &e);
	assert_string_equal(out.data, "hold env/TOKEN\n"
				      "hold file/with space \n"
				      "hold link/cccccccccccc\n"
				      "go\n"
				      "item aaaaaaaaaaaa env 0 9 TOKEN\n"
				      "two\nlines"
				      "item bbbbbbbbbbbb file 90 keep with "
				      "space \n"
				      "item cccccccccccc link 0 9 ~/a/b\n"
				      "two\nlines"
				      "end\n");
	buf_reset(&out);
	assert_ok(applywire_print(&out, items, 0, &e), &e);
	assert_string_equal(out.data, "go\nend\n");
	buf_finish(&out);
	secret_free(value);
}

static int parse(const char *text, struct err *e)
{
	fill_items(NULL);
	return applywire_parse(text, strlen(text), items, 3, e);
}

static void answers(void **state)
{
	struct err e = {0};

	(void)state;
	assert_ok(parse("ok aaaaaaaaaaaa\nno bbbbbbbbbbbb novalue\n"
			"no cccccccccccc taken\ndone\n",
			&e),
		  &e);
	assert_true(items[0].ok);
	assert_null(items[0].why);
	assert_non_null(strstr(items[1].why, "its value is not"));
	assert_non_null(strstr(items[2].why, "something else"));
	/* what was done before it gave up is known */
	assert_fails(parse("ok aaaaaaaaaaaa\nno * full\n", &e), &e, ERR_STATE,
		     "memory for it is full");
	assert_true(items[0].ok);
	assert_false(items[1].ok);
	assert_null(items[1].why);
}

/* None of its words is ever shown. */
static void lies(void **state)
{
	static const char *const bad[] = {
		"",
		"done",
		"ok aaaaaaaaaaaa\n",
		"ok aaaaaaaaaaaa\nok aaaaaaaaaaaa\ndone\n",
		"no aaaaaaaaaaaa taken\nok aaaaaaaaaaaa\ndone\n",
		"ok dddddddddddd\ndone\n",
		"ok aaaaaaaaaaa\ndone\n",
		"ok \ndone\n",
		"no \ndone\n",
		"no aaaaaaaaaaaa\ndone\n",
		"no aaaaaaaaaaaa \033[2Jowned\ndone\n",
		"no * owned\n",
		"no *\n",
		"done\nok aaaaaaaaaaaa\n",
		"Welcome to this machine\nok aaaaaaaaaaaa\ndone\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
		struct err e = {0};

		assert_fails(parse(bad[i], &e), &e, ERR_PROTOCOL,
			     "no answer of ours");
		assert_null(strstr(err_msg(&e), "owned"));
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(printed),
	cmocka_unit_test(answers),
	cmocka_unit_test(lies),
};

UNIT_MAIN(tests)
