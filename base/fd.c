#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define READ_STEP_LEN (64 << 10)
/* connecting waits only while the listener's backlog is full */
#define CONNECT_S 5

/*
 * write(2) with SIGPIPE kept from this thread: blocked meanwhile, and one that
 * came of this write taken back, unless one was pending before.
 */
static ssize_t write_quietly(int fd, const void *p, size_t len)
{
	const struct timespec now = {0};
	sigset_t pipe_set, old, pending;
	ssize_t n;
	int saved;

	sigemptyset(&pipe_set);
	sigaddset(&pipe_set, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe_set, &old);
	n = write(fd, p, len);
	saved = errno;
	if (n < 0 && saved == EPIPE && !sigismember(&pending, SIGPIPE)) {
		while (sigtimedwait(&pipe_set, NULL, &now) < 0 &&
		       errno == EINTR)
			;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = saved;
	return n;
}

ssize_t fd_write_some(int fd, const void *p, size_t len)
{
	ssize_t n = send(fd, p, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	int flags;

	if (n >= 0 || errno != ENOTSOCK)
		return n;
	flags = fcntl(fd, F_GETFL);
	if (flags < 0)
		return -1;
	/* that much a blocking pipe takes at once when it takes anything */
	if (!(flags & O_NONBLOCK) && len > PIPE_BUF)
		len = PIPE_BUF;
	return write_quietly(fd, p, len);
}

int fd_write_all(int fd, const void *p, size_t len, struct deadline d,
		 struct err *e)
{
	const char *at = p;

	while (len > 0) {
		struct pollfd pf = {.fd = fd, .events = POLLOUT};
		ssize_t n;

		if (deadline_poll(&pf, 1, d, "writing", e) < 0)
			return -1;
		n = fd_write_some(fd, at, len);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n < 0)
			return err_sys(e, "writing");
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int fd_read_all(int fd, void *p, size_t len, struct deadline d, struct err *e)
{
	char *at = p;
	size_t left = len;

	while (left > 0) {
		struct pollfd pf = {.fd = fd, .events = POLLIN};
		ssize_t n;

		if (deadline_poll(&pf, 1, d, "reading", e) < 0)
			return -1;
		n = read(fd, at, left);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n < 0)
			return err_sys(e, "reading");
		if (n == 0)
			return err_set(e, ERR_PROTOCOL,
				       "the other side ended after %zu of %zu "
				       "bytes",
				       len - left, len);
		at += n;
		left -= (size_t)n;
	}
	return 0;
}

/* At the cap: is this the end, or is there more? */
static int expect_end(int fd, const struct buf *out, struct err *e)
{
	char c;
	ssize_t n = read(fd, &c, 1);

	if (n > 0)
		return err_set(e, ERR_LIMIT,
			       "more than the %zu bytes allowed here",
			       out->cap);
	if (n < 0)
		return err_sys(e, "reading");
	return 0;
}

int fd_read_to_end(int fd, struct buf *out, struct deadline d, struct err *e)
{
	struct err err = {0};

	for (;;) {
		struct pollfd pf = {.fd = fd, .events = POLLIN};
		ssize_t n;

		if (deadline_poll(&pf, 1, d, "reading", e) < 0)
			return -1;
		if (out->len == out->cap)
			n = expect_end(fd, out, &err);
		else
			n = buf_read_fd(out, fd, READ_STEP_LEN, &err);
		if (n == 0)
			return 0;
		if (n < 0 && err.errnum != EAGAIN && err.errnum != EINTR) {
			if (e)
				*e = err;
			return -1;
		}
	}
}

int fd_set_nonblock(int fd, struct err *e)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return err_sys(e, "setting an fd non-blocking");
	return 0;
}

int fd_pair(int ret_fds[2], struct err *e)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return err_sys(e, "making a socket pair");
	ret_fds[0] = fds[0];
	ret_fds[1] = fds[1];
	return 0;
}

int fd_pipe(int ret_fds[2], struct err *e)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(e, "making a pipe");
	ret_fds[0] = fds[0];
	ret_fds[1] = fds[1];
	return 0;
}

static int unix_address(const char *path, struct sockaddr_un *ret,
			struct err *e)
{
	size_t len = strlen(path);

	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (len == 0 || len >= sizeof(ret->sun_path))
		return err_set(e, ERR_INVALID,
			       "%s: a socket's path may have 1 to %zu bytes, "
			       "this one has %zu",
			       path, sizeof(ret->sun_path) - 1, len);
	memcpy(ret->sun_path, path, len);
	return 0;
}

static int unix_socket(struct err *e)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_sys(e, "making a unix socket");
	return fd;
}

/*
 * Linux gives the file the mode of the socket's own inode less the umask, so
 * fchmod() before bind() has it at most 0600 from birth; umask(2) would do the
 * same to files that other threads make meanwhile. Nobody can connect before
 * listen() either, so what the umask took away can be given back in between.
 */
static int bind_private(int fd, const struct sockaddr_un *addr, struct err *e)
{
	if (fchmod(fd, 0600) < 0)
		return err_sys(e, "making the socket %s private",
			       addr->sun_path);
	if (bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) < 0)
		return err_sys(e, "binding the socket %s", addr->sun_path);
	if (chmod(addr->sun_path, 0600) < 0 || listen(fd, SOMAXCONN) < 0) {
		err_sys(e, "listening on the socket %s", addr->sun_path);
		unlink(addr->sun_path);
		return -1;
	}
	return 0;
}

int fd_unix_listen(const char *path, struct err *e)
{
	struct sockaddr_un addr;
	int fd;

	if (unix_address(path, &addr, e) < 0)
		return -1;
	fd = unix_socket(e);
	if (fd < 0)
		return -1;
	if (bind_private(fd, &addr, e) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

int fd_unix_connect(const char *path, struct err *e)
{
	const struct timeval wait = {.tv_sec = CONNECT_S};
	const struct timeval forever = {0};
	struct sockaddr_un addr;
	int fd;

	if (unix_address(path, &addr, e) < 0)
		return -1;
	fd = unix_socket(e);
	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) < 0 ||
	    connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &forever,
		       sizeof(forever)) < 0) {
		if (errno == EAGAIN)
			errno = ETIMEDOUT;
		err_sys(e, "connecting to the socket %s", path);
		close(fd);
		return -1;
	}
	return fd;
}

int fd_peer_uid(int fd, uid_t *ret_uid, struct err *e)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return err_sys(e, "asking who is at the other end");
	*ret_uid = cred.uid;
	return 0;
}

int fd_fill_std(struct err *e)
{
	int fd;

	/* the lowest that is free is what one gets */
	do {
		fd = open("/dev/null", O_RDWR);
		if (fd < 0)
			return err_sys(e, "/dev/null");
	} while (fd <= STDERR_FILENO);
	close(fd);
	return 0;
}
