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

struct desktop_config {
	int fd;		   /* connected to the X server; taken in any case */
	const void *xauth; /* bytes of an .Xauthority */
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

/* ---- seeing ---- */

/* region: NULL: the full screenshot; else that part at full resolution (or
 * the nearest that fits the tier). */
int desktop_capture(struct desktop *d, const struct turn *t,
		    const struct coords_region *region,
		    struct desktop_shot **ret, struct err *e)
	__attribute__((warn_unused_result));
/* The full screenshot once nothing has changed for a moment, or as it is
 * after a while of steady change. */
int desktop_capture_settled(struct desktop *d, const struct turn *t,
			    struct desktop_shot **ret, struct err *e)
	__attribute__((warn_unused_result));

struct desktop_shot_info {
	struct coords_size image, desktop, full; /* full: the full screenshot */
	double scale;		     /* image pixels per desktop pixel */
	struct coords_point pointer; /* in full-screenshot pixels */
	struct coords_rect rect;     /* desktop pixels that are shown */
};
struct desktop_shot_info desktop_shot_info(const struct desktop_shot *s);
/* As PNG with the pointer drawn. Once per shot: it draws into it. */
int desktop_shot_png(struct desktop_shot *s, struct buf *out, struct err *e)
	__attribute__((warn_unused_result));
void desktop_shot_free(struct desktop_shot *s);

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
/* Let go of all buttons and modifiers: after a connection was lost in the
 * middle of input. */
int desktop_release(struct desktop *d, const struct turn *t, struct err *e)
	__attribute__((warn_unused_result));

CLEANUP_DEFINE(desktop, struct desktop, desktop_free)
#define auto_desktop __attribute__((cleanup(cleanup_desktop_)))
CLEANUP_DEFINE(desktop_shot, struct desktop_shot, desktop_shot_free)
#define auto_desktop_shot __attribute__((cleanup(cleanup_desktop_shot_)))

#endif
