/*
 * xauth.h - the cookie of one display, out of an .Xauthority file's bytes
 *
 * Shapes:  the file is a guest's: nothing in it is believed but the cookie
 *          itself, which only its own X server will judge.
 * Units:   bytes. A MIT-MAGIC-COOKIE-1 is XAUTH_COOKIE_LEN bytes.
 * Errors:  ERR_PROTOCOL for a file that is cut off or malformed before the
 *          entry was found, ERR_NOT_FOUND when it has none for the display.
 * Threads: no state.
 * Source:  Xau(3): family, address, display number, name, data; each but the
 *          family preceded by its length, all numbers 16 bits big endian.
 */
#ifndef DESKTOP_XAUTH_H
#define DESKTOP_XAUTH_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define XAUTH_COOKIE_NAME "MIT-MAGIC-COOKIE-1"
#define XAUTH_COOKIE_LEN 16

/* Entries of a local family and wild-card ones serve any host name: what we
 * talk to is a unix socket, whose server accepts each of its cookies. An
 * entry without a number serves every display. */
int xauth_find(const void *p, size_t len, unsigned display,
	       uint8_t ret_cookie[XAUTH_COOKIE_LEN], struct err *e)
	__attribute__((warn_unused_result));

#endif
