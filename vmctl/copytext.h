/*
 * copytext.h - what find and stat print in a guest, parsed
 *
 * The text is hostile: anything may come. A record of the listing is six
 * fields, each ended by a NUL: type, mode in octal, length, time, path, link
 * target (find -printf COPYTEXT_FIND). The list ends with a record of two,
 * "=" and what find said.
 *
 * Shapes:  strings are borrowed from the input.
 * Units:   times as find prints them (whole seconds rounded down, then
 *          nanoseconds) or as stat does (a decimal number).
 * Errors:  ERR_PROTOCOL, ERR_LIMIT for a record that never ends.
 * Threads: no shared state.
 * Source:  findutils 4.9, coreutils 9.1.
 */
#ifndef VMCTL_COPYTEXT_H
#define VMCTL_COPYTEXT_H

#include "base/err.h"
#include "ops/treewire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COPYTEXT_FIND "%y\\0%m\\0%s\\0%T@\\0%P\\0%l\\0"
/* stat --printf; the path last: it may hold anything but NUL */
#define COPYTEXT_STAT "%f %s %.9Y %n\\0"
/* a record: two longest paths and the numbers */
#define COPYTEXT_RECORD_LEN (2 * 4096 + 256)
/* a decimal time, as copytext_time() prints it */
#define COPYTEXT_TIME_SIZE 40

struct copytext_item {
	bool end;	     /* no more; said is what find had to say */
	struct treewire_str said;
	struct treewire_entry entry; /* type '?': special, to be left out */
};

/* 1 with an item and its length, 0 when more bytes are needed, -1. */
int copytext_find(const char *p, size_t len, struct copytext_item *ret,
		  size_t *ret_used, struct err *e)
	__attribute__((warn_unused_result));

struct copytext_stat {
	char type; /* 'd' 'f' 'l' '?' */
	uint16_t mode; /* 07777 */
	uint64_t len;
	int64_t mtime_s;
	uint32_t mtime_ns;
	const char *path;
};
/* One NUL-terminated record at p, as COPYTEXT_STAT prints it; *ret_used
 * counts the NUL. */
int copytext_stat(const char *p, size_t len, struct copytext_stat *ret,
		  size_t *ret_used, struct err *e)
	__attribute__((warn_unused_result));

/* "LENGTH TIME" of stat --printf='%s %.9Y'. */
int copytext_len_time(const char *line, uint64_t *ret_len, int64_t *ret_s,
		      uint32_t *ret_ns, struct err *e)
	__attribute__((warn_unused_result));
/* A time as touch -d @TIME and pax headers take it. */
void copytext_time(int64_t s, uint32_t ns, char ret[COPYTEXT_TIME_SIZE]);

#endif
