/*
 * apply_impl.h - what the files of apply share; nobody else includes it
 *
 *   apply.c        states, and what there is to say about them
 *   apply_tell.c   one guest told what it is to hold
 *   apply_watch.c  the thread: what ends, and who has to be told again
 *
 * Threads: members are under apply.lock unless it says otherwise; whoever has a
 *          state's turn (busy) reads its outcomes and agent without it.
 */
#ifndef VMCTL_APPLY_IMPL_H
#define VMCTL_APPLY_IMPL_H

#include "base/limits.h"
#include "vmctl/apply.h"

#include <pthread.h>

struct agentfwd;
struct secret;

struct outcome {
	char id[EDGE_ID_LEN + 1];
	bool ok;
	char *why; /* or NULL */
};

struct value {
	char *name;
	struct secret *secret;
	struct value *next;
};

struct vmstate {
	struct vmstate *next;
	char vm[LIMIT_NAME_LEN + 1];
	bool busy, dirty;
	struct outcome *outcomes;
	size_t outcome_count;
	struct value *values;
	struct agentfwd *agent;
};

struct apply {
	struct service *service;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct vmstate *list;
	bool poked, ending, started;
	struct deadline retry; /* of the dirty ones */
	int stop_fd; /* readable at the end: no guest is waited for any more */
	pthread_t thread;
};

/* a guest that did not answer is asked again */
#define APPLY_RETRY_MS 5000

/* ---- apply.c ---- */
/* apply_sync(), but that the thread is not woken. */
int apply_sync_quietly(struct apply *a, struct machine *m, struct deadline d,
		       struct err *e) __attribute__((warn_unused_result));
/* Another time it may be otherwise. */
bool apply_is_worth_again(const struct err *e);
void apply_drop_outcomes(struct vmstate *v);

/* ---- apply_tell.c ---- */
/* The turn is the caller's. g NULL: there is no guest, and off says why. */
int apply_tell(struct apply *a, struct vmstate *v, struct guest *g,
	       const struct err *off, struct deadline d, struct err *e)
	__attribute__((warn_unused_result));

#endif
