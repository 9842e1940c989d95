/*
 * machines_impl.h - what machines.c and machines_watch.c share; nobody else
 * includes it
 *
 * Threads: "list" marks members under machines->lock, "own" those under the
 *          machine's; machines->lock is the outer one.
 */
#ifndef VMCTL_MACHINES_IMPL_H
#define VMCTL_MACHINES_IMPL_H

#include "base/limits.h"
#include "vmctl/machines.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct machine {
	/* fixed at birth */
	struct machines *all;
	char name[LIMIT_NAME_LEN + 1];
	/* list */
	struct machine *next;
	unsigned users;
	/* own */
	pthread_mutex_t lock;
	char busy[64];
	struct call *holder; /* whose work may be ended; NULL: nobody's */
	pthread_cond_t freed;
	struct guest *guest;
	struct guest **dead;
	size_t dead_count;
	int64_t running_until_ms;
	bool desktop_taken;
	pthread_cond_t desktop_free;
	struct machine_desktop desktop;
	const char *desktop_how;
	int64_t desktop_rest_at_ms; /* 0: it rests, or is not there */
};

/* Who borrowed a machine: a call, or a part of the service. */
struct use {
	const void *who;
	struct machine *machine;
	struct use *next;
};

struct machines {
	struct service *service;
	pthread_mutex_t lock;
	/* list */
	struct machine *list;
	struct use *uses;
	pthread_cond_t changed; /* the first use, a time to rest, the end */
	bool ending;
	/* machines_watch.c */
	pthread_t watcher;
	bool watched;
};

/* Ends the thread, if there is one. */
void machines_unwatch(struct machines *m);

#endif
