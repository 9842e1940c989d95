/*
 * struct longcall is shared by two threads, the asker's and the call's, and
 * freed by whichever leaves last. States, under the lock:
 *
 *	waiting:   the asker waits; progress is handed to it, and so is a
 *		   question (`asking`), which it waits for without end, since
 *		   whoever answers has a time limit of its own
 *	done:      the call has ended and left its result; the asker takes it
 *	abandoned: the asker has left; nothing of its may be touched any more
 */
#include "mcp/longcall.h"

#include "base/alloc.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

struct longcall {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool done, abandoned, asking;
	char job[LONGCALL_JOB_SIZE];
	json_t *result; /* of a call that succeeded */
	struct err err;
	struct links *links;
	struct longcall_ask ask; /* owns args, copy_root and cancel_fd */
};

static void longcall_free(struct longcall *l)
{
	json_t *args = (json_t *)(uintptr_t)l->ask.args;
	char *root = (char *)(uintptr_t)l->ask.copy_root;

	json_decref(args);
	json_decref(l->result);
	free(root);
	if (l->ask.cancel_fd >= 0)
		close(l->ask.cancel_fd);
	pthread_cond_destroy(&l->changed);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

static struct longcall *longcall_new(struct links *links,
				     const struct longcall_ask *ask)
{
	struct longcall *l = ALLOC_NEW(struct longcall);
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&l->changed, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&l->lock, NULL);
	l->links = links;
	l->ask = *ask;
	l->ask.args = json_deep_copy(ask->args);
	l->ask.copy_root = ask->copy_root ? alloc_str(ask->copy_root) : NULL;
	l->ask.cancel_fd = ask->cancel_fd < 0
				   ? -1
				   : fcntl(ask->cancel_fd, F_DUPFD_CLOEXEC, 3);
	return l;
}

static void on_progress(void *ctx, const struct client_progress *p)
{
	struct longcall *l = ctx;

	pthread_mutex_lock(&l->lock);
	if (p->job)
		snprintf(l->job, sizeof(l->job), "%s", p->job);
	if (!l->abandoned && l->ask.progress)
		l->ask.progress(l->ask.ctx, p);
	pthread_mutex_unlock(&l->lock);
}

static json_t *on_confirm(void *ctx, const json_t *question)
{
	struct longcall *l = ctx;
	json_t *answer;

	pthread_mutex_lock(&l->lock);
	l->asking = !l->abandoned && l->ask.confirm;
	pthread_mutex_unlock(&l->lock);
	if (!l->asking)
		return NULL;
	answer = l->ask.confirm(l->ask.ctx, question);
	pthread_mutex_lock(&l->lock);
	l->asking = false;
	pthread_cond_signal(&l->changed);
	pthread_mutex_unlock(&l->lock);
	return answer;
}

static void *thread_main(void *arg)
{
	struct longcall *l = arg;
	struct client_io io = client_io_none(deadline_in_ms(DEADLINE_MAX_MS));
	struct client *client;
	struct err e = {0};
	json_t *result = NULL;
	bool abandoned;

	io.ctx = l;
	io.progress = on_progress;
	io.confirm = on_confirm;
	io.copy_root = l->ask.copy_root;
	io.cancel_fd = l->ask.cancel_fd;
	io.detached = true;
	if (links_take(l->links, &client, &e) == 0) {
		if (client_call(client, l->ask.op->name, l->ask.args, &io,
				&result, &e) != 0)
			result = NULL;
		links_give(l->links, client);
	}
	pthread_mutex_lock(&l->lock);
	l->done = true;
	l->result = result;
	l->err = e;
	abandoned = l->abandoned;
	pthread_cond_signal(&l->changed);
	pthread_mutex_unlock(&l->lock);
	if (abandoned)
		longcall_free(l);
	return NULL;
}

/* Leave the call to itself: it goes on as a job, or is told to stop. */
static int abandon(struct longcall *l, char ret_job[LONGCALL_JOB_SIZE],
		   struct err *e)
{
	uint64_t one = 1;

	l->abandoned = true;
	if (*l->job) {
		snprintf(ret_job, LONGCALL_JOB_SIZE, "%s", l->job);
		return 0;
	}
	if (l->ask.cancel_fd >= 0 &&
	    write(l->ask.cancel_fd, &one, sizeof(one)) < 0)
		return err_sys(e, "cancelling the call");
	return err_set(e, ERR_TIMEOUT,
		       "the service did not take %s up in time: call again, or "
		       "see `boxery service status`",
		       l->ask.op->name);
}

static int start(struct longcall *l, struct err *e)
{
	pthread_attr_t attr;
	pthread_t thread;
	int rc;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	rc = pthread_create(&thread, &attr, thread_main, l);
	pthread_attr_destroy(&attr);
	return rc == 0 ? 0 : err_set(e, ERR_SYSTEM, "cannot start a thread");
}

int longcall_run(struct links *links, const struct longcall_ask *ask,
		 json_t **ret_result, char ret_job[LONGCALL_JOB_SIZE],
		 struct err *e)
{
	struct longcall *l = longcall_new(links, ask);
	struct timespec until = deadline_timespec(ask->answer_by);
	json_t *result = NULL;
	int rc;

	if (start(l, e) != 0) {
		longcall_free(l);
		return -1;
	}
	pthread_mutex_lock(&l->lock);
	while (!l->done && (l->asking || !deadline_passed(ask->answer_by))) {
		if (l->asking)
			pthread_cond_wait(&l->changed, &l->lock);
		else
			pthread_cond_timedwait(&l->changed, &l->lock, &until);
	}
	if (!l->done) {
		rc = abandon(l, ret_job, e);
		pthread_mutex_unlock(&l->lock);
		if (rc == 0)
			*ret_result = NULL;
		return rc;
	}
	if (l->result) {
		result = l->result;
		l->result = NULL;
		rc = 0;
	} else {
		*e = l->err;
		rc = -1;
	}
	pthread_mutex_unlock(&l->lock);
	longcall_free(l);
	if (rc == 0)
		*ret_result = result;
	return rc;
}
