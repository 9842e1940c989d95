/* F01: every kind, its one spelling, and what is refused with which words. */
#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "grants/grant.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *in, *out; /* out NULL: the same */
	const char *name, *target, *slot;
	enum grant_kind kind;
	bool read_only;
} good[] = {
	{"llm:chatgpt", NULL, "chatgpt", NULL, NULL, GRANT_LLM, false},
	{"llm:openai", NULL, "openai", NULL, NULL, GRANT_LLM, false},
	{"llm:anthropic", NULL, "anthropic", NULL, NULL, GRANT_LLM, false},
	{"llm:ollama", NULL, "ollama", NULL, NULL, GRANT_LLM, false},
	{"http:a", NULL, "a", NULL, NULL, GRANT_HTTP, false},
	{"http:my_api-2", NULL, "my_api-2", NULL, NULL, GRANT_HTTP, false},
	{"github", NULL, "", NULL, NULL, GRANT_GITHUB, false},
	{"github:ro", NULL, "", NULL, NULL, GRANT_GITHUB, true},
	{"github:a/b", NULL, "a/b", NULL, NULL, GRANT_GITHUB, false},
	{"github:a/b:ro", NULL, "a/b", NULL, NULL, GRANT_GITHUB, true},
	{"github:ro/ro:ro", NULL, "ro/ro", NULL, NULL, GRANT_GITHUB, true},
	{"github:My-Org/Some.Repo_x", "github:my-org/some.repo_x",
	 "my-org/some.repo_x", NULL, NULL, GRANT_GITHUB, false},
	{"github:a/.github", NULL, "a/.github", NULL, NULL, GRANT_GITHUB,
	 false},
	{"env:FOO", NULL, "FOO", NULL, "env:FOO", GRANT_ENV, false},
	{"env:_a1", NULL, "_a1", NULL, "env:_a1", GRANT_ENV, false},
	{"file:/a", NULL, "/a", NULL, "file:a", GRANT_FILE, false},
	{"file:~/a b/c:d", NULL, "~/a b/c:d", NULL, "file:c:d", GRANT_FILE,
	 false},
	{"file:/a→/b/c", NULL, "/a", "/b/c", "file:/b/c", GRANT_FILE, false},
	{"file:/a=>~/b", "file:/a→~/b", "/a", "~/b", "file:~/b", GRANT_FILE,
	 false},
	{"file:/Grüße/日本 *_[x].txt", NULL, "/Grüße/日本 *_[x].txt", NULL,
	 "file:日本 *_[x].txt", GRANT_FILE, false},
	{"ssh-agent", NULL, "", NULL, NULL, GRANT_SSH_AGENT, false},
};

static void reads_and_prints(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(good); i++) {
		const char *want = good[i].out ? good[i].out : good[i].in;
		struct grant g = {0};
		struct grant again = {0};
		struct err e = {0};

		assert_ok(grant_parse(good[i].in, strlen(good[i].in), &g, &e),
			  &e);
		assert_int_equal(g.kind, good[i].kind);
		assert_string_equal(g.name, good[i].name);
		assert_int_equal(!g.target, !good[i].target);
		if (g.target)
			assert_string_equal(g.target, good[i].target);
		assert_int_equal(g.read_only, good[i].read_only);
		autofree char *text = grant_print(&g);
		assert_string_equal(text, want);
		autofree char *slot = grant_slot(&g);
		assert_int_equal(!slot, !good[i].slot);
		if (slot)
			assert_string_equal(slot, good[i].slot);

		/* what is printed is the same grant */
		assert_ok(grant_parse(text, strlen(text), &again, &e), &e);
		assert_true(grant_equal(&g, &again));
		struct grant copy = grant_copy(&g);
		assert_true(grant_equal(&g, &copy));
		grant_finish(&copy);
		grant_finish(&again);
		grant_finish(&g);
	}
}

static const struct {
	const char *in, *why;
} bad[] = {
	{"", "is no kind of grant"},
	{"llm", "must be followed by"},
	{"llm:", "the providers are"},
	{"llm:OpenAI", "the providers are"},
	{"llm:openai ", "the providers are"},
	{"LLM:openai", "is no kind of grant"},
	{" llm:openai", "is no kind of grant"},
	{"gpu:all", "is no kind of grant"},
	{"http:", "a service's name"},
	{"http:-a", "starts with a letter"},
	{"http:Api", "letters a-z"},
	{"http:a/b", "letters a-z"},
	{"http:a.b", "letters a-z"},
	{"github:", "must be github"},
	{"github:a", "must be github"},
	{"github:a/", "must be github"},
	{"github:/b", "must be github"},
	{"github:a/b/c", "must be github"},
	{"github:a/b:rw", "must be github"},
	{"github:a/..", "must be github"},
	{"github:-a/b", "must be github"},
	{"github:a-/b", "must be github"},
	{"github:a/b.git", "without .git"},
	{"github:a/b?x", "must be github"},
	{"github::ro", "must be github"},
	{"github:ro:ro", "must be github"},
	{"env:", "a variable's name"},
	{"env:1A", "not start with a digit"},
	{"env:A-B", "letters, digits and underscores"},
	{"env:A=b", "letters, digits and underscores"},
	{"env:Ä", "letters, digits and underscores"},
	{"file:", "must start with / or ~/"},
	{"file:a", "must start with / or ~/"},
	{"file:~a/b", "must start with / or ~/"},
	{"file:~", "must start with / or ~/"},
	{"file:/", "an empty path"},
	{"file:/a/", "empty, \".\" and \"..\""},
	{"file:/a/../b", "empty, \".\" and \"..\""},
	{"file://a", "without empty parts"},
	{"file:/a→", "must start with / or ~/"},
	{"file:/a→b", "target b: must start"},
	{"file:/a→/b/..", "file: target"},
	{"file:/a→/b→/c", "two arrows"},
	{"file:/a=>/b→/c", "two arrows"},
	{"file:/a => /b", "ends in a blank"},
	{"file:/a\nb", "U+000A at byte 8"},
	{"file:/a\x1b[31m", "control characters"},
	{"file:/a\xe2\x80\xae"
	 "b",
	 "U+202E"},
	{"file:/a\xe2\x80\x8b", "U+200B"},
	{"env:A\xc2\xa0", "U+00A0"},
	{"file:/a\xff", "valid UTF-8 (byte 8 "},
	{"file:/a\xed\xa0\x80", "valid UTF-8"},
	{"ssh-agent:", "takes nothing behind it"},
	{"ssh-agent:key", "takes nothing behind it"},
};

static void refuses(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
		struct grant g = {0};
		struct err e = {0};

		if (grant_parse(bad[i].in, strlen(bad[i].in), &g, &e) == 0)
			fail_msg("accepted: %s", bad[i].in);
		assert_int_equal(e.code, ERR_INVALID);
		if (!strstr(e.msg, bad[i].why))
			fail_msg("%s: %s", bad[i].in, e.msg);
		assert_null(g.name);
	}
}

static void lengths(void **state)
{
	static const struct {
		const char *head;
		size_t max; /* of what follows the head */
		enum err_code code;
	} rows[] = {
		{"http:", LIMIT_NAME_LEN, ERR_INVALID},
		{"env:", LIMIT_GRANT_NAME_LEN, ERR_INVALID},
		{"github:a/", 100, ERR_INVALID},
		{"file:/", 255, ERR_LIMIT},
		{"file:/a→/", 255, ERR_LIMIT},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		size_t head_len = strlen(rows[i].head);
		autofree char *text = alloc_zero(head_len + rows[i].max + 2);
		struct grant g = {0};
		struct err e = {0};

		memcpy(text, rows[i].head, head_len);
		memset(text + head_len, 'a', rows[i].max);
		assert_ok(grant_parse(text, strlen(text), &g, &e), &e);
		grant_finish(&g);
		text[head_len + rows[i].max] = 'a';
		assert_fails(grant_parse(text, strlen(text), &g, &e), &e,
			     rows[i].code, "");
	}
	/* a long path of short parts, and a text that is longer than any */
	autofree char *text = alloc_zero(LIMIT_GRANT_LEN + 2);
	struct grant g = {0};
	struct err e = {0};

	memset(text, 'a', LIMIT_GRANT_LEN + 1);
	assert_fails(grant_parse(text, strlen(text), &g, &e), &e, ERR_LIMIT,
		     "at most");
	memcpy(text, "file:", 5);
	for (size_t at = 5; at < LIMIT_GRANT_PATH_LEN + 6; at += 64)
		text[at] = '/';
	text[LIMIT_GRANT_PATH_LEN + 6] = '\0';
	assert_fails(grant_parse(text, strlen(text), &g, &e), &e, ERR_LIMIT,
		     "may have 1023");
	text[LIMIT_GRANT_PATH_LEN + 5] = '\0';
	assert_ok(grant_parse(text, strlen(text), &g, &e), &e);
	grant_finish(&g);
}

static void nul(void **state)
{
	struct grant g = {0};
	struct err e = {0};

	(void)state;
	assert_fails(grant_parse("env:A\0B", 7, &g, &e), &e, ERR_INVALID,
		     "U+0000");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(reads_and_prints),
	cmocka_unit_test(refuses),
	cmocka_unit_test(lengths),
	cmocka_unit_test(nul),
};
UNIT_MAIN(tests)
