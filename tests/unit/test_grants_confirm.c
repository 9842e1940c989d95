/* F04 to F08, F10: what a person is asked, and what counts as yes. */
#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/limits.h"
#include "grants/confirm.h"

#include <string.h>

static struct grantset set_of(const char *texts_json)
{
	auto_json json_t *texts =
		json_parse(texts_json, strlen(texts_json), NULL);
	struct grantset s = {0};
	struct err e = {0};

	assert_ok(grantset_parse(texts, &s, &e), &e);
	return s;
}

static const char *member(const json_t *q, const char *key)
{
	const char *text = json_string_value(json_object_get(q, key));

	assert_non_null(text);
	return text;
}

static void whole_question(void **state)
{
	struct grantset s = set_of("[\"llm:openai\",\"file:/a/my_x→/b\"]");
	struct confirm_ask a = {
		.vm = "demo",
		.grants = &s,
		.terms = {.for_s = 7200, .uses = 0},
		.agent = true,
		.uid = 1000,
		.client = "stdio",
		.client_info = "Some *Client*",
		.reason = "I need it.\" - Boxery\nMay the VM x use this? yes",
	};
	auto_json json_t *q = confirm_question(&a);

	(void)state;
	assert_string_equal(
		member(q, "terminal"),
		"May the VM demo use this?\n"
		"\n"
		"1. file:/a/my_x→/b\n"
		"   The VM will be able to read this file's content. What has "
		"been read can be kept, and sent to anybody.\n"
		"\n"
		"2. llm:openai\n"
		"   The VM will be able to use OpenAI's API at your expense. "
		"Your key stays on the host.\n"
		"\n"
		"For 2 hours from your yes.\n"
		"Whatever runs in demo can use it: the agent, programs that "
		"it installs, and whoever talks it into something.\n"
		"Asked by an agent: client stdio of uid 1000.\n"
		"\n"
		"The rest is the agent's own text. Nobody checked it.\n"
		"Its client calls itself: \"Some *Client*\"\n"
		"Its reason: \"I need it.' - Boxery\\nMay the VM x use this? yes\"\n");
	assert_non_null(strstr(member(q, "dialog"), "\"Some \\*Client\\*\""));
	assert_non_null(strstr(member(q, "dialog"), "file:/a/my_x→/b"));
	assert_string_equal(member(q, "terms"), "--for 2h");
	assert_string_equal(member(q, "prompt"), "Grant it? [y/N] ");
	assert_int_equal(json_array_size(json_object_get(q, "grants")), 2);
	autofree char *schema = json_print(json_object_get(q, "schema"));
	assert_non_null(strstr(schema, "\"required\":[\"approve\"]"));
	assert_non_null(strstr(schema, "\"default\":false"));
	grantset_finish(&s);
}

static void askers(void **state)
{
	struct grantset s = set_of("[\"env:A\"]");
	const struct {
		struct confirm_ask a;
		const char *want, *not_want;
	} rows[] = {
		{{.vm = "x", .agent = true, .token = "ci_1"},
		 "Asked by an agent with the token ci_1.",
		 "own text"},
		{{.vm = "x", .client = "cli", .uid = 7},
		 "Asked by a person's program: client cli of uid 7.",
		 "own text"},
		{{.vm = "x", .client = "c", .occasion = CONFIRM_NEW},
		 "May the new VM x use this?",
		 "fork"},
		{{.vm = "x", .client = "c", .occasion = CONFIRM_FORK},
		 "what its origin was granted",
		 "new VM"},
		{{.vm = "x", .client = "c", .reason = "", .client_info = ""},
		 "Without end, until you revoke it.",
		 "own text"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		struct confirm_ask a = rows[i].a;

		a.grants = &s;
		auto_json json_t *q = confirm_question(&a);
		const char *text = member(q, "terminal");
		if (!strstr(text, rows[i].want) ||
		    strstr(text, rows[i].not_want))
			fail_msg("row %zu: %s", i, text);
	}
	grantset_finish(&s);
}

/* Every kind says what it gives. */
static void kinds(void **state)
{
	static const struct {
		const char *grant, *want;
	} rows[] = {
		{"llm:chatgpt", "ChatGPT on your subscription"},
		{"llm:anthropic", "Anthropic's API at your expense"},
		{"llm:ollama", "host's Ollama"},
		{"http:x", "all that your sign-in there may"},
		{"github", "do on GitHub all that your token may"},
		{"github:ro", "read on GitHub all that"},
		{"github:a/b", "read and change this repository"},
		{"github:a/b:ro", "able to read this repository"},
		{"env:A", "read this variable's value"},
		{"ssh-agent", "wherever your listed ssh keys"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		autofree char *json = alloc_printf("[\"%s\"]", rows[i].grant);
		struct grantset s = set_of(json);
		struct confirm_ask a = {.vm = "x", .grants = &s, .client = "c"};
		auto_json json_t *q = confirm_question(&a);

		if (!strstr(member(q, "terminal"), rows[i].want) ||
		    !strstr(member(q, "dialog"), rows[i].want))
			fail_msg("%s", member(q, "terminal"));
		grantset_finish(&s);
	}
}

/* The longest that can be asked fits. */
static void longest(void **state)
{
	auto_json json_t *texts = json_array();
	autofree char *reason = alloc_zero(1 << 20);
	struct grantset s = {0};
	struct err e = {0};

	(void)state;
	memset(reason, '\x01', (1 << 20) - 1);
	for (int i = 0; i < LIMIT_GRANTS_ASKED_COUNT; i++) {
		char path[LIMIT_GRANT_PATH_LEN + 1];
		autofree char *text = NULL;

		memset(path, '*', sizeof(path));
		for (size_t at = 0; at < sizeof(path); at += 64)
			path[at] = '/';
		path[1] = (char)('a' + i);
		path[sizeof(path) - 1] = '\0';
		text = alloc_printf("file:%s→%s", path, path);
		json_array_append_new(texts, json_string(text));
	}
	assert_ok(grantset_parse(texts, &s, &e), &e);
	struct confirm_ask a = {
		.vm = "x", .grants = &s, .client = "c", .reason = reason};
	auto_json json_t *q = confirm_question(&a);
	assert_non_null(strstr(member(q, "dialog"), "more bytes)\""));
	grantset_finish(&s);
}

static const struct {
	const char *answer; /* NULL: none */
	enum confirm_verdict terminal, dialog;
} answers[] = {
	{NULL, CONFIRM_DISMISSED, CONFIRM_DISMISSED},
	{"{}", CONFIRM_FORGED, CONFIRM_FORGED},
	{"[]", CONFIRM_FORGED, CONFIRM_FORGED},
	{"{\"yes\":true}", CONFIRM_FORGED, CONFIRM_FORGED},
	{"{\"terminal\":\"y\"}", CONFIRM_YES, CONFIRM_FORGED},
	{"{\"terminal\":\"Y\\n\"}", CONFIRM_YES, CONFIRM_FORGED},
	{"{\"terminal\":\"yes\\n\"}", CONFIRM_YES, CONFIRM_FORGED},
	{"{\"terminal\":\"YES\"}", CONFIRM_YES, CONFIRM_FORGED},
	{"{\"terminal\":\"\"}", CONFIRM_NO, CONFIRM_FORGED}, /* F10 */
	{"{\"terminal\":\"\\n\"}", CONFIRM_NO, CONFIRM_FORGED},
	{"{\"terminal\":\"n\"}", CONFIRM_NO, CONFIRM_FORGED},
	{"{\"terminal\":\"ye\"}", CONFIRM_NO, CONFIRM_FORGED},
	{"{\"terminal\":\"yes!\"}", CONFIRM_NO, CONFIRM_FORGED},
	{"{\"terminal\":\" y\"}", CONFIRM_NO, CONFIRM_FORGED},
	{"{\"terminal\":\"y\\ny\\n\"}", CONFIRM_NO, CONFIRM_FORGED},
	{"{\"terminal\":\"ｙ\"}", CONFIRM_NO, CONFIRM_FORGED},
	{"{\"terminal\":null}", CONFIRM_DISMISSED, CONFIRM_FORGED},
	{"{\"terminal\":true}", CONFIRM_FORGED, CONFIRM_FORGED},
	{"{\"terminal\":\"y\",\"x\":1}", CONFIRM_FORGED, CONFIRM_FORGED},
	{"{\"terminal\":\"y\",\"dialog\":{\"action\":\"accept\","
	 "\"content\":{\"approve\":true}}}",
	 CONFIRM_FORGED, CONFIRM_FORGED},
#define DIALOG(text) "{\"dialog\":" text "}", CONFIRM_FORGED
	/* F08 */
	{DIALOG("{\"action\":\"accept\",\"content\":{\"approve\":true}}"),
	 CONFIRM_YES},
	{DIALOG("{\"action\":\"accept\",\"content\":{\"approve\":false}}"),
	 CONFIRM_NO},
	{DIALOG("{\"action\":\"accept\"}"), CONFIRM_FORGED},
	{DIALOG("{\"action\":\"accept\",\"content\":{}}"), CONFIRM_FORGED},
	{DIALOG("{\"action\":\"accept\",\"content\":null}"), CONFIRM_FORGED},
	{DIALOG("{\"action\":\"accept\",\"content\":true}"), CONFIRM_FORGED},
	{DIALOG("{\"action\":\"accept\",\"content\":[true]}"), CONFIRM_FORGED},
	{DIALOG("{\"action\":\"accept\",\"content\":{\"approve\":\"true\"}}"),
	 CONFIRM_FORGED},
	{DIALOG("{\"action\":\"accept\",\"content\":{\"approve\":1}}"),
	 CONFIRM_FORGED},
	{DIALOG("{\"action\":\"accept\",\"content\":{\"approve\":true,"
		"\"x\":1}}"),
	 CONFIRM_FORGED},
	{DIALOG("{\"action\":\"accept\",\"content\":{\"Approve\":true}}"),
	 CONFIRM_FORGED},
	{DIALOG("{\"action\":\"Accept\",\"content\":{\"approve\":true}}"),
	 CONFIRM_FORGED},
	{DIALOG("{\"action\":true,\"content\":{\"approve\":true}}"),
	 CONFIRM_FORGED},
	{DIALOG("{\"content\":{\"approve\":true}}"), CONFIRM_FORGED},
	{DIALOG("{\"action\":\"accept\",\"content\":{\"approve\":true},"
		"\"x\":1}"),
	 CONFIRM_FORGED},
	{DIALOG("{\"action\":\"decline\"}"), CONFIRM_NO},
	{DIALOG("{\"action\":\"decline\",\"content\":{\"approve\":true}}"),
	 CONFIRM_NO},
	{DIALOG("{\"action\":\"cancel\"}"), CONFIRM_DISMISSED},
	{DIALOG("null"), CONFIRM_FORGED},
	{DIALOG("\"accept\""), CONFIRM_FORGED},
};

static void verdicts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(answers); i++) {
		const char *text = answers[i].answer;
		auto_json json_t *v =
			text ? json_parse(text, strlen(text), NULL) : NULL;

		if (confirm_read(CONFIRM_TERMINAL, v) != answers[i].terminal ||
		    confirm_read(CONFIRM_DIALOG, v) != answers[i].dialog)
			fail_msg("%s", text);
	}
	assert_string_equal(confirm_verdict_name(CONFIRM_FORGED), "forged");
}

/* F21, F22 */
static void setting(void **state)
{
	static const struct {
		const char *text;
		bool person, agent;
	} rows[] = {
		{NULL, true, true},
		{"on", true, true},
		{"off", false, true},
	};
	static const char *const bad[] = {"", "OFF", "no", "0", "off "};
	struct err e = {0};
	bool person, agent;

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		assert_ok(confirm_is_needed(rows[i].text, false, &person, &e),
			  &e);
		assert_ok(confirm_is_needed(rows[i].text, true, &agent, &e),
			  &e);
		assert_int_equal(person, rows[i].person);
		assert_int_equal(agent, rows[i].agent);
	}
	for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
		assert_fails(confirm_is_needed(bad[i], false, &person, &e), &e,
			     ERR_INVALID, "must be on or off");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(setting), cmocka_unit_test(whole_question),
	cmocka_unit_test(askers),  cmocka_unit_test(kinds),
	cmocka_unit_test(longest), cmocka_unit_test(verdicts),
};
UNIT_MAIN(tests)
