#include "grants/confirm.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "grants/visible.h"

#include <string.h>
#include <strings.h>

/* Sixteen grants of the longest kind, every character written out as \u{…},
 * with our words: the text cannot grow past this. */
#define TEXT_CAP                                                            \
	((size_t)LIMIT_GRANTS_ASKED_COUNT * (LIMIT_GRANT_LEN * 16 + 1024) + \
	 (LIMIT_REASON_COUNT + LIMIT_CLIENT_INFO_COUNT) * 16UL + 8192)
#define PROMPT "Grant it? [y/N] "
#define UNLIMITED SIZE_MAX

int confirm_is_needed(const char *setting, bool agent, bool *ret_needed,
		      struct err *e)
{
	bool off = setting && strcmp(setting, "off") == 0;

	if (setting && !off && strcmp(setting, "on") != 0)
		return err_set(e, ERR_INVALID,
			       "GRANT_CONFIRM=%.20s: must be on or off",
			       setting);
	*ret_needed = agent || !off;
	return 0;
}

/* -- the words ------------------------------------------------------------- */

static const char *llm_words(const struct grant *g)
{
	if (strcmp(g->name, "chatgpt") == 0)
		return "use ChatGPT on your subscription. Your sign-in stays "
		       "on the host";
	if (strcmp(g->name, "openai") == 0)
		return "use OpenAI's API at your expense. Your key stays on "
		       "the host";
	if (strcmp(g->name, "anthropic") == 0)
		return "use Anthropic's API at your expense. Your key stays "
		       "on the host";
	return "use the models of the host's Ollama";
}

static const char *github_words(const struct grant *g)
{
	if (g->name[0])
		return g->read_only
			       ? "read this repository on GitHub as you. Your "
				 "token stays on the host"
			       : "read and change this repository on GitHub "
				 "as you. Your token stays on the host";
	return g->read_only ? "read on GitHub all that your token reaches, as "
			      "you. The token stays on the host"
			    : "do on GitHub all that your token may, as you. "
			      "The token stays on the host";
}

/* "The VM will be able to …" */
static const char *words_of(const struct grant *g)
{
	switch (g->kind) {
	case GRANT_LLM:
		return llm_words(g);
	case GRANT_HTTP:
		return "do at this service all that your sign-in there may. "
		       "The secret stays on the host";
	case GRANT_GITHUB:
		return github_words(g);
	case GRANT_ENV:
		return "read this variable's value. What has been read can be "
		       "kept, and sent to anybody";
	case GRANT_FILE:
		return "read this file's content. What has been read can be "
		       "kept, and sent to anybody";
	case GRANT_SSH_AGENT:
		return "sign in as you wherever your listed ssh keys are "
		       "accepted. The keys stay on the host";
	case GRANT_KIND_COUNT:
		break;
	}
	return "use this";
}

/* -- the text -------------------------------------------------------------- */

/* What is added fits: see TEXT_CAP. */
#define ADD(out, ...)                                         \
	do {                                                  \
		if (buf_printf((out), NULL, __VA_ARGS__) < 0) \
			alloc_fail("a question is too long"); \
	} while (0)

static void add_head(struct buf *out, const struct confirm_ask *a)
{
	const char *which = a->occasion == CONFIRM_NEW ? "new VM" : "VM";

	ADD(out, "May the %s %s use this?\n", which, a->vm);
	if (a->occasion == CONFIRM_FORK)
		ADD(out, "It is a fork, and gets what its origin was "
			 "granted.\n");
}

static void add_grants(struct buf *out, const struct confirm_ask *a,
		       enum visible_medium medium)
{
	for (size_t i = 0; i < a->grants->count; i++) {
		const struct grant *g = &a->grants->grants[i];
		autofree char *text = grant_print(g);
		autofree char *shown =
			visible_text(text, strlen(text), UNLIMITED, medium);

		ADD(out, "\n%zu. %s\n   The VM will be able to %s.\n", i + 1,
		    shown, words_of(g));
	}
}

static void add_asker(struct buf *out, const struct confirm_ask *a,
		      enum visible_medium medium)
{
	const char *name = a->token ? a->token : a->client;
	autofree char *shown =
		visible_text(name, strlen(name), LIMIT_NAME_LEN, medium);

	if (a->token)
		ADD(out, "Asked by %s with the token %s.\n",
		    a->agent ? "an agent" : "a client", shown);
	else
		ADD(out, "Asked by %s: client %s of uid %u.\n",
		    a->agent ? "an agent" : "a person's program", shown,
		    (unsigned)a->uid);
}

static void add_quote(struct buf *out, const char *label, const char *text,
		      size_t max_count, enum visible_medium medium)
{
	autofree char *shown = NULL;

	if (!text || !text[0])
		return;
	shown = visible_text(text, strlen(text), max_count, medium);
	/* none inside, so that a reader sees where the quote ends */
	for (char *p = shown; *p; p++) {
		if (*p == '"')
			*p = '\'';
	}
	ADD(out, "%s: \"%s\"\n", label, shown);
}

static json_t *text_of(const struct confirm_ask *a, enum visible_medium medium)
{
	autofree char *terms = terms_words(&a->terms);
	struct buf out;
	json_t *v;

	buf_init(&out, TEXT_CAP);
	add_head(&out, a);
	add_grants(&out, a, medium);
	ADD(&out,
	    "\n%s\n"
	    "Whatever runs in %s can use it: the agent, programs that it "
	    "installs, and whoever talks it into something.\n",
	    terms, a->vm);
	add_asker(&out, a, medium);
	if ((a->reason && a->reason[0]) ||
	    (a->client_info && a->client_info[0]))
		ADD(&out, "\nThe rest is the agent's own text. Nobody checked "
			  "it.\n");
	add_quote(&out, "Its client calls itself", a->client_info,
		  LIMIT_CLIENT_INFO_COUNT, medium);
	add_quote(&out, "Its reason", a->reason, LIMIT_REASON_COUNT, medium);
	v = json_stringn(out.data, out.len);
	buf_finish(&out);
	return v;
}

json_t *confirm_question(const struct confirm_ask *a)
{
	autofree char *terms = terms_print(&a->terms);
	json_t *q = json_pack("{s:i, s:s, s:o, s:s, s:o, s:o, s:s}", "v", 1,
			      "vm", a->vm, "grants", grantset_json(a->grants),
			      "terms", terms, "terminal",
			      text_of(a, VISIBLE_TERMINAL), "dialog",
			      text_of(a, VISIBLE_DIALOG), "prompt", PROMPT);
	json_t *schema = json_pack(
		"{s:s, s:{s:{s:s, s:s, s:s, s:b}}, s:[s]}", "type", "object",
		"properties", "approve", "type", "boolean", "title", "Grant it",
		"description",
		"Only if you want the VM to be able to do what is said above.",
		"default", 0, "required", "approve");

	if (!q || !schema || json_object_set_new(q, "schema", schema) != 0)
		alloc_fail("no memory for a question");
	return q;
}

/* -- the answer ------------------------------------------------------------ */

/* The only member, under this name; NULL when there is another or none. */
static const json_t *only_member(const json_t *obj, const char *key)
{
	return json_object_size(obj) == 1 ? json_object_get(obj, key) : NULL;
}

static enum confirm_verdict read_line(const json_t *line)
{
	const char *text = json_string_value(line);
	size_t len = json_string_length(line);

	if (json_is_null(line))
		return CONFIRM_DISMISSED;
	if (!text)
		return CONFIRM_FORGED;
	if (len > 0 && text[len - 1] == '\n')
		len--;
	if ((len == 1 && strncasecmp(text, "y", len) == 0) ||
	    (len == 3 && strncasecmp(text, "yes", len) == 0))
		return CONFIRM_YES;
	return CONFIRM_NO;
}

static enum confirm_verdict read_form(const json_t *result)
{
	const char *action =
		json_string_value(json_object_get(result, "action"));
	const json_t *content = json_object_get(result, "content");
	size_t count = json_object_size(result);
	const json_t *approve;

	if (!action || count != (content ? 2 : 1))
		return CONFIRM_FORGED;
	/* what came with a refusal does not matter */
	if (strcmp(action, "decline") == 0)
		return CONFIRM_NO;
	if (strcmp(action, "cancel") == 0)
		return CONFIRM_DISMISSED;
	approve = only_member(content, "approve");
	if (strcmp(action, "accept") != 0 || !json_is_boolean(approve))
		return CONFIRM_FORGED;
	return json_is_true(approve) ? CONFIRM_YES : CONFIRM_NO;
}

enum confirm_verdict confirm_read(enum confirm_way way, const json_t *answer)
{
	const char *key = way == CONFIRM_TERMINAL ? "terminal" : "dialog";
	const json_t *given = only_member(answer, key);

	if (!answer)
		return CONFIRM_DISMISSED;
	if (!given)
		return CONFIRM_FORGED;
	return way == CONFIRM_TERMINAL ? read_line(given) : read_form(given);
}

const char *confirm_verdict_name(enum confirm_verdict v)
{
	static const char *const names[] = {
		[CONFIRM_NO] = "no",
		[CONFIRM_YES] = "yes",
		[CONFIRM_DISMISSED] = "dismissed",
		[CONFIRM_FORGED] = "forged",
	};

	return names[v];
}
