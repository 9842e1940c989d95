/*
 * xframe.h - which of an X server's messages may reach libxcb
 *
 * libxcb trusts its server: it allocates what a reply announces (up to 2 GiB),
 * keeps every event and every reply nobody asked for, and its reply lengths
 * wrap at 4 GiB. So between the two stands this filter. It follows both
 * directions of one connection by their framing, and lets pass
 *
 * - the setup, once xsetup_parse() accepted it,
 * - a reply to a request that xframe_expect() announced, at most as long as
 *   said there, once, in order,
 * - at most one error per request,
 * - events of the one kind allowed by xframe_allow_event(), at most
 *   XFRAME_EVENTS_COUNT until the next xframe_expect();
 *
 * drops other events unseen, and takes anything else as a broken protocol.
 *
 * Shapes:  pure: bytes in, verdicts out; the caller moves them (xgate.h).
 * Units:   bytes. Requests are counted from 1, as libxcb counts them.
 * Errors:  ERR_PROTOCOL; those of xsetup.h; ERR_LIMIT for a reply longer than
 *          expected.
 * Threads: one at a time: the caller locks.
 * Source:  X Window System Protocol, X11R7; X Generic Event Extension.
 */
#ifndef DESKTOP_XFRAME_H
#define DESKTOP_XFRAME_H

#include "base/err.h"
#include "desktop/xsetup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Replies under way at once: capture pipelines a handful. */
#define XFRAME_EXPECTED_COUNT 64
#define XFRAME_EVENTS_COUNT 64
/* No message's head is longer; a buffer of at least XSETUP_MAX_LEN lets
 * xframe_down() always make progress. */
#define XFRAME_HEAD_LEN 32

struct xframe {
	struct xsetup setup;
	bool set_up;
	/* client to server */
	bool asked; /* the client's own setup message has passed */
	uint8_t head[12];
	size_t head_len;
	uint64_t skip_len; /* rest of the message under way */
	uint64_t sent;	   /* requests seen */
	/* server to client */
	uint64_t body_len; /* rest of the message under way */
	bool body_passes;
	uint64_t answered; /* the newest request with a reply or an error */
	unsigned events_left;
	uint8_t event_kind; /* 0: none */
	struct {
		uint64_t request;
		uint64_t max_len;
	} expected[XFRAME_EXPECTED_COUNT];
	unsigned expected_count;
};

void xframe_init(struct xframe *f);
/* The request with this number, which is about to be sent, has a reply of at
 * most max_len bytes. */
int xframe_expect(struct xframe *f, uint64_t request, uint64_t max_len,
		  struct err *e) __attribute__((warn_unused_result));
void xframe_allow_event(struct xframe *f, uint8_t kind);

/* Bytes of the client on their way to the server: all pass. */
void xframe_up(struct xframe *f, const uint8_t *p, size_t len);

struct xframe_piece {
	size_t len; /* bytes at the start of p that are decided; 0: need more */
	bool passes;
};
int xframe_down(struct xframe *f, const uint8_t *p, size_t len,
		struct xframe_piece *ret, struct err *e)
	__attribute__((warn_unused_result));

#endif
