/*
 * Removing a tree: an explicit stack of open folders, each entered through its
 * parent's fd without following links, so that swapping a folder for a link
 * meanwhile leads nowhere.
 */
#include "base/path.h"

#include "base/alloc.h"
#include "base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One fd a level; trees of ours are at most LIMIT_PATH_DEPTH and a few deep. */
#define LEVELS_COUNT 128

struct level {
	DIR *dir;
	char *name; /* in the level above */
};

struct walk {
	struct level levels[LEVELS_COUNT];
	int depth;
	int top_fd; /* the folder that holds the tree */
	dev_t dev;
};

static int parent_fd(const struct walk *w)
{
	return w->depth ? dirfd(w->levels[w->depth - 1].dir) : w->top_fd;
}

static void pop(struct walk *w)
{
	struct level *l = &w->levels[--w->depth];

	closedir(l->dir);
	free(l->name);
}

static int enter(struct walk *w, const char *name, struct err *e)
{
	autoclose int fd = -1;
	struct stat st;
	DIR *dir;

	if (w->depth == LEVELS_COUNT)
		return err_set(e, ERR_LIMIT, "%s: deeper than %d folders", name,
			       LEVELS_COUNT);
	fd = openat(parent_fd(w), name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "opening the folder %s", name);
	if (st.st_dev != w->dev)
		return err_set(e, ERR_BUSY,
			       "%s: a file system is mounted there; unmount it",
			       name);
	/* a copied tree may hold read-only folders; failing shows later */
	if ((st.st_mode & 0700) != 0700)
		(void)fchmod(fd, 0700);
	dir = fdopendir(fd);
	if (!dir)
		return err_sys(e, "reading the folder %s", name);
	TAKE_FD(fd);
	w->levels[w->depth++] = (struct level){dir, alloc_str(name)};
	return 0;
}

/* A file goes at once, a folder becomes the next level. */
static int remove_or_enter(struct walk *w, const char *name, struct err *e)
{
	if (unlinkat(parent_fd(w), name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno == EISDIR)
		return enter(w, name, e);
	return err_sys(e, "removing %s", name);
}

/* One step at the deepest level: its next entry, or its own removal. */
static int step(struct walk *w, struct err *e)
{
	struct level *l = &w->levels[w->depth - 1];
	struct dirent *d;

	errno = 0;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's is, per stream */
	d = readdir(l->dir);
	if (d && (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0))
		return 0;
	if (d)
		return remove_or_enter(w, d->d_name, e);
	if (errno)
		return err_sys(e, "reading the folder %s", l->name);

	autofree char *name = TAKE_PTR(l->name);
	pop(w);
	if (unlinkat(parent_fd(w), name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return err_sys(e, "removing the folder %s", name);
	return 0;
}

int path_remove_tree(const char *path, struct err *e)
{
	autofree char *dir = alloc_str(path);
	autoclose int top_fd = -1;
	struct walk w = {0};
	struct stat st;
	char *slash;
	const char *base;
	int rc;

	for (size_t len = strlen(dir); len > 1 && dir[len - 1] == '/';)
		dir[--len] = '\0';
	slash = strrchr(dir, '/');
	base = slash ? slash + 1 : dir;
	if (base[0] == '\0' || strcmp(base, ".") == 0 ||
	    strcmp(base, "..") == 0)
		return err_set(e, ERR_INVALID, "%s: not a path to remove",
			       path);
	if (slash)
		*slash = '\0';
	top_fd = open(!slash ? "." : dir[0] ? dir : "/",
		      O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (top_fd < 0 && errno == ENOENT)
		return 0;
	if (top_fd < 0 || fstat(top_fd, &st) < 0)
		return err_sys(e, "removing %s", path);
	w.top_fd = top_fd;
	w.dev = st.st_dev;
	rc = remove_or_enter(&w, base, e);
	while (rc == 0 && w.depth > 0)
		rc = step(&w, e);
	while (w.depth > 0)
		pop(&w);
	return rc < 0 ? err_wrap(e, "%s", path) : 0;
}
