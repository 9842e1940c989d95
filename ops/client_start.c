#include "ops/client_start.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define RETRY_MS 20
/* what a failed start may say */
#define COMPLAINT_LEN 4096
#define DEFAULT_PATH \
	"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static bool nobody_there(const struct err *e)
{
	return e->errnum == ENOENT || e->errnum == ECONNREFUSED;
}

/* The service's program: of the same build as ours when that lies beside. */
static char *find_program(void)
{
	static const char *const beside[] = {"boxery-host"};
	char *path = path_beside_program(beside, ARRAY_COUNT(beside));

	return path ? path : alloc_str(beside[0]);
}

/* The environment a service gets; envp and what it points to are freed by
 * env_free(). */
static char **env_new(const struct home *h)
{
	static const char *const kept[] = {"HOME", "LANG", "USER"};
	const char *path = secure_getenv("PATH");
	char **env = alloc_array(ARRAY_COUNT(kept) + 3, sizeof(*env));
	size_t n = 0;

	env[n++] = alloc_printf("PATH=%s", path && *path ? path : DEFAULT_PATH);
	if (h->relocated)
		env[n++] = alloc_printf("BOXERY_HOME=%s", h->relocated);
	for (size_t i = 0; i < ARRAY_COUNT(kept); i++) {
		const char *value = secure_getenv(kept[i]);

		if (value)
			env[n++] = alloc_printf("%s=%s", kept[i], value);
	}
	return env;
}

static void env_free(char **env)
{
	for (char **p = env; *p; p++)
		free(*p);
	free(env);
}

/*
 * `serve --background` returns when the service listens, or says on stderr why
 * it does not.
 */
static int spawn(const struct home *h, struct deadline d, struct err *e)
{
	autofree char *program = find_program();
	const char *argv[] = {program, "serve", "--background", NULL};
	char **env = env_new(h);
	autoclose int read_fd = -1;
	autoclose int write_fd = -1;
	struct proc_opts opts = {.in_fd = -1,
				 .out_fd = -1,
				 .cwd = "/",
				 .env = env,
				 .detach = true};
	struct buf said;
	int fds[2], status;
	int rc = -1;
	pid_t pid;

	buf_init(&said, COMPLAINT_LEN);
	if (fd_pipe(fds, e) != 0)
		goto out;
	read_fd = fds[0];
	write_fd = fds[1];
	opts.err_fd = write_fd;
	pid = proc_spawn(argv, &opts, e);
	close(TAKE_FD(write_fd));
	if (pid < 0) {
		err_wrap(e, "starting the service (is boxery-host installed?)");
		goto out;
	}
	if (fd_read_to_end(read_fd, &said, d, e) != 0 ||
	    proc_wait(pid, d, &status, e) != 0) {
		/* a client may live long: it keeps no zombies */
		proc_kill(pid);
		err_wrap(e, "starting the service (its log: %s/host.log)",
			 h->state);
		goto out;
	}
	if (status != 0) {
		err_set(e, ERR_UNAVAILABLE, "the service did not start: %s",
			said.len > 0 ? said.data : "it said nothing");
		goto out;
	}
	rc = 0;
out:
	env_free(env);
	buf_finish(&said);
	return rc;
}

/* flock(2) with a deadline; the fd holds the lock. */
static int lock_file(const char *path, struct deadline d, struct err *e)
{
	autoclose int fd =
		open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return err_sys(e, "%s", path);
	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_sys(e, "locking %s", path);
		if (deadline_check(d, "waiting for the service to start", e) !=
		    0)
			return -1;
		deadline_sleep_ms(RETRY_MS);
	}
	return TAKE_FD(fd);
}

/* What answers must be ours: it is told what agents may do, and gets files. */
static int connect_own(const struct home *h, struct err *e)
{
	autoclose int fd = fd_unix_connect(h->socket, e);
	uid_t uid;

	if (fd < 0 || fd_peer_uid(fd, &uid, e) != 0)
		return -1;
	if (uid != geteuid())
		return err_set(e, ERR_DENIED,
			       "%s is served by uid %u and not by you, uid %u",
			       h->socket, (unsigned)uid, (unsigned)geteuid());
	return TAKE_FD(fd);
}

static int start(const struct home *h, struct deadline d, struct err *e)
{
	autofree char *lock_path = NULL;
	autoclose int lock_fd = -1;
	struct err refused = {0};
	int fd;

	if (home_make_dirs(h, e) != 0)
		return -1;
	lock_path = path_join(h->run, "start.lock");
	lock_fd = lock_file(lock_path, d, e);
	if (lock_fd < 0)
		return -1;
	/* somebody was faster */
	fd = connect_own(h, &refused);
	if (fd >= 0)
		return fd;
	if (spawn(h, d, e) != 0)
		return -1;
	return connect_own(h, e);
}

int client_start(const struct home *h, bool may_start, struct deadline d,
		 struct err *e)
{
	struct err refused = {0};
	int fd = connect_own(h, &refused);

	if (fd >= 0)
		return fd;
	if (!nobody_there(&refused)) {
		*e = refused;
		return -1;
	}
	if (!may_start)
		return err_set(e, ERR_UNAVAILABLE,
			       "the service is not running (%s)", h->socket);
	return start(h, d, e);
}

int client_start_wait_gone(const struct home *h, struct deadline d,
			   struct err *e)
{
	autofree char *path = path_join(h->state, "host.lock");
	autoclose int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(e, "%s", path);
	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_sys(e, "locking %s", path);
		if (deadline_check(d, "waiting for the service to end", e) != 0)
			return -1;
		deadline_sleep_ms(RETRY_MS);
	}
	return 0;
}
