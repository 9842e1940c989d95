/*
 * longcall.h - a call that may go on after its asker was answered
 *
 * No answer to an MCP client may take as long as the client's own timeout,
 * and a job of the service may. So the call runs on a thread of its own and
 * the asker waits beside it, until the job is done or the time for an answer
 * has come; then the job's id is the answer and the thread goes on, since it
 * may be the one that reads or writes the local side of a copy.
 *
 * Shapes:  the call is made `detached`: the service keeps the job when this
 *          process dies.
 * Units:   answer_by is absolute, monotonic.
 * Errors:  the service's; ERR_TIMEOUT when it did not even name a job.
 * Threads: progress() and confirm() run on the call's thread, never after
 *          longcall_run() has returned, which waits for a question's end.
 */
#ifndef MCP_LONGCALL_H
#define MCP_LONGCALL_H

#include "mcp/links.h"
#include "ops/op.h"

#define LONGCALL_JOB_SIZE 40

struct longcall_ask {
	const struct op *op;
	const json_t *args;    /* copied */
	const char *copy_root; /* or NULL; copied */
	int cancel_fd;	       /* duplicated; -1: none */
	struct deadline answer_by;
	void (*progress)(void *ctx, const struct client_progress *p);
	/* As client_io has it; ends before answer_by. NULL: nobody to ask. */
	json_t *(*confirm)(void *ctx, const json_t *question);
	void *ctx;
};

/* *ret_result is NULL when the job goes on; its id is then in ret_job. */
int longcall_run(struct links *links, const struct longcall_ask *ask,
		 json_t **ret_result, char ret_job[LONGCALL_JOB_SIZE],
		 struct err *e) __attribute__((warn_unused_result));

#endif
