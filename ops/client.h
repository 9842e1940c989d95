/*
 * client.h - asking the service: connect (starting it when it is not there),
 * call, and what the asker lends to a call
 *
 * Shapes:  one struct client is one connection; one call at a time on it,
 *          from one thread (a program that wants parallel calls opens more).
 *          The io callbacks run on the calling thread inside client_call().
 * Errors:  those of the service (code and message as it said them);
 *          ERR_UNAVAILABLE when it cannot be reached or started.
 * Deadline: when io.deadline passes, a detached job is left alone: ERR_TIMEOUT,
 *          it goes on under the id that progress() told, and the connection
 *          can be used again. Anything else is cancelled, ERR_TIMEOUT.
 * Threads: one thread per client; cancel_fd may be written from any.
 */
#ifndef OPS_CLIENT_H
#define OPS_CLIENT_H

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/err.h"
#include "base/home.h"

#include <jansson.h>
#include <stdbool.h>

struct client;

struct client_opts {
	const struct home *home; /* outlives the client */
	const char *name;	/* identity beside the uid: "cli", "stdio", … */
	bool agent;		/* an agent asks: OP_AGENT rows only */
	const char *const *vms; /* scope: only these VMs (NULL: all) */
	bool high_tier;		/* screenshots as large as newer models take */
	bool no_start;		/* do not start a service that is not there */
};

struct client_progress {
	int64_t done, total;	/* total 0: unknown */
	const char *text;
	const char *job;	/* set once for a job */
};

struct client_io {
	void *ctx;
	void (*progress)(void *ctx, const struct client_progress *p);
	/*
	 * Put the question to a person: its `terminal` and `prompt` on a
	 * terminal, or its `dialog` and `schema` as a form. What came back, as
	 * it came: {"terminal": LINE or null} or {"dialog": {action,
	 * content}}; the service decides whether that is a yes. NULL, also for
	 * the callback: there is nobody to ask. When cancel_fd is readable
	 * afterwards, the call is cancelled instead.
	 */
	json_t *(*confirm)(void *ctx, const json_t *question);
	int in_fd;		/* RPC_STDIN is fed from it; -1: none */
	int out_fd, err_fd;	/* RPC_STDOUT/STDERR go there; -1: dropped */
	struct buf *image;	/* RPC_IMAGE is collected here; NULL: dropped */
	const char *copy_root;	/* where local: paths are confined (agents) */
	int cancel_fd;		/* readable: send CANCEL; -1: none */
	/* Do not end with us: a job goes on when this connection is lost. */
	bool detached;
	struct deadline deadline;
};

int client_connect(const struct client_opts *o, struct client **ret,
		   struct err *e) __attribute__((warn_unused_result));
void client_free(struct client *c);
/* What the service at the other end calls its build ("1.0-3-gabcdef"). */
const char *client_service_version(const struct client *c);
/* Is the service still at the other end? A look at a connection that lay idle;
 * it waits for nothing. */
bool client_is_alive(const struct client *c);
/*
 * Validate, call, pump streams until the result. For a local: endpoint of
 * vm_copy the local side is read or written here (ops/localtree).
 */
int client_call(struct client *c, const char *op, const json_t *args,
		const struct client_io *io, json_t **ret_result, struct err *e)
	__attribute__((warn_unused_result));
/* An io with nothing lent and fds at -1. */
struct client_io client_io_none(struct deadline d);

CLEANUP_DEFINE(client, struct client, client_free)
#define auto_client __attribute__((cleanup(cleanup_client_)))

#endif
