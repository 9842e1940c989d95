/*
 * guest_impl.h - what the files of guest share; nobody else includes it
 *
 *   guest.c          the interface: callers' side of every exchange
 *   guest_thread.c   the I/O thread: one poll(2) over everything
 *   guest_dial.c     an ssh connection up to the key exchange
 *   guest_session.c  the rest of its life: host key, login, liveness
 *   guest_channel.c  one channel, from opening to forgetting
 *   guest_pump.c     its bytes, between libssh and local fds
 *   guest_agent.c    streams that the guest opens, to an ssh agent lent to it
 *   guest_quote.c    argv as a command line (pure)
 *   guest_sftp.c     sftp connections and exchanges, on the caller's thread
 *   guest_file.c     the file operations made of them
 *   guest_hold.c     turns of those who change a file
 *   guest_wire.c     SFTP packets, encoded and parsed (pure)
 *
 * Shapes:  struct guest is shared; its members say by whom. A guest_chan is
 *          counted: the caller holds one reference, the thread another.
 * Units:   bytes; _ms of deadline_now_ms().
 * Errors:  as guest.h.
 * Threads: "lock" marks members under guest.lock, "thread" those that only
 *          the I/O thread touches. The lock is never held across libssh, poll
 *          or a write.
 */
#ifndef VMCTL_GUEST_IMPL_H
#define VMCTL_GUEST_IMPL_H

#include "base/buf.h"
#include "base/deadline.h"
#include "base/err.h"
#include "vmctl/guest.h"

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Separate connections, so that bulk bytes do not queue before X events. */
enum guest_role {
	GUEST_CONTROL, /* exec and sftp */
	GUEST_DESKTOP, /* unix sockets */
	GUEST_BULK,    /* exec that carries large transfers */
	GUEST_LENT,    /* exec that an ssh agent is lent with: cut alone */
	GUEST_ROLE_COUNT,
};

enum guest_kind {
	GUEST_EXEC,	 /* what: the command line */
	GUEST_UNIX,	 /* what: the socket's path */
	GUEST_SUBSYSTEM, /* what: its name */
	GUEST_AGENT,	 /* opened by the guest: nobody here waits for it */
};

/*
 * Where a channel is. Legal in each:
 *   WAIT     no session is up yet; nothing was sent
 *   OPEN     the open request is out; a lost session may be replaced
 *   REQUEST  exec/subsystem request is out; a loss is an error from here on
 *   LIVE     bytes flow
 *   CLOSING  nobody here wants it any more: we sent CLOSE, discard, and wait
 *            for the guest's CLOSE, for only then libssh may forget it
 *   DRAIN    the channel is gone, bytes it brought wait for a slow reader
 *   DONE     the thread drops it at the end of the round
 */
enum guest_phase {
	GUEST_WAIT,
	GUEST_OPEN,
	GUEST_REQUEST,
	GUEST_LIVE,
	GUEST_CLOSING,
	GUEST_DRAIN,
	GUEST_DONE,
};

/* Bytes from the guest on their way to a local fd. */
struct guest_stream {
	int fd;		  /* -1: dropped */
	bool full;	  /* the fd took less than we had: wait for POLLOUT */
	bool gone;	  /* its reader is */
	struct buf stage; /* taken from libssh, written up to stage_at */
	size_t stage_at;
	size_t held_len; /* left in libssh's buffer at the last callback */
};

struct guest_session;
struct guest_ssh_channel; /* the libssh half, in guest_channel.c */

struct guest_chan {
	/* fixed at birth */
	struct guest *g;
	enum guest_kind kind;
	enum guest_role role;
	char *what;
	struct deadline open_by;
	/* Written (under the lock) when opened, exited or ended turns true; the
	 * caller that saw opened drains it. */
	int event_fd;
	/* lock */
	int refs;
	bool opened; /* the guest agreed: it runs */
	bool exited; /* exit is valid */
	bool ended;  /* nothing more will come; err.code if badly */
	struct guest_exit exit;
	struct err err;
	bool want_close, want_stop, want_cut;
	char want_signal[16];
	/* thread */
	struct guest_chan *next;
	enum guest_phase phase;
	struct guest_session *session;
	struct guest_ssh_channel *ssh;
	struct guest_stream out, errs;
	int agent_fd; /* where fds of GUEST_AGENT streams are sent; -1 */
	int in_fd; /* -1: at its end. The same fd as out.fd for a socket */
	char *tx;
	size_t tx_len, tx_at;
	bool eof_due, eof_sent;	       /* ours */
	bool remote_eof, remote_close; /* theirs */
	bool retried;		       /* after a loss */
	int refusals;
	size_t late_len; /* arrived while CLOSING */
	int64_t stop_ms; /* it is being ended since then; 0: it is not */
	int stop_step;
};

struct guest_waiter { /* one guest_connect(), on its caller's stack */
	struct guest_waiter *next;
	struct deadline deadline;
	bool done;
	struct err err;
};

struct guest {
	/* fixed at birth */
	char *name, *user, *key_path;
	char *host_key; /* base64 of the pinned key's blob */
	int wake_fd;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t cond; /* a waiter was answered */
	pthread_cond_t released; /* a file is held no more */
	/* lock */
	char *address;
	unsigned port;
	bool moved, stopped; /* drop the sessions */
	bool quit;
	struct guest_chan *incoming;
	struct guest_waiter *waiters;
	struct guest_sftp *sftp; /* connected and idle, or NULL */
	struct guest_hold *holds; /* files that calls change now */
	/* thread */
	struct guest_session *sessions;
	struct guest_chan *chans;
	struct guest_session *current; /* whose packets libssh handles now */
};

/* ---- guest.c ---- */
struct guest_chan *guest_chan_new(struct guest *g, enum guest_kind kind,
				  enum guest_role role, char *what,
				  struct deadline open_by);
void guest_chan_submit(struct guest_chan *c);
/* Until opened or ended; cancel_fd -1: none. */
int guest_chan_await_open(struct guest_chan *c, int cancel_fd, struct err *e)
	__attribute__((warn_unused_result));
void guest_chan_unref(struct guest_chan *c);
struct guest_target {
	enum guest_kind kind;
	enum guest_role role;
	const char *what;
};
/* A channel that is one stream both ways: its fd, non-blocking. */
int guest_open_stream(struct guest *g, const struct guest_target *t,
		      struct deadline d, int *ret_fd, struct err *e)
	__attribute__((warn_unused_result));
void guest_wake(struct guest *g);

/* ---- guest_thread.c ---- */
void *guest_thread_main(void *guest);

/* ---- guest_session.c (all on the thread) ---- */
enum guest_link {
	GUEST_LINK_TCP,	 /* connect(2) is under way */
	GUEST_LINK_KEX,	 /* version and key exchange; host key not checked */
	GUEST_LINK_AUTH, /* the host key is the pinned one */
	GUEST_LINK_UP,
	GUEST_LINK_DEAD, /* err says why; freed at the end of the round */
};

struct ssh_session_struct;
struct ssh_counter_struct;
struct ssh_key_struct;
struct ssh_callbacks_struct;

struct guest_session {
	struct guest_session *next;
	struct guest *g;
	enum guest_role role;
	enum guest_link link;
	struct err err;
	struct ssh_session_struct *ssh;
	int tcp_fd; /* ours until libssh has it, then -1 */
	struct deadline up_by;
	unsigned exec_count, unix_count; /* channels, closing ones too */
	size_t queued_len;    /* written since libssh's buffer was empty */
	uint64_t in_seen_len; /* socket counter at the last look */
	uint64_t useful_len;  /* since then: channel bytes and their overhead */
	int64_t junk_len, junk_ms; /* a leaky bucket of all other bytes */
	int64_t heard_ms, asked_ms;
	bool asked;	/* a keepalive is out, nothing came since */
	bool paused;	/* not read from: a channel is backlogged */
	bool full;	/* sshd opens no more on it: end it with its last */
	bool elsewhere; /* the guest has another address meanwhile */
	bool tainted;	/* the guest broke the protocol: why says how */
	const char *why;
	struct ssh_counter_struct *counter; /* of the socket, kept by libssh */
	struct ssh_key_struct *key;	    /* ours, while logging in */
	struct ssh_callbacks_struct *lending; /* of GUEST_LENT */
};

struct guest_session *guest_session_new(struct guest *g, enum guest_role role);
void guest_session_free(struct guest_session *s);
int guest_session_fd(const struct guest_session *s);
short guest_session_events(const struct guest_session *s);
/* The fd is ready, or the session wants a turn: move it on. */
void guest_session_dispatch(struct guest_session *s);
/* Deadlines and keepalive; returns ms until it wants to be called again. */
int64_t guest_session_tick(struct guest_session *s, int64_t now_ms);
void guest_session_fail(struct guest_session *s, enum err_code code,
			const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
bool guest_session_may_write(struct guest_session *s);
/* Still connected, and nothing caught it lying? Else it is failed. */
bool guest_session_check(struct guest_session *s);
/* Around every libssh call on a session: hostile values that libssh only logs
 * are attributed to the one that is being served. */
void guest_session_enter(struct guest_session *s);
void guest_session_leave(struct guest_session *s);
/* From callbacks: fail it at the next check, a libssh call is on the stack. */
void guest_session_taint(struct guest_session *s, const char *why);
/* Once, on the I/O thread. */
void guest_session_thread_init(struct guest *g);

/* ---- guest_channel.c (all on the thread) ---- */
/* Opening, signals, closing; called each round. */
void guest_chan_step(struct guest_chan *c);
/* Its session died with this error. */
void guest_chan_lost(struct guest_chan *c, const struct err *why);
/* End it for the caller: wakes it, closes the local fds. */
void guest_chan_end(struct guest_chan *c, const struct err *why);
void guest_chan_signal(struct guest_chan *c, const char *signal);
/* End its command: signals first, the channel in the end. */
void guest_chan_stop(struct guest_chan *c);
/* Its caller has left: end it all the same. */
void guest_chan_close(struct guest_chan *c);
/* When it wants to be stepped, whatever happens. */
int64_t guest_chan_next_ms(const struct guest_chan *c);
/* So much waits for a reader that the session must not bring more. */
bool guest_chan_backlogged(const struct guest_chan *c);
/* Which of its fds to poll: fills up to 3, returns how many. */
int guest_chan_poll(struct guest_chan *c, struct pollfd fds[3]);
void guest_chan_ready(struct guest_chan *c, int fd, short revents);
/* Free what the thread holds of it. */
void guest_chan_finish(struct guest_chan *c);

/* ---- guest_agent.c (on the thread) ---- */
/* From here on the guest may open streams to an agent on this session. */
void guest_agent_offer(struct guest_session *s);
void guest_agent_finish(struct guest_session *s);

/* ---- guest_quote.c ---- */
int guest_quote_command(const struct guest_exec_opts *o, char **ret,
			struct err *e) __attribute__((warn_unused_result));

/* ---- guest_sftp.c ---- */
struct guest_sftp;
void guest_sftp_free(struct guest_sftp *f);

#endif
