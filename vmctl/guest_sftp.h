/*
 * guest_sftp.h - what guest_sftp.c (connections, exchanges) and guest_file.c
 * (the operations of guest.h) share
 *
 * Shapes:  guest_sftp_perform() runs one operation on a connection that is its
 *          own meanwhile. A reply borrows from the connection until the next
 *          exchange.
 * Errors:  as guest.h.
 * Threads: any; one owner of a connection at a time.
 * Source:  vmctl/guest_wire.h.
 */
#ifndef VMCTL_GUEST_SFTP_H
#define VMCTL_GUEST_SFTP_H

#include "vmctl/guest_impl.h"
#include "vmctl/guest_wire.h"

#define GUEST_SFTP_HANDLE_LEN 256

struct guest_sftp {
	int fd;
	bool kept;     /* it was in the slot */
	bool answered; /* since it was taken */
	bool broken;   /* no more to be used */
	bool has_rename, has_fsync;
	uint32_t last_id;
	struct buf in, out;
	size_t in_used; /* of the reply that was handed out */
};

struct guest_sftp_handle {
	char bytes[GUEST_SFTP_HANDLE_LEN];
	size_t len;
};

/* What an operation works on: one request's parameters and results. */
struct guest_sftp_job {
	struct guest *g;
	const char *path;
	struct deadline d;
	struct guest_stat *stat;
	struct buf *out; /* read_file; listing */
	char **link;
	const void *data;
	size_t data_len;
	uint32_t mode;
};
typedef int guest_sftp_fn(struct guest_sftp *f, struct guest_sftp_job *j,
			  struct err *e);

/* Begin a request: its id is the next. */
#define GUEST_SFTP_PUT(f, type, e, ...) \
	guest_wire_put(&(f)->out, (type), ++(f)->last_id, (e), __VA_ARGS__)
/* Send what is in f->out, take the answer to it. */
int guest_sftp_exchange(struct guest_sftp *f, struct guest_reply *ret,
			struct deadline d, struct err *e)
	__attribute__((warn_unused_result));
/* The reply is of this type, or a refusal: what became of path. */
int guest_sftp_expect(struct guest_sftp *f, struct guest_reply *r, uint8_t type,
		      const char *path, struct err *e)
	__attribute__((warn_unused_result));
/* A status that says OK. */
int guest_sftp_expect_ok(struct guest_sftp *f, struct guest_reply *r,
			 const char *path, struct err *e)
	__attribute__((warn_unused_result));
bool guest_sftp_is_eof(const struct guest_reply *r);
bool guest_sftp_same(const struct guest_text *t, const char *s);
int guest_sftp_perform(struct guest_sftp_job *j, guest_sftp_fn *fn,
		       struct err *e) __attribute__((warn_unused_result));

#endif
