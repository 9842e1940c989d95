/*
 * copy.h - the guest side of vm_copy: files and trees read from a guest or
 * written into one, with nothing of ours running there
 *
 * The other side is a local tree (ops/localtree.h, in the client program) or
 * another guest; both speak ops/treewire.h over a link. In the guest it takes
 * sh, coreutils and find; GNU tar, where it is, makes many small files cheap.
 *
 * A guest is hostile to us and to the guest that it is copied to. Its names
 * become a manifest (ops/manifest.h) before anything is done with them, its
 * lengths are held against what comes, and what it prints is bounded. In the
 * target guest nothing is written below a link: otherwise one copy could
 * plant a link that the next one follows.
 *
 * Shapes:  a side runs on the caller's thread until the copy is over.
 * Units:   bytes.
 * Errors:  what ended the copy, from whichever side; also when it was
 *          completed with trouble (a file that changed meanwhile). The report
 *          is filled either way.
 * Threads: one thread per side.
 */
#ifndef VMCTL_COPY_H
#define VMCTL_COPY_H

#include "base/deadline.h"
#include "base/err.h"
#include "ops/treewire.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct guest;

/* How a side speaks to the other. */
struct copy_link {
	void *ctx;
	int (*send)(void *ctx, const void *p, size_t len, struct err *e);
	/* Blocks; 0 at the end of the stream. */
	ssize_t (*recv)(void *ctx, void *p, size_t max, struct err *e);
	int recv_fd; /* readable when recv would not block */
};

#define COPY_WARNINGS_COUNT 8

struct copy_report {
	struct treewire_result result;
	char *warnings[COPY_WARNINGS_COUNT];
	unsigned warning_count; /* may be more than are kept */
};
void copy_report_finish(struct copy_report *r);

struct copy_side {
	struct guest *guest;
	const char *vm;	  /* for messages */
	const char *path; /* as it was asked */
	const struct copy_link *link;
	struct deadline deadline;
	int cancel_fd; /* -1: none */
	/* Bytes that crossed so far, of all that will; or NULL. */
	void (*progress)(void *ctx, uint64_t done, uint64_t total);
	void *ctx;
	struct copy_report *report;
};

int copy_from_guest(const struct copy_side *side, struct err *e)
	__attribute__((warn_unused_result));
int copy_to_guest(const struct copy_side *side, struct err *e)
	__attribute__((warn_unused_result));
/* Both: from.link and to.link are made here, the others' are ignored. */
int copy_between(const struct copy_side *from, const struct copy_side *to,
		 struct err *e) __attribute__((warn_unused_result));

#endif
