/*
 * Bytes as a client sends them to the service, in pieces. An odd first byte
 * spares the fuzzer the hello; the second says how large the pieces are. Calls
 * run as in the service, on threads, with a handler that reads and writes
 * until the client is gone.
 */
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/log.h"
#include "vmctl/conn.h"
#include "vmctl/job.h"
#include "vmctl/serve.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const uint8_t hello[] = "\0\0\0\x12\1\0\0\0\0{\"version\":1}";

static struct service service;
static struct serve *serve;
static int epoll_fd;

static int echo(struct call *c, const json_t *args, json_t **ret, struct err *e)
{
	char bytes[512];
	ssize_t n = 0;

	call_progress(c, 0, 0, "%s", call_client(c));
	if (call_op(c)->kind == OP_JOB && call_streams(c)) {
		while ((n = call_read(c, RPC_STDIN, bytes, sizeof(bytes), e)) >
		       0) {
			if (call_write(c, RPC_STDOUT, bytes, (size_t)n, e) != 0)
				return -1;
		}
	}
	*ret = json_pack("{s:O}", "args", args);
	return n < 0 ? -1 : 0;
}

static call_handler *find(const struct op *op)
{
	return op->flags & OP_LOCAL ? NULL : echo;
}

static void set_up(void)
{
	struct serve_opts o = {
		.service = &service, .handler = find, .signal_fd = -1};
	int fds[2];

	if (serve)
		return;
	log_init("fuzz", LOG_ERROR);
	service.jobs = jobs_new();
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_fd < 0 || fd_pair(fds, NULL) != 0)
		abort();
	o.listen_fd = fds[0];
	if (serve_new(&o, &serve, NULL) != 0)
		abort();
}

/* Send a piece and let the connection take it: false when it hung up. */
static bool feed(struct conn *c, int fd, const uint8_t *p, size_t len)
{
	char sink[65536];

	if (len > 0 && send(fd, p, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return true;
	if (!conn_event(c, EPOLLIN | EPOLLOUT))
		return false;
	while (recv(fd, sink, sizeof(sink), MSG_DONTWAIT) > 0)
		;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct deadline d = deadline_in_ms(20000);
	struct conn *c;
	bool open = true;
	size_t piece;
	int fds[2];

	if (len < 2 || len > 65536)
		return 0;
	set_up();
	if (fd_pair(fds, NULL) != 0 || fd_set_nonblock(fds[0], NULL) != 0)
		abort();
	c = conn_new(serve, epoll_fd, fds[0], getuid());
	if (!c)
		abort();
	if (data[0] & 1)
		open = feed(c, fds[1], hello, sizeof(hello) - 1);
	piece = data[1] ? data[1] : 4096;
	for (size_t at = 2; open && at < len; at += piece) {
		size_t n = len - at < piece ? len - at : piece;

		open = feed(c, fds[1], data + at, n);
	}
	conn_close(c);
	close(fds[1]);
	/* whatever was asked, it ends with the client */
	while (serve_counts(serve).calls > 0) {
		if (deadline_passed(d))
			abort();
		deadline_sleep_ms(0);
	}
	return 0;
}
