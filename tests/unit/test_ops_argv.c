/* Words of a command line, as a person types them, and the arguments that come
 * of them. */
#include "tests/support/unit.h"

#include "base/json.h"
#include "ops/argv.h"

#include <string.h>

#define WORDS_MAX 16

/* line: words separated by '|'. want: JSON, or the error. */
static const struct {
	const char *op, *line, *want, *error;
} cases[] = {
	{"vm_list", "", "{}", NULL},
	{"vm_list", "x", NULL, "\"x\" is one word too many (boxery help ls)"},
	{"vm_list", "--frob", NULL, "--frob: unknown option (boxery help ls)"},
	{"vm_info", "demo", "{\"vm\":\"demo\"}", NULL},
	{"vm_info", "--vm|demo", "{\"vm\":\"demo\"}", NULL},
	{"vm_info", "demo|--vm|demo", NULL, "--vm: was given twice"},
	/* options in every form and place */
	{"vm_new", "a|--headless|--memory|4G",
	 "{\"vm\":\"a\",\"headless\":\"true\",\"memory\":\"4G\"}", NULL},
	{"vm_new", "--memory=4G|--no-headless|a",
	 "{\"memory\":\"4G\",\"headless\":\"false\",\"vm\":\"a\"}", NULL},
	{"vm_new", "a|--headless=true", "{\"vm\":\"a\",\"headless\":\"true\"}",
	 NULL},
	{"vm_new", "a|--memory", NULL, "--memory needs a value"},
	{"vm_new", "a|--image=x=y", "{\"vm\":\"a\",\"image\":\"x=y\"}", NULL},
	{"vm_new", "a|--head", NULL, "--head: unknown option"},
	{"vm_new", "a|--headless=", "{\"vm\":\"a\",\"headless\":\"\"}", NULL},
	/* the rest is a command: nothing in it is ours */
	{"vm_run", "demo|ls|-l|--json|--",
	 "{\"vm\":\"demo\",\"argv\":[\"ls\",\"-l\",\"--json\",\"--\"]}", NULL},
	{"vm_run", "demo|--|-x|--help",
	 "{\"vm\":\"demo\",\"argv\":[\"-x\",\"--help\"]}", NULL},
	{"vm_run", "--|demo|ls", "{\"vm\":\"demo\",\"argv\":[\"ls\"]}", NULL},
	{"vm_run", "--env|A=1|--env=B=x=y|--timeout-s|5|demo|env",
	 "{\"env\":{\"A\":\"1\",\"B\":\"x=y\"},\"timeout_s\":\"5\","
	 "\"vm\":\"demo\",\"argv\":[\"env\"]}",
	 NULL},
	{"vm_run", "--env|A|demo|env", NULL, "A: must be NAME=VALUE"},
	{"vm_run", "demo|--command|ls", NULL, "--command: unknown option"},
	/* copies: a path of this computer needs no prefix */
	{"vm_copy", "a.txt|demo:/tmp/",
	 "{\"from\":\"local:a.txt\",\"to\":\"demo:/tmp/\"}", NULL},
	{"vm_copy", "local:x|y:z", "{\"from\":\"local:x\",\"to\":\"y:z\"}",
	 NULL},
	{"vm_copy",
	 "./a:b|demo:", "{\"from\":\"local:./a:b\",\"to\":\"demo:\"}", NULL},
	{"vm_copy", "/a:b|:c", "{\"from\":\"local:/a:b\",\"to\":\"local::c\"}",
	 NULL},
	/* points and regions */
	{"vm_drag", "demo|1,2|30,40",
	 "{\"vm\":\"demo\",\"points\":[[\"1\",\"2\"],[\"30\",\"40\"]]}", NULL},
	{"vm_drag", "demo|1,2 3,4|--button|right|5,6",
	 "{\"vm\":\"demo\",\"points\":[[\"1\",\"2\"],[\"3\",\"4\"],"
	 "[\"5\",\"6\"]],\"button\":\"right\"}",
	 NULL},
	{"vm_screenshot", "demo|--region|0,0,10,20|-o|x.png",
	 "{\"vm\":\"demo\",\"region\":[\"0\",\"0\",\"10\",\"20\"]}", NULL},
	{"vm_type", "demo|hello world",
	 "{\"vm\":\"demo\",\"text\":\"hello world\"}", NULL},
	{"vm_type", "demo|--|--x", "{\"vm\":\"demo\",\"text\":\"--x\"}", NULL},
	{"vm_type", "demo|-", "{\"vm\":\"demo\",\"text\":\"-\"}", NULL},
	{"vm_type", "demo|\xff", NULL, "is not valid UTF-8"},
	{"vm_type", "demo|a|b", NULL, "one word too many"},
	{"vm_type", "demo|a|--screenshot", NULL, "unknown option"},
	/* the front-end's own options belong to some rows only */
	{"vm_list", "--json|-q", "{}", NULL},
	{"vm_list", "-o|x", NULL, "-o: unknown option"},
	{"vm_click", "demo|--output|x", NULL, "--output: unknown option"},
	{"vm_list", "--json=1", NULL, "--json takes no value"},
	{"vm_list", "--client", NULL, "--client needs a value: NAME"},
	{"init", "-y", "{}", NULL},
	{"vm_list", "-y", NULL, "-y: unknown option"},
	{"vm_list", "--version", NULL, "--version: unknown option"},
};

/* Splits a copy of line at '|'. */
static int split(char *line, char *words[WORDS_MAX])
{
	int count = 0;

	while (*line && count < WORDS_MAX) {
		size_t len = strcspn(line, "|");
		bool last = !line[len];

		words[count++] = line;
		line[len] = '\0';
		line += len + !last;
	}
	return count;
}

static void test_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		autofree char *line = strdup(cases[i].line);
		auto_json json_t *args = NULL;
		autofree char *text = NULL;
		struct argv_front front = {0};
		char *words[WORDS_MAX];
		struct err e = {0};
		int count = split(line, words);
		int rc = argv_parse(op_find(cases[i].op), count, words, &front,
				    &args, &e);

		if (cases[i].error) {
			if (rc == 0 || !strstr(e.msg, cases[i].error))
				fail_msg("%s: wanted \"%s\", got \"%s\"",
					 cases[i].line, cases[i].error, e.msg);
			continue;
		}
		if (rc != 0)
			fail_msg("%s: %s", cases[i].line, e.msg);
		text = json_dumps(args, JSON_COMPACT);
		if (strcmp(text, cases[i].want) != 0)
			fail_msg("%s: wanted %s, got %s", cases[i].line,
				 cases[i].want, text);
	}
}

static void test_front(void **state)
{
	char line[] = "--json|--home|/x|--client=me|-q|ls|--home|/y";
	struct argv_front front = {0};
	char *words[WORDS_MAX];
	struct err e = {0};
	int count = split(line, words);
	int used;

	(void)state;
	used = argv_parse_front(count, words, &front, &e);
	assert_int_equal(used, 5);
	assert_true(front.json);
	assert_true(front.quiet);
	assert_string_equal(front.home, "/x");
	assert_string_equal(front.client, "me");
	assert_string_equal(words[used], "ls");
	assert_fails(
		argv_parse_front(1, (char *[]){(char[]){"-o"}}, &front, &e), &e,
		ERR_INVALID, "-o: unknown option");
}

/* --help ends the reading: what is wrong after it is of no interest. */
static void test_help(void **state)
{
	char line[] = "demo|--help|--frob";
	auto_json json_t *args = NULL;
	struct argv_front front = {0};
	char *words[WORDS_MAX];
	struct err e = {0};
	int count = split(line, words);

	(void)state;
	assert_ok(
		argv_parse(op_find("vm_info"), count, words, &front, &args, &e),
		&e);
	assert_true(front.help);
}

static void test_suggest(void **state)
{
	static const struct {
		const char *word, *meant;
	} words[] = {
		{"nwe", "new"},
		{"strat", "start"},
		{"vm_copy", "cp"},
		{"list", "ls"},
		{"screenshoot", "screenshot"},
		{"xyzzy", NULL},
		{"a", NULL},
		{"", NULL},
		{"build_base", "build-base"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
		const char *got = argv_suggest(words[i].word);

		if (!words[i].meant ? got != NULL
				    : !got || strcmp(got, words[i].meant) != 0)
			fail_msg("%s: got %s", words[i].word,
				 got ? got : "nothing");
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_words),
	cmocka_unit_test(test_front),
	cmocka_unit_test(test_help),
	cmocka_unit_test(test_suggest),
};

UNIT_MAIN(tests)
