/*
 * One mutex guards everything. A piece of work is in exactly one place: in the
 * queue (a list in order of arrival), or held by the thread that runs it,
 * which has put it in `running` meanwhile so that its lane is known to be
 * taken. A thread takes the first queued piece whose lane is free: pieces of
 * one lane are queued in order, so the first found is that lane's oldest.
 */
#include "mcp/callpool.h"

#include "base/alloc.h"
#include "base/cleanup.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

struct work {
	struct work *next;
	char *lane;
	void (*run)(void *arg);
	void *arg;
};

struct callpool {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct work *queue;
	struct work *running;
	unsigned queued_count, queue_max;
	unsigned thread_count, idle_count, thread_max;
	pthread_t *threads;
	bool stopping;
};

struct callpool *callpool_new(unsigned thread_count, unsigned queue_count)
{
	struct callpool *p = ALLOC_NEW(struct callpool);

	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	p->thread_max = thread_count;
	p->queue_max = queue_count;
	p->threads = alloc_array(thread_count, sizeof(*p->threads));
	return p;
}

void callpool_free(struct callpool *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stopping = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->thread_count; i++)
		pthread_join(p->threads[i], NULL);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p->threads);
	free(p);
}

static bool lane_is_taken(const struct callpool *p, const char *lane)
{
	if (!lane)
		return false;
	for (const struct work *w = p->running; w; w = w->next) {
		if (w->lane && strcmp(w->lane, lane) == 0)
			return true;
	}
	return false;
}

/* The next piece that may run, moved from queue to running, or NULL. */
static struct work *take_work(struct callpool *p)
{
	for (struct work **at = &p->queue; *at; at = &(*at)->next) {
		struct work *w = *at;

		if (lane_is_taken(p, w->lane))
			continue;
		*at = w->next;
		p->queued_count--;
		w->next = p->running;
		p->running = w;
		return w;
	}
	return NULL;
}

static void drop_running(struct callpool *p, struct work *w)
{
	struct work **at = &p->running;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	free(w->lane);
	free(w);
}

static void *thread_main(void *arg)
{
	struct callpool *p = arg;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		struct work *w = take_work(p);

		if (w) {
			pthread_mutex_unlock(&p->lock);
			w->run(w->arg);
			pthread_mutex_lock(&p->lock);
			drop_running(p, w);
			/* its lane is free: another may have waited for it */
			if (p->queue)
				pthread_cond_broadcast(&p->changed);
			continue;
		}
		if (p->stopping && !p->queue)
			break;
		p->idle_count++;
		pthread_cond_wait(&p->changed, &p->lock);
		p->idle_count--;
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* With the lock held. One thread is enough to go on, so a failure to make
 * a further one only makes the queue slower. */
static int add_thread(struct callpool *p, struct err *e)
{
	int rc;

	if (p->idle_count >= p->queued_count ||
	    p->thread_count == p->thread_max)
		return 0;
	rc = pthread_create(&p->threads[p->thread_count], NULL, thread_main, p);
	if (rc == 0) {
		p->thread_count++;
		return 0;
	}
	return p->thread_count > 0
		       ? 0
		       : err_set(e, ERR_SYSTEM, "cannot start a thread");
}

int callpool_submit(struct callpool *p, const char *lane,
		    void (*run)(void *arg), void *arg, struct err *e)
{
	struct work *w = ALLOC_NEW(struct work);
	struct work **at;
	int rc = 0;

	w->lane = lane ? alloc_str(lane) : NULL;
	w->run = run;
	w->arg = arg;
	pthread_mutex_lock(&p->lock);
	if (p->queued_count >= p->queue_max) {
		rc = err_set(e, ERR_LIMIT,
			     "too many calls at once: wait for some to end");
	} else {
		for (at = &p->queue; *at; at = &(*at)->next)
			;
		*at = w;
		p->queued_count++;
		rc = add_thread(p, e);
		if (rc == 0) {
			pthread_cond_signal(&p->changed);
		} else {
			*at = NULL;
			p->queued_count--;
		}
	}
	pthread_mutex_unlock(&p->lock);
	if (rc != 0) {
		free(w->lane);
		free(w);
	}
	return rc;
}
