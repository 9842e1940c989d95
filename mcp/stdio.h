/*
 * stdio.h - MCP over a pair of fds: one JSON message a line
 *
 * Shapes:  stdio_run() serves until the input ends, the output's reader is
 *          gone, or stop_fd becomes readable. After the end of the input it
 *          waits for the answers of calls under way, which is bounded by the
 *          time that a call may take. The process ignores SIGPIPE.
 * Errors:  ERR_SYSTEM when it cannot begin. What happens later is not an
 *          error: clients come and go.
 * Threads: stdio_run() reads on its caller's thread; calls run on a pool.
 * Source:  MCP 2025-11-25 "Transports: stdio".
 */
#ifndef MCP_STDIO_H
#define MCP_STDIO_H

#include "base/err.h"
#include "mcp/protocol.h"
#include "mcp/tools.h"

#include <stdbool.h>

struct stdio_opts {
	int in_fd, out_fd;
	int stop_fd; /* an eventfd or pipe; written by a signal handler */
	const struct protocol_server *server;
	const struct toolset *tools;
};

/* *ret_idle: no call was left running, so all of it could be taken down. */
int stdio_run(const struct stdio_opts *o, bool *ret_idle, struct err *e)
	__attribute__((warn_unused_result));

#endif
