/*
 * ops_desktop.h - what other handlers use of the desktop's
 *
 * Shapes:  as a handler: the images go out on RPC_IMAGE.
 * Errors:  as deskconn.h.
 * Threads: the call's.
 */
#ifndef VMCTL_OPS_DESKTOP_H
#define VMCTL_OPS_DESKTOP_H

#include "vmctl/call.h"
#include "vmctl/deskconn.h"

/* A screenshot of vm as the end of another operation; the record of it is
 * added to result. */
int ops_desktop_screenshot(struct call *c, const char *vm, json_t *result,
			   struct err *e) __attribute__((warn_unused_result));
/* Its parts: take one under the desktop's lock, which the client has then
 * seen … */
int ops_desktop_capture(struct deskconn_visit *v,
			const struct desktop_want *want,
			struct desktop_shot **ret, struct err *e)
	__attribute__((warn_unused_result));
/* … encode, send, and describe it in result, after the lock. */
int ops_desktop_send(struct call *c, struct desktop_shot *shot, json_t *result,
		     struct err *e) __attribute__((warn_unused_result));
/* "none", or [[x, y, width, height], …]. */
json_t *ops_desktop_boxes(const struct desktop_boxes *b);
/* A row of vm_windows. */
json_t *ops_desktop_window(const struct desktop_window *w);

#endif
