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
#include "desktop/xprop.h"
#include "desktop/xsetup.h"

#include <xcb/xcb.h>

/* every X reply has at least this length */
#define X11_REPLY_LEN 32

enum x11_atom {
	X11_ATOM_WM_PROTOCOLS,
	X11_ATOM_NET_WM_PING,
	X11_ATOM_BOUND,
	X11_ATOM_NET_CLIENT_LIST,
	X11_ATOM_NET_CLIENT_LIST_STACKING,
	X11_ATOM_NET_ACTIVE_WINDOW,
	X11_ATOM_NET_SUPPORTING_WM_CHECK,
	X11_ATOM_NET_CLOSE_WINDOW,
	X11_ATOM_NET_MOVERESIZE_WINDOW,
	X11_ATOM_NET_FRAME_EXTENTS,
	X11_ATOM_NET_WM_NAME,
	X11_ATOM_NET_WM_PID,
	X11_ATOM_NET_WM_DESKTOP,
	X11_ATOM_NET_WM_STATE,
	X11_ATOM_NET_WM_STATE_HIDDEN,
	X11_ATOM_COUNT,
};

struct x11 {
	struct xgate *gate;
	xcb_connection_t *c;
	struct xsetup setup;
	uint64_t sent;	 /* number of the last request */
	bool failed;	 /* the server answered against the protocol */
	uint32_t damage; /* an id for a DAMAGE object; 0: no such extension */
	uint32_t mirror_damage, mirror_region; /* ids, for x11_damage.c */
	uint8_t damage_event;		       /* the kind of its events */
	bool drawn;			       /* one was met in the queue */
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
/* Empty libxcb's event queue. An error in it is the fate of a request without
 * a reply. */
int x11_drain_events(struct x11 *x, struct err *e)
	__attribute__((warn_unused_result));
/* The next event (free()), or NULL with *ret_late when none came in time. */
xcb_generic_event_t *x11_next_event(struct x11 *x, struct deadline d,
				    bool *ret_late, struct err *e)
	__attribute__((warn_unused_result));
/* Parts of a look that x11_image.c knows to ask for and to take. */
int x11_ask_size(struct x11 *x, unsigned *ret_seq, struct err *e)
	__attribute__((warn_unused_result));
int x11_take_size(struct x11 *x, unsigned seq, struct coords_size *ret,
		  struct err *e) __attribute__((warn_unused_result));
int x11_ask_cursor(struct x11 *x, unsigned *ret_seq, struct err *e)
	__attribute__((warn_unused_result));
int x11_take_cursor(struct x11 *x, unsigned seq, struct x11_cursor *ret,
		    struct err *e) __attribute__((warn_unused_result));
/* Properties (x11_property.c). Of a reply that is kept, *ret_reply is to be
 * freed; NULL, with an empty value, when there is no such property or window.
 * max_len: a multiple of 4. */
int x11_ask_property(struct x11 *x, uint32_t window, uint32_t atom,
		     uint32_t max_len, unsigned *ret_seq, struct err *e)
	__attribute__((warn_unused_result));
int x11_take_property(struct x11 *x, unsigned seq, void **ret_reply,
		      struct xprop *ret, struct err *e)
	__attribute__((warn_unused_result));
int x11_take_text(struct x11 *x, unsigned seq, char *ret, size_t size,
		  struct err *e) __attribute__((warn_unused_result));
int x11_take_words(struct x11 *x, unsigned seq, uint32_t *ret, unsigned max,
		   unsigned *ret_count, struct err *e)
	__attribute__((warn_unused_result));
struct x11_of {
	uint32_t window;
	enum x11_atom name;
};
int x11_get_words(struct x11 *x, struct x11_of of, uint32_t *ret, unsigned max,
		  unsigned *ret_count, struct err *e)
	__attribute__((warn_unused_result));
int x11_keyboard_open(struct x11 *x, struct err *e)
	__attribute__((warn_unused_result));

#endif
