/*
 * xsetup.h - an X server's first message, read before anything believes it
 *
 * libxcb hands the setup on without looking inside; its iterators then walk
 * wherever the counts in it point. So the whole message is decoded here,
 * with every count checked against the bytes that are there, before libxcb
 * gets to see it.
 *
 * Shapes:  struct xsetup is what we need of it. One pixel format is
 *          supported: 32 bits a pixel, least significant byte first, true
 *          colour 8-8-8 in BGRX order, which is what every Xvnc and Xorg
 *          of our time gives.
 * Units:   bytes, pixels.
 * Errors:  ERR_PROTOCOL malformed; ERR_DENIED when the server refused us
 *          (its reason in the message); ERR_STATE for a pixel format that
 *          is not the one; ERR_LIMIT for an absurd length or screen.
 * Threads: no state.
 * Source:  X Window System Protocol, X11R7, "Connection Setup".
 */
#ifndef DESKTOP_XSETUP_H
#define DESKTOP_XSETUP_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* An Xvnc's setup is 1 to 3 KB, an Xorg's with all its visuals 20 KB. */
#define XSETUP_MAX_LEN (64UL * 1024)
#define XSETUP_HEAD_LEN 8

struct xsetup {
	uint32_t root;
	uint16_t width_px, height_px; /* at the time of the connection */
	uint8_t depth;
	uint32_t visual;
	uint8_t min_keycode, max_keycode;
};

/* The whole length that the first XSETUP_HEAD_LEN bytes announce. */
int xsetup_len(const uint8_t head[XSETUP_HEAD_LEN], size_t *ret_len,
	       struct err *e) __attribute__((warn_unused_result));
int xsetup_parse(const uint8_t *p, size_t len, struct xsetup *ret,
		 struct err *e) __attribute__((warn_unused_result));

#endif
