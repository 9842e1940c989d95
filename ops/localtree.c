#include "ops/localtree.h"

#include "base/alloc.h"
#include "ops/copyroot.h"
#include "ops/treesink.h"
#include "ops/treesource.h"
#include "ops/validate.h"

#include <string.h>

/* One of source and sink. */
struct localtree {
	struct copyroot *root;
	struct treesource *source;
	struct treesink *sink;
};

static int make(struct localtree *t, const struct validate_endpoint *from,
		const struct validate_endpoint *to, struct err *e)
{
	if (!from->vm[0])
		return treesource_new(t->root, from->path, &t->source, e);
	return treesink_new(t->root, to->path, &t->sink, e);
}

int localtree_for_call(const char *op, const json_t *args,
		       const char *copy_root, const struct home *home,
		       struct localtree **ret, struct err *e)
{
	const char *from_text = json_string_value(json_object_get(args, "from"));
	const char *to_text = json_string_value(json_object_get(args, "to"));
	auto_localtree struct localtree *t = NULL;
	struct validate_endpoint from, to;

	if (strcmp(op, "vm_copy") != 0) {
		*ret = NULL;
		return 0;
	}
	if (!from_text || !to_text)
		return err_set(e, ERR_INVALID,
			       "vm_copy: from and to must be given");
	if (validate_endpoint(from_text, &from, e) != 0)
		return err_wrap(e, "from");
	if (validate_endpoint(to_text, &to, e) != 0)
		return err_wrap(e, "to");
	if (!from.vm[0] && !to.vm[0])
		return err_set(e, ERR_INVALID,
			       "both ends are local: one must be a VM");
	if (from.vm[0] && to.vm[0]) {
		*ret = NULL;
		return 0;
	}
	t = ALLOC_NEW(struct localtree);
	if (copyroot_new(copy_root, home, &t->root, e) != 0 ||
	    make(t, &from, &to, e) != 0)
		return -1;
	*ret = TAKE_PTR(t);
	return 0;
}

void localtree_free(struct localtree *t)
{
	if (!t)
		return;
	treesource_free(t->source);
	treesink_free(t->sink);
	copyroot_free(t->root);
	free(t);
}

void localtree_feed(struct localtree *t, const void *p, size_t len)
{
	if (t->source)
		treesource_feed(t->source, p, len);
	else
		treesink_feed(t->sink, p, len);
}

size_t localtree_produce(struct localtree *t, void *p, size_t max)
{
	if (t->source)
		return treesource_produce(t->source, p, max);
	return treesink_produce(t->sink, p, max);
}

bool localtree_ended(const struct localtree *t)
{
	return t->source ? treesource_ended(t->source)
			 : treesink_ended(t->sink);
}
