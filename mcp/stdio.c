/*
 * The caller's thread reads; any thread writes, one whole line under out_lock.
 * A client that does not drain our output stops us there and nothing else:
 * every wait also ends when stop_fd becomes readable, which a signal does, and
 * so does the first write that fails (`broken`).
 *
 * Input: bytes are collected in `line` until a newline comes. A line that
 * outgrows the cap is dropped up to its newline (`skipping`) and answered with
 * an error; what it would have said is unknown, so is its id.
 */
#include "mcp/stdio.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/deadline.h"
#include "base/limits.h"
#include "mcp/callpool.h"
#include "mcp/session.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define READ_LEN ((size_t)64 * 1024)
/* a line buffer that grew beyond this is given back after the line */
#define KEEP_LEN ((size_t)256 * 1024)
/* for a client to read, before news for it is dropped */
#define NEWS_MS 1000

struct stdio {
	int in_fd, out_fd, stop_fd;
	bool out_is_socket;
	pthread_mutex_t out_lock;
	bool broken; /* under out_lock */
	struct callpool *pool;
	struct session *session;
	struct session_io io;
	struct buf line;
	size_t scanned; /* bytes of line known to hold no newline */
	bool skipping;
};

/* -- output ---------------------------------------------------------------- */

/* Wait until out_fd takes bytes: 0, or -1 when the process is to end. */
static int wait_writable(const struct stdio *s)
{
	struct pollfd p[2] = {{.fd = s->out_fd, .events = POLLOUT},
			      {.fd = s->stop_fd, .events = POLLIN}};

	while (poll(p, 2, -1) < 0) {
		if (errno != EINTR)
			return -1;
	}
	return p[1].revents || !(p[0].revents & POLLOUT) ? -1 : 0;
}

/*
 * The fd is the client's too, so it is not made non-blocking. A writable pipe
 * has room for PIPE_BUF bytes; a socket can be asked not to wait.
 */
static ssize_t write_some(const struct stdio *s, const char *p, size_t len)
{
	if (s->out_is_socket)
		return send(s->out_fd, p, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	return write(s->out_fd, p, len < PIPE_BUF ? len : PIPE_BUF);
}

static int write_whole(const struct stdio *s, const char *p, size_t len)
{
	while (len > 0) {
		ssize_t n;

		if (wait_writable(s) != 0)
			return -1;
		n = write_some(s, p, len);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -1;
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

static void end_process(const struct stdio *s)
{
	uint64_t one = 1;
	ssize_t n = write(s->stop_fd, &one, sizeof(one));

	(void)n;
}

/* With out_lock held: room for a line of that length? What is longer than a
 * pipe is sure to have room for may block its writer. */
static bool has_room(const struct stdio *s, size_t len)
{
	struct pollfd p = {.fd = s->out_fd, .events = POLLOUT};

	return len <= PIPE_BUF && poll(&p, 1, NEWS_MS) == 1 &&
	       (p.revents & POLLOUT);
}

/* False: it may be dropped, and the client does not read. */
static bool lock_output(struct stdio *s, bool may_drop, size_t len)
{
	struct timespec until;

	if (!may_drop)
		return pthread_mutex_lock(&s->out_lock) == 0;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += NEWS_MS / 1000;
	if (pthread_mutex_timedlock(&s->out_lock, &until) != 0)
		return false;
	if (has_room(s, len))
		return true;
	pthread_mutex_unlock(&s->out_lock);
	return false;
}

static void send_line(void *ctx, const struct session_out *out)
{
	struct stdio *s = ctx;
	/* the newline goes in the same write: a reader that takes what it gets
	 * as a line is wrong, but there are some */
	char *line = alloc_array(out->len + 1, 1);

	memcpy(line, out->text, out->len);
	line[out->len] = '\n';
	if (!lock_output(s, out->may_drop, out->len + 1)) {
		free(line);
		return;
	}
	if (!s->broken && write_whole(s, line, out->len + 1) != 0) {
		s->broken = true;
		end_process(s);
	}
	pthread_mutex_unlock(&s->out_lock);
	free(line);
}

static int start_call(void *ctx, const char *lane, void (*work)(void *arg),
		      void *arg, struct err *e)
{
	struct stdio *s = ctx;

	return callpool_submit(s->pool, lane, work, arg, e);
}

/* -- input ----------------------------------------------------------------- */

static void take_line(struct stdio *s, const char *p, size_t len)
{
	if (s->skipping) {
		s->skipping = false;
		session_too_long(&s->io);
		return;
	}
	while (len > 0 &&
	       (p[len - 1] == '\r' || p[len - 1] == ' ' || p[len - 1] == '\t'))
		len--;
	if (len > 0)
		session_message(s->session, &s->io, p, len);
}

/* Take all whole lines out of the buffer. */
static void take_lines(struct stdio *s)
{
	size_t from = 0;
	const char *nl;

	while ((nl = memchr(s->line.data + s->scanned, '\n',
			    s->line.len - s->scanned))) {
		size_t at = (size_t)(nl - s->line.data);

		take_line(s, s->line.data + from, at - from);
		from = at + 1;
		s->scanned = from;
	}
	buf_consume(&s->line, from);
	s->scanned = s->line.len;
	if (s->line.len == s->line.cap) {
		s->skipping = true;
		buf_reset(&s->line);
		s->scanned = 0;
	}
	if (s->line.len == 0 && s->line.size > KEEP_LEN) {
		buf_finish(&s->line);
		buf_init(&s->line, s->line.cap);
	}
}

enum input { INPUT_MORE, INPUT_END, INPUT_STOP };

static enum input read_input(struct stdio *s)
{
	struct pollfd p[2] = {{.fd = s->in_fd, .events = POLLIN},
			      {.fd = s->stop_fd, .events = POLLIN}};
	struct err e = {0};
	ssize_t n;

	if (poll(p, 2, -1) < 0)
		return errno == EINTR ? INPUT_MORE : INPUT_STOP;
	if (p[1].revents)
		return INPUT_STOP;
	n = buf_read_fd(&s->line, s->in_fd, READ_LEN, &e);
	if (n < 0)
		return e.errnum == EINTR || e.errnum == EAGAIN ? INPUT_MORE
							       : INPUT_END;
	if (n > 0) {
		take_lines(s);
		return INPUT_MORE;
	}
	/* a last line may lack its newline */
	if (s->line.len > 0 || s->skipping)
		take_line(s, s->line.data, s->line.len);
	return INPUT_END;
}

/*
 * The input has ended; calls under way may still be waited for by whoever
 * reads our output. poll() without events reports that reader's going.
 */
static void finish_calls(struct stdio *s)
{
	struct deadline d =
		deadline_in_ms(LIMIT_ANSWER_MS + LIMIT_ANSWER_SLACK_MS);
	struct pollfd p[3] = {
		{.fd = session_ended_fd(s->session), .events = POLLIN},
		{.fd = s->stop_fd, .events = POLLIN},
		{.fd = s->out_fd, .events = 0}};
	uint64_t count;

	while (session_busy(s->session) > 0 && !deadline_passed(d)) {
		if (poll(p, 3, deadline_poll_ms(d)) < 0 && errno != EINTR)
			return;
		if (p[1].revents || p[2].revents)
			return;
		if (p[0].revents && read(p[0].fd, &count, sizeof(count)) < 0 &&
		    errno != EAGAIN)
			return;
	}
}

int stdio_run(const struct stdio_opts *o, bool *ret_idle, struct err *e)
{
	struct stdio *s = ALLOC_NEW(struct stdio);
	enum input input;
	struct stat st;

	s->in_fd = o->in_fd;
	s->out_fd = o->out_fd;
	s->stop_fd = o->stop_fd;
	s->io = (struct session_io){
		.ctx = s, .send = send_line, .start = start_call,
		.can_ask = true};
	s->out_is_socket = fstat(o->out_fd, &st) == 0 && S_ISSOCK(st.st_mode);
	if (session_new(o->server, o->tools, &s->session, e) != 0) {
		free(s);
		return -1;
	}
	session_notes(s->session, send_line, s);
	pthread_mutex_init(&s->out_lock, NULL);
	s->pool = callpool_new(LIMIT_MCP_CALLS_COUNT,
			       LIMIT_CALLS_PER_CLIENT_COUNT);
	buf_init(&s->line, LIMIT_MCP_MESSAGE_LEN);

	do {
		input = read_input(s);
	} while (input == INPUT_MORE);
	session_end_listening(s->session);
	session_end_asks(s->session);
	if (input == INPUT_END)
		finish_calls(s);

	*ret_idle = session_busy(s->session) == 0;
	/* a call that still runs uses all of this: leave it to the kernel */
	if (*ret_idle) {
		callpool_free(s->pool);
		session_free(s->session);
		buf_finish(&s->line);
		pthread_mutex_destroy(&s->out_lock);
		free(s);
	}
	return 0;
}
