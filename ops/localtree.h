/*
 * localtree.h - the local side of vm_copy: files and trees of the computer
 * that asked, read or written by the client program
 *
 * The other side is in the service (vmctl/copy.h). The two speak records of
 * ops/treewire.h over the call's streams RPC_TREE_UP and RPC_TREE_DOWN. An
 * object here has no fd and never waits for its peer: whoever pumps the
 * connection drives it:
 *
 *	localtree_for_call(op, args, …, &t)	t NULL: not a local copy
 *	RPC_TREE_DOWN, len > 0	localtree_feed(t, p, len): takes all of it,
 *				so grant the same credit back afterwards
 *	RPC_TREE_DOWN, len 0	nothing to do
 *	credit for TREE_UP	n = localtree_produce(t, p, max); n > 0: send
 *				it as RPC_TREE_UP. n 0: nothing to say until
 *				the next feed. So try at the start and after
 *				each feed and each CREDIT, until it gives 0.
 *	localtree_ended(t)	once, after produce gave 0: send RPC_TREE_UP
 *				with len 0 (end of stream)
 *	RESULT or ERROR		localtree_free(t)
 *
 * feed writes to the disk and produce reads from it, so both take as long as
 * the disk does. Nothing fails on the way: what goes wrong here becomes a
 * record, the service ends the call with it, and ERROR brings it back. Freed
 * before the end (cancel, lost link) a partial file stays for the next run.
 *
 * Shapes:  opaque; a source or a sink by what the endpoint says.
 * Units:   bytes.
 * Errors:  localtree_for_call: ERR_DENIED for a path outside the copy root,
 *          ERR_NOT_FOUND, ERR_INVALID, before the call is sent.
 * Threads: one owner at a time.
 */
#ifndef OPS_LOCALTREE_H
#define OPS_LOCALTREE_H

#include "base/cleanup.h"
#include "base/err.h"
#include "base/home.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct localtree;

/*
 * args: validated arguments of operation op. copy_root: the directory that
 * local: paths of an agent must lie in (client_io.copy_root), NULL for a
 * person. *ret is NULL when op is not vm_copy or no endpoint is local:.
 * Relative paths start at copy_root, or at the current directory.
 */
int localtree_for_call(const char *op, const json_t *args,
		       const char *copy_root, const struct home *home,
		       struct localtree **ret, struct err *e)
	__attribute__((warn_unused_result));
void localtree_free(struct localtree *t);

void localtree_feed(struct localtree *t, const void *p, size_t len);
size_t localtree_produce(struct localtree *t, void *p, size_t max);
bool localtree_ended(const struct localtree *t);

CLEANUP_DEFINE(localtree, struct localtree, localtree_free)
#define auto_localtree __attribute__((cleanup(cleanup_localtree_)))

#endif
