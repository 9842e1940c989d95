/*
 * approval.h - requests that wait for a person elsewhere
 *
 * An agent whose client cannot ask its person gets "pending" and an id; the
 * person answers in a terminal, and the agent's repeated call finds the
 * answer.
 *
 *	approval_ask(db, &req, now_s, &found, e)	the agent's call
 *	  APPROVAL_PENDING	say found.id: boxery approve ID
 *	  APPROVAL_APPROVED	store_add(); this answer is used up now
 *	  APPROVAL_DENIED	refuse; so are repetitions, until it expires
 *	approval_get(db, id, now_s, &found, e)		boxery approve ID: the
 *							question from found
 *	approval_decide(db, id, yes, by, now_s, e)	after the person's
 *answer
 *
 * Shapes:  an answer is for one client, one VM and exactly these grants with
 *          these terms, and serves once. A repeated request while one waits
 *          is the same one.
 * Units:   seconds since the epoch. What is not answered, or not fetched,
 *          within LIMIT_APPROVAL_S is void.
 * Errors:  ERR_LIMIT when too many wait, ERR_NOT_FOUND for an id that does not
 *          wait (any more); else as db.h.
 * Threads: any; the database serialises.
 */
#ifndef GRANTS_APPROVAL_H
#define GRANTS_APPROVAL_H

#include "base/db.h"
#include "base/err.h"
#include "grants/grantset.h"
#include "grants/terms.h"

#include <stdbool.h>
#include <stdint.h>

#define APPROVAL_ID_LEN 8

enum approval_state {
	APPROVAL_PENDING,
	APPROVAL_APPROVED,
	APPROVAL_DENIED,
	APPROVAL_USED, /* an approved one that has served */
};

struct approval_request {
	const char *client; /* "1000:stdio", or "token:NAME" */
	const char *vm;
	const struct grantset *set; /* after policy_check() */
	struct terms terms;
	const char *reason, *client_info; /* the agent's words, or NULL */
};

struct approval {
	char id[APPROVAL_ID_LEN + 1];
	enum approval_state state;
	char *client, *vm;
	struct grantset set;
	struct terms terms;
	char *reason, *client_info; /* "" for none */
	int64_t created_s, expires_s;
};
void approval_finish(struct approval *a);

int approval_ask(struct db *db, const struct approval_request *req,
		 int64_t now_s, struct approval *ret, struct err *e)
	__attribute__((warn_unused_result));
/* The same without asking: is there one like it? Nothing is used up. */
int approval_find(struct db *db, const struct approval_request *req,
		  int64_t now_s, bool *ret_found, struct approval *ret,
		  struct err *e) __attribute__((warn_unused_result));
/* One that waits. */
int approval_get(struct db *db, const char *id, int64_t now_s,
		 struct approval *ret, struct err *e)
	__attribute__((warn_unused_result));
int approval_decide(struct db *db, const char *id, bool yes, const char *by,
		    int64_t now_s, struct err *e)
	__attribute__((warn_unused_result));
/* Those that wait, oldest first. a is borrowed; fn may call back. */
typedef void approval_fn(const struct approval *a, void *ctx);
int approval_list(struct db *db, int64_t now_s, approval_fn *fn, void *ctx,
		  struct err *e) __attribute__((warn_unused_result));
/* rm, lease reset: no answer for a machine that is gone. */
int approval_forget_vm(struct db *db, const char *vm, struct err *e)
	__attribute__((warn_unused_result));

#endif
