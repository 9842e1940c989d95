/*
 * job.h - calls that may outlast the answer their client waits for: what they
 * are doing, and their results, until somebody fetched them long enough ago
 *
 * Shapes:  a struct job is counted. The call's thread holds one reference from
 *          jobs_start() to job_finish(); the registry keeps ended jobs, at most
 *          LIMIT_JOBS_COUNT of them, LIMIT_JOB_KEPT_MS and
 *          LIMIT_JOBS_KEPT_LEN bytes of results; the oldest go first.
 * Errors:  ERR_NOT_FOUND for an id that is unknown or another's.
 * Threads: any.
 */
#ifndef VMCTL_JOB_H
#define VMCTL_JOB_H

#include "base/deadline.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct job;
struct jobs;

struct jobs *jobs_new(void);
void jobs_free(struct jobs *js); /* when no call runs any more */

/* vms: what it works with, "a,b" or "". Strings are copied. Borrowed until
 * job_finish(). NULL+err. */
struct job *jobs_start(struct jobs *js, const char *op, const char *client,
		       const char *vms, struct err *e)
	__attribute__((warn_unused_result));
const char *job_id(const struct job *j);
void job_progress(struct job *j, int64_t done, int64_t total, const char *text);
/* result, or NULL and why it failed. The job is the registry's alone then. */
void job_finish(struct job *j, const json_t *result, const struct err *why);

/* Who asks: an agent sees the jobs of its own client, a person all; either
 * only of VMs that it may use. */
struct jobs_asker {
	const char *client;
	bool agent;
	const char *const *vms; /* its scope: names, then NULL; NULL: all */
	int cancel_fd; /* readable: stop waiting, ERR_CANCELLED */
};
/*
 * The result of a job that is done; its own error when it failed. Still
 * running at the deadline: {job, op, state: "running", elapsed_s, progress}.
 */
int jobs_wait(struct jobs *js, const struct jobs_asker *asker, const char *id,
	      struct deadline d, json_t **ret_result, struct err *e)
	__attribute__((warn_unused_result));
unsigned jobs_running(struct jobs *js);

#endif
