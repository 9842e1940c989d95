#include "desktop/xgate.h"

#include "base/fd.h"
#include "base/path.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#define SETUP "tests/fuzz/corpus/xsetup/xvnc"

/* client -- gate -- server, the ends in our hands */
struct ends {
	struct xgate *g;
	int client_fd, server_fd;
};

static struct ends open_ends(void)
{
	struct ends n;
	struct err e = {0};
	int pair[2];

	assert_ok(fd_pair(pair, &e), &e);
	n.server_fd = pair[0];
	assert_ok(xgate_open(pair[1], &n.g, &n.client_fd, &e), &e);
	return n;
}

static void close_ends(struct ends *n)
{
	xgate_free(n->g);
	close(n->client_fd);
	close(n->server_fd);
}

/* Over the handshake. */
static void greet(struct ends *n)
{
	static const uint8_t hello[12] = "l\0\13";
	autofree char *setup = NULL;
	struct err e = {0};
	uint8_t back[XSETUP_MAX_LEN];
	size_t len;

	assert_ok(path_read_file(SETUP, XSETUP_MAX_LEN, &setup, &len, &e), &e);
	assert_ok(fd_write_all(n->client_fd, hello, sizeof(hello),
			       deadline_in_ms(5000), &e),
		  &e);
	assert_ok(fd_read_all(n->server_fd, back, sizeof(hello),
			      deadline_in_ms(5000), &e),
		  &e);
	assert_memory_equal(back, hello, sizeof(hello));
	assert_ok(fd_write_all(n->server_fd, setup, len, deadline_in_ms(5000),
			       &e),
		  &e);
	assert_ok(
		fd_read_all(n->client_fd, back, len, deadline_in_ms(5000), &e),
		&e);
	assert_memory_equal(back, setup, len);
	assert_int_equal(xgate_setup(n->g).width_px, 1920);
}

static bool ended(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char c;

	return poll(&p, 1, 5000) == 1 && read(fd, &c, 1) == 0;
}

static void relays(void **state)
{
	static const uint8_t request[4] = {43, 0, 1, 0};
	static uint8_t reply[32 + 4 * 1024 * 1024], back[sizeof(reply)];
	struct ends n = open_ends();
	uint32_t units = (sizeof(reply) - 32) / 4;
	struct err e = {0};

	(void)state;
	xgate_begin(n.g, deadline_in_ms(20000));
	greet(&n);
	assert_ok(xgate_expect(n.g, 1, sizeof(reply), &e), &e);
	assert_ok(
		fd_write_all(n.client_fd, request, 4, deadline_in_ms(5000), &e),
		&e);
	assert_ok(fd_read_all(n.server_fd, back, 4, deadline_in_ms(5000), &e),
		  &e);
	for (size_t i = 0; i < sizeof(reply); i++)
		reply[i] = (uint8_t)(i * 31 ^ i >> 11);
	reply[0] = 1;
	reply[2] = 1;
	reply[3] = 0;
	memcpy(reply + 4, &units, 4);
	/* larger than all buffers together: in turns */
	for (size_t at = 0; at < sizeof(reply);) {
		size_t len =
			sizeof(reply) - at < 65536 ? sizeof(reply) - at : 65536;

		assert_ok(fd_write_all(n.server_fd, reply + at, len,
				       deadline_in_ms(5000), &e),
			  &e);
		assert_ok(fd_read_all(n.client_fd, back + at, len,
				      deadline_in_ms(5000), &e),
			  &e);
		at += len;
	}
	assert_memory_equal(reply, back, sizeof(reply));
	xgate_end(n.g);
	close_ends(&n);
}

/* A server that says nothing, and one that stops within a message. */
static void deadline_ends_it(void **state)
{
	(void)state;
	for (int half = 0; half < 2; half++) {
		struct ends n = open_ends();
		int64_t at_ms = deadline_now_ms();
		struct err e = {0};

		if (half)
			assert_int_equal(write(n.server_fd, "\1\0\13", 3), 3);
		xgate_begin(n.g, deadline_in_ms(200));
		assert_true(ended(n.client_fd));
		assert_true(ended(n.server_fd));
		assert_in_range(deadline_now_ms() - at_ms, 190, 2000);
		assert_fails(xgate_error(n.g, &e), &e, ERR_TIMEOUT, "");
		close_ends(&n);
	}
}

static void idle_is_no_fault(void **state)
{
	struct ends n = open_ends();

	(void)state;
	xgate_begin(n.g, deadline_in_ms(5000));
	greet(&n);
	xgate_begin(n.g, deadline_in_ms(60));
	xgate_end(n.g);
	deadline_sleep_ms(150);
	/* still there: it relays */
	xgate_begin(n.g, deadline_in_ms(5000));
	assert_int_equal(write(n.client_fd, "\53\0\1\0", 4), 4);
	char back[4];
	struct err e = {0};
	assert_ok(fd_read_all(n.server_fd, back, 4, deadline_in_ms(5000), &e),
		  &e);
	close_ends(&n);
}

/* Not read while idle: the flood stays in its own socket. */
static void idle_does_not_read(void **state)
{
	static uint8_t events[32 * 4096];
	struct ends n = open_ends();
	ssize_t sent, all = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(events); i += 32)
		events[i] = 34;
	xgate_begin(n.g, deadline_in_ms(5000));
	greet(&n);
	xgate_end(n.g);
	deadline_sleep_ms(50);
	do {
		sent = send(n.server_fd, events, sizeof(events), MSG_DONTWAIT);
		all += sent > 0 ? sent : 0;
	} while (sent > 0 && all < 64 * 1024 * 1024);
	assert_true(all < 4 * 1024 * 1024);
	close_ends(&n);
}

static uint8_t many_events[32 * 4096];

static void *send_events(void *fd)
{
	while (send(*(int *)fd, many_events, sizeof(many_events),
		    MSG_NOSIGNAL) > 0)
		;
	return NULL;
}

/* M17: a server that always has something to say does not outlast the call:
 * what is ready is served, but not for ever. */
static void flood_ends_at_the_deadline(void **state)
{
	const int size = 8 * 1024 * 1024;
	struct ends n = open_ends();
	int64_t at_ms;
	struct err e = {0};
	pthread_t threads[8];

	(void)state;
	for (size_t i = 0; i < sizeof(many_events); i += 32)
		many_events[i] = 34;
	xgate_begin(n.g, deadline_in_ms(5000));
	greet(&n);
	/* more than is read at once: there is always some left */
	setsockopt(n.server_fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	at_ms = deadline_now_ms();
	xgate_begin(n.g, deadline_in_ms(300));
	for (unsigned i = 0; i < ARRAY_COUNT(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, send_events,
						&n.server_fd),
				 0);
	assert_true(ended(n.client_fd));
	assert_in_range(deadline_now_ms() - at_ms, 290, 4000);
	assert_fails(xgate_error(n.g, &e), &e, ERR_TIMEOUT, "desktop");
	for (unsigned i = 0; i < ARRAY_COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	close_ends(&n);
}

static void faults_end_it(void **state)
{
	static const uint8_t refusal[] = "\0\4\13\0\0\0\1\0none";
	struct ends n = open_ends();
	struct err e = {0};

	(void)state;
	xgate_begin(n.g, deadline_in_ms(5000));
	assert_int_equal(write(n.server_fd, refusal, 12), 12);
	assert_true(ended(n.client_fd));
	assert_fails(xgate_error(n.g, &e), &e, ERR_DENIED, "none");
	close_ends(&n);

	n = open_ends();
	xgate_begin(n.g, deadline_in_ms(5000));
	shutdown(n.server_fd, SHUT_RDWR);
	assert_true(ended(n.client_fd));
	assert_fails(xgate_error(n.g, &e), &e, ERR_UNAVAILABLE, "lost");
	close_ends(&n);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(relays),
	cmocka_unit_test(deadline_ends_it),
	cmocka_unit_test(idle_is_no_fault),
	cmocka_unit_test(idle_does_not_read),
	cmocka_unit_test(flood_ends_at_the_deadline),
	cmocka_unit_test(faults_end_it),
};

UNIT_MAIN(tests)
