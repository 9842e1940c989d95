/*
 * One ssh connection, driven without blocking.
 *
 * We make the TCP connection ourselves (libssh's own connect resolves names
 * and blocks), hand libssh the fd, and then only ever call it when poll(2) says
 * that the fd is ready: ssh_connect() until the keys are exchanged (up to here
 * in guest_dial.c), the host key compared, ssh_userauth_publickey() until that is answered, and from then
 * on ssh_execute_message_callbacks(), which is libssh's public name for "handle
 * what has arrived" and runs the channel callbacks of guest_channel.c.
 *
 * What libssh 0.10 does not do for us, and how it is done here:
 *  - It makes the socket blocking once connected, and send(2) of a large
 *    buffer would then wait for the guest: guest_dial.c sets O_NONBLOCK again.
 *    libssh writes only after POLLOUT, and takes a partial write.
 *  - It reads known_hosts files and ssh_config unless told otherwise.
 *  - Requests and channels that the peer opens are queued without bound unless
 *    a message callback is set; ours has libssh refuse each.
 *  - Messages that belong to no channel cost the peer nothing: they are counted
 *    in a leaky bucket, and a flood of them ends the session.
 *  - A peer whose CHANNEL_OPEN_CONFIRMATION says that packets may hold 10
 *    bytes makes ssh_channel_write() loop for ever (it takes 10 off for the
 *    header). libssh offers no way to ask for that number, but logs it:
 *    watch_log() reads it there, before any write.
 *  - It notices a silent peer never: keepalives here, TCP_USER_TIMEOUT there.
 */
#include "vmctl/guest_impl.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/crypto.h"
#include "base/limits.h"
#include "vmctl/guest_dial.h"

#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <libssh/server.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* libssh reads this much at a time; a shorter read emptied the socket */
#define READ_STEP_LEN 4096
/* one session's turn, so that the others' bytes do not wait longer than it
 * takes to decrypt this many steps (256 KiB, under a millisecond) */
#define READ_STEPS_COUNT 64
/* in libssh's buffer at most, besides what a blocked socket left there */
#define QUEUE_LEN (256 << 10)
/* OpenSSH says 32768; every sane peer is far above this */
#define MIN_PACKET_LEN 1024

/* ---- what libssh only logs ---- */

static void watch_log(int priority, const char *function, const char *text,
		      void *guest)
{
	static const char label[] = ", maxpacket : ";
	struct guest *g = guest;

	(void)priority;
	if (strcmp(function, "ssh_packet_channel_open_conf") != 0 ||
	    !g->current)
		return;
	text = strstr(text, label);
	if (text && strtoul(text + strlen(label), NULL, 10) < MIN_PACKET_LEN)
		guest_session_taint(g->current,
				    "it takes no packets of a useful size");
}

void guest_session_thread_init(struct guest *g)
{
	/* all three are per thread in libssh */
	ssh_set_log_userdata(g);
	ssh_set_log_callback(watch_log);
	ssh_set_log_level(SSH_LOG_PROTOCOL);
}

void guest_session_enter(struct guest_session *s)
{
	s->g->current = s;
}

void guest_session_leave(struct guest_session *s)
{
	s->g->current = NULL;
}

void guest_session_taint(struct guest_session *s, const char *why)
{
	if (!s->tainted)
		s->why = why;
	s->tainted = true;
}

/* Whatever the peer wants of us: no (but guest_agent.c, which comes before).
 * libssh sends the refusal. */
static int refuse(ssh_session ssh, ssh_message message, void *session)
{
	(void)ssh;
	(void)message;
	(void)session;
	return 1;
}

/* ---- making and ending ---- */

void guest_session_fail(struct guest_session *s, enum err_code code,
			const char *fmt, ...)
{
	char text[sizeof(s->err.msg)];
	va_list ap;

	if (s->link == GUEST_LINK_DEAD)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_set(&s->err, code, "%s", text);
	s->link = GUEST_LINK_DEAD;
}

static void start_tcp(struct guest_session *s, const char *address,
		      unsigned port)
{
	struct err why = {0};

	s->tcp_fd = guest_dial(s->g->name, address, port, &why);
	if (s->tcp_fd < 0)
		guest_session_fail(s, why.code, "%s", err_msg(&why));
}

struct guest_session *guest_session_new(struct guest *g, enum guest_role role)
{
	struct guest_session *s = ALLOC_NEW(struct guest_session);
	autofree char *address = NULL;
	unsigned port;

	pthread_mutex_lock(&g->lock);
	address = alloc_str(g->address);
	port = g->port;
	pthread_mutex_unlock(&g->lock);
	s->g = g;
	s->role = role;
	s->link = GUEST_LINK_TCP;
	s->tcp_fd = -1;
	s->up_by = deadline_in_ms(LIMIT_SSH_CONNECT_MS);
	s->counter = ALLOC_NEW(struct ssh_counter_struct);
	start_tcp(s, address, port);
	return s;
}

void guest_session_free(struct guest_session *s)
{
	int fd = s->ssh ? ssh_get_fd(s->ssh) : -1;

	if (fd >= 0 &&
	    (s->link == GUEST_LINK_AUTH || s->link == GUEST_LINK_UP)) {
		/* says goodbye, which only a peer that has shown the pinned key
		 * gets to hear, but does not close an fd we gave it */
		ssh_disconnect(s->ssh);
		close(fd);
	}
	ssh_key_free(s->key);
	ssh_free(s->ssh); /* closes an fd that it still has */
	if (s->tcp_fd >= 0)
		close(s->tcp_fd);
	guest_agent_finish(s);
	free(s->counter);
	free(s);
}

/* libssh's reason, which may hold the guest's: a DISCONNECT has a text. */
static const char *reason(struct guest_session *s, char ret[ERR_QUOTE_SIZE])
{
	const char *text = ssh_get_error(s->ssh);

	return err_quote(ret, text, strlen(text));
}

/* ---- becoming up ---- */

static void start_ssh(struct guest_session *s)
{
	struct err why = {0};

	s->ssh = guest_dial_ssh(s->g->name, s->g->user, s->tcp_fd, &why);
	if (!s->ssh) {
		guest_session_fail(s, why.code, "%s", err_msg(&why));
		return;
	}
	s->tcp_fd = -1;
	ssh_set_counters(s->ssh, s->counter, NULL);
	ssh_set_message_callback(s->ssh, refuse, s);
	if (s->role == GUEST_LENT)
		guest_agent_offer(s);
	s->link = GUEST_LINK_KEX;
}

/* Before anything but the key exchange was sent. */
static void check_host_key(struct guest_session *s)
{
	const char *name = s->g->name;
	char *got = guest_dial_key(s->ssh);
	size_t len = strlen(s->g->host_key);

	if (!got || strlen(got) != len ||
	    !crypto_equal(got, s->g->host_key, len))
		guest_session_fail(
			s, ERR_DENIED,
			"Host key verification failed: what answers "
			"at %s's address has the key %s, not the one "
			"that %s was made with; nothing was sent",
			name, got ? got : "(none)", name);
	free(got);
}

static void step_kex(struct guest_session *s)
{
	struct err why = {0};
	int rc = guest_dial_step(s->g->name, s->ssh, &why);

	if (rc == 0)
		return;
	if (rc < 0) {
		guest_session_fail(s, why.code, "%s", err_msg(&why));
		return;
	}
	check_host_key(s);
	if (s->link != GUEST_LINK_DEAD)
		s->link = GUEST_LINK_AUTH;
}

static void step_auth(struct guest_session *s)
{
	char words[ERR_QUOTE_SIZE];
	int rc;

	if (!s->key && ssh_pki_import_privkey_file(s->g->key_path, NULL, NULL,
						   NULL, &s->key) != SSH_OK) {
		guest_session_fail(s, ERR_STATE,
				   "%s: our key is missing or "
				   "unreadable",
				   s->g->key_path);
		return;
	}
	rc = ssh_userauth_publickey(s->ssh, NULL, s->key);
	if (rc == SSH_AUTH_AGAIN)
		return;
	if (rc == SSH_AUTH_SUCCESS) {
		ssh_key_free(s->key);
		s->key = NULL;
		s->link = GUEST_LINK_UP;
		s->heard_ms = s->junk_ms = deadline_now_ms();
	} else if (rc == SSH_AUTH_ERROR) {
		guest_session_fail(s, ERR_UNAVAILABLE, "%s ended the login: %s",
				   s->g->name, reason(s, words));
	} else {
		guest_session_fail(s, ERR_DENIED,
				   "%s does not accept our key for user %s",
				   s->g->name, s->g->user);
	}
}

/* ---- being up ---- */

/* All but channel data is free to send for the guest: bound it. */
static void count_junk(struct guest_session *s, int64_t now_ms)
{
	uint64_t in_len = s->counter->in_bytes - s->in_seen_len;

	s->in_seen_len = s->counter->in_bytes;
	s->junk_len += (int64_t)in_len - (int64_t)s->useful_len -
		       (now_ms - s->junk_ms) * LIMIT_GUEST_JUNK_PER_MS_LEN;
	s->useful_len = 0;
	s->junk_ms = now_ms;
	if (s->junk_len < 0)
		s->junk_len = 0;
	if (s->junk_len > LIMIT_GUEST_JUNK_LEN)
		guest_session_taint(s, "it floods us with empty messages");
	if (in_len > 0) {
		s->heard_ms = now_ms;
		s->asked = false;
	}
}

static void read_some(struct guest_session *s)
{
	const int on = 1;
	uint64_t before, start = s->counter->in_bytes;
	/* libssh cannot write without reading too, but not more than this */
	int steps = s->paused ? 1 : READ_STEPS_COUNT;

	for (int i = 0; i < steps && !s->tainted; i++) {
		before = s->counter->in_bytes;
		ssh_execute_message_callbacks(s->ssh);
		if (s->counter->in_bytes - before < READ_STEP_LEN)
			break;
	}
	if (s->counter->in_bytes > start && ssh_get_fd(s->ssh) >= 0)
		setsockopt(ssh_get_fd(s->ssh), IPPROTO_TCP, TCP_QUICKACK, &on,
			   sizeof(on));
}

bool guest_session_check(struct guest_session *s)
{
	char words[ERR_QUOTE_SIZE];

	if (s->link != GUEST_LINK_UP)
		return s->link != GUEST_LINK_DEAD;
	if (s->tainted)
		guest_session_fail(s, ERR_PROTOCOL,
				   "%s broke the ssh protocol: %s", s->g->name,
				   s->why);
	else if (!ssh_is_connected(s->ssh) || ssh_get_fd(s->ssh) < 0 ||
		 ssh_get_status(s->ssh) & (SSH_CLOSED | SSH_CLOSED_ERROR))
		guest_session_fail(s, ERR_UNAVAILABLE,
				   "the connection to %s was lost: %s",
				   s->g->name, reason(s, words));
	return s->link == GUEST_LINK_UP;
}

void guest_session_dispatch(struct guest_session *s)
{
	guest_session_enter(s);
	if (s->link == GUEST_LINK_TCP)
		start_ssh(s);
	if (s->link == GUEST_LINK_KEX)
		step_kex(s);
	if (s->link == GUEST_LINK_AUTH)
		step_auth(s);
	else if (s->link == GUEST_LINK_UP)
		read_some(s);
	guest_session_leave(s);
	if (s->link == GUEST_LINK_UP)
		count_junk(s, deadline_now_ms());
	else if (s->counter->in_bytes > LIMIT_GUEST_HELLO_LEN)
		guest_session_fail(s, ERR_PROTOCOL,
				   "%s broke the ssh protocol: it talks and "
				   "talks, but does not let us in",
				   s->g->name);
	guest_session_check(s);
}

int guest_session_fd(const struct guest_session *s)
{
	return s->ssh ? ssh_get_fd(s->ssh) : s->tcp_fd;
}

short guest_session_events(const struct guest_session *s)
{
	if (s->link == GUEST_LINK_TCP)
		return POLLOUT;
	if (s->paused) /* libssh reads whenever it writes: only if it has to */
		return ssh_get_status(s->ssh) & SSH_WRITE_PENDING ? POLLOUT : 0;
	/* after a write this is set once more than needed, and longer while
	 * there is something to read */
	return ssh_get_poll_flags(s->ssh) & SSH_WRITE_PENDING ? POLLIN | POLLOUT
							      : POLLIN;
}

bool guest_session_may_write(struct guest_session *s)
{
	if (s->link != GUEST_LINK_UP || s->paused)
		return false;
	if (!(ssh_get_status(s->ssh) & SSH_WRITE_PENDING))
		s->queued_len = 0;
	return s->queued_len < QUEUE_LEN;
}

/*
 * A keepalive is a global request that must be answered. libssh remembers one:
 * the first call after an answer collects it, the next sends anew.
 */
static void ask_if_alive(struct guest_session *s, int64_t now_ms)
{
	guest_session_enter(s);
	ssh_send_keepalive(s->ssh);
	if (s->asked_ms > 0)
		ssh_send_keepalive(s->ssh);
	guest_session_leave(s);
	s->asked = true;
	s->asked_ms = now_ms;
}

int64_t guest_session_tick(struct guest_session *s, int64_t now_ms)
{
	if (s->link == GUEST_LINK_DEAD)
		return 0;
	if (s->link != GUEST_LINK_UP) {
		if (s->up_by.at_ms <= now_ms)
			guest_session_fail(s, ERR_UNAVAILABLE,
					   "%s did not answer ssh within %d s",
					   s->g->name,
					   LIMIT_SSH_CONNECT_MS / 1000);
		return s->up_by.at_ms - now_ms;
	}
	if (s->paused) /* we do not listen */
		s->heard_ms = now_ms;
	if (now_ms - s->heard_ms < LIMIT_GUEST_QUIET_MS)
		return s->heard_ms + LIMIT_GUEST_QUIET_MS - now_ms;
	if (!s->asked)
		ask_if_alive(s, now_ms);
	if (now_ms - s->asked_ms < LIMIT_GUEST_DEAD_MS)
		return s->asked_ms + LIMIT_GUEST_DEAD_MS - now_ms;
	guest_session_fail(s, ERR_UNAVAILABLE, "%s has not answered for %d s",
			   s->g->name, LIMIT_GUEST_DEAD_MS / 1000);
	return 0;
}
