/*
 * Lock order: the table's, then a session's, then a stream's. A session that
 * is not listed is in the list of all as well, so that its calls can be ended
 * when the server is.
 */
#include "mcp/httpsession.h"

#include "base/alloc.h"
#include "base/crypto.h"
#include "base/deadline.h"
#include "base/limits.h"

#include <string.h>

#define BUCKETS_COUNT 256
#define GENERAL_NUMBER 1
/* When there are too many, one that was silent for so long makes room. */
#define MAKE_ROOM_MS 60000

struct httpsessions {
	pthread_mutex_t lock;
	unsigned max, listed_count;
	int64_t idle_ms;
	struct httpsession *all;
	struct httpsession *buckets[BUCKETS_COUNT];
};

struct httpsessions *httpsessions_new(unsigned max, int64_t idle_ms)
{
	struct httpsessions *t = ALLOC_NEW(struct httpsessions);

	pthread_mutex_init(&t->lock, NULL);
	t->max = max;
	t->idle_ms = idle_ms;
	return t;
}

void httpsessions_free(struct httpsessions *t)
{
	pthread_mutex_destroy(&t->lock);
	free(t);
}

static struct httpsession **bucket(struct httpsessions *t, const char *id)
{
	unsigned h = 0;

	while (*id)
		h = h * 31 + (unsigned char)*id++;
	return &t->buckets[h % BUCKETS_COUNT];
}

struct httpsession *httpsession_ref(struct httpsession *s)
{
	atomic_fetch_add(&s->refs, 1);
	return s;
}

static void session_finish(struct httpsession *s)
{
	for (unsigned i = 0; i < s->stream_count; i++)
		ssestream_unref(s->streams[i]);
	free(s->streams);
	ssestream_unref(s->general);
	session_free(s->session);
	auth_unref(s->who);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

void httpsession_unref(struct httpsession *s)
{
	struct httpsessions *t;

	if (!s)
		return;
	t = s->table;
	/* under the table's lock: nobody may find it between the last
	 * reference and its leaving the list */
	pthread_mutex_lock(&t->lock);
	if (atomic_fetch_sub(&s->refs, 1) != 1) {
		pthread_mutex_unlock(&t->lock);
		return;
	}
	if (s->prev)
		s->prev->next = s->next;
	else
		t->all = s->next;
	if (s->next)
		s->next->prev = s->prev;
	pthread_mutex_unlock(&t->lock);
	session_finish(s);
}

/* With the table's lock held: out of its bucket. False: was not in it. */
static bool unlist(struct httpsession *s)
{
	struct httpsession **at = bucket(s->table, s->id);

	while (*at && *at != s)
		at = &(*at)->chain;
	if (!*at)
		return false;
	*at = s->chain;
	s->table->listed_count--;
	return true;
}

/* Somebody waits for something of it. */
static bool is_in_use(struct httpsession *s)
{
	bool in_use = session_busy(s->session) > 0;

	pthread_mutex_lock(&s->lock);
	in_use |= s->general && ssestream_has_reader(s->general);
	for (unsigned i = 0; i < s->stream_count; i++)
		in_use |= ssestream_has_reader(s->streams[i]);
	pthread_mutex_unlock(&s->lock);
	return in_use;
}

static void end_waits(struct httpsession *s)
{
	atomic_store(&s->ended, true);
	session_end_waits(s->session);
	pthread_mutex_lock(&s->lock);
	if (s->general)
		ssestream_send_away(s->general);
	for (unsigned i = 0; i < s->stream_count; i++)
		ssestream_send_away(s->streams[i]);
	pthread_mutex_unlock(&s->lock);
}

/* The one that was silent longest and is not in use, or NULL: a reference. */
static struct httpsession *find_idle(struct httpsessions *t, int64_t idle_ms)
{
	int64_t now = deadline_now_ms();
	struct httpsession *oldest = NULL;

	pthread_mutex_lock(&t->lock);
	for (struct httpsession *s = t->all; s; s = s->next) {
		int64_t seen = atomic_load(&s->seen_ms);

		if (*s->id && !atomic_load(&s->ended) &&
		    now - seen >= idle_ms &&
		    (!oldest || seen < atomic_load(&oldest->seen_ms)) &&
		    !is_in_use(s))
			oldest = s;
	}
	if (oldest)
		httpsession_ref(oldest);
	pthread_mutex_unlock(&t->lock);
	return oldest;
}

/* A place for one more, taken. */
static bool reserve(struct httpsessions *t)
{
	bool free_place;

	pthread_mutex_lock(&t->lock);
	free_place = t->listed_count < t->max;
	t->listed_count += free_place;
	pthread_mutex_unlock(&t->lock);
	return free_place;
}

static int reserve_or_make_room(struct httpsessions *t, struct err *e)
{
	struct httpsession *idle;

	if (reserve(t))
		return 0;
	idle = find_idle(t, MAKE_ROOM_MS);
	if (idle) {
		httpsession_end(idle);
		httpsession_unref(idle);
		if (reserve(t))
			return 0;
	}
	return err_set(e, ERR_LIMIT,
		       "%u sessions are open: end some (DELETE), or wait until "
		       "idle ones end",
		       t->max);
}

static void put_in(struct httpsessions *t, struct httpsession *s)
{
	pthread_mutex_lock(&t->lock);
	s->next = t->all;
	if (s->next)
		s->next->prev = s;
	t->all = s;
	if (*s->id) {
		struct httpsession **at = bucket(t, s->id);

		httpsession_ref(s);
		s->chain = *at;
		*at = s;
	}
	pthread_mutex_unlock(&t->lock);
}

/* Who has never read it would not want to be told later. */
static void on_note(void *ctx, const struct session_out *out)
{
	struct httpsession *s = ctx;

	pthread_mutex_lock(&s->lock);
	if (s->general)
		ssestream_add(s->general, out->text, out->len, true);
	pthread_mutex_unlock(&s->lock);
}

int httpsession_open(struct httpsessions *t, struct principal *who, bool listed,
		     struct httpsession **ret, struct err *e)
{
	char id[HTTPHEAD_ID_LEN + 1] = "";
	struct session *session;
	struct httpsession *s;

	if (listed && crypto_random_name(id, HTTPHEAD_ID_LEN, e) != 0)
		return -1;
	if (listed && reserve_or_make_room(t, e) != 0)
		return -1;
	if (session_new(&who->server, &who->tools, &session, e) != 0) {
		pthread_mutex_lock(&t->lock);
		t->listed_count -= listed;
		pthread_mutex_unlock(&t->lock);
		return -1;
	}
	s = ALLOC_NEW(struct httpsession);
	memcpy(s->id, id, sizeof(id));
	s->session = session;
	s->who = auth_ref(who);
	s->table = t;
	s->last_number = GENERAL_NUMBER;
	atomic_init(&s->refs, 1);
	atomic_init(&s->seen_ms, deadline_now_ms());
	pthread_mutex_init(&s->lock, NULL);
	session_notes(session, on_note, s);
	put_in(t, s);
	*ret = s;
	return 0;
}

struct httpsession *httpsession_find(struct httpsessions *t, const char *id,
				     const struct principal *who)
{
	struct httpsession *s;

	pthread_mutex_lock(&t->lock);
	s = *bucket(t, id);
	while (s && strcmp(s->id, id) != 0)
		s = s->chain;
	if (s && s->who != who)
		s = NULL;
	if (s) {
		httpsession_ref(s);
		atomic_store(&s->seen_ms, deadline_now_ms());
	}
	pthread_mutex_unlock(&t->lock);
	return s;
}

void httpsession_end(struct httpsession *s)
{
	bool was_listed = false;

	if (*s->id) {
		pthread_mutex_lock(&s->table->lock);
		was_listed = unlist(s);
		pthread_mutex_unlock(&s->table->lock);
	}
	end_waits(s);
	if (was_listed)
		httpsession_unref(s);
}

/* -- streams --------------------------------------------------------------- */

/* With the session's lock held: forget the oldest of the ended streams as long
 * as there are more than may be kept. */
static void prune(struct httpsession *s)
{
	int64_t now = deadline_now_ms();
	unsigned kept = 0, count = 0;
	size_t len = 0;

	/* newest first decides what stays */
	for (unsigned i = s->stream_count; i-- > 0;) {
		struct ssestream *stream = s->streams[i];
		int64_t ended = ssestream_ended_ms(stream);

		if (ended == 0 || ssestream_has_reader(stream))
			continue;
		len += ssestream_len(stream);
		kept++;
		if (now - ended > LIMIT_HTTP_KEPT_MS ||
		    kept > LIMIT_HTTP_KEPT_COUNT ||
		    (kept > 1 && len > LIMIT_HTTP_KEPT_LEN)) {
			ssestream_unref(stream);
			s->streams[i] = NULL;
		}
	}
	for (unsigned i = 0; i < s->stream_count; i++) {
		if (s->streams[i])
			s->streams[count++] = s->streams[i];
	}
	s->stream_count = count;
}

struct ssestream *httpsession_stream(struct httpsession *s)
{
	struct ssestream *stream;

	if (!*s->id)
		return ssestream_new(0);
	pthread_mutex_lock(&s->lock);
	prune(s);
	stream = ssestream_new(++s->last_number);
	s->streams = alloc_resize(s->streams, s->stream_count + 1,
				  sizeof(struct ssestream *));
	s->streams[s->stream_count++] = ssestream_ref(stream);
	pthread_mutex_unlock(&s->lock);
	return stream;
}

struct ssestream *httpsession_general(struct httpsession *s)
{
	struct ssestream *stream;

	pthread_mutex_lock(&s->lock);
	if (!s->general)
		s->general = ssestream_new(GENERAL_NUMBER);
	stream = ssestream_ref(s->general);
	pthread_mutex_unlock(&s->lock);
	return stream;
}

struct ssestream *httpsession_find_stream(struct httpsession *s,
					  uint64_t number)
{
	struct ssestream *stream = NULL;

	if (number == GENERAL_NUMBER)
		return httpsession_general(s);
	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < s->stream_count; i++) {
		if (ssestream_number(s->streams[i]) == number)
			stream = ssestream_ref(s->streams[i]);
	}
	pthread_mutex_unlock(&s->lock);
	return stream;
}

/* -- all ------------------------------------------------------------------- */

/* The next one after which is (NULL: the first) that lost its token, or any; a
 * reference, and which's is given back. */
static struct httpsession *next_of(struct httpsessions *t,
				   struct httpsession *which)
{
	struct httpsession *next;

	pthread_mutex_lock(&t->lock);
	next = which ? which->next : t->all;
	if (next)
		httpsession_ref(next);
	pthread_mutex_unlock(&t->lock);
	httpsession_unref(which);
	return next;
}

void httpsessions_tick(struct httpsessions *t)
{
	struct httpsession *idle;

	for (struct httpsession *s = next_of(t, NULL); s; s = next_of(t, s)) {
		if (atomic_load(&s->who->revoked) && !atomic_load(&s->ended))
			httpsession_end(s);
		pthread_mutex_lock(&s->lock);
		prune(s);
		pthread_mutex_unlock(&s->lock);
	}
	while ((idle = find_idle(t, t->idle_ms))) {
		httpsession_end(idle);
		httpsession_unref(idle);
	}
}

void httpsessions_end_all(struct httpsessions *t)
{
	/* it is counted, and s is ours: NOLINTNEXTLINE(*-unix.Malloc) */
	for (struct httpsession *s = next_of(t, NULL); s; s = next_of(t, s))
		httpsession_end(s);
}

unsigned httpsessions_busy(struct httpsessions *t)
{
	unsigned count = 0;

	pthread_mutex_lock(&t->lock);
	for (struct httpsession *s = t->all; s; s = s->next)
		count += session_busy(s->session);
	pthread_mutex_unlock(&t->lock);
	return count;
}
