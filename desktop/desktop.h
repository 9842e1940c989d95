/*
 * desktop.h - one desktop: what the service does with it
 *
 * Coordinates that come in and go out are pixels of the full screenshot, whose
 * size follows from the desktop's (coords.h). The desktop is reached over an
 * fd that somebody else connected; it knows neither ssh nor machines.
 *
 * Shapes:  struct desktop is one connection. When desktop_broken(), free it
 *          and open another; what it had pressed may still be down then
 *          (desktop_release()). A struct desktop_shot is on its own: it may be
 *          encoded and freed by any thread, after the desktop too.
 * Units:   pixels, milliseconds.
 * Errors:  ERR_INVALID bad place, key or text; ERR_STATE resized since the
 *          client looked, or the desktop cannot do it; ERR_TIMEOUT;
 *          ERR_CANCELLED; ERR_UNAVAILABLE connection lost; ERR_PROTOCOL and
 *          ERR_LIMIT for a server that lies or floods.
 * Threads: a desktop by one thread at a time.
 */
#ifndef DESKTOP_DESKTOP_H
#define DESKTOP_DESKTOP_H

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/err.h"
#include "desktop/coords.h"
#include "desktop/input.h"
#include "desktop/turn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct desktop;
struct desktop_shot;

/* What is worth keeping when a connection is lost: what was seen last. */
struct desktop_memory;
struct desktop_memory *desktop_memory_new(void);
void desktop_memory_free(struct desktop_memory *m);

struct desktop_config {
	int fd; /* connected to the X server; taken in any case */
	struct desktop_memory *memory; /* outlives the desktop */
	const void *xauth;	       /* bytes of an .Xauthority */
	size_t xauth_len;
	unsigned display; /* the N of :N, to find the cookie by */
};

int desktop_open(const struct desktop_config *config, struct deadline d,
		 struct desktop **ret, struct err *e)
	__attribute__((warn_unused_result));
void desktop_free(struct desktop *d);
bool desktop_broken(const struct desktop *d);
/* Is it there? A round trip. */
int desktop_check(struct desktop *d, const struct turn *t, struct err *e)
	__attribute__((warn_unused_result));

/* Is it told what changes, or is all of it fetched for every look? */
bool desktop_is_told(const struct desktop *d);
/* Nobody has looked for a while: let go of the pixels, until they do again. */
void desktop_rest(struct desktop *d, const struct turn *t);

/* ---- seeing ---- */

#define DESKTOP_BOXES_COUNT 8
struct desktop_boxes {
	struct coords_rect at[DESKTOP_BOXES_COUNT]; /* of the full screenshot */
	unsigned count;
};

struct desktop_want {
	/* NULL: the full screenshot; else that part at full resolution (or the
	 * nearest that fits the tier) */
	const struct coords_region *region;
	/* only what changed since this generation, when that is much smaller;
	 * or since the client's last (DESKTOP_SINCE_LAST) */
	bool partly;
	uint64_t since;
};
#define DESKTOP_SINCE_LAST 0
int desktop_capture(struct desktop *d, const struct turn *t,
		    const struct desktop_want *want, struct desktop_shot **ret,
		    struct err *e) __attribute__((warn_unused_result));

struct desktop_shot_info {
	struct coords_size image, desktop, full; /* full: the full screenshot */
	double scale;		     /* image pixels per desktop pixel */
	struct coords_point pointer; /* in full-screenshot pixels */
	struct coords_rect rect;     /* desktop pixels that are shown */
	uint64_t generation;
	bool partly; /* only what changed is shown, image is not */
	/* since the client's last screenshot, when it has taken one */
	bool compared;
	struct desktop_boxes changed;
};
struct desktop_shot_info desktop_shot_info(const struct desktop_shot *s);
/* The images, encoded, with the pointer drawn: one; or, of a shot that shows
 * what changed, one for each box, perhaps none. */
struct desktop_image {
	const char *mime;
	const uint8_t *bytes; /* the shot's */
	size_t len;
	struct coords_size size;
	struct coords_rect box; /* of the full screenshot, when partly */
};
int desktop_shot_encode(struct desktop_shot *s, struct err *e)
	__attribute__((warn_unused_result));
unsigned desktop_shot_images(const struct desktop_shot *s,
			     struct desktop_image ret[DESKTOP_BOXES_COUNT]);
void desktop_shot_free(struct desktop_shot *s);

/* ---- what an action does ---- */

/* Has anything (in a part) changed since a generation? DESKTOP_SINCE_LAST: only
 * which one it is. */
struct desktop_glance {
	uint64_t generation;
	bool changed;
};
int desktop_glance(struct desktop *d, const struct turn *t,
		   const struct coords_region *region, uint64_t since,
		   struct desktop_glance *ret, struct err *e)
	__attribute__((warn_unused_result));

/* Is a window open whose title holds part, in any case of letters? */
int desktop_has_window(struct desktop *d, const struct turn *t,
		       const char *part, bool *ret, struct err *e)
	__attribute__((warn_unused_result));

/* The windows that the window manager lists, the topmost first. */
struct desktop_window {
	uint32_t id;
	char *title, *program; /* UTF-8, the guest's */
	uint32_t pid;	       /* 0: unknown */
	int64_t workspace;     /* -1: all, or unknown */
	bool focused, minimized;
	/* with its frame, in px of the full screenshot; may reach over its
	 * edges */
	struct coords_region frame;
};
struct desktop_windows {
	struct desktop_window *at;
	unsigned count;
	bool cut; /* there are more */
};
int desktop_windows(struct desktop *d, const struct turn *t,
		    struct desktop_windows *ret, struct err *e)
	__attribute__((warn_unused_result));
void desktop_windows_finish(struct desktop_windows *l);

/*
 * Bracket an action: what the desktop looks like, and what moves on it anyhow;
 * then what became of it, once nothing else has changed for quiet_ms, or after
 * cap_ms. Without desktop_observe() before, everything that changes counts.
 */
struct desktop_rule {
	unsigned quiet_ms, cap_ms;
};
int desktop_observe(struct desktop *d, const struct turn *t,
		    const struct desktop_rule *rule, struct err *e)
	__attribute__((warn_unused_result));
struct desktop_outcome {
	bool settled;
	struct desktop_boxes changed, moving; /* moving: it did before, too */
};
int desktop_settle(struct desktop *d, const struct turn *t,
		   const struct desktop_rule *rule, struct desktop_outcome *ret,
		   struct err *e) __attribute__((warn_unused_result));

/* ---- doing ---- */

struct desktop_place {
	int64_t x, y; /* of the full screenshot */
};
struct desktop_click {
	const struct desktop_place *at; /* NULL: where the pointer is */
	enum input_button button;
	unsigned count;	       /* clicks, or notches of a wheel */
	const char *modifiers; /* "ctrl+shift", or NULL */
};
int desktop_click(struct desktop *d, const struct turn *t,
		  const struct desktop_click *c, struct err *e)
	__attribute__((warn_unused_result));
int desktop_move(struct desktop *d, const struct turn *t,
		 const struct desktop_place *to, struct err *e)
	__attribute__((warn_unused_result));
struct desktop_drag {
	const struct desktop_place *points;
	size_t count; /* 2 to DESKTOP_DRAG_COUNT */
	enum input_button button;
	const char *modifiers;
};
#define DESKTOP_DRAG_COUNT 1000
int desktop_drag(struct desktop *d, const struct turn *t,
		 const struct desktop_drag *g, struct err *e)
	__attribute__((warn_unused_result));
int desktop_type(struct desktop *d, const struct turn *t, const char *text,
		 size_t len, struct err *e) __attribute__((warn_unused_result));
/* "ctrl+a Delete", repeat times over. */
int desktop_key(struct desktop *d, const struct turn *t, const char *keys,
		unsigned repeat, struct err *e)
	__attribute__((warn_unused_result));
/* Press "ctrl+a", and release it after ms. */
int desktop_hold(struct desktop *d, const struct turn *t, const char *keys,
		 int64_t ms, struct err *e) __attribute__((warn_unused_result));
/* A button goes down, until it goes up, is clicked, or desktop_release(). */
struct desktop_press {
	const struct desktop_place *at; /* NULL: where the pointer is */
	enum input_button button;
	bool press;
};
int desktop_press(struct desktop *d, const struct turn *t,
		  const struct desktop_press *p, struct err *e)
	__attribute__((warn_unused_result));
/* Is a button down by desktop_press()? */
bool desktop_holds(const struct desktop *d);
/* Asks the window manager. */
enum desktop_window_verb {
	DESKTOP_WINDOW_FOCUS,
	DESKTOP_WINDOW_RAISE,
	DESKTOP_WINDOW_MOVE,
	DESKTOP_WINDOW_CLOSE,
};
struct desktop_window_request {
	uint32_t id;
	enum desktop_window_verb verb;
	/* MOVE: one of them or both */
	const struct desktop_place *to; /* of the frame's top left corner */
	bool resizes;			/* to this, with its frame */
	int64_t width_px, height_px;	/* of the full screenshot */
};
int desktop_window(struct desktop *d, const struct turn *t,
		   const struct desktop_window_request *r, struct err *e)
	__attribute__((warn_unused_result));
/* Let go of all buttons and keys: after a connection was lost in the middle of
 * input, or when who holds a button is gone. */
int desktop_release(struct desktop *d, const struct turn *t, struct err *e)
	__attribute__((warn_unused_result));

CLEANUP_DEFINE(desktop_memory, struct desktop_memory, desktop_memory_free)
#define auto_desktop_memory __attribute__((cleanup(cleanup_desktop_memory_)))
#define auto_desktop_windows __attribute__((cleanup(desktop_windows_finish)))
CLEANUP_DEFINE(desktop, struct desktop, desktop_free)
#define auto_desktop __attribute__((cleanup(cleanup_desktop_)))
CLEANUP_DEFINE(desktop_shot, struct desktop_shot, desktop_shot_free)
#define auto_desktop_shot __attribute__((cleanup(cleanup_desktop_shot_)))

#endif
