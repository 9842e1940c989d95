#include "grants/policy.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/path.h"
#include "ops/refused.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* -- variables ------------------------------------------------------------- */

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static int check_env(const char *name, struct err *e)
{
	/* what a login of the guest sets, and what would change which programs
	 * run there instead of what they know */
	static const char *const guests[] = {
		"PATH",
		"HOME",
		"USER",
		"LOGNAME",
		"SHELL",
		"PWD",
		"OLDPWD",
		"IFS",
		"ENV",
		"BASH_ENV",
		"PROMPT_COMMAND",
		"DISPLAY",
		"TERM",
		"XAUTHORITY",
		"XDG_RUNTIME_DIR",
		"SSH_AUTH_SOCK",
		"SSH_AGENT_PID",
		"DBUS_SESSION_BUS_ADDRESS",
	};

	if (has_prefix(name, "BOXERY_")) /* F17, F18 */
		return err_set(e, ERR_DENIED,
			       "env:%s: variables of boxery's own are never "
			       "granted",
			       name);
	if (has_prefix(name, "LD_"))
		return err_set(e, ERR_DENIED,
			       "env:%s: would change how programs of the VM "
			       "start",
			       name);
	for (size_t i = 0; i < ARRAY_COUNT(guests); i++) {
		if (strcmp(name, guests[i]) == 0)
			return err_set(e, ERR_DENIED,
				       "env:%s: the VM sets it itself%s", name,
				       has_prefix(name, "SSH_A")
					       ? "; grant ssh-agent instead"
					       : "");
	}
	return 0;
}

int policy_check_value(const char *name, const char *value, size_t len,
		       struct err *e)
{
	if (len > LIMIT_GRANT_ENV_LEN)
		return err_set(e, ERR_LIMIT,
			       "env:%s: its value has %zu bytes, and may have "
			       "%d",
			       name, len, LIMIT_GRANT_ENV_LEN);
	if (memchr(value, '\0', len))
		return err_set(e, ERR_INVALID,
			       "env:%s: its value holds a NUL byte", name);
	return 0;
}

/* -- files ----------------------------------------------------------------- */

static int say_refused(const char *path, const char *dir, struct err *e)
{
	return err_set(e, ERR_DENIED, "file:%s: nothing of %s is ever granted",
		       path, dir);
}

static int check_above(const struct home *h, int dir_fd, const char *path,
		       struct err *e)
{
	auto_refused struct refused *list = refused_new(h);
	const char *found = NULL;

	if (refused_above(list, dir_fd, &found, e) < 0)
		return err_wrap(e, "file:%s", path);
	return found ? say_refused(path, found, e) : 0;
}

/* A plain file on a real disk, not too large. */
static int check_content(int fd, const char *path, size_t *ret_len,
			 struct err *e)
{
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
		return err_sys(e, "file:%s", path);
	/* there, plain files tell of processes and devices */
	if (!S_ISREG(st.st_mode) || fs.f_type == PROC_SUPER_MAGIC ||
	    fs.f_type == SYSFS_MAGIC)
		return err_set(e, ERR_INVALID,
			       "file:%s: must be a regular file, no folder, "
			       "socket, FIFO or device",
			       path);
	if (st.st_size > LIMIT_GRANT_FILE_LEN)
		return err_set(e, ERR_LIMIT,
			       "file:%s: has %lld bytes, and may have %d; copy "
			       "it instead (boxery cp)",
			       path, (long long)st.st_size,
			       LIMIT_GRANT_FILE_LEN);
	*ret_len = (size_t)st.st_size;
	return 0;
}

/*
 * Open by real path: through no link, below no refused folder. The second look
 * upwards catches a folder that was moved in between.
 */
static int open_checked(const struct home *h, const char *path, int flags,
			size_t *ret_len, struct err *e)
{
	autoclose int root_fd = path_open_dir("/", e);
	autoclose int dir_fd = -1;
	autoclose int fd = -1;
	const char *base;

	if (root_fd < 0)
		return -1;
	dir_fd = path_open_parent(root_fd, path + 1, false, &base, e);
	if (dir_fd < 0)
		return err_wrap(e, "file:%s", path);
	if (check_above(h, dir_fd, path, e) < 0)
		return -1;
	fd = path_open_beneath(dir_fd, base, flags, 0, e);
	if (fd < 0)
		return err_wrap(e, "file:%s", path);
	if (check_content(fd, path, ret_len, e) < 0 ||
	    check_above(h, dir_fd, path, e) < 0)
		return -1;
	return TAKE_FD(fd);
}

/* free(); NULL+err */
static char *without_tilde(const char *path, struct err *e)
{
	const char *env = secure_getenv("HOME");
	autofree char *home = NULL;

	if (path[0] != '~')
		return alloc_str(path);
	home = env && env[0] == '/' ? alloc_str(env) : home_by_password();
	if (!home) {
		err_set(e, ERR_INVALID,
			"file:%s: there is no home folder; give the whole "
			"path",
			path);
		return NULL;
	}
	return path_join(home, path + 2);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* The real path takes the place of the one asked for: F19. What it would be
 * read as must be just this path: it may hold an arrow. */
static int replace_path(struct grant *g, char *real, struct err *e)
{
	struct grant checked = {0};
	struct grant candidate = *g;
	bool same;

	candidate.name = real;
	autofree char *text = grant_print(&candidate);
	if (grant_parse(text, strlen(text), &checked, e) < 0)
		return err_wrap(e, "%s leads to a path that is no grant",
				g->name);
	same = same_text(checked.name, real) &&
	       same_text(checked.target, g->target);
	if (!same) {
		grant_finish(&checked);
		return err_set(e, ERR_INVALID,
			       "file:%s: leads to %s, and a path that holds an "
			       "arrow cannot be granted",
			       g->name, real);
	}
	grant_finish(g);
	*g = checked;
	return 0;
}

static int check_file(const struct home *h, struct grant *g, struct err *e)
{
	auto_refused struct refused *list = refused_new(h);
	autofree char *path = without_tilde(g->name, e);
	autofree char *real = NULL;
	autoclose int fd = -1;
	const char *found;
	size_t len;

	if (!path)
		return -1;
	real = path_real(path);
	if (!real)
		return err_sys(e, "file:%s", g->name);
	/* first of all: of what lies there, not even that it is missing is
	 * told */
	found = refused_beneath(list, real);
	if (found)
		return say_refused(g->name, found, e);
	fd = open_checked(h, real, O_PATH, &len, e);
	if (fd < 0)
		return -1;
	return replace_path(g, real, e);
}

char *policy_spelling(const char *typed)
{
	struct grant g = {0};
	autofree char *path = NULL;
	char *text, *real;

	if (grant_parse(typed, strlen(typed), &g, NULL) < 0)
		return alloc_str(typed);
	if (g.kind == GRANT_FILE)
		path = without_tilde(g.name, NULL);
	real = path ? path_real(path) : NULL;
	if (real) {
		free(g.name);
		g.name = real;
	}
	text = grant_print(&g);
	grant_finish(&g);
	return text;
}

static int read_all(int fd, struct secret *s, size_t *ret_len, struct err *e)
{
	char *p = secret_bytes(s);
	size_t at = 0;

	while (at < secret_len(s)) {
		ssize_t n = read(fd, p + at, secret_len(s) - at);

		if (n == 0)
			break;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "reading");
		at += (size_t)n;
	}
	*ret_len = at;
	return 0;
}

int policy_read_file(const struct home *h, const char *path,
		     struct secret **ret, struct err *e)
{
	auto_secret struct secret *all = NULL;
	autoclose int fd = -1;
	size_t expected, len;

	if (path[0] != '/')
		return err_set(e, ERR_INTERNAL, "file:%s: no real path", path);
	/* O_NONBLOCK: a FIFO must not hold us before it can be refused */
	fd = open_checked(h, path, O_RDONLY | O_NOCTTY | O_NONBLOCK, &expected,
			  e);
	if (fd < 0)
		return -1;
	/* one more, to see a file that grows */
	all = secret_new(expected + 1);
	if (read_all(fd, all, &len, e) < 0)
		return err_wrap(e, "file:%s", path);
	if (len != expected)
		return err_set(e, ERR_BUSY,
			       "file:%s: changed while it was read; try again",
			       path);
	*ret = secret_copy(secret_const_bytes(all), len);
	return 0;
}

/* -- all ------------------------------------------------------------------- */

static int check_one(const struct policy_ask *a, struct grant *g, struct err *e)
{
	if (a->with_cmd && g->kind != GRANT_HTTP)
		return err_set(e, ERR_INVALID,
			       "cmd: belongs to http: grants, not to %s",
			       grant_kind_name(g->kind));
	if (a->with_cmd && a->agent) /* F15 */
		return err_set(
			e, ERR_DENIED,
			"http:%s: an agent cannot ask for a grant with "
			"a command; a person grants it with boxery grant",
			g->name);
	if (g->kind == GRANT_ENV)
		return check_env(g->name, e);
	return g->kind == GRANT_FILE ? check_file(a->home, g, e) : 0;
}

int policy_check(const struct policy_ask *a, struct grantset *set,
		 const struct terms *t, struct err *e)
{
	for (size_t i = 0; i < set->count; i++) {
		if (terms_check(t, &set->grants[i], e) < 0 ||
		    check_one(a, &set->grants[i], e) < 0)
			return -1;
	}
	return grantset_normalize(set, e);
}
