/*
 * treewire.h - the records that the two sides of a copy exchange: encoding,
 * decoding, no I/O and no policy
 *
 * A copy is manifest → want → bytes:
 *
 *	source				sink
 *	HEAD, ENTRY…, MANIFEST_END →
 *					← WANT…, WANT_END
 *	(FILE, DATA…, FILE_END)…, DONE →
 *					← RESULT
 *
 * The root entry comes first and has the empty path; parents precede their
 * children. WANT names the files to be sent in the manifest's order, and from
 * which byte on. FILE_END says that the announced bytes were sent; the sink
 * puts a file in place when the source has CONFIRMed it (a source that reads
 * many files in one go can only tell afterwards that none changed) or throws
 * away all unconfirmed ones, also one that has not ended, on DROP: they are
 * then sent again, from their start. TROUBLE is a failure that the copy
 * survives, to be told at the end; within a file it takes FILE_END's place.
 * WARN is only told. FAIL ends the copy, from either side at any time.
 *
 * Shapes:  a record is u32 length (of what follows), u8 type, fields. Fields
 *          are u8, u16, u32, u64, i64 or u16 length and bytes; a text takes
 *          the rest. Decoded strings are borrowed from the input and not
 *          terminated.
 * Units:   integers are big endian; lengths and offsets in bytes; times are
 *          seconds and nanoseconds since 1970.
 * Errors:  ERR_PROTOCOL for a malformed record, ERR_LIMIT for a large one.
 * Threads: no shared state.
 * Source:  docs/FORMATS.md.
 */
#ifndef OPS_TREEWIRE_H
#define OPS_TREEWIRE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TREEWIRE_VERSION 1
/* the bytes of one DATA record */
#define TREEWIRE_DATA_LEN ((size_t)256 * 1024)
/* any record, header included: an entry may hold two longest paths */
#define TREEWIRE_RECORD_LEN (TREEWIRE_DATA_LEN + 64)
#define TREEWIRE_HEADER_LEN 5

enum treewire_type {
	TREE_HEAD = 1,	   /* version, name */
	TREE_ENTRY,	   /* entry */
	TREE_WARN,	   /* text */
	TREE_TROUBLE,	   /* code, text */
	TREE_MANIFEST_END, /* count of entries */
	TREE_WANT,	   /* index, offset */
	TREE_WANT_END,	   /* count of wanted files */
	TREE_FILE,	   /* index, offset */
	TREE_DATA,	   /* bytes */
	TREE_FILE_END,
	TREE_CONFIRM,
	TREE_DROP,
	TREE_DONE,
	TREE_RESULT, /* result, code, text */
	TREE_FAIL,   /* code, text */
	TREE_TYPE_END,
};

struct treewire_str {
	const char *p;
	size_t len;
};

struct treewire_entry {
	char type;     /* 'd' directory, 'f' file, 'l' symbolic link */
	uint16_t mode; /* permission bits, at most 0777 */
	int64_t mtime_s;
	uint32_t mtime_ns;
	uint64_t len;		    /* files only */
	struct treewire_str path;   /* relative to the root; "" is the root */
	struct treewire_str target; /* links only */
};

struct treewire_result {
	uint32_t file_count; /* copied */
	uint32_t same_count; /* files that were there already */
	uint32_t link_count;
	uint32_t dir_count;
	uint32_t trouble_count;
	uint64_t byte_count; /* received */
};

struct treewire_record {
	enum treewire_type type;
	uint8_t version;
	struct treewire_str name; /* HEAD: the root's own name; "": none */
	struct treewire_entry entry;
	uint32_t index, count;
	uint64_t offset;
	struct treewire_str bytes; /* DATA */
	struct treewire_result result;
	enum err_code code; /* RESULT: ERR_NONE when all went well */
	struct treewire_str text;
};

/*
 * Look for one whole record at the start of [p, p+len): 1 with it and its
 * length in *ret_used, 0 when more bytes are needed, -1 when it is malformed.
 */
int treewire_decode(const void *p, size_t len, struct treewire_record *ret,
		    size_t *ret_used, struct err *e)
	__attribute__((warn_unused_result));

/* Append a record; fields that its type has not are ignored. Texts are cut
 * at 500 bytes. */
int treewire_encode(struct buf *out, const struct treewire_record *r,
		    struct err *e) __attribute__((warn_unused_result));
/* The header of a DATA record that is followed by len bytes. */
void treewire_data_header(uint8_t ret[TREEWIRE_HEADER_LEN], size_t len);

/*
 * Decode a stream that arrives in pieces: fn is called for each whole record
 * (its strings live until it returns), the rest waits in `in`, whose cap is
 * TREEWIRE_RECORD_LEN. Ends early with fn's -1.
 */
typedef int treewire_fn(const struct treewire_record *r, void *ctx,
			struct err *e);
int treewire_feed(struct buf *in, const void *p, size_t len, treewire_fn *fn,
		  void *ctx, struct err *e)
	__attribute__((warn_unused_result));

/* A record of a failure; text is borrowed from f. */
struct treewire_record treewire_failure(enum treewire_type type,
					const struct err *f);
/* The failure that a TROUBLE, FAIL or RESULT tells; returns -1. */
int treewire_to_err(const struct treewire_record *r, struct err *e);

static inline struct treewire_str treewire_str(const char *p, size_t len)
{
	return (struct treewire_str){p, len};
}

#endif
