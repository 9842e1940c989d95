#include "mcp/links.h"

#include "base/alloc.h"
#include "base/limits.h"

#include <pthread.h>

/* calls at once are few; more idle connections than that are waste */
#define IDLE_COUNT 4

struct links {
	pthread_mutex_t lock;
	const struct client_opts *opts;
	struct client *idle[IDLE_COUNT];
	unsigned idle_count;
	unsigned taken_count;
};

struct links *links_new(const struct client_opts *opts)
{
	struct links *l = ALLOC_NEW(struct links);

	pthread_mutex_init(&l->lock, NULL);
	l->opts = opts;
	return l;
}

const struct client_opts *links_opts(const struct links *l)
{
	return l->opts;
}

void links_free(struct links *l)
{
	if (!l)
		return;
	for (unsigned i = 0; i < l->idle_count; i++)
		client_free(l->idle[i]);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

bool links_are_idle(struct links *l)
{
	bool idle;

	pthread_mutex_lock(&l->lock);
	idle = l->taken_count == 0;
	pthread_mutex_unlock(&l->lock);
	return idle;
}

/* An idle link or NULL; counts the one that the caller will have. */
static int reserve(struct links *l, struct client **ret, struct err *e)
{
	int rc = 0;

	*ret = NULL;
	pthread_mutex_lock(&l->lock);
	if (l->taken_count >= LIMIT_CALLS_PER_CLIENT_COUNT) {
		rc = err_set(e, ERR_LIMIT,
			     "%d calls and jobs are under way here: wait for "
			     "some with vm_wait",
			     LIMIT_CALLS_PER_CLIENT_COUNT);
	} else {
		l->taken_count++;
		if (l->idle_count > 0)
			*ret = l->idle[--l->idle_count];
	}
	pthread_mutex_unlock(&l->lock);
	return rc;
}

static void unreserve(struct links *l)
{
	pthread_mutex_lock(&l->lock);
	l->taken_count--;
	pthread_mutex_unlock(&l->lock);
}

int links_take(struct links *l, struct client **ret, struct err *e)
{
	struct client *c;

	if (reserve(l, &c, e) != 0)
		return -1;
	/* the service may have been restarted while the link lay idle */
	if (c && !client_is_alive(c)) {
		client_free(c);
		c = NULL;
	}
	if (!c && client_connect(l->opts, &c, e) != 0) {
		unreserve(l);
		return -1;
	}
	*ret = c;
	return 0;
}

void links_give(struct links *l, struct client *c)
{
	bool alive = client_is_alive(c);

	pthread_mutex_lock(&l->lock);
	l->taken_count--;
	if (alive && l->idle_count < IDLE_COUNT) {
		l->idle[l->idle_count++] = c;
		c = NULL;
	}
	pthread_mutex_unlock(&l->lock);
	client_free(c);
}
