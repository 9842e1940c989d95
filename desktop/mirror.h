/*
 * mirror.h - a desktop's pixels here, kept as they are there
 *
 * Only what the server says was drawn is fetched, in few rectangles, all asked
 * for at once, and compared with what is here: so it is known what really
 * changed, and since when, for any number of askers.
 *
 * Shapes:  struct mirror outlives connections: mirror_detach() when one is
 *          gone, and what changed meanwhile is found by comparing. A
 *          generation is the number of a state of the picture; it starts at a
 *          random one, so that those of an earlier mirror are not mistaken.
 *          Pixels are BGRX, rows without gaps.
 * Units:   desktop pixels.
 * Errors:  those of x11.h; ERR_BUSY when the desktop does not stop being
 *          resized.
 * Threads: that of the x11; one mirror has one x11 at a time.
 */
#ifndef DESKTOP_MIRROR_H
#define DESKTOP_MIRROR_H

#include "base/cleanup.h"
#include "base/err.h"
#include "desktop/coords.h"
#include "desktop/tiles.h"
#include "desktop/x11.h"

#include <stdbool.h>
#include <stdint.h>

struct mirror;

struct mirror *mirror_new(void);
void mirror_free(struct mirror *m);
/* Its connection is gone (or given up: then after mirror_rest()). */
void mirror_detach(struct mirror *m);
/* Nobody looks: the server stops noting, the pixels are let go of. The next
 * look fetches all. */
void mirror_rest(struct mirror *m, struct x11 *x);

/* Ask what was drawn: *ret_drawn; nothing is fetched. */
int mirror_look(struct mirror *m, struct x11 *x, bool *ret_drawn, struct err *e)
	__attribute__((warn_unused_result));
/* Fetch what earlier looks found drawn. */
int mirror_fetch(struct mirror *m, struct x11 *x, struct err *e)
	__attribute__((warn_unused_result));
/* Both: the mirror is as the desktop was when this was called, or later. */
int mirror_update(struct mirror *m, struct x11 *x, struct err *e)
	__attribute__((warn_unused_result));

/* As of the last fetch. */
struct coords_size mirror_size(const struct mirror *m);
uint64_t mirror_generation(const struct mirror *m);
/* Is it one of this mirror's? */
bool mirror_knows(const struct mirror *m, uint64_t generation);
const uint8_t *mirror_pixels(const struct mirror *m);
/* … to draw the pointer into and take it out again */
uint8_t *mirror_canvas(struct mirror *m);
const struct x11_cursor *mirror_cursor(const struct mirror *m);
/* Tiles by the generation in which their pixels last changed. */
const struct tiles *mirror_changed(const struct mirror *m);
/* Tiles by the number of the look that last found them drawn. */
const struct tiles *mirror_drawn(const struct mirror *m);
uint64_t mirror_looks(const struct mirror *m);
/* When (CLOCK_MONOTONIC) a look last found anything drawn. */
int64_t mirror_drawn_ms(const struct mirror *m);
/* Pixels that were fetched in all: for tests and figures. */
uint64_t mirror_fetched_len(const struct mirror *m);

CLEANUP_DEFINE(mirror, struct mirror, mirror_free)
#define auto_mirror __attribute__((cleanup(cleanup_mirror_)))

#endif
