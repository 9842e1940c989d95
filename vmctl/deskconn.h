/*
 * deskconn.h - a machine's desktop for one call: locked, connected, its state
 * kept for the next
 *
 * Shapes:  deskconn_enter() … deskconn_leave() bracket what is done; the lock
 *          in between orders input. The connection stays open after.
 *          Per client it is remembered which state of the desktop it last saw.
 * Errors:  ERR_STATE "the desktop of NAME is not up yet …", "NAME has no
 *          desktop …"; those of machines.h, guest.h and desktop.h.
 * Threads: any; the machine's desktop lock is held in between.
 */
#ifndef VMCTL_DESKCONN_H
#define VMCTL_DESKCONN_H

#include "desktop/desktop.h"
#include "vmctl/call.h"
#include "vmctl/machines.h"

struct deskconn;

struct deskconn_visit {
	struct call *call;
	struct machine *machine;
	struct deskconn *conn;
	struct desktop *desktop; /* borrowed, connected */
	struct turn turn;
};

/* Locks and connects; on failure nothing is held. */
int deskconn_enter(struct call *c, const char *vm, struct deskconn_visit *ret,
		   struct err *e) __attribute__((warn_unused_result));
/* rc is how the work on the desktop went: a connection that broke is closed
 * (after input, what it held is released by the next). Returns rc. */
int deskconn_leave(struct deskconn_visit *v, int rc, bool was_input);
/* After input that failed: what is still held is released. deskconn_leave() does
 * so itself when rc is not 0. */
void deskconn_let_go(struct deskconn_visit *v);
/* The client has now seen the desktop at this size; and this state of all of
 * it, unless generation is 0. */
void deskconn_saw(struct deskconn_visit *v, struct coords_size size,
		  uint64_t generation);

#endif
