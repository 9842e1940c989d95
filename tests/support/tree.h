/*
 * tree.h - trees of files for tests: made, described as text, and copied by
 * joining a local source and a local sink in memory
 *
 * Shapes:  paths are relative to an open directory or whole, as openat().
 * Errors:  a helper that cannot do its work fails the test.
 * Threads: the test's main thread.
 */
#ifndef TESTS_SUPPORT_TREE_H
#define TESTS_SUPPORT_TREE_H

#include "base/err.h"
#include "ops/treewire.h"

#include <stddef.h>
#include <stdint.h>

struct copyroot;
struct treesink;
struct treesource;

/* A file of len bytes that depend on seed, with mode and time (ns 5). */
void tree_file(const char *path, size_t len, unsigned seed, unsigned mode,
	       int64_t mtime_s);
void tree_text(const char *path, const char *text);
char *tree_read(const char *path); /* free() */
void tree_dir(const char *path, unsigned mode);
void tree_link(const char *path, const char *target);
void tree_time(const char *path, int64_t mtime_s);
/* One line an entry, sorted: path, type, mode, time, content's hash. free() */
char *tree_describe(const char *root);

/* What a copy came to. */
struct tree_copy {
	struct treewire_result result;
	struct err err;	     /* of RESULT or FAIL */
	uint64_t data_len;   /* bytes that crossed */
	unsigned warn_count;
	char warn[512]; /* the last */
	/* given: */
	size_t piece;	  /* bytes per produce; 0: 1 MiB */
	uint64_t cut_len; /* stop after so many bytes of data; 0: never */
	void (*meanwhile)(uint64_t data_len, void *ctx);
	void *ctx;
};
/* Run to the end (or the cut). Frees both. */
void tree_pump(struct treesource *source, struct treesink *sink,
	       struct tree_copy *c);
/* A person's copy. */
void tree_copy(const char *from, const char *to, struct tree_copy *c);

#endif
