/*
 * Events are a list in order of their numbers, from 1. `head` is what is kept;
 * a reader knows the number of the last event that it has taken, so readers
 * and writers share nothing but the list and its lock.
 *
 * What a slow reader can make us hold: LIMIT_HTTP_NOTES_COUNT notes, of a few
 * hundred bytes each, and the answers, of which there is one for a request.
 */
#include "mcp/ssestream.h"

#include "base/alloc.h"
#include "base/deadline.h"
#include "base/limits.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* When a client is to come again for a stream that was cut. */
#define RETRY_MS 1000

struct event {
	struct event *next;
	uint64_t number;
	bool is_note;
	size_t len;
	char text[];
};

struct ssestream {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	atomic_uint refs;
	uint64_t number;
	struct event *head, **tail;
	uint64_t last;	/* number of the newest event */
	uint64_t taken; /* … that a reader took */
	unsigned notes_count;
	size_t len;
	int64_t ended_ms;
	struct ssereader *reader;
};

struct ssereader {
	struct ssestream *stream;
	const atomic_bool *cut;
	int64_t comment_ms, comment_at_ms;
	uint64_t taken;	  /* number of the last event put into out */
	bool left, done;  /* under the stream's lock */
	char *out;	  /* what is being handed out */
	size_t out_len, out_at;
};

struct ssestream *ssestream_new(uint64_t number)
{
	struct ssestream *s = ALLOC_NEW(struct ssestream);
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&s->lock, NULL);
	atomic_init(&s->refs, 1);
	s->number = number;
	s->tail = &s->head;
	return s;
}

struct ssestream *ssestream_ref(struct ssestream *s)
{
	atomic_fetch_add(&s->refs, 1);
	return s;
}

/* With the lock held: the oldest event is forgotten. */
static void drop_head(struct ssestream *s)
{
	struct event *ev = s->head;

	s->head = ev->next;
	if (!s->head)
		s->tail = &s->head;
	s->len -= ev->len;
	s->notes_count -= ev->is_note;
	free(ev);
}

void ssestream_unref(struct ssestream *s)
{
	if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
		return;
	while (s->head)
		drop_head(s);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

uint64_t ssestream_number(const struct ssestream *s)
{
	return s->number;
}

/* With the lock held: room for one more note, by the loss of the oldest. */
static void drop_note(struct ssestream *s)
{
	for (struct event **at = &s->head; *at; at = &(*at)->next) {
		struct event *ev = *at;

		if (!ev->is_note)
			continue;
		*at = ev->next;
		if (!*at)
			s->tail = at;
		s->len -= ev->len;
		s->notes_count--;
		free(ev);
		return;
	}
}

void ssestream_add(struct ssestream *s, const char *text, size_t len,
		   bool is_note)
{
	struct event *ev = alloc_zero(sizeof(*ev) + len);

	ev->is_note = is_note;
	ev->len = len;
	memcpy(ev->text, text, len);
	pthread_mutex_lock(&s->lock);
	if (is_note && s->notes_count >= LIMIT_HTTP_NOTES_COUNT)
		drop_note(s);
	ev->number = ++s->last;
	*s->tail = ev;
	s->tail = &ev->next;
	s->len += len;
	s->notes_count += is_note;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

void ssestream_end(struct ssestream *s)
{
	pthread_mutex_lock(&s->lock);
	s->ended_ms = deadline_now_ms();
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

void ssestream_send_away(struct ssestream *s)
{
	pthread_mutex_lock(&s->lock);
	if (s->reader)
		s->reader->left = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

int64_t ssestream_ended_ms(struct ssestream *s)
{
	int64_t at;

	pthread_mutex_lock(&s->lock);
	at = s->ended_ms;
	pthread_mutex_unlock(&s->lock);
	return at;
}

size_t ssestream_len(struct ssestream *s)
{
	size_t len;

	pthread_mutex_lock(&s->lock);
	len = s->len;
	pthread_mutex_unlock(&s->lock);
	return len;
}

uint64_t ssestream_taken(struct ssestream *s)
{
	uint64_t taken;

	pthread_mutex_lock(&s->lock);
	taken = s->taken;
	pthread_mutex_unlock(&s->lock);
	return taken;
}

bool ssestream_has_reader(struct ssestream *s)
{
	bool has;

	pthread_mutex_lock(&s->lock);
	has = s->reader != NULL;
	pthread_mutex_unlock(&s->lock);
	return has;
}

/* -- reading --------------------------------------------------------------- */

static void give(struct ssereader *r, char *text)
{
	free(r->out);
	r->out = text;
	r->out_len = strlen(text);
	r->out_at = 0;
	r->comment_at_ms = deadline_now_ms() + r->comment_ms;
}

struct ssereader *ssereader_new(struct ssestream *s,
				const struct ssereader_opts *o)
{
	struct ssereader *r = ALLOC_NEW(struct ssereader);

	r->stream = ssestream_ref(s);
	r->cut = o->cut;
	r->comment_ms = o->comment_ms;
	r->taken = o->after;
	if (o->prime)
		give(r, alloc_printf("id: %" PRIu64 "-%" PRIu64
				     "\nretry: %d\ndata:\n\n",
				     s->number, o->after, RETRY_MS));
	else /* the head goes out with the first bytes: let it go now */
		give(r, alloc_str(":\n\n"));
	pthread_mutex_lock(&s->lock);
	if (s->reader)
		s->reader->left = true;
	s->reader = r;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return r;
}

void ssereader_free(struct ssereader *r)
{
	struct ssestream *s = r->stream;

	pthread_mutex_lock(&s->lock);
	if (s->reader == r)
		s->reader = NULL;
	pthread_mutex_unlock(&s->lock);
	ssestream_unref(s);
	free(r->out);
	free(r);
}

void ssereader_leave(struct ssereader *r)
{
	pthread_mutex_lock(&r->stream->lock);
	r->left = true;
	pthread_cond_broadcast(&r->stream->changed);
	pthread_mutex_unlock(&r->stream->lock);
}

bool ssereader_is_done(const struct ssereader *r)
{
	bool done;

	pthread_mutex_lock(&r->stream->lock);
	done = r->done;
	pthread_mutex_unlock(&r->stream->lock);
	return done;
}

/* With the lock held: the oldest event that was not taken, or NULL. */
static const struct event *next_event(const struct ssereader *r)
{
	const struct event *ev = r->stream->head;

	while (ev && ev->number <= r->taken)
		ev = ev->next;
	return ev;
}

static char *event_text(const struct ssestream *s, const struct event *ev)
{
	if (s->number == 0)
		return alloc_printf("event: message\ndata: %.*s\n\n",
				    (int)ev->len, ev->text);
	return alloc_printf("event: message\nid: %" PRIu64 "-%" PRIu64
			    "\ndata: %.*s\n\n",
			    s->number, ev->number, (int)ev->len, ev->text);
}

/* With the lock held, until there is something to hand out: false, it is all
 * over. */
static bool wait_for_more(struct ssereader *r)
{
	struct ssestream *s = r->stream;

	for (;;) {
		const struct event *ev;
		struct timespec until;
		int64_t now;

		if (r->left || (r->cut && atomic_load(r->cut)))
			return false;
		ev = next_event(r);
		if (ev) {
			r->taken = ev->number;
			if (s->taken < r->taken)
				s->taken = r->taken;
			give(r, event_text(s, ev));
			/* one that nobody can ask for again */
			while (s->number == 0 && s->head &&
			       s->head->number <= r->taken)
				drop_head(s);
			return true;
		}
		if (s->ended_ms) {
			r->done = true;
			return false;
		}
		now = deadline_now_ms();
		if (now >= r->comment_at_ms) {
			give(r, alloc_str(":\n\n"));
			return true;
		}
		until = deadline_timespec(
			deadline_in_ms(r->comment_at_ms - now));
		pthread_cond_timedwait(&s->changed, &s->lock, &until);
	}
}

ssize_t ssereader_read(struct ssereader *r, char *p, size_t max)
{
	size_t len;

	if (r->out_at == r->out_len) {
		bool more;

		pthread_mutex_lock(&r->stream->lock);
		more = wait_for_more(r);
		pthread_mutex_unlock(&r->stream->lock);
		if (!more)
			return -1;
	}
	len = r->out_len - r->out_at;
	if (len > max)
		len = max;
	memcpy(p, r->out + r->out_at, len);
	r->out_at += len;
	return (ssize_t)len;
}
