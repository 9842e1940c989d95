/*
 * One channel and the local fds that it is pumped to.
 *
 * Closing: libssh keeps calling the callbacks of a freed channel until the
 * guest has closed it too, and buffers for it without bound when there are
 * none. So a channel that nobody wants stays ours, discarding, until then.
 *
 * sshd does not end a command whose channel closes (unless it has a terminal);
 * it ends on SIGPIPE or end of input, if it looks. A "signal" request makes
 * sshd signal the command's process group, which is why commands are started
 * without anything in between. sshd refuses it for root, where it runs without
 * privilege separation; our guests' user is not root. So a command that is to
 * end is sent TERM, later KILL, and only then loses its channel. Each is sent
 * twice: sshd signals nobody while the command is still becoming a group.
 */
#include "vmctl/guest_ssh.h"

#include "base/alloc.h"
#include "base/limits.h"

#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static const struct {
	int64_t after_ms;
	const char *signal; /* NULL: close */
} ending[] = {
	{0, "TERM"},	{300, "TERM"}, {2000, "KILL"},
	{2300, "KILL"}, {2600, NULL},
};

/* ---- telling the caller ---- */

static void announce(struct guest_chan *c) /* lock held */
{
	eventfd_write(c->event_fd, 1);
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
	guest_pump_close(c);
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

/* NOLINTNEXTLINE(readability-function-size): libssh's parameters */
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

/* ---- opening ---- */

/* Bytes both ways, and no exit status. */
static bool is_stream(const struct guest_chan *c)
{
	return c->kind == GUEST_UNIX || c->kind == GUEST_AGENT;
}

static void release_ssh(struct guest_chan *c)
{
	if (!c->ssh || !c->session)
		return;
	ssh_remove_channel_callbacks(c->ssh->channel, &c->ssh->callbacks);
	ssh_channel_free(c->ssh->channel);
	free(c->ssh);
	c->ssh = NULL;
	if (is_stream(c))
		c->session->unix_count--;
	else
		c->session->exec_count--;
	c->session = NULL;
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

bool guest_chan_attach(struct guest_chan *c)
{
	struct guest_ssh_channel *ssh;

	ssh = ALLOC_NEW(struct guest_ssh_channel);
	ssh->channel = ssh_channel_new(c->session->ssh);
	if (!ssh->channel) {
		free(ssh);
		return false;
	}
	ssh->callbacks = (struct ssh_channel_callbacks_struct){
		.userdata = c,
		.channel_data_function = guest_pump_data,
		.channel_eof_function = on_eof,
		.channel_close_function = on_close,
		.channel_exit_status_function = on_exit_status,
		.channel_exit_signal_function = on_exit_signal,
	};
	ssh_callbacks_init(&ssh->callbacks);
	ssh_add_channel_callbacks(ssh->channel, &ssh->callbacks);
	c->ssh = ssh;
	if (is_stream(c))
		c->session->unix_count++;
	else
		c->session->exec_count++;
	return true;
}

static void start_open(struct guest_chan *c)
{
	if (guest_chan_attach(c)) {
		c->phase = GUEST_OPEN;
		return;
	}
	c->session = NULL;
	fail(c, ERR_INTERNAL, "libssh makes no channel", "");
	c->phase = GUEST_DONE;
}

/*
 * sshd counts a command against its MaxSessions until it has ended, though we
 * closed its channel long ago. Another session has room.
 */
static bool try_elsewhere(struct guest_chan *c)
{
	if (!c->session || c->phase != GUEST_OPEN || c->kind == GUEST_UNIX ||
	    c->ended || ++c->refusals >= LIMIT_GUEST_SESSIONS_COUNT)
		return false;
	c->session->full = true;
	release_ssh(c);
	c->phase = GUEST_WAIT;
	return true;
}

static void refused(struct guest_chan *c)
{
	const char *text = c->session ? ssh_get_error(c->session->ssh) : "";
	char words[ERR_QUOTE_SIZE];

	err_quote(words, text, strlen(text)); /* it may hold the guest's */
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
	case GUEST_AGENT:
		fail(c, ERR_UNAVAILABLE, "sshd refuses to run it: ", words);
		break;
	}
	if (c->phase == GUEST_OPEN) {
		release_ssh(c);
		c->phase = GUEST_DONE;
	} else {
		close_now(c);
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

/* The agent first: sshd makes its socket for the command's environment. */
static void start_request(struct guest_chan *c)
{
	/* it wants no answer: a guest that forwards none sets no variable */
	if (c->agent_fd >= 0)
		(void)ssh_channel_request_auth_agent(c->ssh->channel);
	c->phase = GUEST_REQUEST;
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
		close_now(c); /* its caller gave up meanwhile */
	else if (c->kind == GUEST_UNIX)
		start_live(c);
	else
		start_request(c);
}

static void step_request(struct guest_chan *c)
{
	ssh_channel ch = c->ssh->channel;
	int rc = c->kind == GUEST_EXEC
			 ? ssh_channel_request_exec(ch, c->what)
			 : ssh_channel_request_subsystem(ch, c->what);

	if (rc == SSH_AGAIN || !guest_session_check(c->session))
		return;
	if (rc != SSH_OK) {
		refused(c);
		return;
	}
	start_live(c);
	if (c->ended)
		guest_chan_close(c); /* it runs, though nobody wants it now */
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
	if (c->phase == GUEST_REQUEST && c->kind == GUEST_EXEC)
		return; /* it may run already: step_request() will know */
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
	/* libssh gives nothing of a channel that we closed first; nobody asks
	 */
	if (c->phase != GUEST_CLOSING)
		guest_pump_save(c);
	if (!guest_session_check(c->session))
		return;
	/* answers with our CLOSE; first the EOF, as in guest_chan_close() */
	ssh_channel_send_eof(c->ssh->channel);
	ssh_channel_close(c->ssh->channel);
	guest_session_leave(c->session);
	release_ssh(c);
	guest_pump_close_in(c);
	c->phase = c->phase == GUEST_CLOSING ? GUEST_DONE : GUEST_DRAIN;
}

static void step_live(struct guest_chan *c)
{
	if (c->stop_ms > 0)
		step_stop(c);
	if (c->phase == GUEST_LIVE)
		guest_pump_step(c);
	if (c->phase == GUEST_LIVE && c->kind != GUEST_EXEC && c->out.gone)
		guest_chan_close(c);
	if (c->remote_close)
		step_closed(c);
}

static void step_drain(struct guest_chan *c)
{
	bool silent;

	if (!guest_pump_drain(c))
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

void guest_chan_finish(struct guest_chan *c)
{
	release_ssh(c);
	guest_pump_close(c);
	if (c->agent_fd >= 0)
		close(c->agent_fd);
	c->agent_fd = -1;
	buf_finish(&c->out.stage);
	buf_finish(&c->errs.stage);
	free(c->tx);
	c->tx = NULL;
}
