/*
 * picture.h - an encoded image, and the one that may be handed out again
 *
 * Shapes:  struct picture is counted: each holder frees its own. A shelf keeps
 *          the last picture beside the key of what it shows; it is counted too,
 *          because an image may be encoded after its desktop is gone.
 * Units:   pixels, bytes.
 * Errors:  ERR_LIMIT when no encoding fits LIMIT_IMAGE_LEN.
 * Threads: any; a shelf locks.
 */
#ifndef DESKTOP_PICTURE_H
#define DESKTOP_PICTURE_H

#include "base/cleanup.h"
#include "base/err.h"
#include "desktop/coords.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct picture {
	unsigned holders;
	const char *mime;
	struct coords_size size;
	size_t len;
	uint8_t *bytes;
};

/* PNG; or JPEG where a PNG would pass the bytes that clients hand on
 * untouched (LIMIT_SHOT_LEN), as photographs do. */
int picture_encode(const uint8_t *rgb, struct coords_size size,
		   struct picture **ret, struct err *e)
	__attribute__((warn_unused_result));
struct picture *picture_hold(struct picture *p);
void picture_free(struct picture *p);

/* All that decides what a full screenshot looks like. */
struct picture_key {
	uint64_t generation, cursor; /* cursor: a hash */
	int tier;
};
struct picture_shelf;
struct picture_shelf *picture_shelf_new(void);
struct picture_shelf *picture_shelf_hold(struct picture_shelf *s);
void picture_shelf_free(struct picture_shelf *s);
/* The picture with this key, held for the caller; or NULL. */
struct picture *picture_shelf_find(struct picture_shelf *s,
				   const struct picture_key *key);
void picture_shelf_put(struct picture_shelf *s, const struct picture_key *key,
		       struct picture *p);

CLEANUP_DEFINE(picture, struct picture, picture_free)
#define auto_picture __attribute__((cleanup(cleanup_picture_)))

#endif
