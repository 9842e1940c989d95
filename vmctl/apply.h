/*
 * apply.h - what is granted, brought into the guests and out of them again
 *
 * The store says what a VM may use; here the guest is made to hold just that:
 * at every ready, after every change, and when something ends. Bringing in and
 * taking out are one thing, apply_sync(), so it may be done at any time and
 * again, and whatever was cut off is put right by the next one. A thread sleeps
 * until the next grant ends, and tries again where a guest did not answer.
 *
 *	grant, revoke:	(the store is changed)
 *			apply_sync(a, m, d, e)
 *	ready:		apply_ready(a, v, guest, d, e)
 *	rm:		apply_forget(a, vm)
 *
 * Shapes:  values are read when they are sent: env: from config/env, or what a
 *          person's program sent from its environment (apply_set_value), which
 *          is kept in this process's memory alone; file: by its real path.
 * Units:   seconds since the epoch.
 * Errors:  the guest's own state is told by apply_state(); apply_sync() fails
 *          when the guest as a whole could not be told.
 * Threads: any. One sync a VM at a time; a later one sees the newer store.
 */
#ifndef VMCTL_APPLY_H
#define VMCTL_APPLY_H

#include "base/deadline.h"
#include "base/err.h"
#include "grants/store.h"

#include <stdbool.h>

struct apply;
struct guest;
struct machine;
struct service;
struct vm_record;

struct apply *apply_new(struct service *s) __attribute__((returns_nonnull));
/* The thread; with it, what a service that died left undone. */
int apply_start(struct apply *a, struct err *e)
	__attribute__((warn_unused_result));
void apply_free(struct apply *a);

/* The guest of a running VM; ERR_STATE for one that is off. */
int apply_sync(struct apply *a, struct machine *m, struct deadline d,
	       struct err *e) __attribute__((warn_unused_result));
/* A guest that is just up: a fresh token, and all that it may use. */
int apply_ready(struct apply *a, struct machine *m, struct guest *g,
		struct deadline d, struct err *e)
	__attribute__((warn_unused_result));
/* The value of env:NAME for this VM, from a person's environment. */
void apply_set_value(struct apply *a, const char *vm, const char *name,
		     const char *value);
/* Whose ssh agent it is: a socket of this user's. Kept in the database. */
int apply_set_agent(struct apply *a, const char *vm, const char *socket,
		    struct err *e) __attribute__((warn_unused_result));
/* The VM is gone, or its name is about to be taken anew: whatever it was
 * granted, its token, its requests, and what is held here for it. */
int apply_forget(struct apply *a, const char *vm, struct err *e)
	__attribute__((warn_unused_result));
/* The same of what is alive only: connections for it are cut now. */
void apply_cut(struct apply *a, const char *vm);
/* The store has changed: the thread looks when the next one ends. */
void apply_poke(struct apply *a);

/* Where it is in the guest; free(). NULL: nowhere, as the proxy uses it. */
char *apply_place(const struct grant *g);
/* Has the guest got it? Else why not; free(). */
bool apply_state(struct apply *a, const struct store_grant *g, char **ret_why);

#endif
