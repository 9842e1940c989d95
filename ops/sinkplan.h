/*
 * sinkplan.h - what a sink has asked for and what came of it: the order of
 * FILE, FILE_END, CONFIRM, DROP and TROUBLE, the same for local and guest
 * sinks
 *
 * Shapes:  wanted files in the manifest's order, each with a state. `at` is
 *          the file being received or next; files before it may be unconfirmed.
 * Errors:  ERR_PROTOCOL for a record out of turn.
 * Threads: one owner at a time.
 */
#ifndef OPS_SINKPLAN_H
#define OPS_SINKPLAN_H

#include "base/err.h"
#include "ops/manifest.h"
#include "ops/treewire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sinkplan_state {
	SINKPLAN_WANTED,
	SINKPLAN_OPEN,	/* FILE came */
	SINKPLAN_WHOLE, /* FILE_END came, not yet confirmed */
	SINKPLAN_KEPT,
	SINKPLAN_FAILED,
};

struct sinkplan_want {
	uint32_t index;
	enum sinkplan_state state;
	uint64_t offset;
};

struct sinkplan {
	struct sinkplan_want *wants;
	size_t count, size;
	size_t at;	      /* open, or the next to be */
	size_t kept;	      /* all before are kept or failed */
	uint64_t left;	      /* bytes that the open file lacks */
	uint64_t total;	      /* bytes wanted in all */
	struct err first;     /* the first trouble */
	struct treewire_result result;
};

void sinkplan_finish(struct sinkplan *p);
void sinkplan_want(struct sinkplan *p, uint32_t index, uint64_t offset,
		   uint64_t len);
bool sinkplan_is_open(const struct sinkplan *p);
const struct sinkplan_want *sinkplan_current(const struct sinkplan *p);

/* Records, in turn. sinkplan_data only counts. */
int sinkplan_file(struct sinkplan *p, const struct manifest *m,
		  const struct treewire_record *r, struct err *e)
	__attribute__((warn_unused_result));
int sinkplan_data(struct sinkplan *p, size_t len, struct err *e)
	__attribute__((warn_unused_result));
int sinkplan_file_end(struct sinkplan *p, struct err *e)
	__attribute__((warn_unused_result));
/* Calls keep for each unconfirmed whole file, in order, or drop for each and
 * for the open one. A dropped file is sent again from its start. */
typedef int sinkplan_fn(void *ctx, const struct sinkplan_want *w,
			struct err *e);
int sinkplan_confirm(struct sinkplan *p, sinkplan_fn *keep, void *ctx,
		     struct err *e) __attribute__((warn_unused_result));
int sinkplan_drop(struct sinkplan *p, sinkplan_fn *drop, void *ctx,
		  struct err *e) __attribute__((warn_unused_result));
/* Counts the trouble; true when it ends the open file. */
bool sinkplan_trouble(struct sinkplan *p, const struct treewire_record *r);
/* DONE: every wanted file was kept or failed. */
int sinkplan_done(const struct sinkplan *p, struct err *e)
	__attribute__((warn_unused_result));
/* The RESULT record; its text lives in p. */
struct treewire_record sinkplan_record(struct sinkplan *p);

#endif
