/*
 * x11_conn.h - what the x11_*.c share: sending requests, taking replies
 *
 * Shapes:  a request with a reply goes out as
 *              x11_expect(x, longest reply, e);
 *              seq = x11_sent(x, xcb_…(x->c, …).sequence);
 *              reply = x11_reply(x, seq, shortest reply, &len, NULL, e);
 *          several may be under way. A request without one:
 *              x11_sent(x, xcb_…(x->c, …).sequence);
 * Errors:  as in x11.h.
 * Threads: as in x11.h.
 */
#ifndef DESKTOP_X11_CONN_H
#define DESKTOP_X11_CONN_H

#include "desktop/x11.h"
#include "desktop/xgate.h"
#include "desktop/xsetup.h"

#include <xcb/xcb.h>

/* every X reply has at least this length */
#define X11_REPLY_LEN 32

enum x11_atom {
	X11_ATOM_WM_PROTOCOLS,
	X11_ATOM_NET_WM_PING,
	X11_ATOM_BOUND,
	X11_ATOM_COUNT,
};

struct x11 {
	struct xgate *gate;
	xcb_connection_t *c;
	struct xsetup setup;
	uint64_t sent;	 /* number of the last request */
	bool failed;	 /* the server answered against the protocol */
	uint32_t damage; /* an id for a DAMAGE object; 0: no such extension */
	uint8_t damage_event;  /* the kind of its events */
	uint16_t xtest_device; /* XTEST's keyboard, as XKB names it */
	uint32_t atoms[X11_ATOM_COUNT];
	uint32_t pings; /* counted, to tell answers apart */
};

int x11_expect(struct x11 *x, uint64_t max_len, struct err *e)
	__attribute__((warn_unused_result));
unsigned x11_sent(struct x11 *x, unsigned sequence);
/* All before it was done; unlike x11_sync() it leaves events where they are. */
int x11_round_trip(struct x11 *x, struct err *e)
	__attribute__((warn_unused_result));
/*
 * The reply (free()), *ret_len bytes, at least min_len; or NULL. ret_error,
 * where not NULL, takes the code of an X error, which is then no failure: NULL
 * with *ret_error 0 is one.
 */
void *x11_reply(struct x11 *x, unsigned seq, size_t min_len, size_t *ret_len,
		uint8_t *ret_error, struct err *e)
	__attribute__((warn_unused_result));
/* For a reply whose content cannot be: the connection is not used again. */
int x11_liar(struct x11 *x, const char *what, struct err *e);
int x11_keyboard_open(struct x11 *x, struct err *e)
	__attribute__((warn_unused_result));

#endif
