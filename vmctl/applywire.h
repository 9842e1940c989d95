/*
 * applywire.h - what a guest is told to hold, and what it says about that
 *
 * The guest runs applywire_script, a shell script, as the user that grants are
 * for; on its standard input come
 *
 *	hold KEY		one line for each that may stay
 *	go			from here on what is not held is gone
 *	item ID KIND SECONDS LENGTH NAME
 *	…LENGTH bytes		or LENGTH "keep": the guest has the value
 *	end
 *
 * and it answers, a line each, "ok ID", "no ID WORD" or "no * WORD" (nothing
 * was done from there on), at last "done". KIND is env, file (NAME as it is to
 * be called) or link (NAME where a symbolic link to it is to be). KEY is
 * KIND/NAME, for a link link/ID. SECONDS: until it ends, 0: never; the guest
 * sees to that by itself, should we be gone.
 *
 * Shapes:  what is to go goes first; a stream that breaks off leaves no part
 *          of a value, and never less withdrawn than before.
 * Errors:  an answer that is none of the above is ERR_PROTOCOL: it is the
 *          guest's, and every word of it is looked up, never shown.
 * Threads: no state.
 */
#ifndef VMCTL_APPLYWIRE_H
#define VMCTL_APPLYWIRE_H

#include "base/err.h"
#include "grants/edge.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct secret;

enum applywire_kind { APPLYWIRE_ENV, APPLYWIRE_FILE, APPLYWIRE_LINK };

struct applywire_item {
	char id[EDGE_ID_LEN + 1];
	enum applywire_kind kind;
	const char *name;
	const struct secret *value; /* NULL: the guest may have it */
	int64_t left_s;		    /* 0: no end */
	/* the answer */
	bool ok;
	const char *why; /* a sentence of ours; NULL: none came */
};

extern const char applywire_script[];
#define APPLYWIRE_ANSWER_CAP ((size_t)64 * 1024)

/* Everything for the script's standard input. */
int applywire_print(struct buf *out, const struct applywire_item *items,
		    size_t count, struct err *e)
	__attribute__((warn_unused_result));
/* Fills in the answers. ERR_STATE with our sentence for "no *". */
int applywire_parse(const char *text, size_t len, struct applywire_item *items,
		    size_t count, struct err *e)
	__attribute__((warn_unused_result));

#endif
