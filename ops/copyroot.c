#include "ops/copyroot.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Two tests for a refused directory. The opened one is compared by device and
 * inode, which no spelling escapes. A directory that does not exist has no
 * inode: there the real path of the parent with the new name is compared, so
 * that an agent cannot make ~/.gnupg either.
 */
struct refused {
	char *path; /* real as far as it exists */
	dev_t dev;
	ino_t ino;
	bool exists;
};

struct copyroot {
	int fd;	    /* -1: a person's */
	char *path; /* real */
	struct refused *refused;
	size_t refused_count;
};

#define OPEN_DIR (O_PATH | O_DIRECTORY | O_CLOEXEC)

/* The path the kernel knows an fd by; NULL when it has none. free() */
static char *fd_path(int fd)
{
	char name[64], target[PATH_MAX];
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	n = readlink(name, target, sizeof(target) - 1);
	if (n <= 0 || target[0] != '/')
		return NULL;
	return alloc_strn(target, (size_t)n);
}

/* Real path of what exists of it, the rest as written. free() */
static char *real_path(const char *path)
{
	autofree char *head = alloc_str(path);
	char *slash;
	char *real = realpath(path, NULL);

	if (real)
		return real;
	while ((slash = strrchr(head, '/')) != NULL && slash != head) {
		autofree char *dir = NULL;

		*slash = '\0';
		dir = realpath(head, NULL);
		if (dir)
			return path_join(dir, path + (slash - head) + 1);
	}
	return alloc_str(path);
}

/* ---- what is refused ---------------------------------------------------- */

static void refuse(struct copyroot *c, const char *path)
{
	struct refused *r;
	struct stat st;

	c->refused = alloc_resize(c->refused, c->refused_count + 1,
				  sizeof(*c->refused));
	r = &c->refused[c->refused_count++];
	*r = (struct refused){.path = real_path(path)};
	if (stat(path, &st) == 0) {
		r->dev = st.st_dev;
		r->ino = st.st_ino;
		r->exists = true;
	}
}

static void refuse_below_home(struct copyroot *c, const char *home_dir)
{
	static const char *const names[] = {
		".ssh", ".gnupg", ".pi", ".config/boxery",
		".local/state/boxery",
	};

	for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
		autofree char *path = path_join(home_dir, names[i]);

		refuse(c, path);
	}
}

/* The home directory by the password database: HOME may say another. free() */
static char *password_home(void)
{
	struct passwd pw, *found = NULL;
	char text[4096];

	if (getpwuid_r(getuid(), &pw, text, sizeof(text), &found) != 0 ||
	    !found)
		return NULL;
	return alloc_str(found->pw_dir);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/*
 * Calls fn for the directory fd and each above it up to "/", until fn gives
 * other than 0, which is returned.
 */
static int each_above(int fd, int (*fn)(int fd, void *ctx), void *ctx,
		      struct err *e)
{
	autoclose int at = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	for (int depth = 0; depth < PATH_MAX; depth++) {
		struct stat st, up_st;
		int rc, up;

		if (at < 0 || fstat(at, &st) != 0)
			return err_sys(e, "looking above a directory");
		rc = fn(at, ctx);
		if (rc != 0)
			return rc;
		up = openat(at, "..", OPEN_DIR);
		if (up < 0)
			return err_sys(e, "looking above a directory");
		close(at);
		at = up;
		if (fstat(at, &up_st) != 0)
			return err_sys(e, "looking above a directory");
		if (same_file(&st, &up_st))
			return 0;
	}
	return err_set(e, ERR_LIMIT, "directories nested too deeply");
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
	rc = each_above(home_fd, is_file, &root, e);
	if (rc > 0)
		return err_set(e, ERR_DENIED,
			       "local: copies are refused: %s is the home "
			       "directory or above it; start boxery-mcp in a "
			       "project directory, or with --copy-root DIR",
			       c->path);
	return rc;
}

static const struct refused *find_refused(const struct copyroot *c, int fd)
{
	autofree char *path = NULL;
	struct stat st;

	if (fstat(fd, &st) != 0)
		return NULL;
	path = fd_path(fd);
	for (size_t i = 0; i < c->refused_count; i++) {
		const struct refused *r = &c->refused[i];

		if (r->exists && r->dev == st.st_dev && r->ino == st.st_ino)
			return r;
		if (path && path_is_beneath(path, r->path))
			return r;
	}
	return NULL;
}

static int say_refused(const struct refused *r, struct err *e)
{
	return err_set(e, ERR_DENIED,
		       "%s is never copied to or from for an agent", r->path);
}

int copyroot_check_dir(const struct copyroot *c, int dir_fd, struct err *e)
{
	const struct refused *r =
		c->fd >= 0 ? find_refused(c, dir_fd) : NULL;

	return r ? say_refused(r, e) : 0;
}

int copyroot_check_name(const struct copyroot *c, int dir_fd, const char *name,
			struct err *e)
{
	autofree char *dir = NULL;
	autofree char *path = NULL;

	if (c->fd < 0)
		return 0;
	dir = fd_path(dir_fd);
	if (!dir)
		return err_set(e, ERR_NOT_FOUND, "%s: its directory is gone",
			       name);
	path = path_join(dir, name);
	for (size_t i = 0; i < c->refused_count; i++) {
		if (strcmp(path, c->refused[i].path) == 0)
			return say_refused(&c->refused[i], e);
	}
	return 0;
}

/* ---- the root ----------------------------------------------------------- */

static int confine(struct copyroot *c, const char *dir, const struct home *h,
		   struct err *e)
{
	const char *env_home = secure_getenv("HOME");
	autofree char *pw_home = password_home();

	c->fd = open(dir, OPEN_DIR);
	if (c->fd < 0)
		return err_sys(e, "copy root %s", dir);
	c->path = fd_path(c->fd);
	if (!c->path)
		return err_set(e, ERR_UNAVAILABLE,
			       "copy root %s: cannot be resolved (is /proc "
			       "mounted?)",
			       dir);
	if (strcmp(c->path, "/") == 0)
		return err_set(e, ERR_DENIED,
			       "local: copies are refused: / cannot be the "
			       "copy root");
	refuse(c, h->config);
	refuse(c, h->state);
	refuse(c, h->data);
	refuse(c, h->run);
	if (pw_home) {
		refuse_below_home(c, pw_home);
		if (check_not_home(c, pw_home, e) != 0)
			return -1;
	}
	if (env_home && env_home[0] == '/') {
		refuse_below_home(c, env_home);
		if (check_not_home(c, env_home, e) != 0)
			return -1;
	}
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
	for (size_t i = 0; i < c->refused_count; i++)
		free(c->refused[i].path);
	free(c->refused);
	free(c->path);
	if (c->fd >= 0)
		close(c->fd);
	free(c);
}

/* ---- finding ------------------------------------------------------------ */

struct above_ctx {
	const struct copyroot *c;
	const struct refused *found;
};

static int is_refused(int fd, void *p)
{
	struct above_ctx *ctx = p;

	ctx->found = find_refused(ctx->c, fd);
	return ctx->found ? 1 : 0;
}

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
	struct above_ctx ctx = {.c = c};
	autofree char *real = fd_path(fd);
	size_t root_len = strlen(c->path);
	autoclose int again = -1;
	int rc;

	if (!real || !path_is_beneath(real, c->path))
		return say_outside(c, path, e);
	if (real[root_len] == '\0')
		again = fcntl(c->fd, F_DUPFD_CLOEXEC, 0);
	else
		again = path_open_beneath(c->fd, real + root_len + 1, OPEN_DIR,
					  0, e);
	if (again < 0)
		return err_wrap(e, "local:%s", path);
	rc = each_above(again, is_refused, &ctx, e);
	if (rc > 0)
		return say_refused(ctx.found, e);
	if (rc < 0)
		return -1;
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
