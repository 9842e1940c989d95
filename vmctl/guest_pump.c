/*
 * The bytes of a channel, between libssh and the local fds.
 *
 * To us: libssh's data callback writes straight to the local fd. What the fd
 * does not take is left in libssh's buffer, and then the window that libssh
 * grants the guest does not grow: so a guest sends no faster than the reader
 * here drains. Getting at the left-over is the delicate part, because
 * ssh_channel_read() grants a whole new window however much it leaves behind:
 * it is only used to take everything at once (into `stage`), and while the
 * stage is not empty the callback takes nothing.
 *
 * The window belongs to the channel, but libssh looks only at the stream that
 * the last packet was for when it grants more: bytes of stdout, even few, open
 * the way for more stderr than anybody reads. So a stream whose reader is slow
 * holds up the other, and as the last resort (a guest can choose the worst
 * mixture) nothing is read from the session until it has drained. A guest that
 * sends past any window is found by the size of what the callback is shown.
 *
 * To the guest: `tx` holds one packet's worth that was read from the local fd;
 * no more is read until libssh took it. libssh takes what the guest's window
 * allows, which a liar can make 4 GB: guest_session_may_write() bounds what
 * waits for the socket.
 */
#include "vmctl/guest_ssh.h"

#include "base/alloc.h"
#include "base/limits.h"

#include <errno.h>
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

/* ---- the local ends ---- */

void guest_pump_close_in(struct guest_chan *c)
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

void guest_pump_close(struct guest_chan *c)
{
	guest_pump_close_in(c);
	close_stream(c, &c->out);
	close_stream(c, &c->errs);
	c->tx_len = 0;
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

int guest_pump_data(ssh_session ssh, ssh_channel channel, void *data,
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

/* Write what is staged. */
static void push_stage(struct guest_stream *st)
{
	if (st->full || st->stage.len == 0)
		return;
	st->stage_at += put(st, st->stage.data + st->stage_at,
			    st->stage.len - st->stage_at);
	if (st->stage_at < st->stage.len)
		return;
	buf_reset(&st->stage);
	st->stage_at = 0;
}

static void pull_held(struct guest_chan *c, struct guest_stream *st,
		      const struct guest_stream *other)
{
	if (st->full || st->stage.len > 0 || blocks_other(other))
		return;
	take_held(c, st);
	push_stage(st);
}

/* Whether one blocks the other is known once both were pushed. */
static void flush_streams(struct guest_chan *c)
{
	push_stage(&c->out);
	push_stage(&c->errs);
	pull_held(c, &c->out, &c->errs);
	pull_held(c, &c->errs, &c->out);
}

void guest_pump_save(struct guest_chan *c)
{
	take_held(c, &c->out);
	take_held(c, &c->errs);
	c->tx_len = 0;
}

static bool is_drained(const struct guest_stream *st)
{
	return st->stage.len == 0 && st->held_len == 0;
}

bool guest_pump_drain(struct guest_chan *c)
{
	push_stage(&c->out);
	push_stage(&c->errs);
	return is_drained(&c->out) && is_drained(&c->errs);
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

void guest_pump_step(struct guest_chan *c)
{
	flush_streams(c);
	if (c->remote_eof && is_drained(&c->out))
		close_stream(c, &c->out);
	if (c->remote_eof && is_drained(&c->errs))
		close_stream(c, &c->errs);
	send_tx(c);
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
		guest_pump_close_in(c);
	}
	if (c->phase == GUEST_LIVE)
		send_tx(c);
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
