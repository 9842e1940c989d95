/*
 * clipformat.h - what a guest's clipboard offers, and what it then gives
 *
 * Shapes:  the bytes are what some program of the guest calls text or a PNG.
 * Units:   bytes; pixels.
 * Errors:  ERR_PROTOCOL for what is no PNG.
 * Threads: no state.
 * Source:  ICCCM 2.0, 2.6.2 (targets, one a line as xclip lists them);
 * PNG, 11.2.2
 */
#ifndef VMCTL_CLIPFORMAT_H
#define VMCTL_CLIPFORMAT_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clipformat {
	const char *target;
	bool is_image, is_latin;
	size_t max_len;
};
/* The best of those offered; NULL: none that is known. */
const struct clipformat *clipformat_pick(const char *targets, size_t len);
/* As JSON text, whatever the bytes are. */
json_t *clipformat_text(const struct clipformat *f, const char *p, size_t len);
/* Its size, as its head says it; who shows it decodes it. */
int clipformat_png(const char *p, size_t len, uint32_t *ret_width,
		   uint32_t *ret_height, struct err *e)
	__attribute__((warn_unused_result));

#endif
