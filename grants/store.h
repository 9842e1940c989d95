/*
 * store.h - which VM may use what, until when and how often: the database,
 *           and its projections for the proxy (edge.h)
 *
 *	store_missing(st, &add, &rest, e)	what a person must be asked
 *	... rest.count > 0: the question, the answer ...
 *	add.set = &rest; store_add(st, &add, e)	agreed
 *	store_list(st, vm, now_s, fn, ctx, e)	vm_grants, and what to apply
 *	store_use(st, vm, id, now_s, e)		the proxy, the ssh agent: one
 *use store_revoke(st, vm, text, fn, ctx, e)	fn is told what to withdraw
 *	store_expire(st, now_s, fn, ctx, e)	the same, at store_next_end()
 *	store_forget_vm(st, vm, e)		rm, lease reset; and before new
 *	store_reconcile(st, now_s, e)		once, as the service starts
 *
 * A grant that is held is never changed by asking for less or for the same
 * (F12): store_missing() leaves it out and nothing happens to it. What asks for
 * more (longer, more often, another grant) is returned, and after a yes takes
 * the place of what was held.
 *
 * Shapes:  what gives is written to the database first and to the projection
 *          after the commit, what takes away the other way round: cut off
 *          anywhere, the proxy never sees more than the database holds.
 * Units:   seconds since the epoch; end_s 0: no end.
 * Errors:  ERR_EXISTS when something else is in a grant's place of the guest,
 *          ERR_LIMIT over LIMIT_GRANTS_PER_VM_COUNT, ERR_NOT_FOUND,
 *          ERR_DENIED for a use that is not left; else as db.h and path.h.
 * Threads: any; the database serialises. fn runs after the commit and may
 *          call back.
 */
#ifndef GRANTS_STORE_H
#define GRANTS_STORE_H

#include "base/db.h"
#include "base/err.h"
#include "base/home.h"
#include "base/limits.h"
#include "grants/edge.h"
#include "grants/grantset.h"
#include "grants/terms.h"

#include <stdbool.h>
#include <stdint.h>

struct store;

/* db and h outlive the store. The proxy opens one too, for store_use(). */
struct store *store_new(struct db *db, const struct home *h)
	__attribute__((returns_nonnull));
void store_free(struct store *st);

struct store_grant {
	char id[EDGE_ID_LEN + 1];
	char vm[LIMIT_NAME_LEN + 1];
	struct grant grant;
	char *text;
	int64_t end_s;
	int64_t uses_left; /* TERMS_USES_ANY: any number */
	int64_t used;
	char *approved_by; /* "1000:cli", a token's name */
	char *how;	   /* "terminal", "dialog", "approve", "config" */
	int64_t approved_s;
};

struct store_add {
	const char *vm;
	const struct grantset *set;
	struct terms terms;
	const char *by, *how;
	int64_t now_s;
	/* A request made again within so many seconds of its yes asks for no
	 * more time than that yes gave. */
	int64_t again_s;
};

/* What of the set is not held within these terms; grantset_finish(). */
int store_missing(struct store *st, const struct store_add *a,
		  struct grantset *ret_rest, struct err *e)
	__attribute__((warn_unused_result));
/* All of the set or nothing. */
int store_add(struct store *st, const struct store_add *a, struct err *e)
	__attribute__((warn_unused_result));

/* g is borrowed for the call. */
typedef void store_fn(const struct store_grant *g, void *ctx);
/* What is held at this time: of one VM or, with NULL, of all; in order. */
int store_list(struct store *st, const char *vm, int64_t now_s, store_fn *fn,
	       void *ctx, struct err *e) __attribute__((warn_unused_result));
/* which: a text as printed, an id, or NULL for all of the VM; vm NULL: of every
 * VM. None found is ERR_NOT_FOUND if which was given. fn may be NULL. */
int store_revoke(struct store *st, const char *vm, const char *which,
		 store_fn *fn, void *ctx, struct err *e)
	__attribute__((warn_unused_result));
/* Remove what ended or has no use left. */
int store_expire(struct store *st, int64_t now_s, store_fn *fn, void *ctx,
		 struct err *e) __attribute__((warn_unused_result));
/* When the next one ends; 0: none does. */
int store_next_end(struct store *st, int64_t *ret_s, struct err *e)
	__attribute__((warn_unused_result));
/* Takes one use, and only if it is left; uses without a limit are counted
 * too. */
int store_use(struct store *st, const char *vm, const char *id, int64_t now_s,
	      struct err *e) __attribute__((warn_unused_result));
/* Whatever it held, and its projection. */
int store_forget_vm(struct store *st, const char *vm, struct err *e)
	__attribute__((warn_unused_result));
/* Write every projection anew, and remove those of VMs that hold nothing. */
int store_reconcile(struct store *st, struct err *e)
	__attribute__((warn_unused_result));

#endif
