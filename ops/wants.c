#include "ops/wants.h"

#include "base/alloc.h"

int wants_add(struct wants *w, const struct manifest *m,
	      const struct treewire_record *r, struct err *e)
{
	const struct manifest_entry *n;

	if (r->index >= manifest_count(m) ||
	    (w->count > 0 && r->index <= w->list[w->count - 1].index))
		return err_set(e, ERR_PROTOCOL, "a file wanted out of order");
	n = manifest_at(m, r->index);
	if (n->type != 'f' || r->offset > n->len)
		return err_set(e, ERR_PROTOCOL, "%s: wanted where it is not",
			       n->path);
	if (w->count == w->size) {
		w->size = w->size ? w->size * 2 : 64;
		w->list = alloc_resize(w->list, w->size, sizeof(*w->list));
	}
	w->list[w->count++] = (struct want){r->index, r->offset};
	return 0;
}

void wants_finish(struct wants *w)
{
	free(w->list);
	*w = (struct wants){.list = NULL};
}
