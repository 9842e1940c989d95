/*
 * confirm.h - the question that a person answers before a grant, and what
 *             counts as yes
 *
 * The service makes the question and judges the answer; a front-end only
 * shows the one and returns the other as it came, so no front-end can take
 * something else for a yes.
 *
 *	if (confirm_is_needed(setting, agent, &needed, e) < 0)
 *		return -1;
 *	auto_json json_t *q = confirm_question(&ask);
 *	(q to the client that asked, and from it what its person gave)
 *	if (confirm_read(way, answer) != CONFIRM_YES)
 *		return err_set(e, ERR_DENIED, …);
 *
 * The question: {v, vm, grants: [text], terms, terminal, dialog, prompt,
 * schema}. `terminal` and `dialog` are the same words, ready to be shown: on
 * /dev/tty followed by `prompt`, or as an elicitation's message with `schema`
 * as its form. The answer: {"terminal": LINE or null} or {"dialog": {action,
 * content}}, nothing else beside. The service knows which of the two the
 * client that answers may give: an agent's only a dialog; boxery approve, which
 * stands in for one, a line of the terminal.
 *
 * Shapes:  text of the agent (its reason, what its client calls itself) comes
 *          last, quoted, capped, made visible (visible.h), and said to be its.
 * Errors:  none: an answer that is no yes is a no of some kind.
 * Threads: no state.
 * Source:  MCP 2025-11-25 and 2026-07-28, elicitation in form mode.
 */
#ifndef GRANTS_CONFIRM_H
#define GRANTS_CONFIRM_H

#include "grants/grantset.h"
#include "grants/terms.h"

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

enum confirm_occasion {
	CONFIRM_GRANT, /* to a VM that is there */
	CONFIRM_NEW,   /* F06: with its creation */
	CONFIRM_FORK,  /* F07: what its origin had */
};

struct confirm_ask {
	enum confirm_occasion occasion;
	const char *vm;
	const struct grantset *grants;
	struct terms terms;
	/* who asks, as the service knows it */
	bool agent;
	uid_t uid;
	const char *client; /* of that uid; or, with a token, NULL … */
	const char *token;  /* … and the token's name */
	/* the agent's own words, or NULL */
	const char *reason;
	const char *client_info;
};

json_t *confirm_question(const struct confirm_ask *a)
	__attribute__((returns_nonnull));

enum confirm_way { CONFIRM_TERMINAL, CONFIRM_DIALOG };
enum confirm_verdict {
	CONFIRM_NO,
	CONFIRM_YES,
	CONFIRM_DISMISSED, /* closed, cancelled, end of file: no answer */
	CONFIRM_FORGED,	   /* what neither a terminal nor a form returns */
};
/* answer may be NULL: nobody to ask. */
enum confirm_verdict confirm_read(enum confirm_way way, const json_t *answer);
/*
 * Has a person to be asked? setting is GRANT_CONFIRM of the host profile's
 * config, or NULL. Only "off" says no, and only for a person's own program: a
 * dialog for an agent (and boxery approve in its place) always is shown, and
 * policy.h is not touched by it. What is held already (store_missing) needs no
 * question either.
 */
int confirm_is_needed(const char *setting, bool agent, bool *ret_needed,
		      struct err *e) __attribute__((warn_unused_result));
/* "no", "yes", "dismissed", "forged": for the audit. */
const char *confirm_verdict_name(enum confirm_verdict v);

#endif
