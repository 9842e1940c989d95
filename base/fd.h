/*
 * fd.h - whole reads and writes on file descriptors, with deadlines
 *
 * Shapes:  every fd made here is O_CLOEXEC.
 * Errors:  err_sys() codes; a short read is ERR_PROTOCOL, never a success.
 * Threads: no shared state.
 */
#ifndef BASE_FD_H
#define BASE_FD_H

#include "base/buf.h"
#include "base/deadline.h"
#include "base/err.h"

#include <sys/types.h>

/* One write(2) that neither waits, on a socket, a pipe that poll(2) found
 * writable or a non-blocking fd, nor raises SIGPIPE: bytes, or -1 with errno. */
ssize_t fd_write_some(int fd, const void *p, size_t len);
int fd_write_all(int fd, const void *p, size_t len, struct deadline d,
		 struct err *e) __attribute__((warn_unused_result));
int fd_read_all(int fd, void *p, size_t len, struct deadline d, struct err *e)
	__attribute__((warn_unused_result));
/* To EOF; ERR_LIMIT when out's cap is met. */
int fd_read_to_end(int fd, struct buf *out, struct deadline d, struct err *e)
	__attribute__((warn_unused_result));
int fd_set_nonblock(int fd, struct err *e) __attribute__((warn_unused_result));
int fd_pair(int ret_fds[2], struct err *e) /* socketpair, stream, CLOEXEC */
	__attribute__((warn_unused_result));
int fd_pipe(int ret_fds[2], struct err *e) __attribute__((warn_unused_result));
/* A unix socket, listening or connected; the path must fit 107 bytes, else
 * ERR_INVALID that says so. listen: mode 0600 from birth. */
int fd_unix_listen(const char *path, struct err *e)
	__attribute__((warn_unused_result));
int fd_unix_connect(const char *path, struct err *e)
	__attribute__((warn_unused_result));
int fd_peer_uid(int fd, uid_t *ret_uid, struct err *e)
	__attribute__((warn_unused_result));

/* For main(), first of all: /dev/null for what of stdin, stdout and stderr the
 * starter closed, or the next file opened would be taken for it. */
int fd_fill_std(struct err *e) __attribute__((warn_unused_result));

#endif
