#include "mcp/copied.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "ops/copyroot.h"
#include "ops/validate.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOTES_COUNT 64
#define FILES_COUNT 64 /* of one directory */

struct note {
	char *to;   /* in the copy root */
	char *name; /* of what was copied */
};

struct copied {
	const char *root;
	const struct home *home;
	pthread_mutex_t lock;
	struct note notes[NOTES_COUNT]; /* oldest first */
	unsigned count;
};

typedef void each_fn(void *ctx, const char *path, long long size);

struct copied *copied_new(const char *root, const struct home *home)
{
	struct copied *c = ALLOC_NEW(struct copied);

	c->root = root;
	c->home = home;
	pthread_mutex_init(&c->lock, NULL);
	return c;
}

static void note_finish(struct note *n)
{
	free(n->to);
	free(n->name);
}

void copied_free(struct copied *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < c->count; i++)
		note_finish(&c->notes[i]);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static char *last_name(const char *path)
{
	size_t len = strlen(path);
	const char *slash;

	while (len > 0 && path[len - 1] == '/')
		len--;
	slash = memrchr(path, '/', len);
	return slash ? alloc_strn(slash + 1, (size_t)(path + len - slash - 1))
		     : alloc_strn(path, len);
}

void copied_note(struct copied *c, const char *from, const char *to)
{
	static const char local[] = "local:";
	size_t len = strlen(local);
	struct note n;

	if (!c->root || strncmp(to, local, len) != 0 ||
	    strncmp(from, local, len) == 0 || !strchr(from, ':'))
		return;
	n.to = alloc_str(to + len);
	n.name = last_name(strchr(from, ':') + 1);
	pthread_mutex_lock(&c->lock);
	if (c->count == NOTES_COUNT) {
		note_finish(&c->notes[0]);
		memmove(c->notes, c->notes + 1,
			(NOTES_COUNT - 1) * sizeof(*c->notes));
		c->count--;
	}
	c->notes[c->count++] = n;
	pthread_mutex_unlock(&c->lock);
}

/* Gives the file of that name in dir_fd, if it is one. */
static bool give_file(int dir_fd, const char *name, const char *path,
		      each_fn *each, void *ctx)
{
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    !S_ISREG(st.st_mode))
		return false;
	each(ctx, path, (long long)st.st_size);
	return true;
}

static void give_dir(int dir_fd, const char *path, each_fn *each, void *ctx)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *d;
	unsigned count = 0;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	/* the stream is this thread's: NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (count < FILES_COUNT && (d = readdir(dir))) {
		autofree char *whole = alloc_printf("%s/%s", path, d->d_name);

		count += give_file(dir_fd, d->d_name, whole, each, ctx);
	}
	closedir(dir);
}

/* What is at path now: a file, or a directory's. False: neither. */
static bool give_place(const struct copyroot *root, const char *path,
		       each_fn *each, void *ctx)
{
	struct copyroot_place place;
	autoclose int fd = -1;
	struct err e = {0};

	if (copyroot_find(root, path, false, &place, &e) != 0)
		return false;
	fd = place.dir_fd;
	if (place.kind == 'd')
		give_dir(fd, path, each, ctx);
	else
		(void)give_file(fd, place.name, path, each, ctx);
	return place.kind == 'd' || place.kind == 'f';
}

/* One spelling for what is one file. free() */
static char *tidy(const char *to)
{
	size_t len;

	while (strncmp(to, "./", 2) == 0)
		to += 2;
	len = strlen(to);
	while (len > 1 && to[len - 1] == '/')
		len--;
	return strcmp(to, ".") == 0 ? alloc_str("") : alloc_strn(to, len);
}

/* As vm_copy places it: in the directory that `to` is, or as `to`. */
static void give_note(const struct copyroot *root, const struct note *n,
		      each_fn *each, void *ctx)
{
	autofree char *to = tidy(n->to);
	autofree char *in =
		*to ? alloc_printf("%s/%s", to, n->name) : alloc_str(n->name);

	if (!give_place(root, in, each, ctx) && *to)
		(void)give_place(root, to, each, ctx);
}

void copied_each(struct copied *c, each_fn *each, void *ctx)
{
	auto_copyroot struct copyroot *root = NULL;
	struct err e = {0};

	pthread_mutex_lock(&c->lock);
	if (c->count > 0 && copyroot_new(c->root, c->home, &root, &e) == 0) {
		for (unsigned i = 0; i < c->count; i++)
			give_note(root, &c->notes[i], each, ctx);
	}
	pthread_mutex_unlock(&c->lock);
}

struct search {
	const char *path;
	bool found;
};

static void on_file(void *ctx, const char *path, long long size)
{
	struct search *s = ctx;

	(void)size;
	s->found |= strcmp(path, s->path) == 0;
}

static int read_place(const struct copyroot_place *place, const char *path,
		      struct buf *ret, struct err *e)
{
	autoclose int fd =
		openat(place->dir_fd, place->name,
		       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) != 0)
		return err_sys(e, "%s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_NOT_FOUND, "%s is no file", path);
	if (st.st_size > (off_t)ret->cap)
		return err_set(e, ERR_LIMIT,
			       "%s has %lld bytes; what is read here has at "
			       "most %zu: open the file itself",
			       path, (long long)st.st_size, ret->cap);
	do {
		n = buf_read_fd(ret, fd, ret->cap - ret->len, e);
	} while (n > 0 && ret->len < ret->cap);
	return n < 0 ? -1 : 0;
}

int copied_read(struct copied *c, const char *path, struct buf *ret,
		struct err *e)
{
	auto_copyroot struct copyroot *root = NULL;
	struct search search = {.path = path};
	struct copyroot_place place;
	int rc;

	copied_each(c, on_file, &search);
	if (!search.found)
		return err_set(e, ERR_NOT_FOUND, "%s was not copied out here",
			       path);
	if (copyroot_new(c->root, c->home, &root, e) != 0 ||
	    copyroot_find(root, path, false, &place, e) != 0)
		return -1;
	rc = read_place(&place, path, ret, e);
	close(place.dir_fd);
	return rc;
}
