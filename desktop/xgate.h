/*
 * xgate.h - the relay between libxcb and a hostile X server
 *
 * libxcb has no timeouts: once the head of a reply is in, even its poll_for
 * functions wait for the rest for ever, and so does its handshake. The gate
 * gives it a socket of ours instead of the server's, carries the bytes over
 * on a thread of its own, past the filter of xframe.h, and when a deadline
 * passes or the filter finds fault, shuts that socket: whatever libxcb was
 * blocked in returns with an error.
 *
 * Shapes:  xgate_open() owns the server's fd. Between xgate_begin() and
 *          xgate_end() a call is under way; outside, nothing is read from
 *          the server, so an idle desktop costs nothing and a flooding one
 *          is held by its own full socket.
 * Units:   bytes, deadlines.
 * Errors:  a gate that broke stays broken; xgate_error() says why.
 * Threads: begin, expect, end and error: the one thread that uses libxcb.
 */
#ifndef DESKTOP_XGATE_H
#define DESKTOP_XGATE_H

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/err.h"
#include "desktop/xsetup.h"

#include <stdint.h>

struct xgate;

/* Takes server_fd also on failure. *ret_fd is libxcb's side, the caller's to
 * close (before or after xgate_free). */
int xgate_open(int server_fd, struct xgate **ret, int *ret_fd, struct err *e)
	__attribute__((warn_unused_result));
void xgate_free(struct xgate *g); /* joins the thread */

void xgate_begin(struct xgate *g, struct deadline d);
void xgate_end(struct xgate *g);
int xgate_expect(struct xgate *g, uint64_t request, uint64_t max_len,
		 struct err *e) __attribute__((warn_unused_result));
void xgate_allow_event(struct xgate *g, uint8_t kind);
/* Always -1, with what broke the gate, or that the connection was lost. */
int xgate_error(struct xgate *g, struct err *e);
/* What the server said at the start; zeros before. */
struct xsetup xgate_setup(struct xgate *g);

CLEANUP_DEFINE(xgate, struct xgate, xgate_free)
#define auto_xgate __attribute__((cleanup(cleanup_xgate_)))

#endif
