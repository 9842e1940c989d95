/*
 * Writing into a guest.
 *
 * What the target is and what is there already takes two commands; all that
 * writes goes through one sh (copy_put.h). Small files are kept here until
 * the source has confirmed them; a large one grows in the guest under a
 * partial name, which the next run continues.
 */
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/path.h"
#include "ops/manifest.h"
#include "ops/sinkplan.h"
#include "vmctl/copy.h"
#include "vmctl/copy_impl.h"
#include "vmctl/copy_look.h"
#include "vmctl/copy_put.h"
#include "vmctl/copysh.h"

#include <inttypes.h>
#include <string.h>

/* Small files that the source has not confirmed: ours sends batches of 4 MiB
 * between confirmations, so more is no honest source. */
#define HELD_LEN ((size_t)16 * 1024 * 1024)
/* names of the largest manifest, each with "./" and a partial name */
#define NAMES_LEN (2LL * LIMIT_TREE_MANIFEST_LEN + 64LL * LIMIT_TREE_COUNT)

enum state { LIST, LOOK, TAKE, DONE };

/* What an entry meets in the guest. */
struct there {
	char type; /* 0: nothing */
	uint16_t mode;
	bool same;
	bool has_part;
	uint64_t part_len;
};

struct sink {
	const struct copy_side *side;
	struct copy_wire wire;
	enum state state;
	struct copy_look look;
	char *path; /* the target */
	char *base; /* the directory that the shell works in */
	char *name; /* of the copy's root in it; "": the directory itself */
	char *root_name;
	struct manifest *m;
	struct sinkplan plan;
	struct copy_put *put;

	struct there *there; /* one an entry, while LOOK */
	uint32_t asked;	     /* the next entry that an answer may be for */

	struct buf held; /* bytes of unconfirmed small files, in order */
	size_t held_at;	 /* within: the next to be confirmed */
};

static bool is_small(const struct manifest_entry *n, uint64_t offset)
{
	return n->len <= COPY_PUT_SMALL_LEN && offset == 0;
}

/* Where an entry goes, relative to the base. free() */
static char *place_of(const struct sink *t, const struct manifest_entry *n)
{
	if (!*t->name)
		return alloc_str(n->path);
	return *n->path ? path_join(t->name, n->path) : alloc_str(t->name);
}

/* ---- where to ----------------------------------------------------------- */

/* The directory that holds path, as a path. free() */
static char *parent_of(const char *path)
{
	size_t len = strlen(path);

	while (len > 0 && path[len - 1] == '/')
		len--;
	while (len > 0 && path[len - 1] != '/')
		len--;
	return len > 0 ? alloc_strn(path, len) : alloc_str(".");
}

static int decide_place(struct sink *t, struct err *e)
{
	enum manifest_place where;
	const char *last;
	size_t len;

	if (t->look.kind == '?')
		return err_set(e, ERR_EXISTS,
			       "%s: a device, socket or pipe is in the way",
			       t->path);
	if (manifest_place(t->m, t->root_name, t->path, t->look.kind, &where,
			   e) != 0)
		return -1;
	if (where == MANIFEST_AS) {
		len = manifest_root_name(t->path, &last);
		t->base = parent_of(t->path);
		t->name = alloc_strn(last, len);
	} else {
		t->base = alloc_str(t->path);
		t->name = alloc_str(where == MANIFEST_UNDER ? t->root_name
							    : "");
	}
	return 0;
}

/* ---- what is there ------------------------------------------------------ */

/* The partial file's place beside an entry's. free() */
static char *part_of(const char *path, const struct manifest_entry *n)
{
	const char *slash = strrchr(path, '/');
	char part[MANIFEST_PART_SIZE];

	manifest_part_name(path, n, part);
	return alloc_printf("%.*s%s", slash ? (int)(slash - path) + 1 : 0,
			    path, part);
}

static int add_name(struct buf *names, const char *path, struct err *e)
{
	if (buf_add(names, "./", 2, e) != 0)
		return -1;
	return buf_add(names, path, strlen(path) + 1, e);
}

static int add_names(const struct sink *t, struct buf *names, struct err *e)
{
	/* below a root that is new there is nothing */
	uint32_t count = t->look.kind == '-' ? 1 : manifest_count(t->m);

	for (uint32_t i = 0; i < count; i++) {
		const struct manifest_entry *n = manifest_at(t->m, i);
		autofree char *path = place_of(t, n);

		if (!*path)
			continue;
		if (add_name(names, path, e) != 0)
			return -1;
		if (n->type == 'f' && !is_small(n, 0)) {
			autofree char *part = part_of(path, n);

			if (add_name(names, part, e) != 0)
				return -1;
		}
	}
	return 0;
}

static bool is_same(const struct copytext_stat *st,
		    const struct manifest_entry *n)
{
	return st->type == 'f' && st->len == n->len &&
	       st->mtime_s == n->mtime_s && st->mtime_ns == n->mtime_ns &&
	       st->mode == n->mode;
}

/* Answers come in the order of the names, those that are missing left out. */
static int take_status(void *ctx, const struct copytext_stat *st,
		       struct err *e)
{
	struct sink *t = ctx;

	for (; t->asked < manifest_count(t->m); t->asked++) {
		const struct manifest_entry *n = manifest_at(t->m, t->asked);
		struct there *x = &t->there[t->asked];
		autofree char *path = place_of(t, n);
		autofree char *part = NULL;

		if (x->type == 0 && !x->has_part &&
		    strcmp(st->path, path) == 0) {
			x->type = st->type;
			x->mode = st->mode;
			x->same = is_same(st, n);
			return 0;
		}
		if (n->type != 'f' || x->has_part || is_small(n, 0))
			continue;
		part = part_of(path, n);
		if (strcmp(st->path, part) == 0) {
			x->has_part = true;
			x->part_len = st->type == 'f' && st->len <= n->len
					      ? st->len
					      : 0;
			return 0;
		}
	}
	return err_set(e, ERR_PROTOCOL,
		       "the guest tells of files that were not asked for");
}

static int look(struct sink *t, struct err *e)
{
	struct buf names;
	int rc;

	t->there = alloc_array(manifest_count(t->m), sizeof(*t->there));
	buf_init(&names, NAMES_LEN);
	rc = add_names(t, &names, e) != 0 ||
	     copy_look_status(t->side, t->base, &names, take_status, t, e) !=
		     0;
	buf_finish(&names);
	return rc ? -1 : 0;
}

/* ---- planning ----------------------------------------------------------- */

static int in_the_way(const char *path, char type, struct err *e)
{
	if (type == 'd')
		return err_set(e, ERR_EXISTS, "%s: a directory is in the way",
			       path);
	if (type == 'l')
		return err_set(e, ERR_DENIED,
			       "%s: a symbolic link is in the way", path);
	return err_set(e, ERR_EXISTS, "%s: a %s is in the way", path,
		       type == 'f' ? "file" : "device, socket or pipe");
}

static int plan_dir(struct sink *t, const char *path, const struct there *x,
		    struct err *e)
{
	t->plan.result.dir_count++;
	if (!*path)
		return 0;
	if (x->type == 0)
		return copy_put_dir(t->put, path, e);
	if (x->type != 'd')
		return in_the_way(path, x->type, e);
	if ((x->mode & 0700) != 0700)
		return copy_put_open_dir(t->put, path, e);
	return 0;
}

static int plan_entry(struct sink *t, uint32_t i, struct err *e)
{
	const struct manifest_entry *n = manifest_at(t->m, i);
	const struct there *x = &t->there[i];
	autofree char *path = place_of(t, n);
	struct treewire_record r = {.type = TREE_WANT, .index = i};

	if (n->type == 'd')
		return plan_dir(t, path, x, e);
	if (x->type == 'd' || x->type == '?')
		return in_the_way(path, x->type, e);
	if (n->type == 'l')
		return 0;
	if (x->same) {
		t->plan.result.same_count++;
		return 0;
	}
	r.offset = is_small(n, 0) ? 0 : x->part_len;
	sinkplan_want(&t->plan, i, r.offset, n->len);
	return copy_say(&t->wire, &r, e);
}

static int plan(struct sink *t, struct err *e)
{
	struct treewire_record end = {.type = TREE_WANT_END};

	if (decide_place(t, e) != 0 || look(t, e) != 0 ||
	    copy_put_new(t->side, t->base, t->look.tar, &t->put, e) != 0)
		return err_wrap(e, "%s", t->side->vm);
	for (uint32_t i = 0; i < manifest_count(t->m); i++) {
		if (plan_entry(t, i, e) != 0)
			return err_wrap(e, "%s", t->side->vm);
	}
	free(t->there);
	t->there = NULL;
	t->state = TAKE;
	end.count = (uint32_t)t->plan.count;
	if (copy_put_flush(t->put, e) != 0 || copy_say(&t->wire, &end, e) != 0)
		return -1;
	return copy_flush(&t->wire, e);
}

/* ---- receiving ---------------------------------------------------------- */

static const struct manifest_entry *wanted_entry(const struct sink *t,
						 const struct sinkplan_want *w)
{
	return manifest_at(t->m, w->index);
}

static int take_file(struct sink *t, const struct treewire_record *r,
		     struct err *e)
{
	const struct manifest_entry *n;
	autofree char *path = NULL;

	if (sinkplan_file(&t->plan, t->m, r, e) != 0)
		return -1;
	n = manifest_at(t->m, r->index);
	if (is_small(n, r->offset))
		return 0;
	path = place_of(t, n);
	return copy_put_begin(t->put, path, n, r->offset, e);
}

static int take_data(struct sink *t, const struct treewire_record *r,
		     struct err *e)
{
	const struct sinkplan_want *w;

	if (sinkplan_data(&t->plan, r->bytes.len, e) != 0)
		return -1;
	if (t->side->progress)
		t->side->progress(t->side->ctx, t->plan.result.byte_count,
				  t->plan.total);
	w = sinkplan_current(&t->plan);
	if (!is_small(wanted_entry(t, w), w->offset))
		return copy_put_bytes(t->put, r->bytes.p, r->bytes.len, e);
	if (buf_add(&t->held, r->bytes.p, r->bytes.len, e) != 0)
		return err_wrap(e, "files without confirmation");
	return 0;
}

static int keep_file(void *ctx, const struct sinkplan_want *w, struct err *e)
{
	struct sink *t = ctx;
	const struct manifest_entry *n = wanted_entry(t, w);
	autofree char *path = place_of(t, n);

	if (!is_small(n, w->offset))
		return copy_put_keep(t->put, path, n, e);
	if (copy_put_small(t->put, path, n, t->held.data + t->held_at, e) != 0)
		return -1;
	t->held_at += n->len;
	return 0;
}

static int confirm(struct sink *t, struct err *e)
{
	t->held_at = 0;
	if (sinkplan_confirm(&t->plan, keep_file, t, e) != 0)
		return -1;
	buf_reset(&t->held);
	return 0;
}

/* One that was being received: the guest still waits for the rest of it. */
static int cut_open(struct sink *t, struct err *e)
{
	const struct sinkplan_want *w;

	if (!sinkplan_is_open(&t->plan))
		return 0;
	w = sinkplan_current(&t->plan);
	if (is_small(wanted_entry(t, w), w->offset))
		return 0;
	return t->plan.left > 0 ? copy_put_cut(t->put, e) : 0;
}

static int drop_file(void *ctx, const struct sinkplan_want *w, struct err *e)
{
	struct sink *t = ctx;
	const struct manifest_entry *n = wanted_entry(t, w);
	autofree char *path = NULL;

	if (is_small(n, w->offset))
		return 0;
	path = place_of(t, n);
	return copy_put_drop(t->put, path, n, e);
}

static int drop(struct sink *t, struct err *e)
{
	if (cut_open(t, e) != 0)
		return -1;
	buf_reset(&t->held);
	return sinkplan_drop(&t->plan, drop_file, t, e);
}

/* The open file, if there is one, came to nothing. */
static int take_trouble(struct sink *t, const struct treewire_record *r,
			struct err *e)
{
	const struct sinkplan_want *w;

	if (!sinkplan_is_open(&t->plan)) {
		sinkplan_trouble(&t->plan, r);
		return 0;
	}
	w = sinkplan_current(&t->plan);
	if (is_small(wanted_entry(t, w), w->offset)) {
		/* its bytes are the last that are held */
		t->held.len -= wanted_entry(t, w)->len - t->plan.left;
		t->held.data[t->held.len] = '\0';
	} else if (cut_open(t, e) != 0 || drop_file(t, w, e) != 0) {
		return -1;
	}
	sinkplan_trouble(&t->plan, r);
	return 0;
}

/* ---- finishing ---------------------------------------------------------- */

static int put_links(struct sink *t, struct err *e)
{
	for (uint32_t i = 0; i < manifest_count(t->m); i++) {
		const struct manifest_entry *n = manifest_at(t->m, i);
		autofree char *path = NULL;

		if (n->type != 'l')
			continue;
		path = place_of(t, n);
		t->plan.result.link_count++;
		if (copy_put_small(t->put, path, n, NULL, e) != 0)
			return -1;
	}
	return copy_put_flush(t->put, e);
}

/* Times first: they do not touch the parent's, and a mode may shut us out.
 * Modes from the deepest up, for the same reason. */
static int end_dirs(struct sink *t, struct err *e)
{
	for (uint32_t i = 0; i < manifest_count(t->m); i++) {
		const struct manifest_entry *n = manifest_at(t->m, i);
		autofree char *path = place_of(t, n);

		if (n->type == 'd' && *path &&
		    copy_put_dir_time(t->put, path, n, e) != 0)
			return -1;
	}
	for (uint32_t i = manifest_count(t->m); i-- > 0;) {
		const struct manifest_entry *n = manifest_at(t->m, i);
		autofree char *path = place_of(t, n);

		if (n->type == 'd' && *path &&
		    copy_put_dir_mode(t->put, path, n, e) != 0)
			return -1;
	}
	return 0;
}

static int finish(struct sink *t, struct err *e)
{
	struct treewire_record r;

	if (sinkplan_done(&t->plan, e) != 0 ||
	    copy_put_flush(t->put, e) != 0 || put_links(t, e) != 0 ||
	    end_dirs(t, e) != 0 || copy_put_finish(t->put, e) != 0)
		return -1;
	t->state = DONE;
	r = sinkplan_record(&t->plan);
	return copy_say(&t->wire, &r, e) != 0 ? -1 : copy_flush(&t->wire, e);
}

/* ---- records ------------------------------------------------------------ */

static int take_listed(struct sink *t, const struct treewire_record *r,
		       struct err *e)
{
	bool whole = false;

	if (manifest_take(t->m, &t->root_name, r, &whole, e) != 0)
		return -1;
	if (whole)
		t->state = LOOK;
	return 0;
}

static int take_sent(struct sink *t, const struct treewire_record *r,
		     struct err *e)
{
	if (r->type == TREE_FILE)
		return take_file(t, r, e);
	if (r->type == TREE_DATA)
		return take_data(t, r, e);
	if (r->type == TREE_FILE_END)
		return sinkplan_file_end(&t->plan, e);
	if (r->type == TREE_CONFIRM)
		return confirm(t, e);
	if (r->type == TREE_DROP)
		return drop(t, e);
	if (r->type == TREE_DONE)
		return finish(t, e);
	return err_set(e, ERR_PROTOCOL, "copy: record %u out of turn",
		       (unsigned)r->type);
}

static int take_record(const struct treewire_record *r, void *ctx,
		       struct err *e)
{
	struct sink *t = ctx;

	if (r->type == TREE_TROUBLE && (t->state == LIST || t->state == TAKE))
		return take_trouble(t, r, e);
	if (t->state == LIST)
		return take_listed(t, r, e);
	if (t->state == TAKE)
		return take_sent(t, r, e);
	return err_set(e, ERR_PROTOCOL, "copy: record %u out of turn",
		       (unsigned)r->type);
}

/* ---- the whole ---------------------------------------------------------- */

static int run(struct sink *t, struct err *e)
{
	if (copy_look_target(t->side, t->path, &t->look, e) != 0)
		return -1;
	while (t->state != LOOK) {
		if (copy_recv(&t->wire, e) != 0)
			return -1;
	}
	if (plan(t, e) != 0)
		return -1;
	while (t->state != DONE) {
		if (copy_recv(&t->wire, e) != 0)
			return -1;
	}
	t->wire.ended = true;
	return 0;
}

int copy_to_guest(const struct copy_side *side, struct err *e)
{
	struct sink t = {.side = side,
			 .path = copysh_home_path(side->path),
			 .m = manifest_new()};
	int rc;

	buf_init(&t.held, HELD_LEN);
	copy_wire_init(&t.wire, side, take_record, &t);
	rc = run(&t, e);
	side->report->result = t.plan.result;
	if (rc != 0)
		copy_give_up(&t.wire, e);
	else if (t.plan.result.trouble_count > 0) {
		if (e)
			*e = t.plan.first;
		rc = -1;
	}
	copy_put_free(t.put);
	copy_wire_finish(&t.wire);
	sinkplan_finish(&t.plan);
	manifest_free(t.m);
	buf_finish(&t.held);
	free(t.there);
	free(t.path);
	free(t.base);
	free(t.name);
	free(t.root_name);
	return rc;
}
