/*
 * conn.h - one client of the service, and its calls, as serve, conn, call and
 * dispatch share them; handlers see vmctl/call.h only
 *
 * Shapes:  a struct conn is counted: the I/O thread holds one reference while
 *          the socket is open, each call one until it ended (a job outlives
 *          its client). A struct call belongs to its thread; conn->calls lists
 *          it so that the I/O thread can hand it what arrives.
 * Units:   bytes; deadlines.
 * Errors:  a client that breaks the protocol is told why and dropped; others
 *          are not disturbed.
 * Threads: conn->lock guards what is marked so. Handler threads send
 *          themselves when nothing is queued, else the I/O thread does.
 *          Order: serve's and the machines' locks, then conn->lock.
 * Source:  docs/FORMATS.md, "Messages".
 */
#ifndef VMCTL_CONN_H
#define VMCTL_CONN_H

#include "base/buf.h"
#include "base/deadline.h"
#include "base/err.h"
#include "base/rpc.h"
#include "vmctl/call.h"
#include "vmctl/chunks.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct job;
struct serve;

/* What the client sends on one stream of a call. */
struct call_in {
	struct chunks bytes;
	size_t room; /* how much it may still send */
	size_t owed; /* read by the handler, not yet granted again */
	bool ended;
	int ready_fd; /* eventfd, -1 until somebody polls */
};

enum call_asking { ASKING_NOTHING, ASKING, ASKING_ANSWERED };

struct call {
	struct conn *conn;
	uint32_t id;
	char *payload; /* of the CALL frame, for dispatch */
	size_t payload_len;
	/* set by dispatch before the handler runs */
	const struct op *op;
	struct deadline deadline;
	bool streams;
	struct job *job;
	/* under conn->lock */
	pthread_cond_t changed;
	bool settled;  /* survives is known */
	bool survives; /* losing the client does not end it */
	bool lost;     /* the client is gone */
	bool cancelled;
	char *ended; /* why another call ended it, or NULL */
	int cancel_fd; /* eventfd, -1 until somebody polls */
	struct call_in in[RPC_STREAM_COUNT];
	size_t credit[RPC_STREAM_COUNT];
	enum call_asking asking;
	json_t *answer; /* once answered: as it came, or NULL */
	unsigned progress_tokens;
	int64_t progress_ms;
	struct call *next; /* of conn->calls */
	/* under serve's lock */
	struct call *serve_next;
};

struct conn {
	struct serve *serve;
	/* the I/O thread's alone */
	struct conn *prev, *next;
	struct buf in;
	int64_t opened_ms;
	/* fixed once the hello was taken */
	bool greeted;
	char *identity; /* "uid:name" */
	bool agent;
	bool high_tier; /* of its screenshots */
	char **vms; /* NULL-terminated scope, or NULL: all */
	uid_t uid;
	/* under lock */
	pthread_mutex_t lock;
	unsigned refs;
	int fd; /* -1: gone */
	int epoll_fd;
	uint32_t events; /* what epoll watches */
	struct chunks out;
	struct call *calls;
};

/* -- conn.c ------------------------------------------------------------------
 */

struct conn *conn_new(struct serve *s, int epoll_fd, int fd, uid_t uid);
void conn_unref(struct conn *c);
/* Events of its fd: false when it is to be closed. I/O thread. */
bool conn_event(struct conn *c, uint32_t events);
/* Close the socket and tell its calls. I/O thread; drops its reference. */
void conn_close(struct conn *c);
/* Queue one frame and send what the socket takes; nothing for a lost client. */
void conn_send_json(struct conn *c, enum rpc_type type, uint32_t call,
		    const json_t *payload);
/* The same, lock held; the frame's bytes are taken. */
void conn_push(struct conn *c, struct buf *frame);
/* Tell why; the I/O thread closes it next. */
void conn_refuse(struct conn *c, const struct err *why);

/* -- call.c ------------------------------------------------------------------
 */

struct call *call_new(struct conn *conn, uint32_t id, const void *payload,
		      size_t len);
/* Nothing that arrives concerns it any more; its id is free. No lock held. */
void call_unlink(struct call *c);
void call_free(struct call *c); /* unlinked; drops the connection's reference */
/* All with conn->lock held. */
void call_cancel(struct call *c);
void call_lose(struct call *c);
int call_feed(struct call *c, enum rpc_stream s, const void *p, size_t len,
	      struct err *e) __attribute__((warn_unused_result));
int call_grant(struct call *c, enum rpc_stream s, uint32_t credit,
	       struct err *e) __attribute__((warn_unused_result));
/* Takes the answer, NULL: there is nobody to ask. */
void call_answered(struct call *c, json_t *answer);
/* Of one that failed: where another call ended it, that is the reason. Without
 * the lock. */
void call_explain_end(struct call *c, struct err *e);
/* Decide what a lost client means; without the lock. */
void call_set_survives(struct call *c, bool survives);

/* -- dispatch.c --------------------------------------------------------------
 */

/* The body of a call's thread: parse, check, run, answer, free. */
void *dispatch_call(void *arg);

/* -- serve.c -----------------------------------------------------------------
 */

/* Run the call on a thread of its own. ERR_LIMIT: too many. */
int serve_begin_call(struct serve *s, struct call *c, struct err *e)
	__attribute__((warn_unused_result));
/* The call has its outcome: it is unlinked and no longer counted. Its thread
 * then answers and calls serve_end_call(), which frees it. */
void serve_close_call(struct serve *s, struct call *c);
void serve_end_call(struct serve *s, struct call *c);
const struct serve_opts *serve_opts(const struct serve *s);

#endif
