/*
 * ops_grant.h - what `new --grant` shares with `grant`
 *
 * Shapes:  as granting.h. grant_new_ask() comes before anything of the VM is
 *          made, grant_new_store() once its record is there and before it
 *          boots; granting_finish() in any case.
 * Threads: the call's.
 */
#ifndef VMCTL_OPS_GRANT_H
#define VMCTL_OPS_GRANT_H

#include "vmctl/granting.h"

/* Forgets what the name held before, and asks. */
int grant_new_ask(struct call *c, const char *vm, const json_t *args,
		  struct granting *g, struct err *e)
	__attribute__((warn_unused_result));
int grant_new_store(struct granting *g, const json_t *args, struct err *e)
	__attribute__((warn_unused_result));

#endif
