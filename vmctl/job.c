/*
 * Jobs in one list, newest first, under one lock. A job runs until
 * job_finish(), and is then kept with its result as text (JSON values are not
 * shared between threads). Waiters poll an eventfd of their own, so that a
 * cancelled wait ends at once.
 */
#include "vmctl/job.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/crypto.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* "j" and this many base32 letters: 50 bits, never guessed */
#define ID_LETTERS 10

struct waiter {
	struct waiter *next;
	int fd;
};

struct job {
	struct jobs *jobs;
	struct job *next;
	char id[ID_LETTERS + 2];
	char *op, *client, *vms;
	int64_t started_ms, ended_ms; /* ended_ms 0: running */
	int64_t done, total;
	char text[256];
	char *result; /* JSON text, or NULL: failed */
	struct err why;
	struct waiter *waiters;
};

struct jobs {
	pthread_mutex_t lock;
	struct job *list;
};

struct jobs *jobs_new(void)
{
	struct jobs *js = ALLOC_NEW(struct jobs);

	pthread_mutex_init(&js->lock, NULL);
	return js;
}

static void job_free(struct job *j)
{
	free(j->op);
	free(j->client);
	free(j->vms);
	free(j->result);
	free(j);
}

void jobs_free(struct jobs *js)
{
	if (!js)
		return;
	while (js->list) {
		struct job *j = js->list;

		js->list = j->next;
		job_free(j);
	}
	pthread_mutex_destroy(&js->lock);
	free(js);
}

/* Let go of ended jobs that are too many, too old or too large. */
static void expire(struct jobs *js)
{
	int64_t now_ms = deadline_now_ms();
	size_t kept_len = 0;
	unsigned count = 0;

	for (struct job **p = &js->list; *p;) {
		struct job *j = *p;

		if (j->result)
			kept_len += strlen(j->result);
		count++;
		if (j->ended_ms == 0 || j->waiters ||
		    (count <= LIMIT_JOBS_COUNT &&
		     now_ms - j->ended_ms <= LIMIT_JOB_KEPT_MS &&
		     kept_len <= LIMIT_JOBS_KEPT_LEN)) {
			p = &j->next;
			continue;
		}
		*p = j->next;
		job_free(j);
	}
}

static int make_id(char id[ID_LETTERS + 2], struct err *e)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	uint8_t random[ID_LETTERS];

	if (crypto_random(random, sizeof(random), e) != 0)
		return -1;
	id[0] = 'j';
	for (size_t i = 0; i < ID_LETTERS; i++)
		id[i + 1] = letters[random[i] & 31];
	id[ID_LETTERS + 1] = '\0';
	return 0;
}

struct job *jobs_start(struct jobs *js, const char *op, const char *client,
		       const char *vms, struct err *e)
{
	struct job *j = ALLOC_NEW(struct job);

	if (make_id(j->id, e) != 0) {
		free(j);
		return NULL;
	}
	j->jobs = js;
	j->op = alloc_str(op);
	j->client = alloc_str(client);
	j->vms = alloc_str(vms);
	j->started_ms = deadline_now_ms();
	pthread_mutex_lock(&js->lock);
	expire(js);
	j->next = js->list;
	js->list = j;
	pthread_mutex_unlock(&js->lock);
	return j;
}

const char *job_id(const struct job *j)
{
	return j->id;
}

void job_progress(struct job *j, int64_t done, int64_t total, const char *text)
{
	size_t len = strnlen(text, sizeof(j->text) - 1);

	pthread_mutex_lock(&j->jobs->lock);
	j->done = done;
	j->total = total;
	memcpy(j->text, text, len);
	j->text[len] = '\0';
	pthread_mutex_unlock(&j->jobs->lock);
}

void job_finish(struct job *j, const json_t *result, const struct err *why)
{
	char *text = result ? json_print(result) : NULL;
	struct jobs *js = j->jobs;

	pthread_mutex_lock(&js->lock);
	j->result = text;
	if (why)
		j->why = *why;
	j->ended_ms = deadline_now_ms();
	for (struct waiter *w = j->waiters; w; w = w->next) {
		uint64_t one = 1;

		if (write(w->fd, &one, sizeof(one)) < 0)
			log_error("a waiter could not be woken");
	}
	pthread_mutex_unlock(&js->lock);
}

/* ---- waiting
 * ------------------------------------------------------------------ */

static bool holds(const char *const *scope, const char *name, size_t len)
{
	for (; *scope; scope++) {
		if (strlen(*scope) == len && memcmp(*scope, name, len) == 0)
			return true;
	}
	return false;
}

static bool may_see(const struct job *j, const struct jobs_asker *asker)
{
	const char *name = j->vms;

	if (asker->agent && strcmp(j->client, asker->client) != 0)
		return false;
	while (asker->vms && *name) {
		size_t len = strcspn(name, ",");

		if (!holds(asker->vms, name, len))
			return false;
		name += len + (name[len] == ',');
	}
	return true;
}

static struct job *find(struct jobs *js, const struct jobs_asker *asker,
			const char *id, struct err *e)
{
	for (struct job *j = js->list; j; j = j->next) {
		if (strcmp(j->id, id) == 0 && may_see(j, asker))
			return j;
	}
	err_set(e, ERR_NOT_FOUND,
		"unknown job %s: it ended too long ago, or the service was "
		"restarted since",
		id);
	return NULL;
}

static json_t *describe_running(const struct job *j)
{
	return json_pack(
		"{s:s, s:s, s:s, s:I, s:{s:I, s:I, s:o}}", "job", j->id, "op",
		j->op, "state", "running", "elapsed_s",
		(json_int_t)((deadline_now_ms() - j->started_ms) / 1000),
		"progress", "done", (json_int_t)j->done, "total",
		(json_int_t)j->total, "text",
		json_lossy(j->text, strlen(j->text)));
}

/* What there is to say of it now. Lock held. */
static int report(const struct job *j, json_t **ret, struct err *e)
{
	if (j->ended_ms == 0) {
		*ret = describe_running(j);
		return 0;
	}
	if (!j->result) {
		*e = j->why;
		return err_wrap(e, "%s", j->op);
	}
	*ret = json_parse(j->result, strlen(j->result), e);
	return *ret ? 0 : -1;
}

static void unlink_waiter(struct job *j, struct waiter *w)
{
	for (struct waiter **p = &j->waiters; *p; p = &(*p)->next) {
		if (*p == w) {
			*p = w->next;
			return;
		}
	}
}

/* Unlocked meanwhile; a job with a waiter is not let go. */
static int wait_end(struct jobs *js, const struct jobs_asker *asker,
		    struct job *j, struct deadline d, struct err *e)
{
	struct waiter w = {.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	struct err timed_out = {0};
	int rc = 0;

	if (w.fd < 0)
		return err_sys(e, "waiting for %s", j->id);
	w.next = j->waiters;
	j->waiters = &w;
	pthread_mutex_unlock(&js->lock);

	struct pollfd fds[] = {{.fd = w.fd, .events = POLLIN},
			       {.fd = asker->cancel_fd, .events = POLLIN}};
	if (deadline_poll(fds, 2, d, "waiting for a job", &timed_out) < 0) {
		if (timed_out.code != ERR_TIMEOUT) {
			*e = timed_out;
			rc = -1;
		}
	} else if (fds[1].revents) {
		rc = err_set(e, ERR_CANCELLED, "cancelled");
	}

	pthread_mutex_lock(&js->lock);
	unlink_waiter(j, &w);
	close(w.fd);
	return rc;
}

int jobs_wait(struct jobs *js, const struct jobs_asker *asker, const char *id,
	      struct deadline d, json_t **ret_result, struct err *e)
{
	struct job *j;
	int rc = -1;

	pthread_mutex_lock(&js->lock);
	j = find(js, asker, id, e);
	if (j && (j->ended_ms > 0 || wait_end(js, asker, j, d, e) == 0))
		rc = report(j, ret_result, e);
	pthread_mutex_unlock(&js->lock);
	return rc;
}

unsigned jobs_running(struct jobs *js)
{
	unsigned count = 0;

	pthread_mutex_lock(&js->lock);
	for (struct job *j = js->list; j; j = j->next)
		count += j->ended_ms == 0;
	pthread_mutex_unlock(&js->lock);
	return count;
}
