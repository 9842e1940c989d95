/*
 * Drives the unix-socket channels of guest.c against a real sshd: guest_sockets
 * PATH, where the socket shall be. Checks itself.
 */
#include "tests/tools/guest_tool.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define MIB (1 << 20)
#define SOON deadline_in_ms(30000)

struct echo {
	int listener;
	pthread_t thread;
};

/* Sends back what comes, after its end "bye", and closes. Ends with a
 * connection that sends nothing. */
static void *echo_main(void *arg)
{
	struct echo *s = arg;
	static char bytes[64 * 1024];
	ssize_t n;

	for (;;) {
		int fd = accept(s->listener, NULL, NULL);
		bool any = false;

		CHECK(fd >= 0);
		while ((n = read(fd, bytes, sizeof(bytes))) > 0) {
			any = true;
			for (ssize_t at = 0, put; at < n; at += put) {
				put = write(fd, bytes + at, (size_t)(n - at));
				if (put < 0)
					break;
			}
		}
		if (write(fd, "bye", 3) < 0)
			CHECK(errno == EPIPE);
		close(fd);
		if (!any)
			return NULL;
	}
}

static void start_echo(struct echo *s, const char *path)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(bind(s->listener, (struct sockaddr *)&to, sizeof(to)) == 0);
	CHECK(chmod(path, 0777) == 0 && listen(s->listener, 8) == 0);
	CHECK(pthread_create(&s->thread, NULL, echo_main, s) == 0);
}

struct sender {
	int fd;
	size_t len;
};

static void *send_all(void *arg)
{
	const struct sender *s = arg;
	static char bytes[100 * 1000];
	struct err e = {0};

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7);
	for (size_t at = 0; at < s->len;) {
		struct pollfd pf = {.fd = s->fd, .events = POLLOUT};
		size_t from = at % sizeof(bytes), n = sizeof(bytes) - from;
		ssize_t put;

		if (n > s->len - at)
			n = s->len - at;
		CHECK_OK(deadline_poll(&pf, 1, SOON, "sending", &e), &e);
		put = send(s->fd, bytes + from, n, MSG_NOSIGNAL);
		CHECK(put > 0);
		at += (size_t)put;
	}
	CHECK(shutdown(s->fd, SHUT_WR) == 0);
	return NULL;
}

static void sockets(struct guest *g, const char *path)
{
	struct sender s = {.len = 8 * MIB + 5};
	struct echo echo;
	pthread_t sender;
	struct err e = {0};
	struct buf got;
	int fd = -1;

	CHECK_FAILS(guest_open_unix(g, path, SOON, &fd, &e), &e, ERR_STATE,
		    path);
	start_echo(&echo, path);
	CHECK_OK(guest_open_unix(g, path, SOON, &s.fd, &e), &e);
	CHECK(pthread_create(&sender, NULL, send_all, &s) == 0);
	buf_init(&got, 16 * MIB);
	for (;;) {
		struct pollfd pf = {.fd = s.fd, .events = POLLIN};
		ssize_t n;

		CHECK_OK(deadline_poll(&pf, 1, SOON, "reading", &e), &e);
		n = buf_read_fd(&got, s.fd, MIB / 4, &e);
		CHECK(n >= 0);
		if (n == 0)
			break;
	}
	pthread_join(sender, NULL);
	close(s.fd);
	CHECK(got.len == s.len + 3);
	CHECK(memcmp(got.data + s.len, "bye", 3) == 0);
	for (size_t i = 0; i < s.len; i++)
		CHECK(got.data[i] == (char)(i % 100000 * 7));
	buf_finish(&got);

	/* closing our end ends the other, unread bytes or not */
	CHECK_OK(guest_open_unix(g, path, SOON, &fd, &e), &e);
	CHECK(write(fd, "x", 1) == 1);
	close(fd);
	CHECK_OK(guest_open_unix(g, path, SOON, &fd, &e), &e);
	close(fd); /* with nothing sent: the server ends */
	pthread_join(echo.thread, NULL);
	close(echo.listener);
}

int main(int argc, char *argv[])
{
	struct guest *g = tool_guest();

	CHECK(argc == 2);
	signal(SIGPIPE, SIG_IGN); /* of the echo server's */
	sockets(g, argv[1]);
	guest_free(g);
	return 0;
}
