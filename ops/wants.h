/*
 * wants.h - what a sink asks its source for: files of the manifest, in its
 * order, each from an offset on
 *
 * Shapes:  struct wants embeds, zeroed; wants_finish() frees.
 * Units:   bytes.
 * Errors:  ERR_PROTOCOL for what no honest sink asks.
 * Threads: one owner at a time.
 */
#ifndef OPS_WANTS_H
#define OPS_WANTS_H

#include "ops/manifest.h"

struct want {
	uint32_t index;
	uint64_t offset;
};

struct wants {
	struct want *list;
	size_t count, size;
};

/* A WANT record: no more of them than the manifest has files. */
int wants_add(struct wants *w, const struct manifest *m,
	      const struct treewire_record *r, struct err *e)
	__attribute__((warn_unused_result));
void wants_finish(struct wants *w);

#endif
