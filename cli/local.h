/*
 * local.h - what the front-end does itself: ssh, and the service's start and
 * end
 *
 * Shapes:  like invoke_and_print(): prints, and says how to exit. local_ssh()
 *          does not return when it succeeds.
 * Threads: main thread.
 */
#ifndef CLI_LOCAL_H
#define CLI_LOCAL_H

#include "cli/invoke.h"

typedef int local_fn(const struct invoke *v, const struct op *op,
		     const json_t *args, int *ret_status, struct err *e);

/* How the row is done here, or NULL: by the service. */
local_fn *local_find(const struct op *op);
/* Names of VMs, one a line, for completion; the service is never started. */
void local_print_vms(const struct invoke *v);

#endif
