/*
 * One channel and the local fds that it is pumped to.
 *
 * To us: libssh's data callback writes straight to the local fd. What the fd
 * does not take is left in libssh's buffer, and then the window that libssh
 * grants the guest does not grow: so a guest sends no faster than the reader
 * here drains. Getting at the left-over is the delicate part, because
 * ssh_channel_read() grants a whole new window however much it leaves behind:
 * it is only used to take everything at once (into `stage`), and while the
 * stage is not empty the callback takes nothing. A stream thus holds at most
 * two windows, and a guest that sends past its window is found by the size of
 * what the callback is shown.
 *
 * To the guest: `tx` holds one packet's worth that was read from the local fd;
 * no more is read until libssh took it. libssh takes what the guest's window
 * allows, which a liar can make 4 GB: guest_session_may_write() bounds what
 * waits for the socket.
 *
 * Closing: libssh keeps calling the callbacks of a freed channel until the
 * guest has closed it too, and buffers for it without bound when there are
 * none. So a channel that nobody wants stays ours, discarding, until then.
 *
 * sshd does not end a command whose channel closes (unless it has a terminal);
 * it ends on SIGPIPE or end of input, if it looks. A "signal" request makes
 * sshd signal the command's process group, which is why commands are started
 * without anything in between. sshd refuses it for root, where it runs without
 * privilege separation; our guests' user is not root.
 */
#include "vmctl/guest_impl.h"

#include "base/alloc.h"
#include "base/limits.h"

#include <errno.h>
#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* Fits one packet of OpenSSH's 32 KiB with its header. */
#define TX_LEN 32000
/* read from one local fd in a row */
#define TX_BURST_COUNT 8
/* A stream that waits for its reader with this much also holds up the other. */
#define BLOCKING_LEN (1 << 20)
/* With this much the whole session waits; see guest_chan_backlogged(). */
#define PAUSE_LEN (4 << 20)
/* No honest guest gets a window for this. */
#define HELD_MAX_LEN (LIMIT_GUEST_STAGE_LEN / 2)
/* What a packet costs its sender besides the bytes in it. */
#define PACKET_OVERHEAD_LEN 64

static const struct {
	int64_t after_ms;
	const char *signal; /* NULL: close */
} ending[] = {
	{0, "TERM"},	{300, "TERM"}, {2000, "KILL"},
	{2300, "KILL"}, {2600, NULL},
};

struct guest_ssh_channel {
	ssh_channel channel;
	struct ssh_channel_callbacks_struct callbacks;
};

/* ---- telling the caller ---- */

static void announce(struct guest_chan *c) /* lock held */
{
	eventfd_write(c->event_fd, 1);
}

static void close_in(struct guest_chan *c)
{
	if (c->in_fd >= 0 && c->in_fd != c->out.fd)
		close(c->in_fd);
	c->in_fd = -1;
}

static void close_stream(struct guest_chan *c, struct guest_stream *st)
{
	if (st->fd >= 0 && st->fd == c->in_fd)
		shutdown(st->fd, SHUT_WR);
	else if (st->fd >= 0)
		close(st->fd);
	st->fd = -1;
	st->full = false;
	st->stage_at = 0;
	buf_reset(&st->stage);
}

static void close_local(struct guest_chan *c)
{
	close_in(c);
	close_stream(c, &c->out);
	close_stream(c, &c->errs);
	c->tx_len = 0;
}

void guest_chan_end(struct guest_chan *c, const struct err *why)
{
	/* the caller must find the reason when it sees the streams end */
	pthread_mutex_lock(&c->g->lock);
	if (!c->ended) {
		c->ended = true;
		if (why)
			c->err = *why;
		announce(c);
	}
	pthread_mutex_unlock(&c->g->lock);
	close_local(c);
}

static void fail(struct guest_chan *c, enum err_code code, const char *text,
		 const char *detail)
{
	struct err e = {0};

	err_set(&e, code, "%s: %s%s", c->g->name, text, detail);
	guest_chan_end(c, &e);
}

static void publish_exit(struct guest_chan *c, int status, const char *signal)
{
	size_t n =
		signal ? strspn(signal, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
		       : 0;

	pthread_mutex_lock(&c->g->lock);
	if (!c->exited) {
		c->exited = true;
		c->exit.status = signal ? -1 : status;
		if (signal && (n == 0 || n >= sizeof(c->exit.signal) ||
			       signal[n] != '\0'))
			memcpy(c->exit.signal, "UNKNOWN", sizeof("UNKNOWN"));
		else if (signal)
			memcpy(c->exit.signal, signal, n + 1);
		announce(c);
	}
	pthread_mutex_unlock(&c->g->lock);
}

/* ---- from the guest ---- */

/* How much of it the local fd took. One that is gone takes everything. */
static size_t put(struct guest_stream *st, const void *p, size_t len)
{
	size_t done = 0;
	ssize_t n;

	while (st->fd >= 0 && done < len) {
		n = write(st->fd, (const char *)p + done, len - done);
		if (n > 0) {
			done += (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			st->full = true;
			return done;
		} else if (n < 0 && errno != EINTR) {
			st->gone = true;
			return len;
		}
	}
	return len;
}

static size_t backlog(const struct guest_stream *st)
{
	return st->held_len + st->stage.len - st->stage_at;
}

static bool blocks_other(const struct guest_stream *st)
{
	return st->full && backlog(st) >= BLOCKING_LEN;
}

bool guest_chan_backlogged(const struct guest_chan *c)
{
	return backlog(&c->out) >= PAUSE_LEN || backlog(&c->errs) >= PAUSE_LEN;
}

static int on_data(ssh_session ssh, ssh_channel channel, void *data,
		   uint32_t len, int is_stderr, void *chan)
{
	struct guest_chan *c = chan;
	struct guest_stream *st = is_stderr ? &c->errs : &c->out;
	const struct guest_stream *other = is_stderr ? &c->out : &c->errs;
	size_t fresh = len - st->held_len, done = 0;

	(void)ssh;
	(void)channel;
	c->session->useful_len += fresh + PACKET_OVERHEAD_LEN;
	st->held_len = 0;
	if (c->phase == GUEST_CLOSING) {
		c->late_len += fresh;
		if (c->late_len > HELD_MAX_LEN)
			guest_session_taint(c->session,
					    "it sends on a closed channel");
		return (int)len;
	}
	if (len > HELD_MAX_LEN) {
		guest_session_taint(c->session, "it sends past its window");
		return (int)len;
	}
	if (!st->full && st->stage.len == 0 && !blocks_other(other))
		done = put(st, data, len);
	st->held_len = len - done;
	return (int)done;
}

static void on_eof(ssh_session ssh, ssh_channel channel, void *chan)
{
	struct guest_chan *c = chan;

	(void)ssh;
	(void)channel;
	c->remote_eof = true;
}

static void on_close(ssh_session ssh, ssh_channel channel, void *chan)
{
	struct guest_chan *c = chan;

	(void)ssh;
	(void)channel;
	c->remote_eof = c->remote_close = true;
}

static void on_exit_status(ssh_session ssh, ssh_channel channel, int status,
			   void *chan)
{
	(void)ssh;
	(void)channel;
	publish_exit(chan, status & 0xff, NULL);
}

static void on_exit_signal(ssh_session ssh, ssh_channel channel,
			   const char *signal, int core, const char *text,
			   const char *lang, void *chan)
{
	(void)ssh;
	(void)channel;
	(void)core;
	(void)text;
	(void)lang;
	publish_exit(chan, -1, signal);
}

/* Everything libssh holds of a stream, behind what is staged already. */
static void take_held(struct guest_chan *c, struct guest_stream *st)
{
	size_t want = st->held_len;
	char *to;
	int n;

	if (want == 0 || !c->ssh)
		return;
	to = buf_reserve(&st->stage, want, NULL);
	if (!to) {
		guest_session_taint(c->session, "it sends past its window");
		return;
	}
	st->held_len = 0;
	n = ssh_channel_read_nonblocking(c->ssh->channel, to, (uint32_t)want,
					 st == &c->errs);
	if (n > 0)
		buf_commit(&st->stage, (size_t)n);
	if (n != (int)want)
		guest_session_taint(c->session, "its bytes were lost");
}

static void flush_stream(struct guest_chan *c, struct guest_stream *st)
{
	const struct guest_stream *other = st == &c->out ? &c->errs : &c->out;

	if (st->full)
		return;
	for (;;) {
		if (st->stage.len == 0 && !blocks_other(other))
			take_held(c, st);
		if (st->stage.len == 0)
			return;
		st->stage_at += put(st, st->stage.data + st->stage_at,
				    st->stage.len - st->stage_at);
		if (st->full)
			return;
		buf_reset(&st->stage);
		st->stage_at = 0;
	}
}

static bool drained(const struct guest_stream *st)
{
	return st->stage.len == 0 && st->held_len == 0;
}

/* ---- to the guest ---- */

/* 1: all is gone, 0: later */
static int send_tx(struct guest_chan *c)
{
	int n;

	while (c->tx_len > 0) {
		if (!guest_session_may_write(c->session) ||
		    ssh_channel_window_size(c->ssh->channel) == 0)
			return 0;
		n = ssh_channel_write(c->ssh->channel, c->tx + c->tx_at,
				      (uint32_t)c->tx_len);
		if (n <= 0)
			return 0; /* keys are exchanged anew, or the end */
		c->session->queued_len += (size_t)n;
		c->session->useful_len += PACKET_OVERHEAD_LEN;
		c->tx_at += (size_t)n;
		c->tx_len -= (size_t)n;
	}
	if (c->eof_due && !c->eof_sent) {
		c->eof_sent = true;
		ssh_channel_send_eof(c->ssh->channel);
	}
	return 1;
}

/* A socket whose other end is closed, not only shut down for writing. */
static bool hung_up(int fd)
{
	struct pollfd pf = {.fd = fd};

	return poll(&pf, 1, 0) > 0 && pf.revents & (POLLHUP | POLLERR);
}

static void read_local(struct guest_chan *c)
{
	ssize_t n;

	for (int i = 0; i < TX_BURST_COUNT && c->in_fd >= 0; i++) {
		if (!send_tx(c))
			return;
		if (!c->tx)
			c->tx = alloc_zero(TX_LEN);
		n = read(c->in_fd, c->tx, TX_LEN);
		if (n > 0) {
			c->tx_at = 0;
			c->tx_len = (size_t)n;
			continue;
		}
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (c->kind != GUEST_EXEC && (n < 0 || hung_up(c->in_fd))) {
			guest_chan_close(c);
			return;
		}
		c->eof_due = true;
		close_in(c);
	}
	if (c->phase == GUEST_LIVE)
		send_tx(c);
}

/* ---- opening ---- */

static void release_ssh(struct guest_chan *c)
{
	if (!c->ssh)
		return;
	ssh_remove_channel_callbacks(c->ssh->channel, &c->ssh->callbacks);
	ssh_channel_free(c->ssh->channel);
	free(c->ssh);
	c->ssh = NULL;
	if (c->kind == GUEST_UNIX)
		c->session->unix_count--;
	else
		c->session->exec_count--;
	c->session = NULL;
}

static void start_open(struct guest_chan *c)
{
	struct guest_ssh_channel *ssh;

	ssh = ALLOC_NEW(struct guest_ssh_channel);
	ssh->channel = ssh_channel_new(c->session->ssh);
	if (!ssh->channel) {
		free(ssh);
		c->session = NULL;
		fail(c, ERR_INTERNAL, "libssh makes no channel", "");
		c->phase = GUEST_DONE;
		return;
	}
	ssh->callbacks = (struct ssh_channel_callbacks_struct){
		.userdata = c,
		.channel_data_function = on_data,
		.channel_eof_function = on_eof,
		.channel_close_function = on_close,
		.channel_exit_status_function = on_exit_status,
		.channel_exit_signal_function = on_exit_signal,
	};
	ssh_callbacks_init(&ssh->callbacks);
	ssh_add_channel_callbacks(ssh->channel, &ssh->callbacks);
	c->ssh = ssh;
	c->phase = GUEST_OPEN;
	if (c->kind == GUEST_UNIX)
		c->session->unix_count++;
	else
		c->session->exec_count++;
}

/*
 * sshd counts a command against its MaxSessions until it has ended, though we
 * closed its channel long ago. Another session has room.
 */
static bool try_elsewhere(struct guest_chan *c)
{
	if (c->phase != GUEST_OPEN || c->kind == GUEST_UNIX || c->ended ||
	    ++c->refusals >= LIMIT_GUEST_SESSIONS_COUNT)
		return false;
	c->session->full = true;
	release_ssh(c);
	c->phase = GUEST_WAIT;
	return true;
}

static void refused(struct guest_chan *c)
{
	const char *text = ssh_get_error(c->session->ssh);

	if (try_elsewhere(c))
		return;
	switch (c->kind) {
	case GUEST_UNIX:
		fail(c, ERR_STATE, c->what, " cannot be reached in the guest");
		break;
	case GUEST_SUBSYSTEM:
		fail(c, ERR_UNAVAILABLE, "sshd does not offer ", c->what);
		break;
	case GUEST_EXEC:
		fail(c, ERR_UNAVAILABLE, "sshd refuses to run it: ", text);
		break;
	}
	if (c->phase == GUEST_OPEN) {
		release_ssh(c);
		c->phase = GUEST_DONE;
	} else {
		guest_chan_close(c);
	}
}

static void start_live(struct guest_chan *c)
{
	c->phase = GUEST_LIVE;
	pthread_mutex_lock(&c->g->lock);
	c->opened = true;
	announce(c);
	pthread_mutex_unlock(&c->g->lock);
}

static void step_open(struct guest_chan *c)
{
	ssh_channel ch = c->ssh->channel;
	int rc = c->kind == GUEST_UNIX ? ssh_channel_open_forward_unix(
						 ch, c->what, "127.0.0.1", 0)
				       : ssh_channel_open_session(ch);

	if (rc == SSH_AGAIN || !guest_session_check(c->session))
		return;
	if (rc != SSH_OK)
		refused(c);
	else if (c->ended)
		guest_chan_close(c); /* its caller gave up meanwhile */
	else if (c->kind == GUEST_UNIX)
		start_live(c);
	else
		c->phase = GUEST_REQUEST;
}

static void step_request(struct guest_chan *c)
{
	ssh_channel ch = c->ssh->channel;
	int rc = c->kind == GUEST_EXEC
			 ? ssh_channel_request_exec(ch, c->what)
			 : ssh_channel_request_subsystem(ch, c->what);

	if (rc == SSH_AGAIN || !guest_session_check(c->session))
		return;
	if (rc == SSH_OK)
		start_live(c);
	else
		refused(c);
}

/* ---- ending ---- */

void guest_chan_signal(struct guest_chan *c, const char *signal)
{
	if (c->phase != GUEST_LIVE || c->kind != GUEST_EXEC)
		return;
	guest_session_enter(c->session);
	ssh_channel_request_send_signal(c->ssh->channel, signal);
	guest_session_leave(c->session);
}

static void close_now(struct guest_chan *c)
{
	guest_chan_end(c, NULL);
	if (c->phase == GUEST_WAIT || c->phase == GUEST_DRAIN)
		c->phase = GUEST_DONE;
	if (c->phase != GUEST_REQUEST && c->phase != GUEST_LIVE &&
	    !(c->phase == GUEST_OPEN && ssh_channel_is_open(c->ssh->channel)))
		return; /* OPEN: step_open() comes back here */
	c->phase = GUEST_CLOSING;
	guest_session_enter(c->session);
	/* ssh_channel_close() sends no CLOSE when its EOF could not be flushed
	 * at once; an EOF that was sent before it skips */
	ssh_channel_send_eof(c->ssh->channel);
	ssh_channel_close(c->ssh->channel);
	guest_session_leave(c->session);
}

void guest_chan_stop(struct guest_chan *c)
{
	if (c->phase == GUEST_LIVE && c->kind == GUEST_EXEC &&
	    c->stop_ms == 0) {
		c->stop_ms = deadline_now_ms();
		c->stop_step = 0;
	}
}

int64_t guest_chan_next_ms(const struct guest_chan *c)
{
	if (c->phase < GUEST_LIVE && !c->ended)
		return c->open_by.at_ms;
	if (c->phase == GUEST_LIVE && c->stop_ms > 0 && !c->exited)
		return c->stop_ms + ending[c->stop_step].after_ms;
	return INT64_MAX;
}

static void step_stop(struct guest_chan *c)
{
	int64_t now_ms = deadline_now_ms();

	while (c->phase == GUEST_LIVE && !c->exited &&
	       now_ms >= c->stop_ms + ending[c->stop_step].after_ms) {
		if (ending[c->stop_step].signal)
			guest_chan_signal(c, ending[c->stop_step++].signal);
		else
			close_now(c);
	}
	if (c->phase == GUEST_LIVE && c->exited && c->ended)
		close_now(c);
}

void guest_chan_close(struct guest_chan *c)
{
	bool runs =
		c->phase == GUEST_LIVE && c->kind == GUEST_EXEC && !c->exited;

	guest_chan_end(c, NULL);
	if (runs) {
		c->eof_due = true;
		guest_chan_stop(c);
	} else {
		close_now(c);
	}
}

void guest_chan_lost(struct guest_chan *c, const struct err *why)
{
	/* a connection that was kept warm may be long dead: nothing was begun
	 * on it for this caller, so begin on a fresh one */
	bool again = c->phase == GUEST_OPEN && !c->retried && !c->ended;

	release_ssh(c);
	c->session = NULL;
	if (again) {
		c->retried = true;
		c->phase = GUEST_WAIT;
		return;
	}
	guest_chan_end(c, why);
	c->phase = GUEST_DONE;
}

/* The guest closed it: save what it brought, let libssh forget it. */
static void step_closed(struct guest_chan *c)
{
	/* libssh gives nothing of a channel that we closed first; nobody asks */
	if (c->phase != GUEST_CLOSING) {
		take_held(c, &c->out);
		take_held(c, &c->errs);
	}
	if (!guest_session_check(c->session))
		return;
	/* answers with our CLOSE; first the EOF, as in guest_chan_close() */
	ssh_channel_send_eof(c->ssh->channel);
	ssh_channel_close(c->ssh->channel);
	guest_session_leave(c->session);
	release_ssh(c);
	close_in(c);
	c->tx_len = 0;
	c->phase = c->phase == GUEST_CLOSING ? GUEST_DONE : GUEST_DRAIN;
}

static void step_live(struct guest_chan *c)
{
	if (c->stop_ms > 0)
		step_stop(c);
	if (c->phase == GUEST_LIVE) {
		flush_stream(c, &c->out);
		flush_stream(c, &c->errs);
		send_tx(c);
		if (c->kind != GUEST_EXEC && c->out.gone)
			guest_chan_close(c);
	}
	if (c->remote_eof && drained(&c->out) && c->out.fd >= 0)
		close_stream(c, &c->out);
	if (c->remote_eof && drained(&c->errs) && c->errs.fd >= 0)
		close_stream(c, &c->errs);
	if (c->remote_close)
		step_closed(c);
}

static void step_drain(struct guest_chan *c)
{
	bool silent;

	flush_stream(c, &c->out);
	flush_stream(c, &c->errs);
	if (!drained(&c->out) || !drained(&c->errs))
		return;
	pthread_mutex_lock(&c->g->lock);
	silent = c->kind == GUEST_EXEC && !c->exited && !c->ended;
	pthread_mutex_unlock(&c->g->lock);
	if (silent)
		fail(c, ERR_PROTOCOL, "the command ended without a status", "");
	else
		guest_chan_end(c, NULL);
	c->phase = GUEST_DONE;
}

void guest_chan_step(struct guest_chan *c)
{
	struct guest_session *s = c->session;

	if (s && !guest_session_check(s))
		return;
	if (s)
		guest_session_enter(s);
	if (c->phase == GUEST_WAIT && s)
		start_open(c);
	if (c->phase == GUEST_OPEN)
		step_open(c);
	if (c->phase == GUEST_REQUEST)
		step_request(c);
	/* after a look at the answer: a quick command's whole life may have
	 * arrived in one piece */
	if (c->phase == GUEST_REQUEST && c->remote_close)
		refused(c);
	if (c->phase == GUEST_LIVE || c->phase == GUEST_CLOSING)
		step_live(c);
	if (c->phase == GUEST_DRAIN)
		step_drain(c);
	if (s)
		guest_session_leave(s);
}

/* ---- local fds ---- */

/* Only what is wanted is polled: an fd whose other end is gone would be
 * ready for ever. */
int guest_chan_poll(struct guest_chan *c, struct pollfd fds[3])
{
	int n = 0;

	if (c->phase == GUEST_LIVE && c->in_fd >= 0 && c->tx_len == 0 &&
	    guest_session_may_write(c->session) &&
	    ssh_channel_window_size(c->ssh->channel) > 0)
		fds[n++] = (struct pollfd){.fd = c->in_fd, .events = POLLIN};
	if (c->out.full)
		fds[n++] = (struct pollfd){.fd = c->out.fd, .events = POLLOUT};
	if (c->errs.full)
		fds[n++] = (struct pollfd){.fd = c->errs.fd, .events = POLLOUT};
	return n;
}

void guest_chan_ready(struct guest_chan *c, int fd, short revents)
{
	struct guest_session *s = c->session;

	if (fd == c->out.fd && revents & (POLLOUT | POLLERR | POLLHUP))
		c->out.full = false; /* the next step writes */
	if (fd == c->errs.fd)
		c->errs.full = false;
	if (fd == c->in_fd && c->phase == GUEST_LIVE &&
	    revents & (POLLIN | POLLERR | POLLHUP)) {
		guest_session_enter(s);
		read_local(c);
		guest_session_leave(s);
	}
}

void guest_chan_finish(struct guest_chan *c)
{
	release_ssh(c);
	close_local(c);
	buf_finish(&c->out.stage);
	buf_finish(&c->errs.stage);
	free(c->tx);
	c->tx = NULL;
}
