/*
 * image.h - what machines are made from: built images and imported ones
 *
 * Theory: an image is two files, data/images/ID.qcow2 and ID.qcow2.json (its
 * record). The disk is renamed into place last, so a record without a disk is
 * a build that was cut off; the folder is the only list there is. A file that
 * starts with '.' or ends in ".part" is being made.
 *
 * Shapes:  struct image is a value; image_finish() frees record and path.
 * Units:   bytes.
 * Errors:  ERR_NOT_FOUND "no guest image: run boxery build-base".
 * Threads: no shared state; one build at a time, by a lock file.
 * Source:  guest/build-image (arguments, output, record).
 */
#ifndef VMCTL_IMAGE_H
#define VMCTL_IMAGE_H

#include "base/deadline.h"
#include "base/err.h"
#include "base/home.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define IMAGE_ID_SIZE 64

struct image {
	char id[IMAGE_ID_SIZE];
	char *path;
	uint64_t disk_len;
	char built[32];	  /* 2026-01-31T12:00:00Z */
	json_t *record;	  /* all of ID.qcow2.json */
	const json_t *layers; /* in it: [{name, sha256}], empty when imported */
};
void image_finish(struct image *i);

/* Newest first. fn may take what it is given (zero the struct). Broken records
 * are skipped and logged. */
typedef int image_each_fn(struct image *i, void *ctx, struct err *e);
int image_list(const struct home *h, image_each_fn *fn, void *ctx,
	       struct err *e) __attribute__((warn_unused_result));
/* The newest image with a desktop, or without any layer but the base. */
int image_find(const struct home *h, bool desktop, struct image *ret,
	       struct err *e) __attribute__((warn_unused_result));
int image_get(const struct home *h, const char *id, struct image *ret,
	      struct err *e) __attribute__((warn_unused_result));
bool image_exists(const struct home *h, const char *id);
/* Disk and record; one that is not there is fine. */
int image_remove(const struct home *h, const char *id, struct err *e)
	__attribute__((warn_unused_result));
/* Of what build-base made, all but the newest of each set of layers. */
int image_list_old(const struct home *h, image_each_fn *fn, void *ctx,
		   struct err *e) __attribute__((warn_unused_result));
bool image_has_layer(const struct image *i, const char *layer);
/* The record's JSON, checked. */
int image_parse_record(const char *text, size_t len, struct image *ret,
		       struct err *e) __attribute__((warn_unused_result));

struct image_build {
	const char *guest_dir; /* has build-image and layers/ */
	const char *layers;    /* "base,desktop" */
	int cancel_fd;
	struct deadline deadline;
	void (*progress)(void *ctx, int percent, const char *text);
	void *ctx;
};
/* ERR_BUSY when another build of this home runs. */
int image_build(const struct home *h, const struct image_build *b,
		struct image *ret, struct err *e)
	__attribute__((warn_unused_result));
/* An image whose layers are, by hash, those of guest_dir now. ERR_NOT_FOUND. */
int image_find_current(const struct home *h, const struct image_build *b,
		       struct image *ret, struct err *e)
	__attribute__((warn_unused_result));

/* Removes what was being made when the last service ended: gigabytes, whose
 * names nobody knows any more. Only while nothing is being made. */
void image_sweep(const struct home *h);

/* A new file, data/images/.import-XXXX, for bytes that arrive; its fd. */
int image_import_open(const struct home *h, char **ret_path, struct err *e)
	__attribute__((warn_unused_result));
bool image_is_import(const char *id);
struct image_import {
	const char *path; /* that file, whole by now */
	const char *name; /* what the person called it */
	uint64_t disk_max_len; /* of the machine that it is for */
	int cancel_fd;
	struct deadline deadline;
};
/* Make an image of it, which takes no more of the host's disk than
 * disk_max_len, whatever its clusters refer to: a larger one is refused before
 * it is converted. Its ID comes from the SHA-256, so the same bytes are
 * one image. The file is gone afterwards in any case. */
int image_import(const struct home *h, const struct image_import *i,
		 struct image *ret, struct err *e)
	__attribute__((warn_unused_result));

#endif
