/*
 * machines.h - the living side of each VM: its guest connection, its desktop,
 * and the lock that lets one changing operation at a time work on it
 *
 * Shapes:  machines_get() gives a borrowed struct machine, good until
 *          machines_release(); a removed VM's is emptied, not freed.
 * Errors:  ERR_NOT_FOUND unknown VM; ERR_STATE "NAME is off (boxery start
 *          NAME)"; ERR_BUSY "NAME is busy with X".
 * Threads: any.
 */
#ifndef VMCTL_MACHINES_H
#define VMCTL_MACHINES_H

#include "base/deadline.h"
#include "base/err.h"
#include "vmctl/service.h"

struct machine;
struct guest;
struct desktop;

struct machines *machines_new(struct service *s);
void machines_free(struct machines *m);
/* From now on calls at a machine that went off end soon, not when ssh gives it
 * up: a thread asks the backend while there are calls. */
int machines_watch(struct machines *m, struct err *e)
	__attribute__((warn_unused_result));
/* What that thread does, once: drop the connections of the machines in use
 * that run no more. */
void machines_look(struct machines *m);

/* Scope (call_may_use_vm) and existence are checked here, for all handlers. */
int machines_get(struct machines *m, const struct call *c, const char *name,
		 struct machine **ret, struct err *e)
	__attribute__((warn_unused_result));
/* The same for a name that may have no record (yet, or any more): to make or
 * clean up what has it. */
int machines_claim(struct machines *m, const struct call *c, const char *name,
		   struct machine **ret, struct err *e)
	__attribute__((warn_unused_result));
/* The same for what the service does by itself: who, any address of its own,
 * borrows until machines_return(). */
int machines_borrow(struct machines *m, const void *who, const char *name,
		    struct machine **ret, struct err *e)
	__attribute__((warn_unused_result));
void machines_return(struct machines *m, const void *who);
/*
 * c's handler has returned: what it borrowed may go. Guests of removed VMs
 * live until no call uses them, so whoever runs handlers calls this after
 * each.
 */
void machines_release(struct machines *m, const struct call *c);
/*
 * c failed because a guest did not answer: where the machine went off meanwhile,
 * that is the reason to give, so *e becomes it.
 */
void machines_explain(struct machines *m, const struct call *c, struct err *e);
/* The VM's power was cut: nobody waits for its answer any more, not even who
 * boots it. */
void machines_lost_power(struct machines *m, const char *name);
/* ERR_STATE when it does not run and nobody is at work on it. */
int machine_check_runs(struct machine *m, struct err *e)
	__attribute__((warn_unused_result));
/* One changing operation: `what` is shown to others as "busy with WHAT".
 * holder: the call that machine_take() may end; NULL: it is to be waited for. */
int machine_lock(struct machine *m, struct call *holder, const char *what,
		 struct err *e) __attribute__((warn_unused_result));
/* The same by force: whoever is at work is told that it was ended by `why`, and
 * waited for, until d. *ret_ended: somebody was. */
int machine_take(struct machine *m, const char *what, const char *why,
		 struct deadline d, bool *ret_ended, struct err *e)
	__attribute__((warn_unused_result));
void machine_unlock(struct machine *m);
/* The guest of a running VM; ERR_STATE when it is off. Borrowed. */
int machine_guest(struct machine *m, struct guest **ret, struct err *e)
	__attribute__((warn_unused_result));
/* The same while it is being made or is starting, whatever libvirt says. */
int machine_guest_booting(struct machine *m, struct guest **ret,
			  struct err *e) __attribute__((warn_unused_result));
/* The VM stopped: drop sessions and desktop. */
void machine_drop(struct machine *m);
/* The VM is gone: forget its keys and address too. */
void machine_forget(struct machine *m);
const char *machine_name(const struct machine *m);

/* The desktop slot belongs to vmctl/ops_desktop.c: it stores what it
 * connected, guarded by its lock; drop() is called by machine_drop. */
struct machine_desktop {
	void *state;
	void (*drop)(void *state);
	void (*rest)(void *state); /* called when rest_ms has passed */
};
struct machine_desktop *machine_desktop_lock(struct machine *m,
					     struct deadline d,
					     struct err *e)
	__attribute__((warn_unused_result));
void machine_desktop_unlock(struct machine *m);
/* Said by who holds the lock: how the desktop is seen (a literal, for
 * machine_desktop_how(); NULL: not at all), and how long after this it is to
 * rest. */
void machine_desktop_note(struct machine *m, const char *how, int64_t rest_ms);
const char *machine_desktop_how(struct machine *m);

/* Where the X server of a guest listens, and who may use it. */
struct machine_display {
	const char *xauthority, *socket;
	unsigned number;
};
struct machine_display machine_display(const struct machine *m);

#endif
