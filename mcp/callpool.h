/*
 * callpool.h - a bounded number of threads that run calls
 *
 * Shapes:  work runs in the order of callpool_submit() as far as threads are
 *          free. Work with a lane (a VM's input, by the VM's name) waits
 *          until all earlier work of that lane has ended, so that a click and
 *          the typing after it cannot overtake one another; other work
 *          passes by.
 * Units:   counts.
 * Errors:  ERR_LIMIT when the queue is full, ERR_SYSTEM without threads.
 * Threads: any thread may submit. Threads are made when first needed.
 */
#ifndef MCP_CALLPOOL_H
#define MCP_CALLPOOL_H

#include "base/err.h"

struct callpool;

struct callpool *callpool_new(unsigned thread_count, unsigned queue_count);
/* Waits for all work, submitted or running. */
void callpool_free(struct callpool *p);
/* lane: NULL, or a name that is copied. */
int callpool_submit(struct callpool *p, const char *lane,
		    void (*run)(void *arg), void *arg, struct err *e)
	__attribute__((warn_unused_result));

#endif
