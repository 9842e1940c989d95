/*
 * ops_desktop.h - what other handlers use of the desktop's
 *
 * Shapes:  as a handler: the image goes out on RPC_IMAGE.
 * Errors:  as deskconn.h.
 * Threads: the call's.
 */
#ifndef VMCTL_OPS_DESKTOP_H
#define VMCTL_OPS_DESKTOP_H

#include "vmctl/call.h"

/* A screenshot of vm as the end of another operation; the record of it is
 * added to result. */
int ops_desktop_screenshot(struct call *c, const char *vm, json_t *result,
			   struct err *e) __attribute__((warn_unused_result));

#endif
