/*
 * call.h - one call as its handler sees it
 *
 * A handler runs on a thread of its own, blocks as it likes (with the call's
 * deadline), and speaks to the client through these functions. It never sees
 * a socket.
 *
 * Shapes:  struct call is owned by serve; valid until the handler returns.
 * Errors:  ERR_CANCELLED after the client cancelled (or left, for calls that
 *          end with it).
 * Threads: the functions may be called from the handler's thread and from a
 *          thread it started; call_cancelled() from any.
 */
#ifndef VMCTL_CALL_H
#define VMCTL_CALL_H

#include "base/deadline.h"
#include "base/err.h"
#include "base/rpc.h"
#include "ops/op.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct call;
struct service; /* vmctl/service.h: what handlers share */

typedef int call_handler(struct call *c, const json_t *args,
			 json_t **ret_result, struct err *e);

struct service *call_service(struct call *c);
const struct op *call_op(const struct call *c);
const char *call_client(const struct call *c); /* "uid:name", for the audit */
bool call_from_agent(const struct call *c);
/* Its screenshots may be as large as newer models take. */
bool call_high_tier(const struct call *c);
/* The VMs its client is confined to, then NULL; or NULL: to none. */
const char *const *call_scope(const struct call *c);
bool call_may_use_vm(const struct call *c, const char *vm);
const char *call_job(const struct call *c); /* job id, or "" */
/* The client takes stdout and stderr as streams (a person's `run`). */
bool call_streams(const struct call *c);
struct deadline call_deadline(const struct call *c);

/* Stop working? An eventfd that becomes readable, and a test. */
int call_cancel_fd(const struct call *c);
bool call_cancelled(const struct call *c);
int call_check(const struct call *c, struct err *e) /* cancelled or too late */
	__attribute__((warn_unused_result));
/* Another call ends this one, which its client did not ask for: it is cancelled,
 * and what it fails with is ERR_STATE and says why. From any thread. */
void call_end(struct call *c, const char *why);

void call_progress(struct call *c, int64_t done, int64_t total,
		   const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Blocks while the client has not granted credit. len 0: end of stream. */
int call_write(struct call *c, enum rpc_stream s, const void *p, size_t len,
	       struct err *e) __attribute__((warn_unused_result));
/* Bytes read (at most max), 0 at end of stream, -1. Blocks. */
ssize_t call_read(struct call *c, enum rpc_stream s, void *p, size_t max,
		  struct err *e) __attribute__((warn_unused_result));
/* An fd that is readable when call_read() would not block (for poll). */
int call_read_fd(struct call *c, enum rpc_stream s);
/*
 * Have the client's front-end put a question to its person. *ret_answer is what
 * came back, as it came: whether that is a yes is for grants/confirm to say.
 * NULL: the client has nobody to ask.
 */
int call_confirm(struct call *c, const json_t *question, json_t **ret_answer,
		 struct err *e) __attribute__((warn_unused_result));

#endif
