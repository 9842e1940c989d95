/* A client elsewhere, whose bytes are joined to the service's socket. */
#include "tests/support/served.h"

#include "base/fd.h"
#include "base/limits.h"
#include "vmctl/rpcjoin.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

struct joined {
	int fd;
	int rc;
	struct err e;
};

static void *join(void *arg)
{
	struct joined *j = arg;

	j->rc = rpcjoin_run(&served.home, j->fd, j->fd, &j->e);
	close(j->fd);
	return NULL;
}

static void grant(int fd, uint32_t credit)
{
	struct err e = {0};
	struct buf frame;

	buf_init(&frame, 64);
	assert_ok(rpc_encode_credit(&frame, 2, RPC_IMAGE, credit, &e), &e);
	assert_ok(fd_write_all(fd, frame.data, frame.len,
			       deadline_in_ms(SERVED_WAIT_MS), &e),
		  &e);
	buf_finish(&frame);
}

/* Read the image of three windows; how the call ended. */
static int take_image(int fd, struct buf *in, size_t *ret_len)
{
	struct deadline d = deadline_in_ms(SERVED_WAIT_MS);
	struct err e = {0};

	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		struct rpc_frame f;
		size_t used;
		int rc = rpc_decode((const uint8_t *)in->data, in->len, &f,
				    &used, &e);

		assert_ok(rc, &e);
		if (rc > 0) {
			int type = (int)f.type;

			if (f.type == RPC_DATA && f.payload_len > 1) {
				*ret_len += f.payload_len - 1;
				grant(fd, (uint32_t)f.payload_len - 1);
			}
			buf_consume(in, used);
			if (type != RPC_DATA)
				return type;
			continue;
		}
		assert_ok(deadline_poll(&p, 1, d, "the image", &e), &e);
		if (buf_read_fd(in, fd, 65536, &e) <= 0)
			return 0;
	}
}

static void test_both_ways(void **state)
{
	struct joined j = {0};
	struct err e = {0};
	char text[256];
	size_t len = 0;
	pthread_t thread;
	struct buf in;
	int fds[2];

	(void)state;
	assert_ok(fd_pair(fds, &e), &e);
	j.fd = fds[1];
	assert_int_equal(pthread_create(&thread, NULL, join, &j), 0);
	buf_init(&in, (size_t)2 * LIMIT_RPC_FRAME_LEN);
	served_raw_send(fds[0], RPC_HELLO, 0, "{\"version\":1}");
	assert_int_equal(served_raw_next(fds[0], &in, text, sizeof(text)),
			 RPC_HELLO);
	served_raw_send(fds[0], RPC_CALL, 1, "{\"op\":\"vm_list\"}");
	assert_int_equal(served_raw_next(fds[0], &in, text, sizeof(text)),
			 RPC_RESULT);
	served_raw_send(fds[0], RPC_CALL, 2,
			"{\"op\":\"vm_screenshot\",\"args\":{\"vm\":\"a\"}}");
	assert_int_equal(take_image(fds[0], &in, &len), RPC_RESULT);
	assert_int_equal(len, 3 * LIMIT_RPC_WINDOW_LEN);
	/* the client leaves, and what it waited for goes too */
	served_raw_send(fds[0], RPC_CALL, 3, "{\"op\":\"vm_wait\"}");
	served_until(&served.running, 1);
	close(fds[0]);
	pthread_join(thread, NULL);
	served_until(&served.cancelled, 1);
	buf_finish(&in);
}

/* The service's end is the client's. */
static void test_service_ends(void **state)
{
	struct joined j = {0};
	struct err e = {0};
	char text[256];
	pthread_t thread;
	struct buf in;
	int fds[2];

	(void)state;
	assert_ok(fd_pair(fds, &e), &e);
	j.fd = fds[1];
	assert_int_equal(pthread_create(&thread, NULL, join, &j), 0);
	buf_init(&in, (size_t)2 * LIMIT_RPC_FRAME_LEN);
	served_raw_send(fds[0], RPC_HELLO, 0, "{\"version\":1}");
	assert_int_equal(served_raw_next(fds[0], &in, text, sizeof(text)),
			 RPC_HELLO);
	served_stop(NULL);
	assert_int_equal(served_raw_next(fds[0], &in, text, sizeof(text)), 0);
	pthread_join(thread, NULL);
	assert_ok(j.rc, &j.e);
	close(fds[0]);
	buf_finish(&in);
}

static const struct CMUnitTest tests[] = {
	SERVED(test_both_ways),
	cmocka_unit_test_setup_teardown(test_service_ends, served_start, NULL),
};

UNIT_MAIN(tests)
