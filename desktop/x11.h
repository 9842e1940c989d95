/*
 * x11.h - one connection to an X server, through libxcb and the gate
 *
 * This and the other x11_*.c are libxcb's only users. Everything that comes
 * back is hostile: a reply is checked for its length before a field beyond
 * the first 32 bytes is read, and its counts against the request.
 *
 * Shapes:  functions are to be called between x11_begin() and x11_end(), which
 *          carry the deadline. Those that return void only queue a request;
 *          what became of it shows at the next x11_sync().
 * Units:   desktop pixels; milliseconds.
 * Errors:  after a fault of the connection x11_broken() is true and every
 *          call fails; an error the server answers to a request is
 *          ERR_PROTOCOL with its numbers and leaves the connection usable.
 * Threads: one at a time (the gate has a thread of its own).
 * Source:  X Window System Protocol X11R7, XTEST 2.2, XFIXES 5, XKB 1.0.
 */
#ifndef DESKTOP_X11_H
#define DESKTOP_X11_H

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/err.h"
#include "desktop/coords.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct x11;

struct x11_config {
	int fd;		   /* connected to the server; taken, also on failure */
	const void *xauth; /* bytes of an .Xauthority */
	size_t xauth_len;
	unsigned display; /* the N of :N, to find the cookie by */
};

int x11_open(const struct x11_config *config, struct deadline d,
	     struct x11 **ret, struct err *e)
	__attribute__((warn_unused_result));
void x11_free(struct x11 *x);
bool x11_broken(const struct x11 *x);

void x11_begin(struct x11 *x, struct deadline d);
void x11_end(struct x11 *x);

/* ---- seeing (x11_image.c) ---- */

struct x11_cursor {
	int x, y;	  /* of the image's top left corner; may be outside */
	int hot_x, hot_y; /* of the pointer itself */
	unsigned width_px, height_px;
	uint32_t *pixels; /* premultiplied ARGB, rows without gaps; or NULL */
};
void x11_cursor_finish(struct x11_cursor *c);

/* The desktop's size now; ERR_LIMIT over limits.h. */
int x11_size(struct x11 *x, struct coords_size *ret, struct err *e)
	__attribute__((warn_unused_result));
/*
 * Pixels of count rectangles, asked for at once and given to each() as they
 * come: BGRX, rows without gaps, valid during the call. ERR_BUSY when the
 * desktop is no longer of that size; what each() has got by then is of the
 * screen, but of which time is unknown.
 */
#define X11_FETCH_COUNT 48
struct x11_sink {
	void (*each)(void *ctx, const struct coords_rect *rect,
		     const uint8_t *pixels);
	void *ctx;
};
int x11_fetch(struct x11 *x, struct coords_size size,
	      const struct coords_rect *rects, unsigned count,
	      const struct x11_sink *sink, struct err *e)
	__attribute__((warn_unused_result));
struct x11_pointer {
	int x, y;
	unsigned buttons; /* bit n-1: button n (1..5) is down */
};
int x11_pointer(struct x11 *x, struct x11_pointer *ret, struct err *e)
	__attribute__((warn_unused_result));

/* ---- what was drawn (x11_damage.c) ---- */

/*
 * The server notes for us what is drawn, from x11_damage_watch() on; the first
 * look then finds everything drawn. Without DAMAGE, each look does.
 */
bool x11_damage_works(const struct x11 *x);
void x11_damage_watch(struct x11 *x);
void x11_damage_unwatch(struct x11 *x);
struct x11_look {
	struct coords_size size;
	struct coords_rect *drawn; /* since the look before */
	size_t drawn_count;
	struct x11_cursor cursor;
};
/* One round trip. */
int x11_look(struct x11 *x, struct x11_look *ret, struct err *e)
	__attribute__((warn_unused_result));
void x11_look_finish(struct x11_look *l);
/* Until something is drawn after the last look, or d: *ret_drawn. May be true
 * without need. Without DAMAGE it waits for d. */
int x11_damage_await(struct x11 *x, struct deadline d, bool *ret_drawn,
		     struct err *e) __attribute__((warn_unused_result));

/* ---- doing (x11_input.c) ---- */

/* Synthetic input by XTEST. The server waits delay_ms before it goes on with
 * this connection. */
void x11_fake_key(struct x11 *x, uint8_t keycode, bool press,
		  unsigned delay_ms);
void x11_fake_button(struct x11 *x, uint8_t button, bool press,
		     unsigned delay_ms);
void x11_fake_motion(struct x11 *x, int to_x, int to_y, unsigned delay_ms);
/* A round trip: all before it was done. ERR_PROTOCOL when the server refused
 * any of it. */
int x11_sync(struct x11 *x, struct err *e) __attribute__((warn_unused_result));

/* ---- what comes of it (x11_watch.c) ---- */

/* Ask the program that has the focus whether it has caught up, as window
 * managers do (_NET_WM_PING). */
enum x11_pong {
	X11_PONG,	/* it answered: it has seen all input so far */
	X11_NO_PONG,	/* it does take part, but did not answer in time */
	X11_PONG_NEVER, /* it does not take part */
};
int x11_ping(struct x11 *x, unsigned timeout_ms, enum x11_pong *ret,
	     struct err *e) __attribute__((warn_unused_result));

/* Until nothing on the screen has changed for still_ms, at most cap_ms. A
 * server without DAMAGE is given still_ms. */
int x11_await_still(struct x11 *x, unsigned still_ms, unsigned cap_ms,
		    struct err *e) __attribute__((warn_unused_result));

/* ---- windows (x11_titles.c) ---- */

/* Is a window open whose title holds part, in any case of letters? */
int x11_find_title(struct x11 *x, const char *part, bool *ret, struct err *e)
	__attribute__((warn_unused_result));

/* ---- windows (x11_windows.c) ---- */

#define X11_WINDOWS_COUNT 256
struct x11_frame { /* with its border and title bar */
	int x, y;
	unsigned width_px, height_px;
};
struct x11_window {
	uint32_t id;
	char title[512], program[128]; /* UTF-8; the guest's */
	uint32_t pid;		       /* as the program says; 0: it does not */
	int64_t workspace; /* counted from 0; -1: all of them, or unknown */
	bool focused, minimized;
	struct x11_frame frame;
	/* of the frame, what is around the window: left, right, top, bottom */
	unsigned around[4];
};
struct x11_windows {
	struct x11_window *at; /* the topmost first */
	unsigned count;
	bool cut; /* there are more */
};
/* As the window manager lists them; ERR_STATE when there is none. */
int x11_windows(struct x11 *x, struct x11_windows *ret, struct err *e)
	__attribute__((warn_unused_result));
void x11_windows_finish(struct x11_windows *l);
/* Requests to the window manager, who may do otherwise. ERR_NOT_FOUND when no
 * such window is open. */
enum x11_window_verb {
	X11_WINDOW_FOCUS,
	X11_WINDOW_RAISE,
	X11_WINDOW_MOVE, /* and resize */
	X11_WINDOW_CLOSE,
};
struct x11_window_request {
	uint32_t id;
	enum x11_window_verb verb;
	bool moves, resizes; /* which of the frame counts */
	struct x11_frame frame;
};
int x11_window_ask(struct x11 *x, const struct x11_window_request *r,
		   struct err *e) __attribute__((warn_unused_result));

/* ---- the keyboard (x11_keyboard.c) ---- */

struct xkbmap;
#define X11_KEYCODES 256

/* The map of XTEST's own keyboard, which is what counts for the keys we
 * send (another device's may differ). */
int x11_keyboard_map(struct x11 *x, struct xkbmap *ret, struct err *e)
	__attribute__((warn_unused_result));
/* Which keycodes have no keysym on the keyboard used last, either. */
int x11_keyboard_unused(struct x11 *x, bool ret_unused[X11_KEYCODES],
			struct err *e) __attribute__((warn_unused_result));
struct x11_key_state {
	uint8_t base_mods, latched_mods, locked_mods, locked_group;
	bool down[X11_KEYCODES];
};
int x11_key_state(struct x11 *x, struct x11_key_state *ret, struct err *e)
	__attribute__((warn_unused_result));
/* Set locked modifiers (all eight) and group, drop latches. */
void x11_lock_state(struct x11 *x, uint8_t mods, uint8_t group);
/* Give keycodes these keysyms (by keycode, 0: leave), in one change of the map
 * where the server takes it: each costs every program on the desktop. */
int x11_bind(struct x11 *x, const uint32_t keysyms[X11_KEYCODES], struct err *e)
	__attribute__((warn_unused_result));
/* Which keycodes we bound, remembered by the server itself (a property of its
 * root window), so that they outlive this connection. */
int x11_bound_get(struct x11 *x, bool ret_bound[X11_KEYCODES], struct err *e)
	__attribute__((warn_unused_result));
void x11_bound_set(struct x11 *x, const bool bound[X11_KEYCODES]);

CLEANUP_DEFINE(x11, struct x11, x11_free)
#define auto_x11 __attribute__((cleanup(cleanup_x11_)))

#endif
