/* Finding a service: what answers at the socket, and what does not. */
#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/home.h"
#include "base/rpc.h"
#include "ops/client.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct home home;

static int connect_to(struct client **ret, struct err *e)
{
	const struct client_opts o = {
		.home = &home, .name = "test", .no_start = true};

	*e = (struct err){0};
	return client_connect(&o, ret, e);
}

static int set_up(void **state)
{
	struct err e = {0};

	(void)state;
	assert_ok(home_init(&home, unit_dir(), &e), &e);
	assert_ok(home_make_dirs(&home, &e), &e);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	home_finish(&home);
	return 0;
}

/* A service that refuses whoever comes and hangs up before it was greeted. */
static void *refuse_one(void *arg)
{
	int *listen_fd = arg;
	auto_json json_t *body = json_pack("{s:s, s:s}", "code", "limit",
					   "message", "close some");
	int fd = accept4(*listen_fd, NULL, NULL, SOCK_CLOEXEC);
	struct err e = {0};
	struct buf out;

	buf_init(&out, 1024);
	if (rpc_encode_json(&out, RPC_ERROR, 0, body, &e) == 0)
		send(fd, out.data, out.len, MSG_NOSIGNAL);
	buf_finish(&out);
	close(fd);
	return NULL;
}

static void test_refusal_is_told(void **state)
{
	struct err e = {0};
	autoclose int listen_fd = fd_unix_listen(home.socket, &e);

	(void)state;
	assert_ok(listen_fd, &e);
	/* as often as it takes to be refused before and after our hello */
	for (int i = 0; i < 50; i++) {
		struct client *c = NULL;
		pthread_t thread;

		pthread_create(&thread, NULL, refuse_one, &listen_fd);
		assert_fails(connect_to(&c, &e), &e, ERR_LIMIT, "close some");
		pthread_join(thread, NULL);
	}
}

/* Somebody else's socket in our place (BOXERY_HOME in a shared folder). */
static void test_foreign_service(void **state)
{
	struct client *c = NULL;
	struct err e = {0};
	int ready[2], status;
	pid_t pid;

	(void)state;
	if (getuid() != 0)
		return; /* only root can be somebody else */
	assert_int_equal(chmod(unit_dir(), 0711), 0);
	assert_int_equal(chmod(home.run, 0777), 0);
	assert_ok(fd_pipe(ready, &e), &e);
	pid = fork();
	if (pid == 0) {
		/* also when this test fails */
		alarm(20);
		if (setuid(65534) != 0 || fd_unix_listen(home.socket, &e) < 0 ||
		    write(ready[1], "r", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &status, 1), 1);
	close(ready[0]);
	assert_fails(connect_to(&c, &e), &e, ERR_DENIED,
		     "is served by uid 65534 and not by you");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

#define HOMED(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
static const struct CMUnitTest tests[] = {
	HOMED(test_refusal_is_told),
	HOMED(test_foreign_service),
};

UNIT_MAIN(tests)
