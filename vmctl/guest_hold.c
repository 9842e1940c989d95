/*
 * Who reads a file, changes what it read and writes it back must not lose what
 * another wrote in between. A guest's own programs nobody can keep from that,
 * but calls of ours take turns: each holds the file under the path that the
 * guest resolves its name to, so that a link and what it points to are one.
 */
#include "vmctl/guest_impl.h"

#include "base/alloc.h"

#include <string.h>

struct guest_hold {
	struct guest *g;
	char *path;
	struct guest_hold *next; /* of g->holds */
};

static bool is_held(const struct guest *g, const char *path)
{
	for (const struct guest_hold *h = g->holds; h; h = h->next)
		if (strcmp(h->path, path) == 0)
			return true;
	return false;
}

int guest_hold_file(struct guest *g, const char *path, struct deadline d,
		    struct guest_hold **ret, struct err *e)
{
	struct timespec until = deadline_timespec(d);
	struct guest_hold *h;
	struct err why = {0};
	char *real = NULL;
	bool mine;

	if (guest_real_path(g, path, d, &real, &why) < 0) {
		if (why.code != ERR_NOT_FOUND) {
			*e = why;
			return -1;
		}
		real = alloc_str(path); /* its folder is not there either */
	}
	h = ALLOC_NEW(struct guest_hold);
	h->g = g;
	h->path = real;
	pthread_mutex_lock(&g->lock);
	while (is_held(g, real) && !deadline_passed(d))
		pthread_cond_timedwait(&g->released, &g->lock, &until);
	mine = !is_held(g, real);
	if (mine) {
		h->next = g->holds;
		g->holds = h;
	}
	pthread_mutex_unlock(&g->lock);
	if (mine) {
		*ret = h;
		return 0;
	}
	free(h->path);
	free(h);
	return err_set(e, ERR_TIMEOUT, "%s is being written by another call",
		       path);
}

void guest_hold_free(struct guest_hold *h)
{
	struct guest_hold **at;

	if (!h)
		return;
	pthread_mutex_lock(&h->g->lock);
	for (at = &h->g->holds; *at != h; at = &(*at)->next)
		;
	*at = h->next;
	pthread_cond_broadcast(&h->g->released);
	pthread_mutex_unlock(&h->g->lock);
	free(h->path);
	free(h);
}
