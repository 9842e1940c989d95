/*
 * manifest.h - the checked list of what a copy carries, and the rules that
 * both sinks share
 *
 * A manifest may come from a hostile guest: nothing enters it that could
 * name a place outside the target. A path is relative, without empty, "." or
 * ".." components; its parent was listed before it and is a directory (so
 * nothing lies below a link or a file); no path comes twice; names that our
 * own partial files have are refused; count, length and depth are capped.
 *
 * Shapes:  entry 0 is the root, with the empty path. Entries are owned by the
 *          manifest and do not move.
 * Units:   bytes.
 * Errors:  ERR_PROTOCOL for what no honest source sends, ERR_LIMIT. A
 *          refused entry leaves the manifest as it was.
 * Threads: one owner at a time.
 */
#ifndef OPS_MANIFEST_H
#define OPS_MANIFEST_H

#include "base/cleanup.h"
#include "base/err.h"
#include "ops/treewire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Partial files: this, then 16 hex digits. */
#define MANIFEST_PART_PREFIX ".boxery-part-"
#define MANIFEST_PART_SIZE (sizeof(MANIFEST_PART_PREFIX) + 16)

struct manifest_entry {
	char type;     /* 'd' 'f' 'l' */
	uint16_t mode; /* at most 0777 */
	uint32_t mtime_ns;
	int64_t mtime_s;
	uint64_t len;
	const char *path;   /* "" is the root */
	const char *target; /* links; else NULL */
};

struct manifest;

struct manifest *manifest_new(void);
void manifest_free(struct manifest *m);
int manifest_add(struct manifest *m, const struct treewire_entry *n,
		 struct err *e) __attribute__((warn_unused_result));
/* The source says that it has sent so many: there is a root at least. */
int manifest_end(const struct manifest *m, uint32_t count, struct err *e)
	__attribute__((warn_unused_result));
uint32_t manifest_count(const struct manifest *m);
const struct manifest_entry *manifest_at(const struct manifest *m,
					 uint32_t index);
/* The record of an entry; strings are borrowed from it. */
struct treewire_record manifest_record(const struct manifest_entry *n);

/* Is name one of our partial files? Sources leave them out. */
bool manifest_is_part(const char *name);
/* The partial file of an entry that goes to place: bound to that, its length
 * and its time, so that only the same file's bytes are ever put after those
 * that it has. */
void manifest_part_name(const char *place, const struct manifest_entry *n,
			char ret[MANIFEST_PART_SIZE]);

/* The name a source gives its root: the last component of its path without
 * trailing slashes; "" (copy what is inside) for "/", "." and "..".
 * Returns its length; *ret points into path. */
size_t manifest_root_name(const char *path, const char **ret);

/*
 * Where a copy goes, as cp(1) has it. kind says what the target path is now:
 * 'd' a directory (links followed), 'f' anything else, '-' nothing.
 */
enum manifest_place {
	MANIFEST_UNDER, /* into that directory, under the root's own name */
	MANIFEST_MERGE, /* into that directory: the root has no name */
	MANIFEST_AS,	/* as that path, in the directory that holds it */
};
int manifest_place(const struct manifest *m, const char *root_name,
		   const char *to, char kind, enum manifest_place *ret,
		   struct err *e) __attribute__((warn_unused_result));
/* The name in a HEAD record: "" or one good component. Copied, free(). */
int manifest_take_name(const struct treewire_record *head, char **ret,
		       struct err *e) __attribute__((warn_unused_result));
/* A sink's part of the listing, record by record: HEAD (*name is NULL until
 * then), entries, its end, which is *ret_whole. */
int manifest_take(struct manifest *m, char **name,
		  const struct treewire_record *r, bool *ret_whole,
		  struct err *e) __attribute__((warn_unused_result));

CLEANUP_DEFINE(manifest, struct manifest, manifest_free)
#define auto_manifest __attribute__((cleanup(cleanup_manifest_)))

#endif
