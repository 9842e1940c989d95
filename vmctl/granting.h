/*
 * granting.h - the way from what is asked for to what a person agreed to
 *
 *	if (granting_parse(&g, args, texts, e) < 0 ||
 *	    granting_ask(&g, &outcome, e) < 0)
 *		...
 *	if (outcome == GRANTING_AGREED)
 *		rc = granting_store(&g, e);
 *
 * Who is asked: the person behind the client that calls, by its front-end. An
 * agent whose client cannot ask gets GRANTING_PENDING, and a person answers
 * in a terminal (boxery approve); its next call finds that answer.
 *
 * Shapes:  a struct granting is the caller's, zero but for call, vm and
 *          occasion; granting_finish() also after a failure.
 * Errors:  ERR_DENIED when nobody agreed or the policy forbids it; else as
 *          grants/policy.h and grants/store.h.
 * Threads: the call's.
 */
#ifndef VMCTL_GRANTING_H
#define VMCTL_GRANTING_H

#include "grants/approval.h"
#include "grants/confirm.h"
#include "grants/grantset.h"
#include "grants/terms.h"
#include "vmctl/call.h"

enum granting_outcome {
	GRANTING_HELD,	  /* nothing of it is new */
	GRANTING_AGREED,  /* rest may be stored */
	GRANTING_PENDING, /* approval waits for a person */
};

struct granting {
	struct call *call;
	const char *vm;
	enum confirm_occasion occasion;
	struct grantset set, rest;
	struct terms terms;
	const char *reason, *client_info; /* of args, or NULL */
	const char *how;		  /* for the store */
	struct approval approval;
};

/* Checked against the policy: files have their real paths afterwards. */
int granting_parse(struct granting *g, const json_t *args, const json_t *texts,
		   struct err *e) __attribute__((warn_unused_result));
int granting_ask(struct granting *g, enum granting_outcome *ret, struct err *e)
	__attribute__((warn_unused_result));
int granting_store(struct granting *g, struct err *e)
	__attribute__((warn_unused_result));
void granting_finish(struct granting *g);

/* boxery approve: a person answers the request in g->approval. 0 after a yes:
 * it is used up, and rest is to be stored. A no is ERR_DENIED. */
int granting_approve(struct granting *g, struct err *e)
	__attribute__((warn_unused_result));

#endif
