/*
 * guest_wire.h - SFTP version 3 packets: encoded, and parsed from a guest that
 * may lie
 *
 * Shapes:  a packet is u32 length, u8 type, u32 id, body. A struct guest_reply
 *          borrows the packet's bytes and is read front to back by the
 *          guest_wire_get_…() functions; each checks what is left before it
 *          believes a length.
 * Units:   integers are big endian; bytes.
 * Errors:  ERR_PROTOCOL for what is malformed, ERR_LIMIT for a packet over
 *          GUEST_WIRE_PACKET_LEN.
 * Threads: no shared state.
 * Source:  draft-ietf-secsh-filexfer-02; OpenSSH PROTOCOL §4 for the
 *          extensions.
 */
#ifndef VMCTL_GUEST_WIRE_H
#define VMCTL_GUEST_WIRE_H

#include "base/buf.h"
#include "base/err.h"
#include "vmctl/guest.h"

#include <stddef.h>
#include <stdint.h>

/* OpenSSH's own limit; a directory listing comes in packets of 100 names */
#define GUEST_WIRE_PACKET_LEN (256 << 10)

enum guest_wire_type {
	GUEST_WIRE_INIT = 1,
	GUEST_WIRE_VERSION = 2,
	GUEST_WIRE_OPEN = 3,
	GUEST_WIRE_CLOSE = 4,
	GUEST_WIRE_READ = 5,
	GUEST_WIRE_WRITE = 6,
	GUEST_WIRE_LSTAT = 7,
	GUEST_WIRE_FSETSTAT = 10,
	GUEST_WIRE_OPENDIR = 11,
	GUEST_WIRE_READDIR = 12,
	GUEST_WIRE_REMOVE = 13,
	GUEST_WIRE_REALPATH = 16,
	GUEST_WIRE_STAT = 17,
	GUEST_WIRE_READLINK = 19,
	GUEST_WIRE_STATUS = 101,
	GUEST_WIRE_HANDLE = 102,
	GUEST_WIRE_DATA = 103,
	GUEST_WIRE_NAME = 104,
	GUEST_WIRE_ATTRS = 105,
	GUEST_WIRE_EXTENDED = 200,
};

enum guest_wire_status {
	GUEST_WIRE_OK = 0,
	GUEST_WIRE_EOF = 1,
	GUEST_WIRE_NO_SUCH_FILE = 2,
	GUEST_WIRE_PERMISSION_DENIED = 3,
	GUEST_WIRE_UNSUPPORTED = 8,
};

enum guest_wire_open {
	GUEST_WIRE_OPEN_READ = 0x01,
	GUEST_WIRE_OPEN_WRITE = 0x02,
	GUEST_WIRE_OPEN_CREATE = 0x08,
	GUEST_WIRE_OPEN_EXCLUSIVE = 0x20,
};

#define GUEST_WIRE_ATTR_MODE 0x04U

struct guest_reply {
	uint8_t type;
	uint32_t id; /* of VERSION: the version */
	const uint8_t *at;
	size_t left;
};

struct guest_text { /* borrowed, not terminated, any bytes */
	const char *p;
	size_t len;
};

/*
 * Append a packet. fmt: one letter a field: 'u' uint32_t, 'q' uint64_t, 's'
 * const char * as an SFTP string, 'b' const void * and size_t likewise.
 */
int guest_wire_put(struct buf *out, enum guest_wire_type type, uint32_t id,
		   struct err *e, const char *fmt, ...)
	__attribute__((warn_unused_result));

/* Look for a whole packet: 1 and *ret with *ret_used bytes, 0 for more, -1. */
int guest_wire_next(const void *p, size_t len, struct guest_reply *ret,
		    size_t *ret_used, struct err *e)
	__attribute__((warn_unused_result));
int guest_wire_get_u32(struct guest_reply *r, uint32_t *ret, struct err *e)
	__attribute__((warn_unused_result));
int guest_wire_get_text(struct guest_reply *r, struct guest_text *ret,
			struct err *e) __attribute__((warn_unused_result));
int guest_wire_get_attrs(struct guest_reply *r, struct guest_stat *ret,
			 struct err *e) __attribute__((warn_unused_result));
/* Usable as one component of a path: not empty, no '/', no NUL, at most 255
 * bytes. "." and ".." are valid here and the caller's to skip. */
int guest_wire_check_name(const struct guest_text *name, struct err *e)
	__attribute__((warn_unused_result));

#endif
