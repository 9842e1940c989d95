/*
 * Two locks. `lock` guards the thread and what it is to look at and is held
 * for moments. `telling` is held while listeners are told, which may take as
 * long as a client takes to read; who leaves waits for that. Order: telling,
 * then lock.
 *
 * The thread is made when somebody first listens to what a source sees, and
 * sleeps on `changed` while nobody does.
 */
#include "mcp/feed.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct feed_listener {
	struct feed *feed;
	struct feed_listener *next;
	struct feed_want want; /* owns its uris */
};

struct feed {
	struct feed_source source;
	pthread_mutex_t telling;
	struct feed_listener *all; /* under telling and lock: either reads */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool has_thread, stopping;
	pthread_t thread;
	int stop_fd;
};

/* With the lock held. */
static bool is_polled(const struct feed *f)
{
	for (const struct feed_listener *l = f->all; l; l = l->next) {
		if (l->want.topics & (FEED_RESOURCES | FEED_UPDATED))
			return true;
	}
	return false;
}

static bool has_uri(const json_t *uris, const char *uri)
{
	for (size_t i = 0; i < json_array_size(uris); i++) {
		if (strcmp(json_string_value(json_array_get(uris, i)), uri) ==
		    0)
			return true;
	}
	return false;
}

/* With the lock held: what all of them listen to, each URI once. */
static json_t *all_uris(const struct feed *f)
{
	json_t *all = json_array();

	for (const struct feed_listener *l = f->all; l; l = l->next) {
		for (size_t i = 0; i < json_array_size(l->want.uris); i++) {
			const char *uri = json_string_value(
				json_array_get(l->want.uris, i));

			if (!has_uri(all, uri))
				json_array_append_new(all, json_string(uri));
		}
	}
	return all;
}

static bool wants_list(const struct feed *f)
{
	for (const struct feed_listener *l = f->all; l; l = l->next) {
		if (l->want.topics & FEED_RESOURCES)
			return true;
	}
	return false;
}

/* With the lock held: until it is time to look, or to stop. */
static void wait_for_turn(struct feed *f)
{
	struct timespec until =
		deadline_timespec(deadline_in_ms(f->source.every_ms));
	int rc = 0;

	while (!f->stopping && !is_polled(f))
		pthread_cond_wait(&f->changed, &f->lock);
	while (!f->stopping && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&f->changed, &f->lock, &until);
}

static void *thread_main(void *arg)
{
	struct feed *f = arg;

	pthread_mutex_lock(&f->lock);
	while (!f->stopping) {
		if (is_polled(f)) {
			json_t *uris = all_uris(f);
			bool list = wants_list(f);

			pthread_mutex_unlock(&f->lock);
			f->source.look(f->source.ctx, f, list, uris,
				       f->stop_fd);
			json_decref(uris);
			pthread_mutex_lock(&f->lock);
		}
		wait_for_turn(f);
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

struct feed *feed_new(const struct feed_source *source)
{
	struct feed *f = ALLOC_NEW(struct feed);
	pthread_condattr_t attr;

	if (source)
		f->source = *source;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&f->changed, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&f->lock, NULL);
	pthread_mutex_init(&f->telling, NULL);
	f->stop_fd = -1;
	return f;
}

void feed_free(struct feed *f)
{
	uint64_t one = 1;

	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	f->stopping = true;
	pthread_cond_signal(&f->changed);
	pthread_mutex_unlock(&f->lock);
	if (f->has_thread) {
		while (write(f->stop_fd, &one, sizeof(one)) < 0 &&
		       errno == EINTR)
			;
		pthread_join(f->thread, NULL);
		close(f->stop_fd);
	}
	pthread_cond_destroy(&f->changed);
	pthread_mutex_destroy(&f->lock);
	pthread_mutex_destroy(&f->telling);
	free(f);
}

/* With the lock held. */
static void begin_looking(struct feed *f)
{
	if (!f->source.look || f->has_thread || !is_polled(f))
		return;
	f->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (f->stop_fd >= 0 &&
	    pthread_create(&f->thread, NULL, thread_main, f) == 0) {
		f->has_thread = true;
		return;
	}
	log_warn("changes are not noticed: no thread for it");
	if (f->stop_fd >= 0)
		close(f->stop_fd);
}

struct feed_listener *feed_listen(struct feed *f, const struct feed_want *want)
{
	struct feed_listener *l = ALLOC_NEW(struct feed_listener);

	l->feed = f;
	l->want = *want;
	l->want.uris = json_deep_copy(want->uris);
	pthread_mutex_lock(&f->telling);
	pthread_mutex_lock(&f->lock);
	l->next = f->all;
	f->all = l;
	begin_looking(f);
	pthread_cond_signal(&f->changed);
	pthread_mutex_unlock(&f->lock);
	pthread_mutex_unlock(&f->telling);
	return l;
}

void feed_leave(struct feed_listener *l)
{
	json_t *uris;
	struct feed *f;

	if (!l)
		return;
	f = l->feed;
	pthread_mutex_lock(&f->telling);
	pthread_mutex_lock(&f->lock);
	for (struct feed_listener **at = &f->all; *at; at = &(*at)->next) {
		if (*at == l) {
			*at = l->next;
			break;
		}
	}
	pthread_mutex_unlock(&f->lock);
	pthread_mutex_unlock(&f->telling);
	uris = (json_t *)(uintptr_t)l->want.uris;
	json_decref(uris);
	free(l);
}

void feed_tell(struct feed *f, enum feed_topic topic, const char *uri)
{
	pthread_mutex_lock(&f->telling);
	for (struct feed_listener *l = f->all; l; l = l->next) {
		if ((l->want.topics & topic) &&
		    (!uri || has_uri(l->want.uris, uri)))
			l->want.tell(l->want.ctx, topic, uri);
	}
	pthread_mutex_unlock(&f->telling);
}
