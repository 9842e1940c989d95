#include "grants/grant.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/utf8.h"
#include "grants/visible.h"

#include <string.h>

#define ARROW "→"
#define TYPED_ARROW "=>"
#define READ_ONLY ":ro"
/* GitHub's own limits */
#define OWNER_LEN 39
#define REPO_LEN 100
/* of a refused text, what a message shows */
#define SHOWN "%.80s"

#define SMALL "abcdefghijklmnopqrstuvwxyz"
#define LARGE "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

static int parse_llm(char *rest, struct grant *g, struct err *e);
static int parse_http(char *rest, struct grant *g, struct err *e);
static int parse_github(char *rest, struct grant *g, struct err *e);
static int parse_env(char *rest, struct grant *g, struct err *e);
static int parse_file(char *rest, struct grant *g, struct err *e);

static const struct {
	const char *name;
	/* what follows the colon: must, may, or must not (NULL) be there */
	int (*parse)(char *rest, struct grant *g, struct err *e);
	bool bare; /* the name alone is a grant */
} kinds[GRANT_KIND_COUNT] = {
	[GRANT_LLM] = {"llm", parse_llm, false},
	[GRANT_HTTP] = {"http", parse_http, false},
	[GRANT_GITHUB] = {"github", parse_github, true},
	[GRANT_ENV] = {"env", parse_env, false},
	[GRANT_FILE] = {"file", parse_file, false},
	[GRANT_SSH_AGENT] = {"ssh-agent", NULL, true},
};

const char *grant_kind_name(enum grant_kind kind)
{
	return kinds[kind].name;
}

/* -- what each kind takes -------------------------------------------------- */

static bool is_of(const char *text, const char *set, size_t max_len)
{
	size_t len = strlen(text);

	return len > 0 && len <= max_len && strspn(text, set) == len;
}

static int parse_llm(char *rest, struct grant *g, struct err *e)
{
	static const char *const providers[] = {"chatgpt", "openai",
						"anthropic", "ollama"};

	for (size_t i = 0; i < ARRAY_COUNT(providers); i++) {
		if (strcmp(rest, providers[i]) == 0) {
			g->name = alloc_str(rest);
			return 0;
		}
	}
	return err_set(e, ERR_INVALID,
		       "llm:" SHOWN ": the providers are chatgpt, openai, "
		       "anthropic and ollama",
		       rest);
}

static int parse_http(char *rest, struct grant *g, struct err *e)
{
	if (!is_of(rest, SMALL DIGITS "-_", LIMIT_NAME_LEN) || rest[0] == '-' ||
	    rest[0] == '_')
		return err_set(e, ERR_INVALID,
			       "http:" SHOWN ": a service's name has letters "
			       "a-z, digits, hyphens and underscores, at most "
			       "%d, and starts with a letter or digit",
			       rest, LIMIT_NAME_LEN);
	g->name = alloc_str(rest);
	return 0;
}

static bool is_repository(char *rest)
{
	char *slash = strchr(rest, '/');
	size_t len;
	bool ok;

	if (!slash)
		return false;
	*slash = '\0';
	len = strlen(rest);
	ok = is_of(rest, SMALL LARGE DIGITS "-", OWNER_LEN) && rest[0] != '-' &&
	     rest[len - 1] != '-';
	*slash = '/';
	rest = slash + 1;
	len = strlen(rest);
	return ok && is_of(rest, SMALL LARGE DIGITS "-_.", REPO_LEN) &&
	       strcmp(rest, ".") != 0 && strcmp(rest, "..") != 0 &&
	       (len < 4 || strcasecmp(rest + len - 4, ".git") != 0);
}

static int parse_github(char *rest, struct grant *g, struct err *e)
{
	size_t len = strlen(rest);

	if (strcmp(rest, "ro") == 0) {
		g->read_only = true;
		g->name = alloc_str("");
		return 0;
	}
	if (len > strlen(READ_ONLY) &&
	    strcmp(rest + len - strlen(READ_ONLY), READ_ONLY) == 0) {
		g->read_only = true;
		rest[len - strlen(READ_ONLY)] = '\0';
	}
	if (!is_repository(rest))
		return err_set(e, ERR_INVALID,
			       "github:" SHOWN ": must be github, "
			       "github:OWNER/REPO (without .git), each with "
			       ":ro behind it to allow reading only",
			       rest);
	for (char *p = rest; *p; p++) {
		if (*p >= 'A' && *p <= 'Z')
			*p |= 0x20;
	}
	g->name = alloc_str(rest);
	return 0;
}

static int parse_env(char *rest, struct grant *g, struct err *e)
{
	if (!is_of(rest, SMALL LARGE DIGITS "_", LIMIT_GRANT_NAME_LEN) ||
	    (rest[0] >= '0' && rest[0] <= '9'))
		return err_set(e, ERR_INVALID,
			       "env:" SHOWN ": a variable's name has letters, "
			       "digits and underscores, at most %d, and does "
			       "not start with a digit",
			       rest, LIMIT_GRANT_NAME_LEN);
	g->name = alloc_str(rest);
	return 0;
}

static int check_path(const char *what, const char *path, struct err *e)
{
	size_t len = strlen(path);
	const char *rel = path[0] == '~' ? path + 1 : path;

	if (len > LIMIT_GRANT_PATH_LEN)
		return err_set(e, ERR_LIMIT,
			       "file: %s has %zu bytes, and may have %d", what,
			       len, LIMIT_GRANT_PATH_LEN);
	if (rel[0] != '/' || rel[1] == '/')
		return err_set(e, ERR_INVALID,
			       "file: %s " SHOWN ": must start with / or ~/, "
			       "without empty parts",
			       what, path);
	if (path[len - 1] == ' ')
		return err_set(e, ERR_INVALID,
			       "file: %s " SHOWN ": ends in a blank, which "
			       "nobody would see",
			       what, path);
	if (path_check_relative(rel + 1, e) < 0)
		return err_wrap(e, "file: %s", what);
	return 0;
}

/* The first arrow of either spelling, and its length. */
static char *find_arrow(char *text, size_t *ret_len)
{
	char *arrow = strstr(text, ARROW);
	char *typed = strstr(text, TYPED_ARROW);

	if (typed && (!arrow || typed < arrow)) {
		*ret_len = strlen(TYPED_ARROW);
		return typed;
	}
	*ret_len = strlen(ARROW);
	return arrow;
}

static int parse_file(char *rest, struct grant *g, struct err *e)
{
	size_t arrow_len, second_len;
	char *arrow = find_arrow(rest, &arrow_len);
	char *target = arrow ? arrow + arrow_len : NULL;

	if (target && find_arrow(target, &second_len))
		return err_set(e, ERR_INVALID,
			       "file:" SHOWN ": has two arrows (" ARROW
			       " or " TYPED_ARROW "); a path that holds one "
			       "cannot be granted",
			       rest);
	if (arrow)
		*arrow = '\0';
	if (check_path("path", rest, e) < 0 ||
	    (target && check_path("target", target, e) < 0))
		return -1;
	g->name = alloc_str(rest);
	g->target = target ? alloc_str(target) : NULL;
	return 0;
}

/* -- text and back --------------------------------------------------------- */

static int check_characters(const char *text, size_t len, struct err *e)
{
	const char *p = text;

	while (len > 0) {
		uint32_t cp = 0;
		size_t n = utf8_next(p, len, &cp);

		if (n == 0)
			return err_set(e, ERR_INVALID,
				       "a grant must be valid UTF-8 (byte %zu "
				       "is not)",
				       (size_t)(p - text) + 1);
		if (!visible_is_plain(cp))
			return err_set(e, ERR_INVALID,
				       "a grant must not hold control "
				       "characters or others that do not show "
				       "(U+%04X at byte %zu)",
				       cp, (size_t)(p - text) + 1);
		p += n;
		len -= n;
	}
	return 0;
}

static int parse_kind(char *text, struct grant *g, struct err *e)
{
	size_t kind_len = strcspn(text, ":");
	char *rest = text[kind_len] ? text + kind_len + 1 : NULL;

	text[kind_len] = '\0';
	for (int k = 0; k < GRANT_KIND_COUNT; k++) {
		if (strcmp(text, kinds[k].name) != 0)
			continue;
		g->kind = (enum grant_kind)k;
		if (rest && kinds[k].parse)
			return kinds[k].parse(rest, g, e);
		if (!rest && kinds[k].bare) {
			g->name = alloc_str("");
			return 0;
		}
		return err_set(e, ERR_INVALID,
			       rest ? "%s takes nothing behind it"
				    : "%s: must be followed by a colon and "
				      "what is granted",
			       kinds[k].name);
	}
	return err_set(e, ERR_INVALID,
		       "\"%.40s\" is no kind of grant: llm:PROVIDER, "
		       "http:NAME, github[:OWNER/REPO][:ro], env:NAME, "
		       "file:PATH[" ARROW "TARGET] or ssh-agent",
		       text);
}

int grant_parse(const char *text, size_t len, struct grant *ret, struct err *e)
{
	struct grant g = {0};

	if (len > LIMIT_GRANT_LEN)
		return err_set(e, ERR_LIMIT,
			       "a grant of %zu bytes: at most %d are allowed",
			       len, LIMIT_GRANT_LEN);
	if (check_characters(text, len, e) < 0)
		return -1;
	autofree char *copy = alloc_strn(text, len);
	if (parse_kind(copy, &g, e) < 0)
		return -1;
	*ret = g;
	return 0;
}

char *grant_detail(const struct grant *g)
{
	if (g->read_only)
		return alloc_printf("%s%s", g->name,
				    g->name[0] ? READ_ONLY : &READ_ONLY[1]);
	if (g->target)
		return alloc_printf("%s" ARROW "%s", g->name, g->target);
	return alloc_str(g->name);
}

char *grant_print(const struct grant *g)
{
	autofree char *detail = grant_detail(g);

	return alloc_printf("%s%s%s", kinds[g->kind].name, detail[0] ? ":" : "",
			    detail);
}

void grant_finish(struct grant *g)
{
	free(g->name);
	free(g->target);
	*g = (struct grant){0};
}

struct grant grant_copy(const struct grant *g)
{
	return (struct grant){
		.kind = g->kind,
		.name = alloc_str(g->name),
		.target = g->target ? alloc_str(g->target) : NULL,
		.read_only = g->read_only,
	};
}

bool grant_equal(const struct grant *a, const struct grant *b)
{
	autofree char *text_a = grant_print(a);
	autofree char *text_b = grant_print(b);

	return strcmp(text_a, text_b) == 0;
}

char *grant_slot(const struct grant *g)
{
	if (g->kind == GRANT_ENV)
		return alloc_printf("env:%s", g->name);
	if (g->kind != GRANT_FILE)
		return NULL;
	return alloc_printf("file:%s",
			    g->target ? g->target : strrchr(g->name, '/') + 1);
}
