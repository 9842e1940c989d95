/*
 * grant.h - what a VM may use, as text and as a value
 *
 *	llm:PROVIDER		chatgpt, openai, anthropic or ollama
 *	http:NAME		a service that the host's proxy signs in to
 *	github[:OWNER/REPO][:ro]	the same for GitHub, or one repository
 *	env:NAME		a variable's value, readable in the guest
 *	file:PATH[→TARGET]	a file's content; => may be typed for →
 *	ssh-agent		signatures of keys that stay on the host
 *
 * One parser and one printer for the command line, tools, the database and
 * what the proxy reads. There is one spelling for each grant: what is printed
 * parses to the same value, and two grants are the same one (asked for again,
 * revoked, found) exactly when their text is equal. github:a/b and
 * github:a/b:ro are two: the one gives more.
 *
 *	struct grant g = {0};
 *	if (grant_parse(text, strlen(text), &g, e) < 0)
 *		return -1;
 *	rc = policy_check(&ask, &g, e);		a file: now its real path
 *	autofree char *canonical = grant_print(&g);
 *	grant_finish(&g);
 *
 * Shapes:  PATH and TARGET are absolute or start with "~/", without ".", ".."
 *          and empty parts; a name that holds → or => cannot be granted. A
 *          repository's letters become small ones, as GitHub does not tell
 *          them apart. Characters that would not show as themselves
 *          (visible.h) are refused everywhere.
 * Units:   bytes of UTF-8, at most LIMIT_GRANT_LEN.
 * Errors:  ERR_INVALID with the rule; ERR_LIMIT for what is too long.
 * Threads: no shared state.
 */
#ifndef GRANTS_GRANT_H
#define GRANTS_GRANT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum grant_kind {
	GRANT_LLM,
	GRANT_HTTP,
	GRANT_GITHUB,
	GRANT_ENV,
	GRANT_FILE,
	GRANT_SSH_AGENT,
	GRANT_KIND_COUNT,
};

struct grant {
	enum grant_kind kind;
	char *name;	/* PROVIDER, NAME, PATH; OWNER/REPO or "" */
	char *target;	/* of a file, or NULL */
	bool read_only; /* github */
};

int grant_parse(const char *text, size_t len, struct grant *ret, struct err *e)
	__attribute__((warn_unused_result));
char *grant_print(const struct grant *g) /* free() */
	__attribute__((returns_nonnull));
void grant_finish(struct grant *g);
struct grant grant_copy(const struct grant *g); /* grant_finish() */
bool grant_equal(const struct grant *a, const struct grant *b);

/* "llm", "http", "github", "env", "file", "ssh-agent" */
const char *grant_kind_name(enum grant_kind kind);
/* What follows "KIND:" in the text, "" when nothing does. free() */
char *grant_detail(const struct grant *g) __attribute__((returns_nonnull));
/*
 * Where it ends up in the guest, if two grants cannot be there both: "env:NAME"
 * or "file:" with the target or, without one, the file's own name. NULL for
 * other kinds. free()
 */
char *grant_slot(const struct grant *g);

#endif
