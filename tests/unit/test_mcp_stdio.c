#include "mcp/stdio.h"

#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/limits.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* A server on its own thread, and our ends of its input and output. */
struct rig {
	int to, from;
	int server_in, server_out;
	int stop;
	pthread_t thread;
	int rc;
	bool idle;
};

static void *serve(void *arg)
{
	static const struct protocol_server server = {
		.name = "boxery",
		.title = "boxery",
		.version = "1",
		.instructions = "Look.",
	};
	static struct tools tools = {.copy_root_refusal = "no"};
	struct toolset set = tools_set(&tools);
	struct rig *r = arg;
	struct stdio_opts o = {r->server_in, r->server_out, r->stop, &server,
			       &set};
	struct err e = {0};

	if (!tools.list)
		tools_init(&tools);
	r->rc = stdio_run(&o, &r->idle, &e);
	close(r->server_out);
	return NULL;
}

static void start(struct rig *r, bool socket)
{
	struct err e = {0};
	int in[2], out[2];

	if (socket) {
		assert_ok(fd_pair(in, &e), &e);
		assert_ok(fd_pair(out, &e), &e);
	} else {
		assert_ok(fd_pipe(in, &e), &e);
		assert_ok(fd_pipe(out, &e), &e);
	}
	*r = (struct rig){.to = in[1],
			  .from = out[0],
			  .server_in = in[0],
			  .server_out = out[1],
			  .stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	assert_int_equal(pthread_create(&r->thread, NULL, serve, r), 0);
}

static void say(const struct rig *r, const char *text, size_t len)
{
	struct err e = {0};

	assert_ok(fd_write_all(r->to, text, len, deadline_in_ms(10000), &e),
		  &e);
}

static void end_input(struct rig *r)
{
	close(r->to);
	r->to = -1;
}

/* All that it says until it closes its output. */
static char *hear_all(const struct rig *r)
{
	struct err e = {0};
	struct buf b;
	char *text;

	buf_init(&b, 64 << 20);
	assert_ok(fd_read_to_end(r->from, &b, deadline_in_ms(20000), &e), &e);
	text = buf_take(&b);
	buf_finish(&b);
	return text;
}

static void finish(struct rig *r)
{
	pthread_join(r->thread, NULL);
	assert_int_equal(r->rc, 0);
	assert_true(r->idle);
	close(r->server_in);
	close(r->stop);
	if (r->to >= 0)
		close(r->to);
	if (r->from >= 0)
		close(r->from);
}

static unsigned count(const char *text, const char *piece)
{
	unsigned n = 0;

	while ((text = strstr(text, piece))) {
		text += strlen(piece);
		n++;
	}
	return n;
}

#define PING(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"ping\"}"
#define PONG(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{}}\n"

static void lines_in_any_pieces(void **state)
{
	static const char in[] = PING("1") "\r\n\n  \n\t\r\n" PING("2") "\n"
				 PING("3");

	(void)state;
	for (size_t step = 1; step < sizeof(in); step += 13) {
		struct rig r;
		autofree char *out = NULL;

		start(&r, step % 2);
		for (size_t at = 0; at < sizeof(in) - 1; at += step)
			say(&r, in + at,
			    sizeof(in) - 1 - at < step ? sizeof(in) - 1 - at
						       : step);
		end_input(&r);
		out = hear_all(&r);
		assert_string_equal(out, PONG("1") PONG("2") PONG("3"));
		finish(&r);
	}
}

static void a_long_line_is_dropped(void **state)
{
	size_t len = LIMIT_MCP_MESSAGE_LEN + 100000;
	autofree char *line = alloc_array(len, 1);
	autofree char *out = NULL;
	struct rig r;

	(void)state;
	memset(line, 'x', len);
	start(&r, false);
	say(&r, PING("1") "\n", strlen(PING("1")) + 1);
	say(&r, line, len);
	say(&r, "\n" PING("2") "\n", strlen(PING("2")) + 2);
	say(&r, line, len);
	end_input(&r);
	out = hear_all(&r);
	assert_int_equal(count(out, "\n"), 4);
	assert_int_equal(count(out, "-32600"), 2);
	assert_non_null(strstr(out, PONG("2")));
	finish(&r);
}

/* One line that is nearly too long is taken, and costs its answer only. */
static void a_full_line_is_taken(void **state)
{
	size_t len = LIMIT_MCP_MESSAGE_LEN - 1;
	autofree char *line = alloc_array(len + 1, 1);
	autofree char *out = NULL;
	struct rig r;

	(void)state;
	memset(line, ' ', len);
	memcpy(line + len - strlen(PING("7")), PING("7"), strlen(PING("7")));
	line[len] = '\n';
	start(&r, true);
	say(&r, line, len + 1);
	end_input(&r);
	out = hear_all(&r);
	assert_string_equal(out, PONG("7"));
	finish(&r);
}

static void many_answers_arrive_whole(void **state)
{
	static const char list[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n";

	(void)state;
	for (int socket = 0; socket < 2; socket++) {
		struct rig r;
		autofree char *out = NULL;

		start(&r, socket);
		for (int i = 0; i < 40; i++)
			say(&r, list, sizeof(list) - 1);
		end_input(&r);
		out = hear_all(&r);
		assert_int_equal(count(out, "\n"), 40);
		assert_int_equal(count(out, "]}}\n"), 40);
		finish(&r);
	}
}

static void a_reader_that_left_ends_it(void **state)
{
	(void)state;
	for (int socket = 0; socket < 2; socket++) {
		struct rig r;

		start(&r, socket);
		close(r.from);
		r.from = -1;
		say(&r, PING("1") "\n", strlen(PING("1")) + 1);
		finish(&r);
	}
}

/* A client that does not drain our output must not keep us from ending. */
static void stops_though_nobody_reads(void **state)
{
	static const char list[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n";
	uint64_t one = 1;

	(void)state;
	for (int socket = 0; socket < 2; socket++) {
		struct rig r;

		start(&r, socket);
		/* more than output can hold, less than a page of input */
		for (int i = 0; i < 40; i++)
			say(&r, list, sizeof(list) - 1);
		deadline_sleep_ms(100);
		assert_int_equal(write(r.stop, &one, sizeof(one)), sizeof(one));
		finish(&r);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(lines_in_any_pieces),
	cmocka_unit_test(a_long_line_is_dropped),
	cmocka_unit_test(a_full_line_is_taken),
	cmocka_unit_test(many_answers_arrive_whole),
	cmocka_unit_test(a_reader_that_left_ends_it),
	cmocka_unit_test(stops_though_nobody_reads),
};

int main(int argc, char *argv[])
{
	signal(SIGPIPE, SIG_IGN); /* as boxery-mcp does */
	return unit_run(tests, ARRAY_COUNT(tests), argc, argv);
}
