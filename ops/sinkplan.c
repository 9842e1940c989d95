#include "ops/sinkplan.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void sinkplan_finish(struct sinkplan *p)
{
	free(p->wants);
	*p = (struct sinkplan){0};
}

void sinkplan_want(struct sinkplan *p, uint32_t index, uint64_t offset,
		   uint64_t len)
{
	if (p->count == p->size) {
		p->size = p->size ? p->size * 2 : 64;
		p->wants = alloc_resize(p->wants, p->size, sizeof(*p->wants));
	}
	p->wants[p->count++] =
		(struct sinkplan_want){.index = index, .offset = offset};
	p->total += len - offset;
}

bool sinkplan_is_open(const struct sinkplan *p)
{
	return p->at < p->count && p->wants[p->at].state == SINKPLAN_OPEN;
}

const struct sinkplan_want *sinkplan_current(const struct sinkplan *p)
{
	return &p->wants[p->at];
}

static int out_of_turn(const char *what, struct err *e)
{
	return err_set(e, ERR_PROTOCOL, "copy: %s out of turn", what);
}

int sinkplan_file(struct sinkplan *p, const struct manifest *m,
		  const struct treewire_record *r, struct err *e)
{
	struct sinkplan_want *w;

	if (sinkplan_is_open(p))
		return out_of_turn("a file", e);
	/* after a DROP those that had failed are not sent again */
	while (p->at < p->count && p->wants[p->at].state == SINKPLAN_FAILED)
		p->at++;
	if (p->at == p->count)
		return out_of_turn("a file", e);
	w = &p->wants[p->at];
	if (w->index != r->index || w->offset != r->offset)
		return err_set(e, ERR_PROTOCOL,
			       "copy: a file that was not asked for");
	w->state = SINKPLAN_OPEN;
	p->left = manifest_at(m, w->index)->len - w->offset;
	return 0;
}

int sinkplan_data(struct sinkplan *p, size_t len, struct err *e)
{
	if (!sinkplan_is_open(p))
		return out_of_turn("bytes", e);
	if (len > p->left)
		return err_set(e, ERR_PROTOCOL,
			       "copy: a file is longer than announced");
	p->left -= len;
	p->result.byte_count += len;
	return 0;
}

int sinkplan_file_end(struct sinkplan *p, struct err *e)
{
	if (!sinkplan_is_open(p))
		return out_of_turn("the end of a file", e);
	if (p->left > 0)
		return err_set(e, ERR_PROTOCOL,
			       "copy: a file is %" PRIu64
			       " bytes shorter than announced",
			       p->left);
	p->wants[p->at++].state = SINKPLAN_WHOLE;
	return 0;
}

int sinkplan_confirm(struct sinkplan *p, sinkplan_fn *keep, void *ctx,
		     struct err *e)
{
	if (sinkplan_is_open(p))
		return out_of_turn("a confirmation", e);
	for (; p->kept < p->at; p->kept++) {
		struct sinkplan_want *w = &p->wants[p->kept];

		if (w->state != SINKPLAN_WHOLE)
			continue;
		if (keep(ctx, w, e) != 0)
			return -1;
		w->state = SINKPLAN_KEPT;
		p->result.file_count++;
	}
	return 0;
}

int sinkplan_drop(struct sinkplan *p, sinkplan_fn *drop, void *ctx,
		  struct err *e)
{
	size_t end = p->at + (sinkplan_is_open(p) ? 1 : 0);

	for (size_t i = p->kept; i < end; i++) {
		struct sinkplan_want *w = &p->wants[i];

		if (w->state == SINKPLAN_FAILED)
			continue;
		if (drop(ctx, w, e) != 0)
			return -1;
		w->state = SINKPLAN_WANTED;
		w->offset = 0;
	}
	p->at = p->kept;
	return 0;
}

bool sinkplan_trouble(struct sinkplan *p, const struct treewire_record *r)
{
	bool in_file = sinkplan_is_open(p);

	if (p->result.trouble_count++ == 0)
		treewire_to_err(r, &p->first);
	if (in_file)
		p->wants[p->at++].state = SINKPLAN_FAILED;
	return in_file;
}

int sinkplan_done(const struct sinkplan *p, struct err *e)
{
	for (size_t i = p->kept; i < p->count; i++) {
		if (p->wants[i].state != SINKPLAN_FAILED)
			return err_set(e, ERR_PROTOCOL,
				       "copy: not all files were sent");
	}
	return 0;
}

struct treewire_record sinkplan_record(struct sinkplan *p)
{
	struct treewire_record r = {.type = TREE_RESULT};

	if (p->result.trouble_count > 1) {
		struct err one = p->first;

		err_set(&p->first, one.code,
			"%.400s (and %" PRIu32 " more; the rest was copied)",
			one.msg, p->result.trouble_count - 1);
	}
	if (p->result.trouble_count > 0)
		r = treewire_failure(TREE_RESULT, &p->first);
	r.result = p->result;
	return r;
}
