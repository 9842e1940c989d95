/*
 * lifecycle.h - a machine made, started and taken apart, whatever happens in
 * between
 *
 * Making: row, keys, seed, disk, definition, boot, ready. Taking apart: row
 * marked, grants and token, power, definition, files, keys, row. Each step may be done again, so
 * one function takes apart what is half made, half removed or whole.
 *
 * Shapes:  the machine is locked by the caller (machine_lock).
 * Errors:  life_create() undoes all when it fails; when even that fails the
 *          row stays, marked broken, and the message says so.
 * Threads: the call's.
 */
#ifndef VMCTL_LIFECYCLE_H
#define VMCTL_LIFECYCLE_H

#include "base/err.h"
#include "vmctl/call.h"
#include "vmctl/image.h"
#include "vmctl/machines.h"
#include "vmctl/registry.h"

struct life_new {
	const struct image *image;
	struct vm_record *v; /* name, owner, shape and sizes are set */
	/* once there is a record, before anything else; or NULL */
	int (*recorded)(void *ctx, struct err *e);
	void *ctx;
};
/* What n->v lacks is filled in. */
int life_create(struct call *c, struct machine *m, const struct life_new *n,
		struct err *e) __attribute__((warn_unused_result));
/* Boots a machine that is off; goes on with one that is paused; then ready. */
int life_start(struct call *c, struct machine *m, struct vm_record *v,
	       struct err *e) __attribute__((warn_unused_result));
/* The definition for its next boot, also where one was made by an older boxery
 * and is started by others; v's address may change. */
int life_redefine(struct service *s, struct vm_record *v, bool running,
		  struct err *e) __attribute__((warn_unused_result));
/* An imported image goes with the last machine that was made from it. */
void life_drop_import(struct service *s, const char *image);
/* Any image, unless a machine is made from it: *ret_used. */
int life_drop_image(struct service *s, const char *image, bool *ret_used,
		    struct err *e) __attribute__((warn_unused_result));
/* All of it, row last. Needs no row. */
int life_remove(struct service *s, struct machine *m, struct err *e)
	__attribute__((warn_unused_result));

#endif
