#include "base/path.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Local files answer at once; a network file system may not. */
#define READ_FILE_MS 60000
#define COMPONENT_LEN 255
/* openat2() gives EAGAIN when a rename raced it; a storm of them is an error */
#define RACES_COUNT 16

char *path_join(const char *dir, const char *name)
{
	size_t len = strlen(dir);

	return alloc_printf("%s%s%s", dir,
			    len > 0 && dir[len - 1] == '/' ? "" : "/", name);
}

int path_check_relative(const char *rel, struct err *e)
{
	const char *at = rel;
	int depth = 0;

	if (rel[0] == '\0')
		return err_set(e, ERR_INVALID, "an empty path");
	if (rel[0] == '/')
		return err_set(e, ERR_INVALID, "%s: must be a relative path",
			       rel);
	if (strlen(rel) > LIMIT_PATH_LEN)
		return err_set(e, ERR_LIMIT, "%.64s…: longer than %d bytes",
			       rel, LIMIT_PATH_LEN);
	for (;;) {
		size_t len = strcspn(at, "/");

		if (len == 0 || (len == 1 && at[0] == '.') ||
		    (len == 2 && at[0] == '.' && at[1] == '.'))
			return err_set(e, ERR_INVALID,
				       "%s: empty, \".\" and \"..\" parts are "
				       "not allowed",
				       rel);
		if (len > COMPONENT_LEN)
			return err_set(e, ERR_LIMIT,
				       "%s: a part is longer than %d bytes",
				       rel, COMPONENT_LEN);
		if (++depth > LIMIT_PATH_DEPTH)
			return err_set(e, ERR_LIMIT,
				       "%s: deeper than %d folders", rel,
				       LIMIT_PATH_DEPTH);
		if (at[len] == '\0')
			return 0;
		at += len + 1;
	}
}

static int make_dir(const char *dir, mode_t mode, struct err *e)
{
	struct stat st;

	if (mkdir(dir, mode) == 0) {
		/* what the umask took away */
		if (chmod(dir, mode) < 0)
			return err_sys(e, "setting the mode of %s", dir);
		return 0;
	}
	/* any errno, for one that is there but may not be made again */
	int saved = errno;
	if (stat(dir, &st) == 0 && S_ISDIR(st.st_mode))
		return 0;
	errno = saved == EEXIST ? ENOTDIR : saved;
	return err_sys(e, "making the folder %s", dir);
}

int path_make_dirs(const char *dir, mode_t mode, struct err *e)
{
	autofree char *path = alloc_str(dir);

	for (char *p = path + 1; path[0] && *p; p++) {
		if (*p != '/' || p[-1] == '/')
			continue;
		*p = '\0';
		if (make_dir(path, mode, e) < 0)
			return -1;
		*p = '/';
	}
	return make_dir(path, mode, e);
}

int path_open_dir(const char *dir, struct err *e)
{
	int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_sys(e, "%s", dir);
	return fd;
}

/* errno is set: EXDEV and ELOOP mean "outside" and "through a symlink". */
static int open_confined(int root_fd, const char *rel, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)flags | O_CLOEXEC,
		.mode = flags & O_CREAT ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS,
	};
	int fd;

	for (int i = 0; i < RACES_COUNT; i++) {
		fd = (int)syscall(SYS_openat2, root_fd, rel, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd;
}

static int refuse(const char *rel, struct err *e)
{
	if (errno == EXDEV)
		return err_set(e, ERR_DENIED, "%s: leads out of its folder",
			       rel);
	if (errno == ELOOP)
		return err_set(e, ERR_DENIED,
			       "%s: is or goes through a symbolic link", rel);
	return err_sys(e, "%s", rel);
}

int path_open_beneath(int root_fd, const char *rel, int flags, mode_t mode,
		      struct err *e)
{
	int fd;

	if (path_check_relative(rel, e) < 0)
		return -1;
	fd = open_confined(root_fd, rel, flags, mode);
	return fd < 0 ? refuse(rel, e) : fd;
}

/*
 * Make what is missing of dir, part by part. Each prefix is resolved from the
 * root anew, so a part that is moved away meanwhile is not built upon.
 */
static int make_parents_beneath(int root_fd, char *dir, struct err *e)
{
	autoclose int at_fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
	char *part = dir;

	if (at_fd < 0)
		return err_sys(e, "%s", dir);
	for (;;) {
		char *slash = strchr(part, '/');
		int fd;

		if (slash)
			*slash = '\0';
		if (mkdirat(at_fd, part, 0777) < 0 && errno != EEXIST)
			return err_sys(e, "making the folder %s", dir);
		fd = open_confined(root_fd, dir, O_PATH | O_DIRECTORY, 0);
		if (fd < 0)
			return refuse(dir, e);
		close(at_fd);
		at_fd = fd;
		if (!slash)
			return TAKE_FD(at_fd);
		*slash = '/';
		part = slash + 1;
	}
}

int path_open_parent(int root_fd, const char *rel, bool make_parents,
		     const char **ret_base, struct err *e)
{
	const char *slash = strrchr(rel, '/');
	int fd;

	if (path_check_relative(rel, e) < 0)
		return -1;
	if (!slash) {
		fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			return err_sys(e, "%s", rel);
		*ret_base = rel;
		return fd;
	}
	autofree char *dir = alloc_strn(rel, (size_t)(slash - rel));
	fd = open_confined(root_fd, dir, O_PATH | O_DIRECTORY, 0);
	if (fd < 0 && errno == ENOENT && make_parents)
		fd = make_parents_beneath(root_fd, dir, e);
	else if (fd < 0)
		refuse(dir, e);
	if (fd >= 0)
		*ret_base = slash + 1;
	return fd;
}

/* The folder of path, and where its last part begins. free() */
static char *split_dir(const char *path, const char **ret_base)
{
	const char *slash = strrchr(path, '/');

	*ret_base = slash ? slash + 1 : path;
	if (!slash)
		return alloc_str(".");
	return alloc_strn(path, slash == path ? 1 : (size_t)(slash - path));
}

static int sync_dir(const char *dir, struct err *e)
{
	autoclose int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		return err_sys(e, "syncing the folder %s", dir);
	return 0;
}

static int write_temp(int fd, const void *p, size_t len, mode_t mode,
		      struct err *e)
{
	if (fd_write_all(fd, p, len, deadline_in_ms(READ_FILE_MS), e) < 0)
		return -1;
	if (fchmod(fd, mode) < 0 || fsync(fd) < 0)
		return err_sys(e, "writing");
	return 0;
}

int path_write_file(const char *path, const void *p, size_t len, mode_t mode,
		    struct err *e)
{
	const char *base;
	autofree char *dir = split_dir(path, &base);
	autofree char *temp = alloc_printf("%s/.%s.XXXXXX", dir, base);
	autoclose int fd = mkostemp(temp, O_CLOEXEC);

	if (fd < 0)
		return err_sys(e, "%s: making a temporary file beside it",
			       path);
	if (write_temp(fd, p, len, mode, e) < 0) {
		err_wrap(e, "%s", path);
		unlink(temp);
		return -1;
	}
	if (rename(temp, path) < 0) {
		err_sys(e, "%s: putting the new file in place", path);
		unlink(temp);
		return -1;
	}
	return sync_dir(dir, e);
}

int path_read_file(const char *path, size_t cap, char **ret_data,
		   size_t *ret_len, struct err *e)
{
	/* O_NONBLOCK: a FIFO must not hold us before it can be refused */
	autoclose int fd =
		open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	struct buf data;
	int rc;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "%s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_INVALID, "%s: not a regular file", path);
	buf_init(&data, cap);
	rc = fd_read_to_end(fd, &data, deadline_in_ms(READ_FILE_MS), e);
	if (rc < 0) {
		err_wrap(e, "%s", path);
	} else {
		*ret_len = data.len;
		*ret_data = buf_take(&data);
	}
	buf_finish(&data);
	return rc;
}

char *path_real(const char *path)
{
	autofree char *at = alloc_str(path);
	autofree char *rest = alloc_str("");

	/* 40 is the kernel's own cap on symlinks; parts are counted too */
	for (int i = 0; i < LIMIT_PATH_DEPTH + 40; i++) {
		autofree char *real = realpath(at, NULL);
		const char *base;
		char target[LIMIT_PATH_LEN + 1];
		ssize_t n;

		if (real)
			return rest[0] ? path_join(real, rest) : TAKE_PTR(real);
		if (errno != ENOENT)
			return NULL;
		for (size_t len = strlen(at); len > 1 && at[len - 1] == '/';)
			at[--len] = '\0';
		autofree char *dir = split_dir(at, &base);
		if (base[0] == '\0' || strcmp(base, "..") == 0)
			return NULL;
		n = readlink(at, target, sizeof(target) - 1);
		if (n > 0) { /* dangling: what it names is what counts */
			target[n] = '\0';
			char *next = target[0] == '/' ? alloc_str(target)
						      : path_join(dir, target);
			free(at);
			at = next;
			continue;
		}
		if (strcmp(base, ".") != 0) {
			char *longer = rest[0] ? path_join(base, rest)
					       : alloc_str(base);
			free(rest);
			rest = longer;
		}
		free(at);
		at = TAKE_PTR(dir);
	}
	return NULL;
}

bool path_is_beneath(const char *path, const char *dir)
{
	autofree char *real_path = path_real(path);
	autofree char *real_dir = path_real(dir);
	size_t len;

	if (!real_path || !real_dir)
		return false;
	len = strlen(real_dir);
	if (strncmp(real_path, real_dir, len) != 0)
		return false;
	return real_path[len] == '\0' || real_path[len] == '/' ||
	       real_dir[len - 1] == '/';
}

char *path_beside_program(const char *const places[], size_t count)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (n <= 0)
		return NULL;
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	for (size_t i = 0; i < count; i++) {
		autofree char *path = path_join(self, places[i]);
		char *real = realpath(path, NULL);

		if (real)
			return real;
	}
	return NULL;
}

char *path_of_fd(int fd)
{
	char name[64];
	char target[LIMIT_PATH_LEN + 1];
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	n = readlink(name, target, sizeof(target) - 1);
	if (n <= 0 || target[0] != '/')
		return NULL;
	return alloc_strn(target, (size_t)n);
}

int path_each_above(int dir_fd, int (*fn)(int fd, void *ctx), void *ctx,
		    struct err *e)
{
	autoclose int at = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);

	for (int depth = 0; depth < LIMIT_PATH_LEN; depth++) {
		struct stat st;
		struct stat up_st;
		int rc, up;

		if (at < 0 || fstat(at, &st) != 0)
			return err_sys(e, "looking above a directory");
		rc = fn(at, ctx);
		if (rc != 0)
			return rc;
		up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (up < 0)
			return err_sys(e, "looking above a directory");
		close(at);
		at = up;
		if (fstat(at, &up_st) != 0)
			return err_sys(e, "looking above a directory");
		if (st.st_dev == up_st.st_dev && st.st_ino == up_st.st_ino)
			return 0;
	}
	return err_set(e, ERR_LIMIT, "directories nested too deeply");
}
