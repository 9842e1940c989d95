/*
 * serve.h - the service's socket: who may connect, what they ask, and the
 * threads that answer
 *
 * Shapes:  one struct serve per process (tests make several). serve_run() is
 *          the I/O thread; it returns after serve_stop() or a fatal error,
 *          when every call has ended. Calls that do not end when they are
 *          cancelled are given up after LIMIT_SERVICE_STOP_MS: then
 *          serve_counts() still shows them and the process must _exit().
 * Errors:  serve_run() fails only when it cannot poll.
 * Threads: serve_stop() and serve_counts() from any thread.
 */
#ifndef VMCTL_SERVE_H
#define VMCTL_SERVE_H

#include "base/cleanup.h"
#include "base/err.h"
#include "vmctl/service.h"

#include <stdint.h>

struct serve;
struct audit;

struct serve_opts {
	struct service *service;
	/* The handler of a row; service_handler() but in tests. */
	call_handler *(*handler)(const struct op *op);
	struct audit *audit; /* NULL: none is kept */
	int listen_fd;	     /* non-blocking; taken over */
	int signal_fd;	     /* readable: stop; -1: none */
	/* Removed on the way out; somebody else's in its place is a reason to
	 * stop. NULL: not looked after */
	const char *socket_path;
	/* Called by the I/O thread now and then (seconds apart); or NULL. */
	void (*tick)(void *ctx);
	void *ctx;
};

struct serve_counts {
	unsigned clients, calls;
	int64_t uptime_ms;
};

int serve_new(const struct serve_opts *o, struct serve **ret, struct err *e)
	__attribute__((warn_unused_result));
int serve_run(struct serve *s, struct err *e)
	__attribute__((warn_unused_result));
void serve_stop(struct serve *s);
void serve_free(struct serve *s); /* after serve_run() returned */
struct serve_counts serve_counts(struct serve *s);

CLEANUP_DEFINE(serve, struct serve, serve_free)
#define auto_serve __attribute__((cleanup(cleanup_serve_)))

#endif
