#include "mcp/inflight.h"

#include "base/alloc.h"
#include "base/limits.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct inflight_call {
	struct inflight_call *next;
	json_t *id;
	int cancel_fd;
	atomic_bool cancelled;
	bool settled; /* no longer found by its id */
	bool waits;   /* of no use to anybody but its asker */
};

struct inflight {
	pthread_mutex_t lock;
	struct inflight_call *calls;
	unsigned count;
	unsigned open_count; /* of them, those not settled */
	int ended_fd;
};

/* An eventfd takes 2^64 - 2 of these before it would block. */
static void signal_fd(int fd)
{
	uint64_t one = 1;
	ssize_t n = write(fd, &one, sizeof(one));

	(void)n;
}

int inflight_new(struct inflight **ret, struct err *e)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct inflight *f;

	if (fd < 0)
		return err_sys(e, "making an eventfd");
	f = ALLOC_NEW(struct inflight);
	f->ended_fd = fd;
	pthread_mutex_init(&f->lock, NULL);
	*ret = f;
	return 0;
}

void inflight_free(struct inflight *f)
{
	if (!f)
		return;
	close(f->ended_fd);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

static void call_free(struct inflight_call *c)
{
	close(c->cancel_fd);
	json_decref(c->id);
	free(c);
}

static struct inflight_call *find(struct inflight *f, const json_t *id)
{
	struct inflight_call *c = f->calls;

	while (c && (c->settled || !json_equal(c->id, id)))
		c = c->next;
	return c;
}

int inflight_begin(struct inflight *f, const json_t *id, bool waits,
		   struct inflight_call **ret, struct err *e)
{
	struct inflight_call *c;
	int rc = 0;
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0)
		return err_sys(e, "making an eventfd");
	c = ALLOC_NEW(struct inflight_call);
	c->cancel_fd = fd;
	c->id = json_deep_copy(id);
	c->waits = waits;

	pthread_mutex_lock(&f->lock);
	if (find(f, id)) {
		rc = err_set(e, ERR_EXISTS,
			     "id: a request with this id is not answered yet");
	} else if (f->open_count >= LIMIT_CALLS_PER_CLIENT_COUNT) {
		rc = err_set(e, ERR_LIMIT,
			     "%d calls are under way: wait for some to end",
			     LIMIT_CALLS_PER_CLIENT_COUNT);
	} else {
		c->next = f->calls;
		f->calls = c;
		f->count++;
		f->open_count++;
	}
	pthread_mutex_unlock(&f->lock);
	if (rc != 0)
		call_free(c);
	else
		*ret = c;
	return rc;
}

bool inflight_settle(struct inflight *f, struct inflight_call *c)
{
	bool first;

	pthread_mutex_lock(&f->lock);
	c->settled = true;
	f->open_count--;
	first = !atomic_load(&c->cancelled);
	pthread_mutex_unlock(&f->lock);
	return first;
}

void inflight_end(struct inflight *f, struct inflight_call *c)
{
	struct inflight_call **at = &f->calls;

	pthread_mutex_lock(&f->lock);
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	f->count--;
	if (!c->settled)
		f->open_count--;
	/* inside the lock: who sees a count of 0 may free f */
	signal_fd(f->ended_fd);
	pthread_mutex_unlock(&f->lock);
	call_free(c);
}

static void cancel(struct inflight_call *c)
{
	atomic_store(&c->cancelled, true);
	signal_fd(c->cancel_fd);
}

void inflight_cancel(struct inflight *f, const json_t *id)
{
	struct inflight_call *c;

	pthread_mutex_lock(&f->lock);
	c = find(f, id);
	if (c)
		cancel(c);
	pthread_mutex_unlock(&f->lock);
}

void inflight_cancel_waits(struct inflight *f)
{
	pthread_mutex_lock(&f->lock);
	for (struct inflight_call *c = f->calls; c; c = c->next) {
		if (c->waits && !c->settled)
			cancel(c);
	}
	pthread_mutex_unlock(&f->lock);
}

void inflight_stop_work(struct inflight_call *c)
{
	signal_fd(c->cancel_fd);
}

int inflight_cancel_fd(const struct inflight_call *c)
{
	return c->cancel_fd;
}

bool inflight_is_cancelled(const struct inflight_call *c)
{
	return atomic_load(&c->cancelled);
}

unsigned inflight_count(struct inflight *f)
{
	unsigned count;

	pthread_mutex_lock(&f->lock);
	count = f->count;
	pthread_mutex_unlock(&f->lock);
	return count;
}

int inflight_ended_fd(const struct inflight *f)
{
	return f->ended_fd;
}
