/*
 * boxery-host: the service, and two small things that run on its host for
 * others: `known-hosts` (for OpenSSH) and `rpc` (for a client elsewhere, over
 * ssh).
 *
 * `serve --background` forks before there is any thread: the child becomes the
 * service, the parent waits on a pipe until the child listens (it says "ok")
 * or says what is wrong, and ends with that. So whoever started it knows.
 */
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/home.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/path.h"
#include "base/version.h"
#include "vmctl/audit.h"
#include "vmctl/hostlog.h"
#include "vmctl/instance.h"
#include "vmctl/rpcjoin.h"
#include "vmctl/serve.h"
#include "vmctl/service.h"
#include "vmctl/sshconfig.h"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage[] =
	"usage: boxery-host [--home DIR] serve [--background]\n"
	"       boxery-host [--home DIR] known-hosts NAME\n"
	"       boxery-host [--home DIR] rpc\n"
	"       boxery-host --version\n";

#define READY "ok"
#define KNOWN_HOSTS_CAP 4096

struct running {
	struct service service;
	char *log_path; /* NULL: stderr is somebody else's business */
	int ready_fd;	/* the parent of a background start, or -1 */
};

static int fail(const struct err *e)
{
	fprintf(stderr, "boxery-host: %s\n", err_msg(e));
	return err_exit_status(e->code);
}

/* ---- the process ------------------------------------------------------------
 */

static void raise_limits(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) != 0)
		return;
	r.rlim_cur = r.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &r) != 0)
		log_debug("the limit of open files stays");
}

/* Keys are in memory, and a guest's bytes are what may crash us. */
static void leave_no_core(void)
{
	const struct rlimit none = {0, 0};

	if (setrlimit(RLIMIT_CORE, &none) != 0)
		log_debug("core dumps stay as they were");
}

/* Programs that we run may live where a user's PATH does not look. */
static void widen_path(void)
{
	const char *path = secure_getenv("PATH");
	autofree char *wide = alloc_printf(
		"%s:/usr/sbin:/sbin", path && *path ? path : "/usr/bin:/bin");

	/* no thread runs yet: NOLINTNEXTLINE(concurrency-mt-unsafe) */
	setenv("PATH", wide, 1);
}

/* SIGTERM and SIGINT arrive as a readable fd; threads inherit the mask. */
static int take_signals(struct err *e)
{
	sigset_t set;
	int fd;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0)
		return err_sys(e, "blocking signals");
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return err_sys(e, "signalfd");
	return fd;
}

static void every_tick(void *ctx)
{
	struct running *r = ctx;

	if (r->log_path)
		hostlog_rotate(r->log_path);
}

static void say_ready(struct running *r)
{
	if (r->ready_fd < 0)
		return;
	if (write(r->ready_fd, READY, strlen(READY)) < 0)
		log_debug("nobody waited for the start");
	close(r->ready_fd);
	r->ready_fd = -1;
}

static int run(struct running *r, struct err *e)
{
	struct service *s = &r->service;
	autofree char *audit_path = path_join(s->home.state, "audit.jsonl");
	struct audit *audit = NULL;
	autoclose int signal_fd = take_signals(e);
	struct serve_opts opts = {
		.service = s,
		.handler = service_handler,
		.signal_fd = signal_fd,
		.socket_path = s->home.socket,
		.tick = every_tick,
		.ctx = r,
	};
	unsigned stuck = 0;
	int rc = -1;

	if (signal_fd < 0 || service_open(s, e) != 0 ||
	    audit_open(audit_path, &audit, e) != 0 ||
	    service_watch(s, audit, e) != 0)
		goto out;
	opts.audit = audit;
	opts.listen_fd = instance_listen(&s->home, e);
	if (opts.listen_fd < 0 || serve_new(&opts, &s->serve, e) != 0)
		goto out;
	log_info("boxery-host %s serves %s, pid %d", version_string(),
		 s->home.socket, (int)getpid());
	say_ready(r);
	rc = serve_run(s->serve, e);
	stuck = serve_counts(s->serve).calls;
	if (stuck > 0) {
		/* their threads may use anything: nothing is freed */
		log_warn("ends with %u calls that did not", stuck);
		_exit(0);
	}
	log_info("ended");
out:
	serve_free(s->serve);
	service_close(s);
	audit_free(audit);
	return rc;
}

/* In the child of a background start, or in the foreground. */
static int serve_here(struct running *r, struct err *e)
{
	struct home *h = &r->service.home;
	autoclose int lock_fd = -1;

	umask(077);
	raise_limits();
	leave_no_core();
	widen_path();
	/* a few threads at a time do not need an arena for each core; none
	 * runs yet: NOLINTNEXTLINE(concurrency-mt-unsafe) */
	mallopt(M_ARENA_MAX, 2);
	lock_fd = instance_lock(h, deadline_in_ms(LIMIT_SERVICE_START_MS), e);
	if (lock_fd < 0)
		return -1;
	if (r->log_path && hostlog_open(r->log_path, e) != 0)
		return -1;
	if (run(r, e) != 0) {
		if (r->log_path)
			log_error("%s", err_msg(e));
		return -1;
	}
	return 0;
}

/* ---- serve
 * ------------------------------------------------------------------- */

/* What our starter had open (a lock, a pipe that somebody reads to its end)
 * must not stay so for as long as the service lives. */
static int close_others(int keep_fd)
{
	const unsigned first = STDERR_FILENO + 1;
	unsigned keep = (unsigned)keep_fd;

	if (keep > first && close_range(first, keep - 1, 0) != 0)
		return -1;
	return close_range(keep + 1, ~0U, 0);
}

/* The background service's own start: nothing of ours stays with it. */
static int become_background(struct running *r, struct err *e)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 ||
	    dup2(null_fd, STDOUT_FILENO) < 0 || chdir("/") != 0)
		return err_sys(e, "going to the background");
	close(null_fd);
	if (close_others(r->ready_fd) != 0)
		return err_sys(e, "closing what was open");
	r->log_path = path_join(r->service.home.state, "host.log");
	return 0;
}

static void background_child(struct running *r)
{
	struct err e = {0};

	if (become_background(r, &e) == 0 && serve_here(r, &e) == 0)
		_exit(0);
	if (r->ready_fd >= 0 &&
	    write(r->ready_fd, err_msg(&e), strlen(err_msg(&e))) < 0)
		log_error("%s", err_msg(&e));
	_exit(err_exit_status(e.code));
}

static int serve_background(struct running *r, struct err *e)
{
	struct buf said;
	int fds[2];
	pid_t pid;
	int rc;

	if (fd_pipe(fds, e) != 0)
		return -1;
	pid = fork();
	if (pid < 0) {
		close(fds[0]);
		close(fds[1]);
		return err_sys(e, "fork");
	}
	if (pid == 0) {
		close(fds[0]);
		r->ready_fd = fds[1];
		background_child(r);
	}
	close(fds[1]);
	buf_init(&said, sizeof(e->msg));
	rc = fd_read_to_end(fds[0], &said,
			    deadline_in_ms(2L * LIMIT_SERVICE_START_MS), e);
	close(fds[0]);
	if (rc == 0 && strcmp(said.data, READY) != 0)
		rc = err_set(e, ERR_UNAVAILABLE, "%s",
			     said.len > 0 ? said.data
					  : "the service died at its start");
	buf_finish(&said);
	return rc;
}

static int cmd_serve(struct running *r, int argc, char *argv[])
{
	struct err e = {0};
	bool background = argc == 1 && strcmp(argv[0], "--background") == 0;
	int rc;

	if (argc > 0 && !background) {
		fputs(usage, stderr);
		return err_exit_status(ERR_INVALID);
	}
	if (home_make_dirs(&r->service.home, &e) != 0)
		return fail(&e);
	rc = background ? serve_background(r, &e) : serve_here(r, &e);
	return rc == 0 ? 0 : fail(&e);
}

/* ---- main
 * ---------------------------------------------------------------------- */

static int cmd_rpc(const struct home *h)
{
	struct err e = {0};

	return rpcjoin_run(h, STDIN_FILENO, STDOUT_FILENO, &e) == 0 ? 0
								    : fail(&e);
}

/* OpenSSH's KnownHostsCommand: it runs without the service. */
static int cmd_known_hosts(const struct home *h, const char *host)
{
	struct err e = {0};
	struct buf out;
	int rc;

	buf_init(&out, KNOWN_HOSTS_CAP);
	rc = sshconfig_known_hosts(h, host, &out, &e);
	if (rc == 0 && fwrite(out.data, 1, out.len, stdout) != out.len)
		rc = err_sys(&e, "writing");
	buf_finish(&out);
	return rc == 0 ? 0 : fail(&e);
}

static int command(struct running *r, int argc, char *argv[])
{
	if (argc >= 1 && strcmp(argv[0], "serve") == 0)
		return cmd_serve(r, argc - 1, argv + 1);
	if (argc == 2 && strcmp(argv[0], "known-hosts") == 0)
		return cmd_known_hosts(&r->service.home, argv[1]);
	if (argc == 1 && strcmp(argv[0], "rpc") == 0)
		return cmd_rpc(&r->service.home);
	fputs(usage, stderr);
	return err_exit_status(ERR_INVALID);
}

int main(int argc, char *argv[])
{
	struct running r = {.ready_fd = -1};
	const char *dir = NULL;
	struct err e = {0};
	int at = 1;
	int status;

	log_init("boxery-host", LOG_INFO);
	if (fd_fill_std(&e) != 0)
		return fail(&e);
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		printf("boxery-host %s\n", version_string());
		return 0;
	}
	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		fputs(usage, stdout);
		return 0;
	}
	if (argc > 2 && strcmp(argv[1], "--home") == 0) {
		dir = argv[2];
		at = 3;
	}
	if (home_init(&r.service.home, dir, &e) != 0)
		return fail(&e);
	status = command(&r, argc - at, argv + at);
	service_close(&r.service);
	free(r.log_path);
	return status;
}
