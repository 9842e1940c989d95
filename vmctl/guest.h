/*
 * guest.h - one guest reached over ssh: exec, sftp, unix-socket channels
 *
 * One I/O thread per guest owns all of its libssh sessions (control, desktop,
 * bulk). Callers queue to it and wait with deadlines; bytes of a running
 * channel cross on socketpairs, so no caller touches libssh.
 *
 * Shapes:  struct guest is reference-free: made by guest_new, stopped by
 *          guest_free (joins the thread). It connects lazily and again after a
 *          loss; sessions are kept warm. The address may change
 *          (guest_set_address drops the sessions).
 * Units:   bytes, deadlines.
 * Errors:  ERR_DENIED "Host key verification failed: …" when the key is not
 *          the pinned one (nothing was sent), ERR_UNAVAILABLE not answering,
 *          ERR_TIMEOUT, ERR_PROTOCOL for a guest that lies, ERR_LIMIT.
 * Threads: any thread may call.
 * Source:  RFC 4251–4254, OpenSSH PROTOCOL (direct-streamlocal), libssh
 *          0.10. This is libssh's only user.
 */
#ifndef VMCTL_GUEST_H
#define VMCTL_GUEST_H

#include "base/buf.h"
#include "base/deadline.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct guest;

struct guest_config {
	const char *name;	/* the VM's, for messages */
	const char *user;	/* "agent" */
	const char *address;	/* numeric */
	unsigned port;
	const char *key_path;	/* our private client key (OpenSSH format) */
	const char *host_key;	/* pinned "ssh-ed25519 AAAA…" line */
};

int guest_new(const struct guest_config *c, struct guest **ret,
	      struct err *e) __attribute__((warn_unused_result));
void guest_free(struct guest *g);
void guest_set_address(struct guest *g, const char *address, unsigned port);
/* Drop all sessions (the VM was stopped): running channels end with errors. */
void guest_drop(struct guest *g);
/* A control session is authenticated: the guest is ready. */
int guest_connect(struct guest *g, struct deadline d, struct err *e)
	__attribute__((warn_unused_result));

/* How a command ended. */
struct guest_exit {
	int status;	 /* 0..255; -1 when killed by a signal */
	char signal[16]; /* "TERM", or "" */
};

/*
 * Start argv in the guest (quoted for its shell; no word is interpreted).
 * env: NULL-terminated "NAME=value" list or NULL. The three fds are borrowed,
 * non-blocking and stay guest_exec's to close: guest_exec_close_in() ends the
 * command's stdin; out/err are read to EOF, and both must be, for they share
 * the channel's window. An EOF is the end of the output only when
 * guest_exec_wait() then succeeds: it fails when the link was lost.
 * want_err false: stderr is dropped. Bulk sessions carry large transfers.
 */
struct guest_exec_opts {
	const char *const *argv;
	const char *const *env;
	const char *cwd;
	bool bulk;
	bool want_err;
	/* On a connection of its own, with an ssh agent for what runs in the
	 * guest: what connects to it arrives at guest_exec_agent_fd(). */
	bool agent;
	int cancel_fd; /* readable: give up starting it. <= 0: none */
};
struct guest_exec;
int guest_exec_start(struct guest *g, const struct guest_exec_opts *o,
		     struct deadline d, struct guest_exec **ret, struct err *e)
	__attribute__((warn_unused_result));
int guest_exec_in_fd(struct guest_exec *x);  /* borrowed; -1 once closed */
int guest_exec_out_fd(struct guest_exec *x);
int guest_exec_err_fd(struct guest_exec *x);
/* Readable from when the command ended, or its end cannot be known any more;
 * what it started in the background may hold out/err open beyond. */
int guest_exec_event_fd(struct guest_exec *x);
/* Of one with an agent: readable when guest_exec_take_agent() has the next
 * stream, an fd of the caller's (as guest_open_unix), else -1. Only ones opened
 * by the guest's programs come here, and few at once. */
int guest_exec_agent_fd(struct guest_exec *x);
int guest_exec_take_agent(struct guest_exec *x);
/* Of one with an agent: its connection ends now, and what the guest had of it;
 * x is freed. */
void guest_exec_cut(struct guest_exec *x);
void guest_exec_close_in(struct guest_exec *x);
/* The true exit status or signal. ERR_UNAVAILABLE when the link was lost. */
int guest_exec_wait(struct guest_exec *x, struct deadline d,
		    struct guest_exit *ret, struct err *e)
	__attribute__((warn_unused_result));
/* To the command's process group: "TERM", "KILL", …; sshd ignores it for root,
 * and in a command's very first moments. */
int guest_exec_signal(struct guest_exec *x, const char *signal,
		      struct err *e) __attribute__((warn_unused_result));
/* End a running command: TERM, KILL after 2 s; returns when it ended, after
 * 4 s at most. */
void guest_exec_stop(struct guest_exec *x);
/* A command that still runs is ended likewise, behind the caller's back; what
 * it left in the background stays. */
void guest_exec_free(struct guest_exec *x);

/* Start, feed in, collect (caps are the bufs'), wait. A command that is cut off
 * by the deadline, a cap or cancel_fd is stopped. It must not leave anything in
 * the background that holds its stdout or stderr. */
struct guest_run {
	const char *const *argv;
	const void *in;
	size_t in_len;
	struct buf *out, *err; /* NULL: dropped */
	int cancel_fd;	       /* -1: none */
};
int guest_run(struct guest *g, const struct guest_run *r, struct deadline d,
	      struct guest_exit *ret, struct err *e)
	__attribute__((warn_unused_result));

/* A connected stream to a unix socket in the guest, as an fd of the caller's
 * (non-blocking; shutdown(2) and EOF cross both ways; closing it closes the
 * channel). ERR_STATE when nothing listens there. */
int guest_open_unix(struct guest *g, const char *path, struct deadline d,
		    int *ret_fd, struct err *e)
	__attribute__((warn_unused_result));

/*
 * ---- sftp: on the caller's thread, over a channel that is kept warm ----
 * Relative paths start at the user's home. What the guest says is checked, but
 * it may lie about what lies where: names are single components, sizes are
 * claims.
 */
struct guest_stat {
	char type;	 /* 'f' 'd' 'l' or '?' */
	uint32_t mode;	 /* permission bits */
	uint64_t len;
	int64_t mtime_s;
};
int guest_lstat(struct guest *g, const char *path, struct deadline d,
		struct guest_stat *ret, struct err *e)
	__attribute__((warn_unused_result));
int guest_stat_follow(struct guest *g, const char *path, struct deadline d,
		      struct guest_stat *ret, struct err *e)
	__attribute__((warn_unused_result));
typedef int guest_dir_fn(const char *name, const struct guest_stat *st,
			 void *ctx, struct err *e);
/* fn runs on the caller's thread, after the listing is complete. */
int guest_read_dir(struct guest *g, const char *path, struct deadline d,
		   guest_dir_fn *fn, void *ctx, struct err *e)
	__attribute__((warn_unused_result));
int guest_read_link(struct guest *g, const char *path, struct deadline d,
		    char **ret, struct err *e)
	__attribute__((warn_unused_result));
/* As the guest resolves it; its last part need not exist. */
int guest_real_path(struct guest *g, const char *path, struct deadline d,
		    char **ret, struct err *e)
	__attribute__((warn_unused_result));
/* Whole small files; out's cap is the limit (ERR_LIMIT). */
int guest_read_file(struct guest *g, const char *path, struct deadline d,
		    struct buf *out, struct err *e)
	__attribute__((warn_unused_result));
/* Temp beside it, fsync where the server can, rename over what a link at path
 * points to. The mode stays, or is 0644. */
int guest_write_file(struct guest *g, const char *path, const void *p,
		     size_t len, struct deadline d, struct err *e)
	__attribute__((warn_unused_result));
/* Of those who hold a file while they change it, one at a time goes on; the
 * others wait, until d: ERR_TIMEOUT. */
struct guest_hold;
int guest_hold_file(struct guest *g, const char *path, struct deadline d,
		    struct guest_hold **ret, struct err *e)
	__attribute__((warn_unused_result));
void guest_hold_free(struct guest_hold *h);

#endif
