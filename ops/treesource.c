#include "ops/treesource.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/path.h"
#include "ops/manifest.h"
#include "ops/treewire.h"
#include "ops/wants.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * produce() works in steps, each of which adds records to `out` or changes
 * the state, until the caller's room is full or nothing is left to do before
 * the sink speaks. Bytes of files go straight into the caller's memory when
 * that is large enough.
 *
 *	HEAD	nothing sent
 *	WALK	the tree is listed breadth first: entries[..listed) have been
 *		sent, directories in entries[..walked) have been read
 *	WAIT	for WANT… and WANT_END
 *	SEND	wanted files in order, one open at a time
 *	DONE	for RESULT
 *	END	nothing but what is left in `out`
 */
enum state { HEAD, WALK, WAIT, SEND, DONE, END };

struct treesource {
	const struct copyroot *root;
	struct copyroot_place place;
	char *name; /* the root's */
	enum state state;
	struct buf in, out;
	size_t out_at;

	struct manifest *m;
	uint32_t listed, walked;
	bool stat_failed; /* told once per directory */
	uint32_t special_count;
	char *special; /* the first */

	struct wants wants;
	size_t want_at;
	int fd;	       /* the file being sent, or -1 */
	uint64_t left; /* of it */
};

/* What a step adds is at most a few records. */
#define OUT_LEN (4 * TREEWIRE_RECORD_LEN)
/* Less room than this is not worth a read of its own. */
#define DIRECT_LEN 4096
#define OPEN_FILE (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* ---- saying ------------------------------------------------------------- */

static void say(struct treesource *s, const struct treewire_record *r)
{
	struct err e = {0};

	/* out is emptied before each step, so this is a bug of ours */
	if (treewire_encode(&s->out, r, &e) != 0)
		s->state = END;
}

static void say_simple(struct treesource *s, enum treewire_type type)
{
	struct treewire_record r = {.type = type};

	say(s, &r);
}

static void close_file(struct treesource *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

static void fail(struct treesource *s, const struct err *f)
{
	struct treewire_record r = treewire_failure(TREE_FAIL, f);

	if (s->state == END)
		return;
	close_file(s);
	say(s, &r);
	s->state = END;
}

static void say_trouble(struct treesource *s, const struct err *f)
{
	struct treewire_record r = treewire_failure(TREE_TROUBLE, f);

	say(s, &r);
}

/* ---- listing ------------------------------------------------------------ */

static void count_special(struct treesource *s, const char *path)
{
	if (s->special_count++ == 0)
		s->special = alloc_str(path);
}

/* A link's target into buf: 1, or 0 when it vanished or is too long. */
static int read_target(int dir_fd, const char *name, char *buf, size_t size,
		       struct treewire_str *ret)
{
	ssize_t n = readlinkat(dir_fd, name, buf, size);

	if (n <= 0 || (size_t)n >= size)
		return 0;
	*ret = treewire_str(buf, (size_t)n);
	return 1;
}

/* The first such name of a directory speaks for all: one that may be listed
 * but not entered has as many as names. */
static void stat_trouble(struct treesource *s, const char *path)
{
	struct err e = {0};

	if (!s->stat_failed) {
		err_sys(&e, "%s", path);
		say_trouble(s, &e);
	}
	s->stat_failed = true;
}

/* One name of the directory dir_fd, listed as path. */
static int list_one(struct treesource *s, int dir_fd, const char *name,
		    const char *path, struct err *e)
{
	char target[LIMIT_PATH_LEN + 1];
	struct treewire_entry n = {.path = treewire_str(path, strlen(path))};
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		if (errno != ENOENT) /* else gone since it was listed */
			stat_trouble(s, path);
		return 0;
	}
	n.mode = st.st_mode & 0777;
	n.mtime_s = st.st_mtim.tv_sec;
	n.mtime_ns = (uint32_t)st.st_mtim.tv_nsec;
	if (S_ISDIR(st.st_mode)) {
		n.type = 'd';
	} else if (S_ISREG(st.st_mode)) {
		n.type = 'f';
		n.len = (uint64_t)st.st_size;
	} else if (S_ISLNK(st.st_mode)) {
		n.type = 'l';
		if (!read_target(dir_fd, name, target, sizeof(target),
				 &n.target))
			return 0;
	} else {
		count_special(s, path);
		return 0;
	}
	return manifest_add(s->m, &n, e);
}

/* A directory that an agent may not see is left out, and told. */
static bool may_enter(struct treesource *s, int dir_fd, const char *name)
{
	struct err e = {0};
	autoclose int fd = openat(dir_fd, name, O_PATH | O_DIRECTORY |
						O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || copyroot_check_dir(s->root, fd, &e) == 0)
		return true;

	struct treewire_record r = treewire_failure(TREE_WARN, &e);

	say(s, &r);
	return false;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct names {
	char **p;
	size_t count, size;
};

static void names_finish(struct names *n)
{
	for (size_t i = 0; i < n->count; i++)
		free(n->p[i]);
	free((void *)n->p);
}

/* Takes dir_fd. Sorted, so that the order of a copy does not depend on the
 * file system. */
static int read_names(int dir_fd, struct names *n, struct err *e)
{
	DIR *dir = fdopendir(dir_fd);
	const struct dirent *d;
	int rc = 0;

	if (!dir) {
		err_sys(e, "reading a directory");
		close(dir_fd);
		return -1;
	}
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's is, per stream */
	while (errno = 0, (d = readdir(dir)) != NULL) {
		if (strcmp(d->d_name, ".") == 0 ||
		    strcmp(d->d_name, "..") == 0 || manifest_is_part(d->d_name))
			continue;
		if (n->count >= LIMIT_TREE_COUNT) {
			rc = err_set(e, ERR_LIMIT,
				     "more than %d files: copy it in parts",
				     LIMIT_TREE_COUNT);
			break;
		}
		if (n->count == n->size) {
			n->size = n->size ? n->size * 2 : 32;
			n->p = (char **)alloc_resize((void *)n->p, n->size,
						     sizeof(*n->p));
		}
		n->p[n->count++] = alloc_str(d->d_name);
	}
	if (!d && errno != 0)
		rc = err_sys(e, "reading a directory");
	closedir(dir);
	if (n->count > 0)
		qsort((void *)n->p, n->count, sizeof(*n->p), compare_names);
	return rc;
}

static int open_dir(const struct treesource *s, const char *path,
		    struct err *e)
{
	int fd;

	if (*path)
		return path_open_beneath(s->place.dir_fd, path,
					 O_RDONLY | O_DIRECTORY, 0, e);
	fd = openat(s->place.dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? err_sys(e, "%s", s->name) : fd;
}

/* List what is in a directory. One that cannot be read is trouble, not the
 * end of the copy. */
static int walk_dir(struct treesource *s, const char *path, struct err *e)
{
	struct names names = {0};
	struct err trouble = {0};
	autoclose int fd = open_dir(s, path, &trouble);
	int rc = 0, dup_fd;

	if (fd < 0 || copyroot_check_dir(s->root, fd, &trouble) != 0) {
		say_trouble(s, &trouble);
		return 0;
	}
	dup_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (dup_fd < 0)
		return err_sys(e, "%s", path);
	s->stat_failed = false;
	rc = read_names(dup_fd, &names, e);
	for (size_t i = 0; rc == 0 && i < names.count; i++) {
		const char *name = names.p[i];
		autofree char *full = *path ? path_join(path, name)
					    : alloc_str(name);

		if (may_enter(s, fd, name))
			rc = list_one(s, fd, name, full, e);
	}
	names_finish(&names);
	return rc;
}

static void end_list(struct treesource *s)
{
	struct treewire_record r = {.type = TREE_MANIFEST_END,
				    .count = manifest_count(s->m)};

	if (s->special_count > 0) {
		autofree char *text = alloc_printf(
			"left out %" PRIu32 " special file%s (%s)",
			s->special_count, s->special_count == 1 ? "" : "s",
			s->special);
		struct treewire_record w = {
			.type = TREE_WARN,
			.text = treewire_str(text, strlen(text))};

		say(s, &w);
	}
	say(s, &r);
	s->state = WAIT;
}

static int step_walk(struct treesource *s, struct err *e)
{
	if (s->listed < manifest_count(s->m)) {
		struct treewire_record r =
			manifest_record(manifest_at(s->m, s->listed++));

		say(s, &r);
		return 0;
	}
	while (s->walked < s->listed) {
		const struct manifest_entry *n =
			manifest_at(s->m, s->walked++);

		if (n->type == 'd')
			return walk_dir(s, n->path, e);
	}
	end_list(s);
	return 0;
}

static void step_head(struct treesource *s)
{
	struct treewire_record r = {
		.type = TREE_HEAD,
		.version = TREEWIRE_VERSION,
		.name = treewire_str(s->name, strlen(s->name)),
	};

	say(s, &r);
	s->state = WALK;
}

/* ---- sending ------------------------------------------------------------ */

static const struct manifest_entry *current(const struct treesource *s)
{
	return manifest_at(s->m, s->wants.list[s->want_at].index);
}

static const char *shown(const struct treesource *s,
			 const struct manifest_entry *n)
{
	return *n->path ? n->path : s->name;
}

/* Is the open file what the manifest says? */
static int check_same(const struct treesource *s, struct err *e)
{
	const struct manifest_entry *n = current(s);
	struct stat st;

	if (fstat(s->fd, &st) != 0)
		return err_sys(e, "%s", shown(s, n));
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != n->len ||
	    st.st_mtim.tv_sec != n->mtime_s ||
	    (uint32_t)st.st_mtim.tv_nsec != n->mtime_ns)
		return err_set(e, ERR_STATE,
			       "%s: changed while it was copied; copy it again",
			       shown(s, n));
	return 0;
}

static int open_file(struct treesource *s, struct err *e)
{
	const struct want *w = &s->wants.list[s->want_at];
	const struct manifest_entry *n = current(s);

	if (*n->path)
		s->fd = path_open_beneath(s->place.dir_fd, n->path, OPEN_FILE,
					  0, e);
	else if ((s->fd = openat(s->place.dir_fd, s->place.name, OPEN_FILE)) <
		 0)
		err_sys(e, "%s", s->name);
	if (s->fd < 0 || check_same(s, e) != 0)
		return -1;
	if (lseek(s->fd, (off_t)w->offset, SEEK_SET) < 0)
		return err_sys(e, "%s", shown(s, n));
	s->left = n->len - w->offset;
	return 0;
}

/* The file is over, well or not; on to the next. */
static void end_file(struct treesource *s, const struct err *f)
{
	close_file(s);
	s->want_at++;
	if (f) {
		say_trouble(s, f);
		return;
	}
	say_simple(s, TREE_FILE_END);
	say_simple(s, TREE_CONFIRM);
}

/* Up to max bytes of the open file; 0 when it is over (and that was said). */
static size_t read_file(struct treesource *s, void *p, size_t max)
{
	struct err e = {0};
	ssize_t n;

	if (max > s->left)
		max = (size_t)s->left;
	if (max > TREEWIRE_DATA_LEN)
		max = TREEWIRE_DATA_LEN;
	n = max > 0 ? read(s->fd, p, max) : 0;
	if (n > 0) {
		s->left -= (size_t)n;
		return (size_t)n;
	}
	if (n < 0)
		err_sys(&e, "%s", shown(s, current(s)));
	else if (s->left > 0)
		err_set(&e, ERR_STATE,
			"%s: became shorter while it was copied; copy it again",
			shown(s, current(s)));
	else
		n = check_same(s, &e);
	end_file(s, n == 0 && s->left == 0 ? NULL : &e);
	return 0;
}

/* A DATA record straight into p, which has room for one. */
static size_t send_direct(struct treesource *s, uint8_t *p, size_t max)
{
	size_t n = read_file(s, p + TREEWIRE_HEADER_LEN,
			     max - TREEWIRE_HEADER_LEN);

	if (n == 0)
		return 0;
	treewire_data_header(p, n);
	return TREEWIRE_HEADER_LEN + n;
}

static void send_buffered(struct treesource *s)
{
	char bytes[DIRECT_LEN];
	struct treewire_record r = {.type = TREE_DATA};

	r.bytes = treewire_str(bytes, read_file(s, bytes, sizeof(bytes)));
	if (r.bytes.len > 0)
		say(s, &r);
}

static void next_file(struct treesource *s)
{
	struct treewire_record r = {.type = TREE_FILE};
	struct err e = {0};

	if (s->want_at == s->wants.count) {
		say_simple(s, TREE_DONE);
		s->state = DONE;
		return;
	}
	r.index = s->wants.list[s->want_at].index;
	r.offset = s->wants.list[s->want_at].offset;
	say(s, &r);
	if (open_file(s, &e) != 0)
		end_file(s, &e);
}

/* ---- driving ------------------------------------------------------------ */

/* One step; false when there is nothing to do before the sink speaks. */
static bool step(struct treesource *s)
{
	struct err e = {0};

	switch (s->state) {
	case HEAD:
		step_head(s);
		return true;
	case WALK:
		if (step_walk(s, &e) != 0)
			fail(s, &e);
		return true;
	case SEND:
		if (s->fd < 0)
			next_file(s);
		else
			send_buffered(s);
		return true;
	case WAIT:
	case DONE:
	case END:
	default:
		return false;
	}
}

size_t treesource_produce(struct treesource *s, void *p, size_t max)
{
	uint8_t *to = p;
	size_t done = 0;

	while (done < max) {
		size_t n = s->out.len - s->out_at;

		if (n > 0) {
			if (n > max - done)
				n = max - done;
			memcpy(to + done, s->out.data + s->out_at, n);
			s->out_at += n;
			done += n;
			continue;
		}
		buf_reset(&s->out);
		s->out_at = 0;
		if (s->state == SEND && s->fd >= 0 && max - done >= DIRECT_LEN)
			done += send_direct(s, to + done, max - done);
		else if (!step(s))
			break;
	}
	return done;
}

static int take_record(const struct treewire_record *r, void *ctx,
		       struct err *e)
{
	struct treesource *s = ctx;

	if (s->state == END)
		return 0;
	if (r->type == TREE_WANT && s->state == WAIT)
		return wants_add(&s->wants, s->m, r, e);
	if (r->type == TREE_WANT_END && s->state == WAIT &&
	    r->count == s->wants.count) {
		s->state = SEND;
		return 0;
	}
	if (r->type == TREE_FAIL ||
	    (r->type == TREE_RESULT && s->state == DONE)) {
		close_file(s);
		s->state = END;
		return 0;
	}
	return err_set(e, ERR_PROTOCOL, "copy: record %u out of turn",
		       (unsigned)r->type);
}

void treesource_feed(struct treesource *s, const void *p, size_t len)
{
	struct err e = {0};

	if (s->state != END &&
	    treewire_feed(&s->in, p, len, take_record, s, &e) != 0)
		fail(s, &e);
}

bool treesource_ended(const struct treesource *s)
{
	return s->state == END && s->out_at == s->out.len;
}

/* The root entry. */
static int list_root(struct treesource *s, const char *path, struct err *e)
{
	const char *name = *s->place.name ? s->place.name : ".";
	const char *root_name;
	size_t len = manifest_root_name(path, &root_name);

	s->name = alloc_strn(root_name, len);
	if (s->place.kind == '-')
		return err_set(e, ERR_NOT_FOUND,
			       "local:%s: no such file or directory", path);
	if (s->place.kind == '?')
		return err_set(e, ERR_INVALID,
			       "local:%s: is a device, socket or pipe", path);
	if (manifest_is_part(s->name))
		return err_set(e, ERR_INVALID,
			       "local:%s: is a partial file of a copy", path);
	if (list_one(s, s->place.dir_fd, name, "", e) != 0)
		return err_wrap(e, "local:%s", path);
	if (manifest_count(s->m) == 0)
		return err_set(e, ERR_NOT_FOUND, "local:%s: is gone", path);
	return 0;
}

int treesource_new(const struct copyroot *root, const char *path,
		   struct treesource **ret, struct err *e)
{
	struct treesource *s = ALLOC_NEW(struct treesource);

	s->root = root;
	s->place.dir_fd = -1;
	s->fd = -1;
	s->m = manifest_new();
	buf_init(&s->in, TREEWIRE_RECORD_LEN);
	buf_init(&s->out, OUT_LEN);
	if (copyroot_find(root, path, false, &s->place, e) != 0 ||
	    list_root(s, path, e) != 0) {
		treesource_free(s);
		return -1;
	}
	*ret = s;
	return 0;
}

void treesource_free(struct treesource *s)
{
	if (!s)
		return;
	close_file(s);
	if (s->place.dir_fd >= 0)
		close(s->place.dir_fd);
	free(s->name);
	free(s->special);
	wants_finish(&s->wants);
	manifest_free(s->m);
	buf_finish(&s->in);
	buf_finish(&s->out);
	free(s);
}
