/*
 * copy_impl.h - what copy_source.c and copy_sink.c share: records over the
 * link, and how a copy ends
 *
 * Shapes:  struct copy_wire embeds in a side's state.
 * Errors:  ERR_UNAVAILABLE when the other side went away, else what it said.
 * Threads: one owner at a time.
 */
#ifndef VMCTL_COPY_IMPL_H
#define VMCTL_COPY_IMPL_H

#include "base/buf.h"
#include "ops/treewire.h"
#include "vmctl/copy.h"

#include <stdbool.h>

/* Records are collected to this before they are sent. */
#define COPY_OUT_LEN ((size_t)512 * 1024)
#define COPY_IN_LEN ((size_t)512 * 1024)

struct copy_wire {
	const struct copy_side *side;
	struct buf in, out;
	char *chunk; /* COPY_IN_LEN */
	/* The other side ended the copy; nothing more is sent to it. */
	bool ended;
	/* Called for each record but WARN and FAIL. */
	treewire_fn *take;
	void *ctx;
};

void copy_wire_init(struct copy_wire *w, const struct copy_side *side,
		    treewire_fn *take, void *ctx);
void copy_wire_finish(struct copy_wire *w);

int copy_say(struct copy_wire *w, const struct treewire_record *r,
	     struct err *e) __attribute__((warn_unused_result));
int copy_say_simple(struct copy_wire *w, enum treewire_type type,
		    struct err *e) __attribute__((warn_unused_result));
int copy_say_trouble(struct copy_wire *w, const struct err *f, struct err *e)
	__attribute__((warn_unused_result));
int copy_flush(struct copy_wire *w, struct err *e)
	__attribute__((warn_unused_result));
/* Wait for records, take them. */
int copy_recv(struct copy_wire *w, struct err *e)
	__attribute__((warn_unused_result));
/* Take what has come, without waiting. */
int copy_poll(struct copy_wire *w, struct err *e)
	__attribute__((warn_unused_result));
/* The side failed with *e: tell the other, unless it knows. Returns -1. */
int copy_give_up(struct copy_wire *w, const struct err *e);

int copy_check(const struct copy_side *s, struct err *e)
	__attribute__((warn_unused_result));
void copy_warn(struct copy_report *r, const char *p, size_t len);

#endif
