#include "base/proc.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/path.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOON deadline_in_ms(30000)
#define NOTHING {.in_fd = -1, .out_fd = -1, .err_fd = -1}

static const char *const sleeper[] = {"sleep", "1000", NULL};

/* The output of a shell script that must succeed. free() */
static char *sh(const char *script)
{
	const char *argv[] = {"sh", "-c", script, NULL};
	struct err e = {0};
	struct buf out;
	struct proc_run r = {.out = &out, .cancel_fd = -1};
	char *text;

	buf_init(&out, 1 << 16);
	assert_ok(proc_run(argv, &r, SOON, &e), &e);
	text = buf_take(&out);
	buf_finish(&out);
	return text;
}

/* What the kernel says of a process: 'R', 'S', 'Z'…; 0 when it is gone. */
static char state_of(pid_t pid)
{
	autofree char *path = alloc_printf("/proc/%d/stat", (int)pid);
	autofree char *data = NULL;
	const char *at;
	size_t len;

	if (path_read_file(path, 4096, &data, &len, NULL) < 0)
		return 0;
	at = strrchr(data, ')');
	return at ? at[2] : 0;
}

static bool goes_away(pid_t pid)
{
	for (int i = 0; i < 1000; i++) {
		char c = state_of(pid);

		if (c == 0 || c == 'Z')
			return true;
		deadline_sleep_ms(10);
	}
	return false;
}

static void statuses(void **state)
{
	static const struct {
		const char *script;
		int want;
	} rows[] = {
		{"exit 0", 0},
		{"exit 3", 3},
		{"exit 255", 255},
		{"kill -TERM $$", 128 + SIGTERM},
		{"kill -KILL $$", 128 + SIGKILL},
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		const char *argv[] = {"sh", "-c", rows[i].script, NULL};
		const struct proc_opts o = NOTHING;
		struct err e = {0};
		int status = -1;
		pid_t pid = proc_spawn(argv, &o, &e);

		assert_ok(pid, &e);
		assert_ok(proc_wait(pid, SOON, &status, &e), &e);
		assert_int_equal(status, rows[i].want);
		/* by proc_run too */
		struct proc_run r = {.cancel_fd = -1, .ret_status = &status};
		status = -1;
		assert_ok(proc_run(argv, &r, SOON, &e), &e);
		assert_int_equal(status, rows[i].want);
	}
}

static void failures_to_start(void **state)
{
	const char *plain = unit_path("plain");
	const char *bad_script = unit_path("bad");
	const struct {
		const char *name, *cwd;
		enum err_code code;
		const char *text;
	} rows[] = {
		{"no-such-program-here", NULL, ERR_NOT_FOUND,
		 "starting no-such-program-here: No such file"},
		{"/no/such/program", NULL, ERR_NOT_FOUND, "No such file"},
		{"", NULL, ERR_NOT_FOUND, "No such file"},
		{plain, NULL, ERR_DENIED, "Permission denied"},
		{bad_script, NULL, ERR_NOT_FOUND, "No such file"},
		{"/", NULL, ERR_DENIED, "Permission denied"},
		{"true", "/no/such/folder", ERR_NOT_FOUND,
		 "starting true in /no/such/folder"},
	};
	struct err e = {0};

	(void)state;
	assert_ok(path_write_file(plain, "x", 1, 0600, &e), &e);
	assert_ok(path_write_file(bad_script, "#!/no/such/shell\n", 17, 0700,
				  &e),
		  &e);
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		const char *argv[] = {rows[i].name, NULL};
		struct proc_opts o = NOTHING;

		o.cwd = rows[i].cwd;
		assert_fails(proc_spawn(argv, &o, &e), &e, rows[i].code,
			     rows[i].text);
	}
	/* no child is left over */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

/* Fds that were not given end at exec, whether they are O_CLOEXEC or not. */
static void only_given_fds(void **state)
{
	int stray = open("/dev/null", O_RDONLY);
	int far = dup2(stray, 200);
	autofree char *text = NULL;

	(void)state;
	assert_true(stray >= 0 && far == 200);
	/* 3 is the folder that is being listed */
	text = sh("ls /proc/self/fd");
	assert_string_equal(text, "0\n1\n2\n3\n");
	close(stray);
	close(far);
}

/* Any of the three may be given in any place, also one of our own 0..2. */
static void fds_change_places(void **state)
{
	const char *argv[] = {"sh", "-c", "cat; echo err >&2", NULL};
	int saved_in = fcntl(0, F_DUPFD_CLOEXEC, 10);
	int saved_out = fcntl(1, F_DUPFD_CLOEXEC, 10);
	struct err e = {0};
	struct buf out;
	int in[2], both[2];
	int status = -1;
	pid_t pid;

	(void)state;
	assert_ok(fd_pipe(in, &e), &e);
	assert_ok(fd_pipe(both, &e), &e);
	assert_ok(fd_write_all(in[1], "in\n", 3, SOON, &e), &e);
	close(in[1]);
	/* stdin comes from our 1, stdout and stderr go to our 0 */
	dup2(in[0], 1);
	dup2(both[1], 0);
	pid = proc_spawn(argv,
			 &(struct proc_opts){.in_fd = 1, .out_fd = 0,
					     .err_fd = 0},
			 &e);
	dup2(saved_in, 0);
	dup2(saved_out, 1);
	close(saved_in);
	close(saved_out);
	close(in[0]);
	close(both[1]);
	assert_ok(pid, &e);
	buf_init(&out, 100);
	assert_ok(fd_read_to_end(both[0], &out, SOON, &e), &e);
	assert_string_equal(out.data, "in\nerr\n");
	assert_ok(proc_wait(pid, SOON, &status, &e), &e);
	assert_int_equal(status, 0);
	buf_finish(&out);
	close(both[0]);
}

static uint64_t signals_of(const char *status, const char *key)
{
	const char *at = strstr(status, key);

	assert_non_null(at);
	/* 32 and 33 belong to the C library, which lets nobody touch them */
	return strtoull(at + strlen(key), NULL, 16) & ~(3ULL << 31);
}

/* Nothing of our signals reaches it, and it leads a group of its own. */
static void fresh_signals_and_group(void **state)
{
	autofree char *text = NULL;
	sigset_t all, old;

	(void)state;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	text = sh("cat /proc/self/status; "
		  "set -- $(cat /proc/$$/stat); [ $1 = $5 ] && echo leads");
	signal(SIGINT, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	assert_int_equal(signals_of(text, "SigBlk:"), 0);
	assert_int_equal(signals_of(text, "SigIgn:"), 0);
	assert_non_null(strstr(text, "leads\n"));
}

static void environment_and_folder(void **state)
{
	const char *argv[] = {"/bin/sh", "-c", "pwd; env | grep -v ^PWD",
			      NULL};
	char *env[] = {(char[]){"ONE=1"}, NULL};
	struct err e = {0};
	struct buf out;
	int fds[2];
	int status;
	pid_t pid;

	(void)state;
	assert_ok(fd_pipe(fds, &e), &e);
	pid = proc_spawn(argv,
			 &(struct proc_opts){.in_fd = -1, .out_fd = fds[1],
					     .err_fd = -1, .cwd = "/usr",
					     .env = env},
			 &e);
	close(fds[1]);
	assert_ok(pid, &e);
	buf_init(&out, 1000);
	assert_ok(fd_read_to_end(fds[0], &out, SOON, &e), &e);
	assert_string_equal(out.data, "/usr\nONE=1\n");
	assert_ok(proc_wait(pid, SOON, &status, &e), &e);
	buf_finish(&out);
	close(fds[0]);
}

static void *spawn_in_thread(void *arg)
{
	const struct proc_opts o = NOTHING;

	*(pid_t *)arg = proc_spawn(sleeper, &o, NULL);
	return NULL;
}

/* The death signal is bound to the thread that forked: not to the caller. */
static void outlives_the_calling_thread(void **state)
{
	struct err e = {0};
	pthread_t thread;
	pid_t pid = -1;
	int status;

	(void)state;
	pthread_create(&thread, NULL, spawn_in_thread, &pid);
	pthread_join(thread, NULL);
	assert_true(pid > 0);
	assert_fails(proc_wait(pid, deadline_in_ms(200), &status, &e), &e,
		     ERR_TIMEOUT, "program to end");
	assert_int_equal(state_of(pid), 'S');
	proc_kill(pid);
	assert_int_equal(state_of(pid), 0);
}

/* A helper process, this same program: starts a sleeper from a thread that
 * ends, says its pid and waits to be killed. */
static int parent_that_is_killed(bool detach)
{
	struct proc_opts o = NOTHING;
	pid_t pid;

	o.detach = detach;
	pid = proc_spawn(sleeper, &o, NULL);
	printf("%d\n", (int)pid);
	fflush(stdout);
	deadline_sleep_ms(60000);
	return 1;
}

static void dies_with_us_unless_detached(void **state)
{
	static const char *const modes[] = {"--parent", "--detaching-parent"};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(modes); i++) {
		const char *argv[] = {"/proc/self/exe", modes[i], NULL};
		char text[32] = "";
		struct err e = {0};
		pid_t parent, child;
		int fds[2];
		int status;

		assert_ok(fd_pipe(fds, &e), &e);
		parent = proc_spawn(argv,
				    &(struct proc_opts){.in_fd = -1,
							.out_fd = fds[1],
							.err_fd = 2},
				    &e);
		close(fds[1]);
		assert_ok(parent, &e);
		assert_true(read(fds[0], text, sizeof(text) - 1) > 1);
		close(fds[0]);
		child = (pid_t)strtol(text, NULL, 10);
		assert_true(child > 1);
		assert_int_equal(kill(parent, SIGKILL), 0);
		assert_ok(proc_wait(parent, SOON, &status, &e), &e);
		assert_int_equal(status, 128 + SIGKILL);
		if (i == 0) {
			assert_true(goes_away(child));
			continue;
		}
		deadline_sleep_ms(100);
		assert_int_equal(state_of(child), 'S');
		assert_int_equal(getsid(child), child);
		assert_int_equal(kill(child, SIGKILL), 0);
	}
}

/* A helper process again: its own parent left SIGCHLD ignored. */
static int reap_all_the_same(void)
{
	const char *argv[] = {"sh", "-c", "exit 7", NULL};
	const struct proc_opts o = NOTHING;
	int status = -1;
	pid_t pid;

	signal(SIGCHLD, SIG_IGN);
	pid = proc_spawn(argv, &o, NULL);
	if (pid < 0 || proc_wait(pid, SOON, &status, NULL) < 0)
		return 1;
	return status == 7 ? 0 : 2;
}

static void sigchld_may_be_ignored(void **state)
{
	const char *argv[] = {"/proc/self/exe", "--ignoring", NULL};
	struct proc_run r = {.cancel_fd = -1};
	struct err e = {0};

	(void)state;
	assert_ok(proc_run(argv, &r, SOON, &e), &e);
}

/* SIGTERM is refused, and there is a grandchild: both go. */
static void kill_takes_the_group(void **state)
{
	const char *argv[] = {"sh", "-c",
			      "trap '' TERM; sleep 1000 & echo $!; "
			      "while :; do sleep 1000; done",
			      NULL};
	int64_t from = deadline_now_ms();
	char text[32] = "";
	struct err e = {0};
	pid_t pid, grandchild;
	int fds[2];

	(void)state;
	assert_ok(fd_pipe(fds, &e), &e);
	pid = proc_spawn(argv,
			 &(struct proc_opts){.in_fd = -1, .out_fd = fds[1],
					     .err_fd = -1},
			 &e);
	close(fds[1]);
	assert_ok(pid, &e);
	assert_true(read(fds[0], text, sizeof(text) - 1) > 1);
	close(fds[0]);
	grandchild = (pid_t)strtol(text, NULL, 10);
	proc_kill(pid);
	assert_int_equal(state_of(pid), 0);
	assert_true(goes_away(grandchild));
	assert_true(deadline_now_ms() - from >= 2000);
}

static void *spawn_many(void *arg)
{
	const char *argv[] = {"true", NULL};
	const struct proc_opts o = NOTHING;

	for (int i = 0; i < 10; i++) {
		int status = -1;
		pid_t pid = proc_spawn(argv, &o, NULL);

		if (pid < 0 || proc_wait(pid, SOON, &status, NULL) < 0 ||
		    status != 0)
			return arg;
	}
	return NULL;
}

static void many_threads_spawn(void **state)
{
	pthread_t threads[4];
	int failure;

	(void)state;
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, spawn_many, &failure);
	for (int i = 0; i < 4; i++) {
		void *failed = &failure;

		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(statuses),
	cmocka_unit_test(failures_to_start),
	cmocka_unit_test(only_given_fds),
	cmocka_unit_test(fds_change_places),
	cmocka_unit_test(fresh_signals_and_group),
	cmocka_unit_test(environment_and_folder),
	cmocka_unit_test(outlives_the_calling_thread),
	cmocka_unit_test(dies_with_us_unless_detached),
	cmocka_unit_test(sigchld_may_be_ignored),
	cmocka_unit_test(kill_takes_the_group),
	cmocka_unit_test(many_threads_spawn),
};

int main(int argc, char *argv[])
{
	if (argc > 1 && strcmp(argv[1], "--parent") == 0)
		return parent_that_is_killed(false);
	if (argc > 1 && strcmp(argv[1], "--detaching-parent") == 0)
		return parent_that_is_killed(true);
	if (argc > 1 && strcmp(argv[1], "--ignoring") == 0)
		return reap_all_the_same();
	return unit_run(tests, ARRAY_COUNT(tests), argc, argv);
}
