/*
 * watch.h - the other ends of connections: who hung up, and who is too slow
 *
 * The thread of a connection works for its client, or waits inside the HTTP
 * library, and in neither does it look at the client. One thread looks at all
 * of them.
 *
 * Shapes:  a struct watched stands for a connection from when it was accepted
 *          until just before its fd is closed.
 * Units:   deadlines in milliseconds of deadline_now_ms().
 * Errors:  ERR_SYSTEM when it cannot begin; a connection that cannot be
 *          watched is only noticed later.
 * Threads: any. gone() runs on the watcher's thread, or inside watch_arm(),
 *          and never after watch_disarm() has returned; it must not block and
 *          not call back in here.
 */
#ifndef MCP_WATCH_H
#define MCP_WATCH_H

#include "base/err.h"

#include <stdatomic.h>
#include <stdint.h>

struct watch;
struct watched;

/* tick runs about once a second, on the watcher's thread. */
int watch_new(void (*tick)(void *ctx), void *ctx, struct watch **ret,
	      struct err *e) __attribute__((warn_unused_result));
void watch_free(struct watch *w); /* when nothing is watched */

struct watched *watch_add(struct watch *w, int fd);
void watch_remove(struct watch *w, struct watched *c);

/* Call gone(arg) once the client has hung up, which may be now. When *cut (may
 * be NULL) becomes true, the connection is ended. */
void watch_arm(struct watch *w, struct watched *c, void (*gone)(void *arg),
	       void *arg, const atomic_bool *cut);
void watch_disarm(struct watch *w, struct watched *c);

/* End the connection so many milliseconds from now, unless told otherwise
 * before; 0: no longer. */
void watch_deadline(struct watched *c, int64_t ms);

#endif
