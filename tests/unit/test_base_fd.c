#include "base/fd.h"

#include "base/alloc.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOON deadline_in_ms(10000)
#define BIG_LEN (1 << 20)

static void assert_cloexec(int fd)
{
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

struct feed {
	int fd;
	const char *p;
	size_t len;
	int rc;
	struct err e;
};

static void *feed(void *arg)
{
	struct feed *f = arg;

	f->rc = fd_write_all(f->fd, f->p, f->len, SOON, &f->e);
	close(f->fd);
	return NULL;
}

/* More than any buffer holds, over each kind of fd, blocking or not. */
static void whole_transfers(void **state)
{
	char *data = alloc_zero(BIG_LEN);
	char *got = alloc_zero(BIG_LEN);

	(void)state;
	for (size_t i = 0; i < BIG_LEN; i++)
		data[i] = (char)(i * 7 >> 3);
	for (int kind = 0; kind < 4; kind++) {
		struct feed f = {.p = data, .len = BIG_LEN};
		struct err e = {0};
		pthread_t thread;
		int fds[2];

		if (kind & 1)
			assert_ok(fd_pipe(fds, &e), &e);
		else
			assert_ok(fd_pair(fds, &e), &e);
		assert_cloexec(fds[0]);
		assert_cloexec(fds[1]);
		if (kind & 2) {
			assert_ok(fd_set_nonblock(fds[0], &e), &e);
			assert_ok(fd_set_nonblock(fds[1], &e), &e);
		}
		f.fd = fds[1];
		pthread_create(&thread, NULL, feed, &f);
		memset(got, 0, BIG_LEN);
		assert_ok(fd_read_all(fds[0], got, BIG_LEN, SOON, &e), &e);
		assert_memory_equal(got, data, BIG_LEN);
		pthread_join(thread, NULL);
		assert_ok(f.rc, &f.e);
		assert_fails(fd_read_all(fds[0], got, 1, SOON, &e), &e,
			     ERR_PROTOCOL, "ended after 0 of 1 bytes");
		close(fds[0]);
	}
	free(data);
	free(got);
}

static void short_read_is_no_success(void **state)
{
	struct err e = {0};
	char got[10];
	int fds[2];

	(void)state;
	assert_ok(fd_pair(fds, &e), &e);
	assert_ok(fd_write_all(fds[1], "abc", 3, SOON, &e), &e);
	close(fds[1]);
	assert_fails(fd_read_all(fds[0], got, 10, SOON, &e), &e, ERR_PROTOCOL,
		     "after 3 of 10 bytes");
	close(fds[0]);
}

static void deadlines_hold(void **state)
{
	char *data = alloc_zero(BIG_LEN);

	(void)state;
	for (int kind = 0; kind < 2; kind++) {
		struct err e = {0};
		char c;
		int fds[2];

		if (kind)
			assert_ok(fd_pipe(fds, &e), &e);
		else
			assert_ok(fd_pair(fds, &e), &e);
		/* blocking fds that nobody reads or feeds */
		assert_fails(fd_write_all(fds[1], data, BIG_LEN,
					  deadline_in_ms(50), &e),
			     &e, ERR_TIMEOUT, "writing");
		while (fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0 &&
		       read(fds[0], data, BIG_LEN) > 0)
			;
		fcntl(fds[0], F_SETFL, 0);
		assert_fails(fd_read_all(fds[0], &c, 1, deadline_in_ms(50), &e),
			     &e, ERR_TIMEOUT, "reading");
		close(fds[0]);
		close(fds[1]);
	}
	free(data);
}

static void read_to_end_and_caps(void **state)
{
	static const struct {
		size_t len, cap;
		bool ok;
	} rows[] = {
		{0, 0, true},	{1, 0, false},	{10, 10, true},
		{11, 10, false}, {10, 11, true}, {50000, 65536, true},
	};
	static char data[50000];

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
		struct err e = {0};
		struct buf b;
		int fds[2];
		int rc;

		assert_ok(fd_pipe(fds, &e), &e);
		assert_ok(fd_write_all(fds[1], data, rows[i].len, SOON, &e),
			  &e);
		close(fds[1]);
		buf_init(&b, rows[i].cap);
		rc = fd_read_to_end(fds[0], &b, SOON, &e);
		if (rows[i].ok) {
			assert_ok(rc, &e);
			assert_int_equal(b.len, rows[i].len);
		} else {
			assert_fails(rc, &e, ERR_LIMIT, "more than");
		}
		buf_finish(&b);
		close(fds[0]);
	}
}

/* A reader that has gone is an error, not the end of the program, and a
 * SIGPIPE that was pending for another reason stays. */
static void no_sigpipe(void **state)
{
	sigset_t set, old, pending;

	(void)state;
	signal(SIGPIPE, SIG_DFL);
	for (int kind = 0; kind < 2; kind++) {
		struct err e = {0};
		int fds[2];

		if (kind)
			assert_ok(fd_pipe(fds, &e), &e);
		else
			assert_ok(fd_pair(fds, &e), &e);
		close(fds[0]);
		assert_fails(fd_write_all(fds[1], "x", 1, SOON, &e), &e,
			     ERR_SYSTEM, "Broken pipe");
		assert_int_equal(e.errnum, EPIPE);
		sigpending(&pending);
		assert_false(sigismember(&pending, SIGPIPE));

		sigemptyset(&set);
		sigaddset(&set, SIGPIPE);
		pthread_sigmask(SIG_BLOCK, &set, &old);
		raise(SIGPIPE);
		assert_int_equal(fd_write_some(fds[1], "x", 1), -1);
		sigpending(&pending);
		assert_true(sigismember(&pending, SIGPIPE));
		signal(SIGPIPE, SIG_IGN); /* drops it */
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		signal(SIGPIPE, SIG_DFL);
		close(fds[1]);
	}
}

static void unix_sockets(void **state)
{
	const char *path = unit_path("s.sock");
	struct err e = {0};
	struct stat st;
	uid_t uid = 12345;
	int listener, client, server;

	(void)state;
	assert_fails(fd_unix_connect(path, &e), &e, ERR_NOT_FOUND, path);
	listener = fd_unix_listen(path, &e);
	assert_ok(listener, &e);
	assert_cloexec(listener);
	client = fd_unix_connect(path, &e);
	assert_ok(client, &e);
	assert_cloexec(client);
	server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(server >= 0);
	assert_ok(fd_peer_uid(server, &uid, &e), &e);
	assert_int_equal(uid, getuid());
	assert_ok(fd_write_all(client, "hello", 5, SOON, &e), &e);
	close(client);
	close(server);
	assert_int_equal(stat(path, &st), 0);

	/* one is there, alive or stale: the caller's business */
	assert_fails(fd_unix_listen(path, &e), &e, ERR_SYSTEM, "in use");
	close(listener);
	assert_fails(fd_unix_connect(path, &e), &e, ERR_SYSTEM, "refused");
	assert_int_equal(e.errnum, ECONNREFUSED);
	assert_fails(fd_peer_uid(STDIN_FILENO, &uid, &e), &e, ERR_SYSTEM, "");
}

static void socket_is_private_under_any_umask(void **state)
{
	static const mode_t masks[] = {0, 022, 077, 0777};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(masks); i++) {
		char *name = alloc_printf("s%u", i);
		const char *path = unit_path(name);
		mode_t old = umask(masks[i]);
		struct err e = {0};
		struct stat st;
		int fd = fd_unix_listen(path, &e);

		umask(old);
		assert_ok(fd, &e);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode, S_IFSOCK | 0600);
		close(fd);
		free(name);
	}
}

/* What fd_unix_listen() stands on: the mode right after bind(), before its
 * chmod() could mend it. */
static void bind_takes_the_mode_of_the_socket(void **state)
{
	const char *path = unit_path("born");
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	mode_t old = umask(0);
	struct stat st;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	strncpy(addr.sun_path, path, sizeof(addr.sun_path) - 1);
	assert_int_equal(fchmod(fd, 0600), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	umask(old);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	close(fd);
}

static void socket_paths_have_107_bytes(void **state)
{
	const char *dir = unit_dir();
	char path[256];
	struct err e = {0};
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/", dir);
	memset(path + strlen(path), 'x', sizeof(path) - strlen(path));
	path[108] = '\0';
	assert_fails(fd_unix_listen(path, &e), &e, ERR_INVALID, "107");
	assert_fails(fd_unix_connect(path, &e), &e, ERR_INVALID, "108");
	path[107] = '\0';
	fd = fd_unix_listen(path, &e);
	assert_ok(fd, &e);
	close(fd);
	fd = fd_unix_listen("", &e);
	assert_fails(fd, &e, ERR_INVALID, "");
}

/* Started with its streams closed, a program must not write its output into
 * the next file that it opens. */
static void closed_streams_are_filled(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		struct err e = {0};
		int fd;

		close(0);
		close(2);
		if (fd_fill_std(&e) != 0 || fcntl(0, F_GETFL) < 0 ||
		    fcntl(2, F_GETFL) < 0)
			_exit(1);
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		_exit(fd > 2 ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(closed_streams_are_filled),
	cmocka_unit_test(whole_transfers),
	cmocka_unit_test(short_read_is_no_success),
	cmocka_unit_test(deadlines_hold),
	cmocka_unit_test(read_to_end_and_caps),
	cmocka_unit_test(no_sigpipe),
	cmocka_unit_test(unix_sockets),
	cmocka_unit_test(socket_is_private_under_any_umask),
	cmocka_unit_test(bind_takes_the_mode_of_the_socket),
	cmocka_unit_test(socket_paths_have_107_bytes),
};

UNIT_MAIN(tests)
