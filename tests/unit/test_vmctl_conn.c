/* Clients of the service that misbehave or leave, from a raw socket, and a good
 * one beside them that must not notice. */
#include "tests/support/served.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/limits.h"
#include "vmctl/job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Each is told why, then dropped; a well-behaved one beside it is served. */
static void test_protocol(void **state)
{
	static const struct {
		const char *bytes; /* after the hello, or instead of it */
		size_t len;
		bool greet;
		const char *error;
	} cases[] = {
#define RAW(s) s, sizeof(s) - 1
		{RAW("GET / HTTP/1.1\r\n\r\n"), false, ""},
		{RAW("\0\0\0\0"), false, ""},
		{RAW("\xff\xff\xff\xff"), false, ""},
		{RAW("\0\0\0\7\2\0\0\0\1{}"), false, "must be a hello"},
		{RAW("\0\0\0\7\1\0\0\0\0{}"), false, "version"},
		{RAW("\0\0\0\6\1\0\0\0\0{"), false, ""},
		{RAW("\0\0\0\7\1\0\0\0\0{}"), true, "messages of type 1"},
		{RAW("\0\0\0\7\x8\0\0\0\1{}"), true, "messages of type 8"},
		{RAW("\0\0\0\7\x7f\0\0\0\1{}"), true, ""},
		{RAW("\0\0\0\7\2\0\0\0\0{}"), true, "outside of a call"},
		{RAW("\0\0\0\6\4\0\0\0\1\x63"), true, ""},
		{RAW("\0\0\0\5\4\0\0\0\1"), true, ""},
		{RAW("\0\0\0\7\x7\0\0\0\1[]"), true, ""},
	};
	auto_client struct client *good = served_connect("good", false, NULL);
	struct client_io io = served_io(SERVED_WAIT_MS);

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct err e = {0};
		auto_json json_t *r = NULL;
		char text[1024];
		struct buf in;
		int fd;

		buf_init(&in, 2 * LIMIT_RPC_FRAME_LEN);
		fd = cases[i].greet ? served_raw_greeted(&in)
				    : served_raw_connect();
		assert_ok(fd_write_all(fd, cases[i].bytes, cases[i].len,
				       deadline_in_ms(SERVED_WAIT_MS), &e),
			  &e);
		assert_int_equal(served_raw_next(fd, &in, text, sizeof(text)),
				 RPC_ERROR);
		if (!strstr(text, cases[i].error))
			fail_msg("case %zu: %s", i, text);
		assert_int_equal(served_raw_next(fd, &in, text, sizeof(text)),
				 0);
		close(fd);
		buf_finish(&in);
		assert_ok(served_call(good, "vm_list", "{}", &io, &r, &e), &e);
	}
}

static void test_version(void **state)
{
	char text[1024];
	struct buf in;
	int fd = served_raw_connect();

	(void)state;
	buf_init(&in, 2 * LIMIT_RPC_FRAME_LEN);
	served_raw_send(fd, RPC_HELLO, 0,
			"{\"version\":99,\"client\":\"new\"}");
	assert_int_equal(served_raw_next(fd, &in, text, sizeof(text)),
			 RPC_ERROR);
	assert_non_null(strstr(text, "run boxery service restart"));
	assert_non_null(strstr(text, "\"state\""));
	close(fd);
	buf_finish(&in);
}

static void test_hello(void **state)
{
	static const struct {
		const char *hello, *error;
	} cases[] = {
		{"{\"version\":1,\"client\":\"\"}", "is no client name"},
		{"{\"version\":1,\"client\":\"a\\nb\"}", "is no client name"},
		{"{\"version\":1,\"client\":5}", "client"},
		{"{\"version\":1,\"vms\":[\"../x\"]}", "is no VM name"},
		{"{\"version\":1,\"vms\":[1]}", "must hold strings"},
		{"{\"version\":1,\"vms\":{}}", "must be an array"},
		{"{\"version\":\"1\"}", "version"},
		{"{\"version\":1,\"agent\":\"yes\"}", "agent"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		char text[1024];
		struct buf in;
		int fd = served_raw_connect();

		buf_init(&in, 2 * LIMIT_RPC_FRAME_LEN);
		served_raw_send(fd, RPC_HELLO, 0, cases[i].hello);
		assert_int_equal(served_raw_next(fd, &in, text, sizeof(text)),
				 RPC_ERROR);
		if (!strstr(text, cases[i].error))
			fail_msg("%s: %s", cases[i].hello, text);
		close(fd);
		buf_finish(&in);
	}
}

/* Bad calls are answered; the connection goes on. */
static void test_bad_calls(void **state)
{
	static const struct {
		const char *call, *error;
	} cases[] = {
		{"{}", "op"},
		{"{\"op\":\"nope\"}", "unknown operation"},
		{"{\"op\":5}", "op"},
		{"{\"op\":\"vm_info\"}", "VM: is required"},
		{"{\"op\":\"vm_info\",\"args\":[]}", "must be an object"},
		{"{\"op\":\"vm_info\",\"args\":{\"vm\":\"A\"}}", "no VM name"},
		{"{\"op\":\"vm_info\",\"opts\":{\"stream\":1}}", "stream"},
		{"{\"op\":\"vm_info\",\"opts\":{\"deadline_ms\":\"x\"}}",
		 "deadline_ms"},
		{"{\"op\":\"vm_ssh\",\"args\":{\"vm\":\"a\"}}",
		 "done by the client"},
	};
	char text[1024];
	struct buf in;
	int fd;

	(void)state;
	buf_init(&in, 2 * LIMIT_RPC_FRAME_LEN);
	fd = served_raw_greeted(&in);
	for (uint32_t i = 0; i < ARRAY_COUNT(cases); i++) {
		served_raw_send(fd, RPC_CALL, i + 1, cases[i].call);
		assert_int_equal(served_raw_next(fd, &in, text, sizeof(text)),
				 RPC_ERROR);
		if (!strstr(text, cases[i].error))
			fail_msg("%s: %s", cases[i].call, text);
	}
	/* an id is free again once it was answered */
	served_raw_send(fd, RPC_CALL, 1, "{\"op\":\"vm_list\"}");
	assert_int_equal(served_raw_next(fd, &in, text, sizeof(text)),
			 RPC_RESULT);
	/* what comes for a call that ended is nobody's */
	served_raw_send(fd, RPC_CANCEL, 1, "{}");
	served_raw_send(fd, RPC_CALL, 2, "{\"op\":\"vm_list\"}");
	assert_int_equal(served_raw_next(fd, &in, text, sizeof(text)),
			 RPC_RESULT);
	close(fd);
	buf_finish(&in);
}

/* More bytes than granted is a broken client, not a larger queue. */
static void test_credit(void **state)
{
	autofree char *bytes = alloc_zero(512 * 1024);
	struct err e = {0};
	struct buf in, out;
	char text[1024];
	int fd;

	(void)state;
	buf_init(&in, 2 * LIMIT_RPC_FRAME_LEN);
	buf_init(&out, 4 * LIMIT_RPC_FRAME_LEN);
	fd = served_raw_greeted(&in);
	served_raw_send(
		fd, RPC_CALL, 1,
		"{\"op\":\"vm_run\",\"args\":{\"vm\":\"a\",\"argv\":[\"job\"]}}");
	for (int i = 0; i < 3; i++)
		assert_ok(rpc_encode_data(&out, 1, RPC_STDIN, bytes, 512 * 1024,
					  &e),
			  &e);
	/* it may hang up before it has read all */
	if (fd_write_all(fd, out.data, out.len, deadline_in_ms(SERVED_WAIT_MS),
			 &e) != 0)
		assert_true(e.errnum == EPIPE || e.errnum == ECONNRESET);
	assert_int_equal(served_raw_next(fd, &in, text, sizeof(text)),
			 RPC_ERROR);
	assert_non_null(strstr(text, "more was sent than granted"));
	close(fd);
	buf_finish(&in);
	buf_finish(&out);
	/* and its call went with it */
	served_until(&served.cancelled, 1);
}

/* Each stream has one writer; nothing is held for the wrong one. */
static void test_wrong_way(void **state)
{
	static const enum rpc_stream theirs[] = {RPC_STDOUT, RPC_STDERR,
						 RPC_IMAGE, RPC_TREE_DOWN};
	static const enum rpc_stream ours[] = {RPC_STDIN, RPC_TREE_UP};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(theirs) + ARRAY_COUNT(ours); i++) {
		bool data = i < ARRAY_COUNT(theirs);
		struct err e = {0};
		struct buf in, out;
		char text[1024];
		int fd;

		buf_init(&in, 2 * LIMIT_RPC_FRAME_LEN);
		buf_init(&out, 1024);
		fd = served_raw_greeted(&in);
		served_raw_send(fd, RPC_CALL, 1, "{\"op\":\"vm_wait\"}");
		if (data)
			assert_ok(rpc_encode_data(&out, 1, theirs[i], "x", 1,
						  &e),
				  &e);
		else
			assert_ok(rpc_encode_credit(
					  &out, 1,
					  ours[i - ARRAY_COUNT(theirs)], 0, &e),
				  &e);
		assert_ok(fd_write_all(fd, out.data, out.len,
				       deadline_in_ms(SERVED_WAIT_MS), &e),
			  &e);
		assert_int_equal(served_raw_next(fd, &in, text, sizeof(text)),
				 RPC_ERROR);
		assert_non_null(strstr(text, data ? "the service's to write"
						  : "the client's to write"));
		close(fd);
		buf_finish(&in);
		buf_finish(&out);
	}
}

/* One that never reads gets its window and no more, and holds up nobody. */
static void test_stalled_reader(void **state)
{
	auto_client struct client *good = served_connect("good", false, NULL);
	struct client_io io = served_io(SERVED_WAIT_MS);
	auto_json json_t *r = NULL;
	struct buf in;
	struct err e;
	int fd;

	(void)state;
	buf_init(&in, 2 * LIMIT_RPC_FRAME_LEN);
	fd = served_raw_greeted(&in);
	for (uint32_t i = 1; i <= 8; i++)
		served_raw_send(
			fd, RPC_CALL, i,
			"{\"op\":\"vm_run\",\"args\":{\"vm\":\"a\","
			"\"argv\":[\"flood\"]},\"opts\":{\"stream\":true}}");
	served_until(&served.running, 8);
	for (int i = 0; i < 20; i++) {
		assert_ok(served_call(good, "vm_list", "{}", &io, &r, &e), &e);
		json_decref(r);
		r = NULL;
	}
	assert_int_equal(atomic_load(&served.cancelled), 0);
	close(fd);
	buf_finish(&in);
	served_until(&served.cancelled, 8);
	served_until_calls(0);
}

/* Losing the client ends its waits and its commands, not its jobs. */
static void test_lost_client(void **state)
{
	struct buf in;
	int fd;

	(void)state;
	buf_init(&in, 2 * LIMIT_RPC_FRAME_LEN);
	fd = served_raw_greeted(&in);
	served_raw_send(fd, RPC_CALL, 1, "{\"op\":\"vm_wait\"}");
	served_raw_send(
		fd, RPC_CALL, 2,
		"{\"op\":\"vm_run\",\"args\":{\"vm\":\"a\",\"argv\":[\"job\"]}}");
	served_raw_send(fd, RPC_CALL, 3,
			"{\"op\":\"vm_copy\",\"args\":{\"from\":\"local:x\","
			"\"to\":\"a:y\"},\"opts\":{\"detached\":true}}");
	served_raw_send(fd, RPC_CALL, 4,
			"{\"op\":\"vm_new\",\"args\":{\"vm\":\"a\"}}");
	served_raw_send(fd, RPC_CALL, 5,
			"{\"op\":\"vm_copy\",\"args\":{\"from\":\"a:x\","
			"\"to\":\"b:y\"}}");
	served_raw_send(
		fd, RPC_CALL, 6,
		"{\"op\":\"vm_run\",\"args\":{\"vm\":\"a\",\"argv\":[\"job\"]},"
		"\"opts\":{\"detached\":true}}");
	served_until(&served.running, 6);
	close(fd);
	buf_finish(&in);
	served_until(&served.cancelled, 3);
	served_until_calls(3);
	assert_int_equal(atomic_load(&served.cancelled), 3);
	assert_int_equal(jobs_running(served.service.jobs), 3);
	atomic_store(&served.release, 1);
	served_until_calls(0);
}

/* The loss may come before the call's thread has looked at what it is. */
static void test_lost_at_once(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		struct buf in;
		int fd;

		buf_init(&in, 2 * LIMIT_RPC_FRAME_LEN);
		fd = served_raw_greeted(&in);
		served_raw_send(fd, RPC_CALL, 1,
				"{\"op\":\"vm_new\",\"args\":{\"vm\":\"a\"}}");
		close(fd);
		buf_finish(&in);
	}
	served_until(&served.running, 50);
	atomic_store(&served.release, 1);
	served_until_calls(0);
	assert_int_equal(atomic_load(&served.cancelled), 0);
}

static void test_too_many_calls(void **state)
{
	char text[1024];
	struct buf in;
	int fd;

	(void)state;
	buf_init(&in, 2 * LIMIT_RPC_FRAME_LEN);
	fd = served_raw_greeted(&in);
	for (uint32_t i = 1; i <= LIMIT_CALLS_PER_CLIENT_COUNT; i++)
		served_raw_send(fd, RPC_CALL, i, "{\"op\":\"vm_wait\"}");
	served_until(&served.running, LIMIT_CALLS_PER_CLIENT_COUNT);
	served_raw_send(fd, RPC_CALL, 1000, "{\"op\":\"vm_list\"}");
	assert_int_equal(served_raw_next(fd, &in, text, sizeof(text)),
			 RPC_ERROR);
	assert_non_null(strstr(text, "64 calls running"));
	/* another connection of the same client does not help; another client
	 * is not touched */
	auto_client struct client *same = served_connect("raw", false, NULL);
	auto_client struct client *other = served_connect("cli", false, NULL);
	struct client_io io = served_io(SERVED_WAIT_MS);
	auto_json json_t *r = NULL;
	struct err e;
	assert_fails(served_call(same, "vm_list", "{}", &io, &r, &e), &e,
		     ERR_LIMIT, "try again");
	assert_ok(served_call(other, "vm_list", "{}", &io, &r, &e), &e);
	close(fd);
	buf_finish(&in);
	served_until_calls(0);
}

/* Agents cannot take the last connections: a person may still say stop. */
static void test_room_for_people(void **state)
{
	enum { MAX = LIMIT_CLIENTS_COUNT - LIMIT_CLIENTS_PEOPLE_COUNT };
	struct client *agents[MAX];
	struct client_opts o = {.home = &served.home,
				.name = "agent",
				.agent = true,
				.no_start = true};
	struct client *more = NULL, *person;
	struct client_io io = served_io(SERVED_WAIT_MS);
	auto_json json_t *r = NULL;
	struct err e = {0};

	(void)state;
	for (int i = 0; i < MAX; i++)
		agents[i] = served_connect("agent", true, NULL);
	assert_fails(client_connect(&o, &more, &e), &e, ERR_LIMIT,
		     "agents must wait");
	person = served_connect("cli", false, NULL);
	assert_ok(served_call(person, "vm_list", "{}", &io, &r, &e), &e);
	client_free(person);
	for (int i = 0; i < MAX; i++)
		client_free(agents[i]);
}

static const struct CMUnitTest tests[] = {
	SERVED(test_protocol),	     SERVED(test_version),
	SERVED(test_hello),	     SERVED(test_bad_calls),
	SERVED(test_credit),	     SERVED(test_stalled_reader),
	SERVED(test_lost_client),    SERVED(test_lost_at_once),
	SERVED(test_too_many_calls), SERVED(test_wrong_way),
	SERVED(test_room_for_people),
};

UNIT_MAIN(tests)
