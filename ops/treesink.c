#include "ops/treesink.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/path.h"
#include "ops/manifest.h"
#include "ops/sinkplan.h"
#include "ops/treewire.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 *	LIST	records of the manifest come in
 *	PLAN	produce() makes directories and asks for files, entry by entry
 *	TAKE	files come in
 *	FINISH	produce() makes links, sets directories' modes and times
 *	END	nothing but what is left in `out`
 *
 * Names are resolved beneath base_fd each time; what is done then is done by
 * a directory fd and one name. Whoever swaps a directory for a link meanwhile
 * gets an error, or the file in the directory that was there.
 */
enum state { LIST, PLAN, TAKE, FINISH, END };

struct treesink {
	const struct copyroot *root;
	char *to; /* as it was asked, for messages */
	struct copyroot_place place;
	int base_fd; /* place.dir_fd */
	char *name;  /* of the copy's root in base_fd; "": base_fd itself */
	enum state state;
	struct buf in, out;
	size_t out_at;

	char *root_name;
	struct manifest *m;
	uint32_t planned;
	struct sinkplan plan;
	int fd; /* the file being received, or -1 */
	/* the directory used last: files come directory by directory */
	char *parent;
	int parent_fd;
};

#define OPEN_PART (O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
#define OUT_LEN 65536

/* ---- saying ------------------------------------------------------------- */

static void say(struct treesink *t, const struct treewire_record *r)
{
	struct err e = {0};

	/* at most one record is added to an empty out */
	if (treewire_encode(&t->out, r, &e) != 0)
		t->state = END;
}

static void close_file(struct treesink *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}

static void fail(struct treesink *t, const struct err *f)
{
	struct treewire_record r = treewire_failure(TREE_FAIL, f);

	if (t->state == END)
		return;
	close_file(t);
	say(t, &r);
	t->state = END;
}

/* ---- names -------------------------------------------------------------- */

/* Where an entry goes, relative to base_fd; "" is base_fd itself. free() */
static char *place_of(const struct treesink *t, const struct manifest_entry *n)
{
	if (!*t->name)
		return alloc_str(n->path);
	return *n->path ? path_join(t->name, n->path) : alloc_str(t->name);
}

static const char *last_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The directory that holds path, beneath the base. Borrowed; -1 on failure. */
static int parent_of(struct treesink *t, const char *path, struct err *e)
{
	const char *base = last_of(path);
	size_t len = (size_t)(base - path);
	autoclose int fd = -1;

	if (t->parent && strlen(t->parent) == len &&
	    memcmp(t->parent, path, len) == 0)
		return t->parent_fd;
	fd = path_open_parent(t->base_fd, path, false, &base, e);
	if (fd < 0 || copyroot_check_dir(t->root, fd, e) != 0)
		return -1;
	free(t->parent);
	if (t->parent_fd >= 0)
		close(t->parent_fd);
	t->parent = alloc_strn(path, len);
	t->parent_fd = TAKE_FD(fd);
	return t->parent_fd;
}

/* ---- planning ----------------------------------------------------------- */

static int in_the_way(const char *path, const char *what, struct err *e)
{
	return err_set(e, ERR_EXISTS, "%s: %s is in the way", path, what);
}

/* A directory that is there already: ours to enter and to write to? */
static int use_dir(struct treesink *t, const char *path, struct err *e)
{
	autoclose int fd = path_open_beneath(t->base_fd, path,
					     O_RDONLY | O_DIRECTORY, 0, e);
	struct stat st;

	if (fd < 0 && errno == ENOTDIR)
		return in_the_way(path, "something that is no directory", e);
	if (fd < 0 || copyroot_check_dir(t->root, fd, e) != 0)
		return -1;
	if (fstat(fd, &st) != 0)
		return err_sys(e, "%s", path);
	/* one that an earlier copy made read-only; its mode comes at the end */
	if ((st.st_mode & 0700) != 0700 && st.st_uid == geteuid() &&
	    fchmod(fd, (st.st_mode & 07777) | 0700) != 0)
		return err_sys(e, "%s", path);
	return 0;
}

static int plan_dir(struct treesink *t, const char *path, struct err *e)
{
	int parent_fd;

	t->plan.result.dir_count++;
	if (!*path)
		return 0;
	parent_fd = parent_of(t, path, e);
	if (parent_fd < 0 ||
	    copyroot_check_name(t->root, parent_fd, last_of(path), e) != 0)
		return -1;
	if (mkdirat(parent_fd, last_of(path), 0700) == 0)
		return 0;
	if (errno != EEXIST)
		return err_sys(e, "making %s", path);
	return use_dir(t, path, e);
}

/* Same length, time and mode: the file of an earlier run. */
static bool is_same(const struct stat *st, const struct manifest_entry *n)
{
	return S_ISREG(st->st_mode) && (uint64_t)st->st_size == n->len &&
	       st->st_mtim.tv_sec == n->mtime_s &&
	       (uint32_t)st->st_mtim.tv_nsec == n->mtime_ns &&
	       (st->st_mode & 07777) == n->mode;
}

/* How much of a file an earlier run left that can be continued. */
static uint64_t part_len(int parent_fd, const char *path,
			 const struct manifest_entry *n)
{
	char part[MANIFEST_PART_SIZE];
	struct stat st;

	manifest_part_name(path, n, part);
	if (fstatat(parent_fd, part, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    !S_ISREG(st.st_mode) || st.st_nlink != 1 ||
	    st.st_uid != geteuid() || (uint64_t)st.st_size > n->len)
		return 0;
	return (uint64_t)st.st_size;
}

/* What is there now must be a file or a link: those are replaced. */
static int plan_file(struct treesink *t, const char *path, bool *ret_wanted,
		     uint64_t *ret_offset, struct err *e)
{
	const struct manifest_entry *n = manifest_at(t->m, t->planned);
	int parent_fd = parent_of(t, path, e);
	struct stat st;
	int rc;

	if (parent_fd < 0 ||
	    copyroot_check_name(t->root, parent_fd, last_of(path), e) != 0)
		return -1;
	rc = fstatat(parent_fd, last_of(path), &st, AT_SYMLINK_NOFOLLOW);
	if (rc != 0 && errno != ENOENT)
		return err_sys(e, "%s", path);
	if (rc == 0 && S_ISDIR(st.st_mode))
		return in_the_way(path, "a directory", e);
	if (rc == 0 && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		return in_the_way(path, "a device, socket or pipe", e);
	*ret_wanted = n->type == 'f' && !(rc == 0 && is_same(&st, n));
	if (*ret_wanted)
		*ret_offset = part_len(parent_fd, path, n);
	return 0;
}

static int plan_entry(struct treesink *t, struct err *e)
{
	const struct manifest_entry *n = manifest_at(t->m, t->planned);
	autofree char *path = place_of(t, n);
	struct treewire_record r = {.type = TREE_WANT, .index = t->planned};
	bool wanted = false;

	if (n->type == 'd')
		return plan_dir(t, path, e);
	if (plan_file(t, path, &wanted, &r.offset, e) != 0)
		return -1;
	if (wanted) {
		sinkplan_want(&t->plan, t->planned, r.offset, n->len);
		say(t, &r);
	} else if (n->type == 'f') {
		t->plan.result.same_count++;
	}
	return 0;
}

static int step_plan(struct treesink *t, struct err *e)
{
	struct treewire_record r = {.type = TREE_WANT_END};

	if (t->planned < manifest_count(t->m)) {
		if (plan_entry(t, e) != 0)
			return -1;
		t->planned++;
		return 0;
	}
	r.count = (uint32_t)t->plan.count;
	say(t, &r);
	t->state = TAKE;
	return 0;
}

/* The list is complete: decide where the copy goes. */
static int start_plan(struct treesink *t, struct err *e)
{
	char kind = t->place.kind == 'l' ? 'f' : t->place.kind;
	enum manifest_place where;

	if (kind == '?')
		return in_the_way(t->to, "a device, socket or pipe", e);
	if (manifest_place(t->m, t->root_name, t->to, kind, &where, e) != 0)
		return -1;
	if (where == MANIFEST_AS)
		t->name = alloc_str(t->place.name);
	else
		t->name = alloc_str(where == MANIFEST_UNDER ? t->root_name
							    : "");
	t->state = PLAN;
	return 0;
}

/* ---- receiving ---------------------------------------------------------- */

/* Continue a partial file; it must still be what part_len() saw, and nobody
 * else at it. */
static int open_part(int parent_fd, const char *part, uint64_t offset,
		     struct err *e)
{
	autoclose int fd = openat(parent_fd, part, OPEN_PART | O_APPEND);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		return err_sys(e, "continuing %s", part);
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1 ||
	    (uint64_t)st.st_size != offset || flock(fd, LOCK_EX | LOCK_NB) != 0)
		return err_set(e, ERR_BUSY,
			       "%s: another copy writes it; wait for it and "
			       "copy again",
			       part);
	return TAKE_FD(fd);
}

static int make_part(int parent_fd, const char *part, struct err *e)
{
	const int flags = OPEN_PART | O_CREAT | O_EXCL;
	int fd = openat(parent_fd, part, flags, 0600);

	/* of an earlier run, but not to be continued */
	if (fd < 0 && errno == EEXIST) {
		if (unlinkat(parent_fd, part, 0) != 0 && errno != ENOENT)
			return err_sys(e, "removing %s", part);
		fd = openat(parent_fd, part, flags, 0600);
	}
	if (fd < 0)
		return err_sys(e, "making %s", part);
	if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		close(fd);
		return err_set(e, ERR_BUSY, "%s: another copy writes it", part);
	}
	return fd;
}

static int take_file(struct treesink *t, const struct treewire_record *r,
		     struct err *e)
{
	const struct manifest_entry *n;
	char part[MANIFEST_PART_SIZE];
	autofree char *path = NULL;
	int parent_fd;

	if (sinkplan_file(&t->plan, t->m, r, e) != 0)
		return -1;
	n = manifest_at(t->m, r->index);
	path = place_of(t, n);
	parent_fd = parent_of(t, path, e);
	if (parent_fd < 0)
		return -1;
	manifest_part_name(path, n, part);
	t->fd = r->offset > 0 ? open_part(parent_fd, part, r->offset, e)
			      : make_part(parent_fd, part, e);
	return t->fd < 0 ? err_wrap(e, "%s", path) : 0;
}

static int take_data(struct treesink *t, const struct treewire_record *r,
		     struct err *e)
{
	size_t done = 0;

	if (sinkplan_data(&t->plan, r->bytes.len, e) != 0)
		return -1;
	while (done < r->bytes.len) {
		ssize_t n = write(t->fd, r->bytes.p + done,
				  r->bytes.len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "%s", t->to);
		done += (size_t)n;
	}
	return 0;
}

static void times_of(const struct manifest_entry *n, struct timespec ret[2])
{
	ret[0] = (struct timespec){.tv_nsec = UTIME_OMIT};
	ret[1] = (struct timespec){.tv_sec = (time_t)n->mtime_s,
				   .tv_nsec = (long)n->mtime_ns};
}

static int take_file_end(struct treesink *t, struct err *e)
{
	const struct manifest_entry *n;
	struct timespec times[2];

	if (sinkplan_file_end(&t->plan, e) != 0)
		return -1;
	n = manifest_at(t->m, t->plan.wants[t->plan.at - 1].index);
	times_of(n, times);
	if (fchmod(t->fd, n->mode) != 0 || futimens(t->fd, times) != 0)
		return err_sys(e, "%s", n->path);
	close_file(t);
	return 0;
}

static int keep_file(void *ctx, const struct sinkplan_want *w, struct err *e)
{
	struct treesink *t = ctx;
	const struct manifest_entry *n = manifest_at(t->m, w->index);
	autofree char *path = place_of(t, n);
	int parent_fd = parent_of(t, path, e);
	char part[MANIFEST_PART_SIZE];

	if (parent_fd < 0)
		return -1;
	manifest_part_name(path, n, part);
	if (renameat(parent_fd, part, parent_fd, last_of(path)) != 0)
		return err_sys(e, "putting %s in place", path);
	return 0;
}

static int drop_file(void *ctx, const struct sinkplan_want *w, struct err *e)
{
	struct treesink *t = ctx;
	const struct manifest_entry *n = manifest_at(t->m, w->index);
	autofree char *path = place_of(t, n);
	int parent_fd = parent_of(t, path, e);
	char part[MANIFEST_PART_SIZE];

	if (parent_fd < 0)
		return -1;
	manifest_part_name(path, n, part);
	if (unlinkat(parent_fd, part, 0) != 0 && errno != ENOENT)
		return err_sys(e, "removing %s", part);
	return 0;
}

/* The source lost a file: what came of it is of no use. */
static int take_trouble(struct treesink *t, const struct treewire_record *r,
			struct err *e)
{
	size_t at = t->plan.at;

	if (!sinkplan_trouble(&t->plan, r))
		return 0;
	close_file(t);
	return drop_file(t, &t->plan.wants[at], e);
}

/* ---- finishing ---------------------------------------------------------- */

static bool is_same_link(int parent_fd, const char *name, const char *target)
{
	size_t size = strlen(target) + 2;
	autofree char *now = alloc_zero(size);
	ssize_t len = readlinkat(parent_fd, name, now, size - 1);

	return len >= 0 && strcmp(now, target) == 0;
}

static int make_link(struct treesink *t, const struct manifest_entry *n,
		     struct err *e)
{
	autofree char *path = place_of(t, n);
	int parent_fd = parent_of(t, path, e);
	char part[MANIFEST_PART_SIZE];
	struct timespec times[2];

	if (parent_fd < 0)
		return -1;
	t->plan.result.link_count++;
	if (is_same_link(parent_fd, last_of(path), n->target))
		return 0;
	manifest_part_name(path, n, part);
	times_of(n, times);
	if (unlinkat(parent_fd, part, 0) != 0 && errno != ENOENT)
		return err_sys(e, "removing %s", part);
	if (symlinkat(n->target, parent_fd, part) != 0)
		return err_sys(e, "linking %s", path);
	if (utimensat(parent_fd, part, times, AT_SYMLINK_NOFOLLOW) != 0 ||
	    renameat(parent_fd, part, parent_fd, last_of(path)) != 0) {
		err_sys(e, "linking %s", path);
		unlinkat(parent_fd, part, 0);
		return -1;
	}
	return 0;
}

static int finish_dir(struct treesink *t, const struct manifest_entry *n,
		      struct err *e)
{
	autofree char *path = place_of(t, n);
	autoclose int fd = -1;
	struct timespec times[2];

	if (!*path) /* the target itself is not what was copied */
		return 0;
	fd = path_open_beneath(t->base_fd, path, O_RDONLY | O_DIRECTORY, 0, e);
	if (fd < 0 || copyroot_check_dir(t->root, fd, e) != 0)
		return -1;
	times_of(n, times);
	if (fchmod(fd, n->mode) != 0 || futimens(fd, times) != 0)
		return err_sys(e, "%s", path);
	return 0;
}

static int step_finish(struct treesink *t, struct err *e)
{
	uint32_t count = manifest_count(t->m);
	struct treewire_record r;

	for (uint32_t i = 0; i < count; i++) {
		const struct manifest_entry *n = manifest_at(t->m, i);

		if (n->type == 'l' && make_link(t, n, e) != 0)
			return -1;
	}
	/* children first: what is done in a directory sets its time */
	for (uint32_t i = count; i-- > 0;) {
		const struct manifest_entry *n = manifest_at(t->m, i);

		if (n->type == 'd' && finish_dir(t, n, e) != 0)
			return -1;
	}
	r = sinkplan_record(&t->plan);
	say(t, &r);
	t->state = END;
	return 0;
}

/* ---- driving ------------------------------------------------------------ */

size_t treesink_produce(struct treesink *t, void *p, size_t max)
{
	uint8_t *to = p;
	size_t done = 0;

	while (done < max) {
		size_t n = t->out.len - t->out_at;
		struct err e = {0};
		int rc = 0;

		if (n > 0) {
			if (n > max - done)
				n = max - done;
			memcpy(to + done, t->out.data + t->out_at, n);
			t->out_at += n;
			done += n;
			continue;
		}
		buf_reset(&t->out);
		t->out_at = 0;
		if (t->state == PLAN)
			rc = step_plan(t, &e);
		else if (t->state == FINISH)
			rc = step_finish(t, &e);
		else
			break;
		if (rc != 0)
			fail(t, &e);
	}
	return done;
}

static int take_listed(struct treesink *t, const struct treewire_record *r,
		       struct err *e)
{
	bool whole = false;

	if (manifest_take(t->m, &t->root_name, r, &whole, e) != 0)
		return -1;
	return whole ? start_plan(t, e) : 0;
}

static int take_sent(struct treesink *t, const struct treewire_record *r,
		     struct err *e)
{
	if (r->type == TREE_FILE)
		return take_file(t, r, e);
	if (r->type == TREE_DATA)
		return take_data(t, r, e);
	if (r->type == TREE_FILE_END)
		return take_file_end(t, e);
	if (r->type == TREE_CONFIRM)
		return sinkplan_confirm(&t->plan, keep_file, t, e);
	if (r->type == TREE_DROP) {
		close_file(t);
		return sinkplan_drop(&t->plan, drop_file, t, e);
	}
	if (r->type == TREE_DONE) {
		t->state = FINISH;
		return sinkplan_done(&t->plan, e);
	}
	return err_set(e, ERR_PROTOCOL, "copy: record %u out of turn",
		       (unsigned)r->type);
}

static int take_record(const struct treewire_record *r, void *ctx,
		       struct err *e)
{
	struct treesink *t = ctx;

	if (t->state == END || r->type == TREE_WARN)
		return 0;
	if (r->type == TREE_FAIL) {
		close_file(t);
		t->state = END;
		return 0;
	}
	if (r->type == TREE_TROUBLE && (t->state == LIST || t->state == TAKE))
		return take_trouble(t, r, e);
	if (t->state == LIST)
		return take_listed(t, r, e);
	if (t->state == TAKE)
		return take_sent(t, r, e);
	return err_set(e, ERR_PROTOCOL, "copy: record %u out of turn",
		       (unsigned)r->type);
}

void treesink_feed(struct treesink *t, const void *p, size_t len)
{
	struct err e = {0};

	if (t->state != END &&
	    treewire_feed(&t->in, p, len, take_record, t, &e) != 0)
		fail(t, &e);
}

bool treesink_ended(const struct treesink *t)
{
	return t->state == END && t->out_at == t->out.len;
}

int treesink_new(const struct copyroot *root, const char *path,
		 struct treesink **ret, struct err *e)
{
	struct treesink *t = ALLOC_NEW(struct treesink);

	t->root = root;
	t->place.dir_fd = -1;
	t->fd = -1;
	t->parent_fd = -1;
	t->to = alloc_str(path);
	t->m = manifest_new();
	buf_init(&t->in, TREEWIRE_RECORD_LEN);
	buf_init(&t->out, OUT_LEN);
	if (copyroot_find(root, path, true, &t->place, e) != 0) {
		treesink_free(t);
		return -1;
	}
	t->base_fd = t->place.dir_fd;
	*ret = t;
	return 0;
}

void treesink_free(struct treesink *t)
{
	if (!t)
		return;
	close_file(t);
	if (t->place.dir_fd >= 0)
		close(t->place.dir_fd);
	if (t->parent_fd >= 0)
		close(t->parent_fd);
	free(t->to);
	free(t->name);
	free(t->root_name);
	free(t->parent);
	manifest_free(t->m);
	sinkplan_finish(&t->plan);
	buf_finish(&t->in);
	buf_finish(&t->out);
	free(t);
}
