#include "ops/copyroot.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "base/path.h"
#include "ops/refused.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct copyroot {
	int fd;	    /* -1: a person's */
	char *path; /* real */
	struct refused *refused;
};

#define OPEN_DIR (O_PATH | O_DIRECTORY | O_CLOEXEC)

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static int is_file(int fd, void *ctx)
{
	const struct stat *want = ctx;
	struct stat st;

	return fstat(fd, &st) == 0 && same_file(&st, want) ? 1 : 0;
}

/* Neither the home directory nor one above it is a copy root. */
static int check_not_home(const struct copyroot *c, const char *home_dir,
			  struct err *e)
{
	autoclose int home_fd = open(home_dir, OPEN_DIR);
	struct stat root;
	int rc;

	if (home_fd < 0)
		return 0; /* a service user may have none */
	if (fstat(c->fd, &root) != 0)
		return err_sys(e, "%s", c->path);
	rc = path_each_above(home_fd, is_file, &root, e);
	if (rc > 0)
		return err_set(e, ERR_DENIED,
			       "local: copies are refused: %s is the home "
			       "directory or above it; start boxery-mcp in a "
			       "project directory, or with --copy-root DIR",
			       c->path);
	return rc;
}

static int say_refused(const char *dir, struct err *e)
{
	return err_set(e, ERR_DENIED,
		       "%s is never copied to or from for an agent", dir);
}

int copyroot_check_dir(const struct copyroot *c, int dir_fd, struct err *e)
{
	const char *dir = c->fd >= 0 ? refused_dir(c->refused, dir_fd) : NULL;

	return dir ? say_refused(dir, e) : 0;
}

int copyroot_check_name(const struct copyroot *c, int dir_fd, const char *name,
			struct err *e)
{
	autofree char *dir = NULL;
	autofree char *path = NULL;
	const char *found;

	if (c->fd < 0)
		return 0;
	dir = path_of_fd(dir_fd);
	if (!dir)
		return err_set(e, ERR_NOT_FOUND, "%s: its directory is gone",
			       name);
	path = path_join(dir, name);
	found = refused_name(c->refused, path);
	return found ? say_refused(found, e) : 0;
}

/* ---- the root ----------------------------------------------------------- */

static int confine(struct copyroot *c, const char *dir, const struct home *h,
		   struct err *e)
{
	const char *env_home = secure_getenv("HOME");
	autofree char *pw_home = home_by_password();

	c->fd = open(dir, OPEN_DIR);
	if (c->fd < 0)
		return err_sys(e, "copy root %s", dir);
	c->path = path_of_fd(c->fd);
	if (!c->path)
		return err_set(e, ERR_UNAVAILABLE,
			       "copy root %s: cannot be resolved (is /proc "
			       "mounted?)",
			       dir);
	if (strcmp(c->path, "/") == 0)
		return err_set(e, ERR_DENIED,
			       "local: copies are refused: / cannot be the "
			       "copy root");
	c->refused = refused_new(h);
	if (pw_home && check_not_home(c, pw_home, e) != 0)
		return -1;
	if (env_home && env_home[0] == '/')
		return check_not_home(c, env_home, e);
	return 0;
}

int copyroot_new(const char *dir, const struct home *h, struct copyroot **ret,
		 struct err *e)
{
	auto_copyroot struct copyroot *c = ALLOC_NEW(struct copyroot);

	c->fd = -1;
	if (dir && confine(c, dir, h, e) != 0)
		return -1;
	*ret = TAKE_PTR(c);
	return 0;
}

void copyroot_free(struct copyroot *c)
{
	if (!c)
		return;
	refused_free(c->refused);
	free(c->path);
	if (c->fd >= 0)
		close(c->fd);
	free(c);
}

/* ---- finding ------------------------------------------------------------ */

static int say_outside(const struct copyroot *c, const char *path,
		       struct err *e)
{
	return err_set(e, ERR_DENIED,
		       "local:%s: outside the directory that copies are "
		       "confined to (%s)",
		       path, c->path);
}

/* Does the lookup of path end beneath the root, whether or not it is there?
 * Through links it may not, so they count as "no". */
static bool is_inside(const struct copyroot *c, const char *path)
{
	size_t root_len = strlen(c->path);
	autofree char *rel = NULL;
	autoclose int fd = -1;
	struct err e = {0};

	if (path[0] == '/') {
		if (strncmp(path, c->path, root_len) != 0 ||
		    path[root_len] != '/')
			return false;
		path += root_len + 1;
	}
	while (strncmp(path, "./", 2) == 0)
		path += 2;
	rel = alloc_str(path);
	for (size_t len = strlen(rel); len > 0 && rel[len - 1] == '/'; len--)
		rel[len - 1] = '\0';
	if (!*rel)
		return true;
	fd = path_open_beneath(c->fd, rel, O_PATH, 0, &e);
	return fd >= 0 || e.code == ERR_NOT_FOUND || e.errnum == ENOTDIR;
}

/* A directory could not be opened (errno). Of what lies outside, not even that
 * it is missing is told. */
static int say_unopened(const struct copyroot *c, const char *dir,
			const char *path, struct err *e)
{
	int saved = errno;

	if (c->fd >= 0 && !is_inside(c, dir))
		return say_outside(c, path, e);
	errno = saved;
	if (errno == ENOENT)
		return err_set(e, ERR_NOT_FOUND,
			       "local:%s: no such directory: %s", path, dir);
	return err_sys(e, "local:%s", path);
}

/*
 * The directory behind fd, opened again from the root without following
 * links, after a look at everything above it. Returns the fd.
 */
static int reopen_beneath(const struct copyroot *c, int fd, const char *path,
			  struct err *e)
{
	autofree char *real = path_of_fd(fd);
	size_t root_len = strlen(c->path);
	autoclose int again = -1;
	const char *found = NULL;

	if (!real || !path_is_beneath(real, c->path))
		return say_outside(c, path, e);
	if (real[root_len] == '\0')
		again = fcntl(c->fd, F_DUPFD_CLOEXEC, 0);
	else
		again = path_open_beneath(c->fd, real + root_len + 1, OPEN_DIR,
					  0, e);
	if (again < 0)
		return err_wrap(e, "local:%s", path);
	if (refused_above(c->refused, again, &found, e) != 0)
		return -1;
	if (found)
		return say_refused(found, e);
	return TAKE_FD(again);
}

/* Confine an opened directory; takes fd. */
static int confine_dir(const struct copyroot *c, int fd, const char *shown,
		       struct err *e)
{
	autoclose int opened = fd;

	return c->fd < 0 ? TAKE_FD(opened)
			 : reopen_beneath(c, opened, shown, e);
}

/* errno is set. */
static int open_dir(const struct copyroot *c, const char *path, int flags)
{
	return openat(c->fd >= 0 ? c->fd : AT_FDCWD, *path ? path : ".",
		      OPEN_DIR | flags);
}

static char kind_of(mode_t mode)
{
	if (S_ISREG(mode))
		return 'f';
	if (S_ISDIR(mode))
		return 'd';
	return S_ISLNK(mode) ? 'l' : '?';
}

/* Something that is no directory, or nothing: in the directory that holds it. */
static int find_last(const struct copyroot *c, const char *path,
		     struct copyroot_place *ret, struct err *e)
{
	const char *slash = strrchr(path, '/');
	const char *last = slash ? slash + 1 : path;
	autofree char *parent =
		alloc_strn(path, slash ? (size_t)(slash - path) + 1 : 0);
	struct copyroot_place p = {.kind = '-'};
	int fd = open_dir(c, parent, 0);
	autoclose int dir_fd = -1;
	struct stat st;

	if (fd < 0)
		return say_unopened(c, parent, path, e);
	dir_fd = confine_dir(c, fd, path, e);
	if (dir_fd < 0)
		return -1;
	if (strlen(last) > NAME_MAX)
		return err_set(e, ERR_INVALID, "local:%s: name too long",
			       path);
	memcpy(p.name, last, strlen(last) + 1);
	if (fstatat(dir_fd, last, &st, AT_SYMLINK_NOFOLLOW) == 0)
		p.kind = kind_of(st.st_mode);
	else if (errno != ENOENT)
		return err_sys(e, "local:%s", path);
	if (p.kind == 'd') /* made this moment */
		return err_set(e, ERR_BUSY, "local:%s: changes meanwhile",
			       path);
	p.dir_fd = TAKE_FD(dir_fd);
	*ret = p;
	return 0;
}

int copyroot_find(const struct copyroot *c, const char *path, bool follow_last,
		  struct copyroot_place *ret, struct err *e)
{
	struct copyroot_place p = {.kind = 'd'};
	int fd = open_dir(c, path, follow_last ? 0 : O_NOFOLLOW);
	size_t len = strlen(path);

	if (fd < 0 && len > 0 && path[len - 1] == '/')
		return say_unopened(c, path, path, e);
	if (fd < 0)
		return find_last(c, path, ret, e);
	p.dir_fd = confine_dir(c, fd, path, e);
	if (p.dir_fd < 0)
		return -1;
	*ret = p;
	return 0;
}
