/*
 * Starting programs. The parent prepares everything that needs memory (the
 * file of argv[0] in PATH); between fork and exec the child makes only
 * async-signal-safe calls, because other threads may have held any lock at
 * the moment of the fork. The child reports a failure through a pipe that its
 * exec closes.
 *
 * PR_SET_PDEATHSIG fires when the THREAD that forked ends, not the process: a
 * child started by a connection's thread would die with that thread. So all
 * children that must die with us are forked by one thread, the spawner, which
 * is started on first use and lasts as long as the process. The signal covers
 * the child itself, not what it starts in turn, and a set-uid program loses it
 * at exec (prctl(2)).
 */
#include "base/proc.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXEC_MS 30000  /* a program on a network file system may take long */
#define TERM_MS 2000   /* from SIGTERM to SIGKILL */
#define REAP_MS 10000  /* from SIGKILL to its end; longer is the kernel's */
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"

enum stage { STAGE_FDS, STAGE_CWD, STAGE_LIMITS, STAGE_EXEC };

/* What a child that could not start says. */
struct report {
	enum stage stage;
	int errnum;
};

struct plan {
	const char *file; /* argv[0] as found in PATH */
	char *const *argv;
	const struct proc_opts *opts;
	char *const *env;
	int report_fd;
	pid_t parent;
};

/* -- in the child: async-signal-safe calls only ------------------------------ */

__attribute__((noreturn)) static void give_up(int report_fd, enum stage stage)
{
	const struct report r = {stage, errno};

	if (write(report_fd, &r, sizeof(r)) < 0)
		_exit(126);
	_exit(127);
}

static void reset_signals(void)
{
	struct sigaction sa = {.sa_handler = SIG_DFL};
	sigset_t none;

	/* SIGKILL, SIGSTOP and the C library's own are refused: no matter */
	for (int sig = 1; sig < NSIG; sig++)
		sigaction(sig, &sa, NULL);
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
}

static int lift(int fd)
{
	if (fd < 0)
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

/* The three given fds become 0, 1, 2, all others end at exec. They are lifted
 * out of the way first: one may be another's target. */
static int place_fds(const struct proc_opts *o)
{
	int in = lift(o->in_fd);
	int out = lift(o->out_fd);
	int err = lift(o->err_fd);

	if (in < 0 || out < 0 || err < 0 || dup2(in, 0) < 0 ||
	    dup2(out, 1) < 0 || dup2(err, 2) < 0)
		return -1;
	return close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
}

static int limit(int what, uint64_t to)
{
	const struct rlimit r = {to, to};

	return setrlimit((__rlimit_resource_t)what, &r);
}

static int confine(const struct proc_limits *l)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    limit(RLIMIT_CORE, 0) < 0 || limit(RLIMIT_AS, l->memory_len) < 0 ||
	    limit(RLIMIT_FSIZE, l->file_len) < 0 ||
	    limit(RLIMIT_CPU, l->cpu_s) < 0)
		return -1;
	return 0;
}

__attribute__((noreturn)) static void run_child(const struct plan *p)
{
	int report_fd = fcntl(p->report_fd, F_DUPFD_CLOEXEC, 3);

	if (report_fd < 0)
		_exit(126);
	if (p->opts->detach) {
		setsid();
	} else {
		setpgid(0, 0);
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
			give_up(report_fd, STAGE_FDS);
		/* it ended before the signal was asked for */
		if (getppid() != p->parent)
			_exit(126);
	}
	if (place_fds(p->opts) < 0)
		give_up(report_fd, STAGE_FDS);
	if (p->opts->cwd && chdir(p->opts->cwd) < 0)
		give_up(report_fd, STAGE_CWD);
	reset_signals();
	if (p->opts->limits && confine(p->opts->limits) < 0)
		give_up(report_fd, STAGE_LIMITS);
	execve(p->file, p->argv, p->env);
	give_up(report_fd, STAGE_EXEC);
}

/* -- the spawner ------------------------------------------------------------- */

struct request {
	const struct plan *plan;
	pid_t ret_pid;
	int ret_errnum;
	bool done;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wanted = PTHREAD_COND_INITIALIZER;
static pthread_cond_t answered = PTHREAD_COND_INITIALIZER;
static struct request *pending;
static pid_t spawner_of; /* the process whose spawner runs; a fork has none */

/* All signals are blocked here: a handler of ours must not run in the child
 * before reset_signals(). */
static pid_t fork_blocked(const struct plan *p)
{
	sigset_t all, old;
	pid_t pid;
	int saved;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pid = fork();
	if (pid == 0)
		run_child(p);
	saved = errno;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = saved;
	return pid;
}

__attribute__((noreturn)) static void *spawner(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	for (;;) {
		struct request *r = pending;

		if (!r || r->done) {
			pthread_cond_wait(&wanted, &lock);
			continue;
		}
		r->ret_pid = fork_blocked(r->plan);
		r->ret_errnum = errno;
		r->done = true;
		pthread_cond_broadcast(&answered);
	}
}

/* lock is held. Returns 0 or an errno. */
static int start_spawner(void)
{
	struct sigaction sa;
	sigset_t all, old;
	pthread_t thread;
	int rc;

	if (spawner_of == getpid())
		return 0;
	/* our own parent may have left SIGCHLD ignored: nothing to wait for */
	if (sigaction(SIGCHLD, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN)
		sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL},
			  NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&thread, NULL, spawner, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc == 0) {
		pthread_detach(thread);
		spawner_of = getpid();
	}
	return rc;
}

/* fork(2) by the spawner: a pid, or -1 with errno. It waits for no more than
 * other threads' forks. */
static pid_t fork_by_spawner(const struct plan *p)
{
	struct request r = {.plan = p, .ret_pid = -1};

	pthread_mutex_lock(&lock);
	r.ret_errnum = start_spawner();
	if (r.ret_errnum == 0) {
		while (pending)
			pthread_cond_wait(&answered, &lock);
		pending = &r;
		pthread_cond_signal(&wanted);
		while (!r.done)
			pthread_cond_wait(&answered, &lock);
		pending = NULL;
		pthread_cond_broadcast(&answered);
	}
	pthread_mutex_unlock(&lock);
	errno = r.ret_errnum;
	return r.ret_pid;
}

/* -- in the parent ------------------------------------------------------------ */

/* The file that argv[0] names, as execvp(3) finds it; NULL with errno. */
static char *find_program(const char *name)
{
	const char *path = secure_getenv("PATH");
	int why = ENOENT;

	if (name[0] == '\0') {
		errno = ENOENT;
		return NULL;
	}
	if (strchr(name, '/'))
		return alloc_str(name);
	if (!path || !path[0])
		path = DEFAULT_PATH;
	for (;;) {
		size_t len = strcspn(path, ":");
		autofree char *file =
			alloc_printf("%.*s%s%s", (int)len, path,
				     len > 0 ? "/" : "./", name);
		struct stat st;

		if (stat(file, &st) == 0 && S_ISREG(st.st_mode)) {
			if (access(file, X_OK) == 0)
				return TAKE_PTR(file);
			why = errno;
		}
		if (path[len] == '\0')
			break;
		path += len + 1;
	}
	errno = why;
	return NULL;
}

static void reap(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* What the child had to say before its exec closed the pipe. */
static int read_report(int fd, pid_t pid, const struct plan *p, struct err *e)
{
	struct buf text;
	struct report r;
	int rc;

	buf_init(&text, sizeof(r));
	rc = fd_read_to_end(fd, &text, deadline_in_ms(EXEC_MS), e);
	if (rc < 0) {
		err_wrap(e, "starting %s", p->argv[0]);
		kill(pid, SIGKILL);
	} else if (text.len == sizeof(r)) {
		memcpy(&r, text.data, sizeof(r));
		errno = r.errnum;
		rc = err_sys(e, "starting %s%s%s", p->argv[0],
			     r.stage == STAGE_CWD ? " in " : "",
			     r.stage == STAGE_CWD ? p->opts->cwd : "");
	}
	if (rc < 0)
		reap(pid);
	buf_finish(&text);
	return rc;
}

pid_t proc_spawn(const char *const *argv, const struct proc_opts *o,
		 struct err *e)
{
	autofree char *file = find_program(argv[0]);
	struct plan p = {.file = file, .opts = o, .parent = getpid()};
	int fds[2];
	autoclose int report_fd = -1;
	pid_t pid;

	if (!file)
		return err_sys(e, "starting %s", argv[0]);
	if (fd_pipe(fds, e) < 0)
		return -1;
	report_fd = fds[0];
	p.report_fd = fds[1];
	/* execve(2) does not write to them */
	memcpy(&p.argv, &argv, sizeof(p.argv));
	p.env = o->env ? o->env : environ;
	pid = o->detach ? fork_blocked(&p) : fork_by_spawner(&p);
	close(fds[1]);
	if (pid < 0)
		return err_sys(e, "starting %s", argv[0]);
	return read_report(report_fd, pid, &p, e) < 0 ? -1 : pid;
}

/* Until the child has ended; it is not reaped. */
static int wait_end(pid_t pid, struct deadline d, struct err *e)
{
	autoclose int fd = pidfd_open(pid, 0);
	struct pollfd pf = {.fd = fd, .events = POLLIN};

	if (fd < 0)
		return err_sys(e, "waiting for process %d", (int)pid);
	return deadline_poll(&pf, 1, d, "waiting for a program to end", e) < 0
		       ? -1
		       : 0;
}

int proc_wait(pid_t pid, struct deadline d, int *ret_status, struct err *e)
{
	int status;
	pid_t rc;

	if (wait_end(pid, d, e) < 0)
		return -1;
	do {
		rc = waitpid(pid, &status, 0);
	} while (rc < 0 && errno == EINTR);
	if (rc < 0)
		return err_sys(e, "waiting for process %d", (int)pid);
	*ret_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status)
					  : WEXITSTATUS(status);
	return 0;
}

void proc_kill(pid_t pid)
{
	proc_kill_in(pid, TERM_MS);
}

void proc_kill_in(pid_t pid, int64_t term_ms)
{
	int status;

	kill(-pid, SIGTERM);
	(void)!wait_end(pid, deadline_in_ms(term_ms), NULL);
	/* the child is not reaped, so its group's number is still its own:
	 * what it left behind goes too */
	kill(-pid, SIGKILL);
	if (proc_wait(pid, deadline_in_ms(REAP_MS), &status, NULL) < 0)
		log_debug("process %d does not end", (int)pid);
}
