/*
 * The callers' side of one guest. Nothing here calls libssh: a call makes a
 * struct guest_chan, gives it to the I/O thread (guest_thread.c), and waits on
 * the channel's eventfd and on its own ends of the pipes, each time with the
 * caller's deadline. The thread keeps that deadline too while it opens the
 * channel, so a guest that never answers ends both waits.
 *
 * A channel has two references, one here and one on the thread; whoever lets go
 * last frees it. State that both look at is under guest.lock.
 */
#include "vmctl/guest.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "vmctl/guest_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define BULK_PIPE_LEN (256 << 10)
/* a command is killed, or its channel closed, within */
#define STOP_MS 4000
#define RUN_STEP_LEN ((size_t)64 << 10)

struct guest_exec {
	struct guest_chan *c;
	int in, out, errs;
	int agents; /* where agent streams arrive; -1 */
};

/* ---- life ---- */

static void free_guest(struct guest *g)
{
	if (g->wake_fd >= 0)
		close(g->wake_fd);
	pthread_cond_destroy(&g->cond);
	pthread_cond_destroy(&g->released);
	pthread_mutex_destroy(&g->lock);
	free(g->name);
	free(g->user);
	free(g->key_path);
	free(g->host_key);
	free(g->address);
	free(g);
}

/* The base64 of "ssh-ed25519 AAAA… comment", or NULL. */
static char *key_of_line(const char *line)
{
	static const char type[] = "ssh-ed25519 ";
	size_t len;

	if (strncmp(line, type, sizeof(type) - 1) != 0)
		return NULL;
	line += sizeof(type) - 1;
	len = strcspn(line, " \t\r\n");
	return len > 0 ? alloc_strn(line, len) : NULL;
}

/* Signals are the main thread's business. */
static int start_thread(struct guest *g)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	rc = pthread_create(&g->thread, NULL, guest_thread_main, g);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

int guest_new(const struct guest_config *c, struct guest **ret, struct err *e)
{
	struct guest *g = ALLOC_NEW(struct guest);
	pthread_condattr_t attr;

	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->cond, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&g->released, &attr);
	pthread_condattr_destroy(&attr);
	g->name = alloc_str(c->name);
	g->user = alloc_str(c->user);
	g->key_path = alloc_str(c->key_path);
	g->address = alloc_str(c->address ? c->address : "");
	g->port = c->port;
	g->host_key = key_of_line(c->host_key ? c->host_key : "");
	g->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!g->host_key)
		err_set(e, ERR_DENIED,
			"Host key verification failed: no ssh-ed25519 key is "
			"on record for %s",
			c->name);
	else if (g->wake_fd < 0)
		err_sys(e, "making an eventfd");
	else if ((errno = start_thread(g)))
		err_sys(e, "starting the thread of %s", c->name);
	else {
		*ret = g;
		return 0;
	}
	free_guest(g);
	return -1;
}

void guest_wake(struct guest *g)
{
	eventfd_write(g->wake_fd, 1);
}

void guest_free(struct guest *g)
{
	if (!g)
		return;
	pthread_mutex_lock(&g->lock);
	g->quit = true;
	pthread_mutex_unlock(&g->lock);
	guest_wake(g);
	pthread_join(g->thread, NULL);
	guest_sftp_free(g->sftp);
	free_guest(g);
}

void guest_set_address(struct guest *g, const char *address, unsigned port)
{
	pthread_mutex_lock(&g->lock);
	if (strcmp(g->address, address) != 0 || g->port != port) {
		free(g->address);
		g->address = alloc_str(address);
		g->port = port;
		g->moved = true;
	}
	pthread_mutex_unlock(&g->lock);
	guest_wake(g);
}

void guest_drop(struct guest *g)
{
	pthread_mutex_lock(&g->lock);
	g->stopped = true;
	pthread_mutex_unlock(&g->lock);
	guest_wake(g);
}

int guest_connect(struct guest *g, struct deadline d, struct err *e)
{
	struct guest_waiter w = {.deadline = d}, **at;

	pthread_mutex_lock(&g->lock);
	w.next = g->waiters;
	/* taken off the list again before we return */
	/* cppcheck-suppress autoVariables */
	g->waiters = &w;
	guest_wake(g);
	while (!w.done)
		pthread_cond_wait(&g->cond, &g->lock); /* answered by d */
	for (at = &g->waiters; *at != &w; at = &(*at)->next)
		;
	*at = w.next;
	pthread_mutex_unlock(&g->lock);
	if (w.err.code == ERR_NONE)
		return 0;
	if (e)
		*e = w.err;
	return -1;
}

/* ---- channels ---- */

struct guest_chan *guest_chan_new(struct guest *g, enum guest_kind kind,
				  enum guest_role role, char *what,
				  struct deadline open_by)
{
	struct guest_chan *c = ALLOC_NEW(struct guest_chan);

	c->g = g;
	c->kind = kind;
	c->role = role;
	c->what = what;
	c->open_by = open_by;
	c->refs = 2;
	c->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	c->in_fd = c->out.fd = c->errs.fd = c->agent_fd = -1;
	buf_init(&c->out.stage, LIMIT_GUEST_STAGE_LEN);
	buf_init(&c->errs.stage, LIMIT_GUEST_STAGE_LEN);
	return c;
}

void guest_chan_unref(struct guest_chan *c)
{
	bool last;

	pthread_mutex_lock(&c->g->lock);
	last = --c->refs == 0;
	pthread_mutex_unlock(&c->g->lock);
	if (!last)
		return;
	if (c->event_fd >= 0)
		close(c->event_fd);
	free(c->what);
	free(c);
}

void guest_chan_submit(struct guest_chan *c)
{
	struct guest_chan **tail = &c->g->incoming;

	pthread_mutex_lock(&c->g->lock);
	while (*tail)
		tail = &(*tail)->next;
	*tail = c;
	pthread_mutex_unlock(&c->g->lock);
	guest_wake(c->g);
}

/* The caller wants it no more. */
static void abandon(struct guest_chan *c)
{
	pthread_mutex_lock(&c->g->lock);
	c->want_close = true;
	pthread_mutex_unlock(&c->g->lock);
	guest_wake(c->g);
	guest_chan_unref(c);
}

int guest_chan_await_open(struct guest_chan *c, int cancel_fd, struct err *e)
{
	/* the thread ends it at open_by; the poll only needs to be longer */
	struct deadline d = deadline_in_ms(DEADLINE_MAX_MS);
	eventfd_t ignored;
	bool opened, ended;

	for (;;) {
		struct pollfd fds[2] = {{.fd = c->event_fd, .events = POLLIN},
					{.fd = cancel_fd, .events = POLLIN}};

		if (deadline_poll(fds, 2, d,
				  "waiting for the guest to start it", e) < 0)
			return -1;
		if (fds[1].revents)
			return err_set(e, ERR_CANCELLED, "cancelled");
		pthread_mutex_lock(&c->g->lock);
		opened = c->opened;
		ended = c->ended;
		if (opened && !c->exited && !ended)
			eventfd_read(c->event_fd, &ignored);
		if (!opened && ended && e)
			*e = c->err;
		pthread_mutex_unlock(&c->g->lock);
		if (opened)
			return 0;
		if (ended)
			return -1;
	}
}

int guest_open_stream(struct guest *g, const struct guest_target *t,
		      struct deadline d, int *ret_fd, struct err *e)
{
	struct guest_chan *c;
	int fds[2];

	if (fd_pair(fds, e) < 0)
		return -1;
	if (fd_set_nonblock(fds[0], e) < 0 || fd_set_nonblock(fds[1], e) < 0) {
		close(fds[0]);
		close(fds[1]);
		return -1;
	}
	c = guest_chan_new(g, t->kind, t->role, alloc_str(t->what), d);
	c->in_fd = c->out.fd = fds[1];
	guest_chan_submit(c);
	if (guest_chan_await_open(c, -1, e) < 0) {
		close(fds[0]);
		abandon(c);
		return -1;
	}
	guest_chan_unref(c); /* the thread ends it when our end is closed */
	*ret_fd = fds[0];
	return 0;
}

int guest_open_unix(struct guest *g, const char *path, struct deadline d,
		    int *ret_fd, struct err *e)
{
	const struct guest_target t = {GUEST_UNIX, GUEST_DESKTOP, path};

	return guest_open_stream(g, &t, d, ret_fd, e);
}

/* ---- exec ---- */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Messages keep their bounds and their fds. */
static int make_agent_fds(struct guest_exec *x, struct err *e)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
		       0, fds) < 0)
		return err_sys(e, "socketpair");
	x->agents = fds[0];
	x->c->agent_fd = fds[1];
	return 0;
}

/* Ends 0 are the caller's, 1 the thread's; all non-blocking. */
static int make_fds(struct guest_exec *x, const struct guest_exec_opts *o,
		    struct err *e)
{
	struct guest_chan *c = x->c;
	int in[2], out[2], errs[2];

	if (fd_pair(in, e) < 0) /* a socket: writing to it raises no SIGPIPE */
		return -1;
	x->in = in[0];
	c->in_fd = in[1];
	if (fd_pipe(out, e) < 0)
		return -1;
	x->out = out[0];
	c->out.fd = out[1];
	if (o->bulk) /* may be refused: it is only faster */
		(void)fcntl(x->out, F_SETPIPE_SZ, BULK_PIPE_LEN);
	if (o->want_err) {
		if (fd_pipe(errs, e) < 0)
			return -1;
		x->errs = errs[0];
		c->errs.fd = errs[1];
	}
	if (o->agent && make_agent_fds(x, e) < 0)
		return -1;
	if (fd_set_nonblock(x->in, e) < 0 || fd_set_nonblock(c->in_fd, e) < 0 ||
	    fd_set_nonblock(x->out, e) < 0 || fd_set_nonblock(c->out.fd, e) < 0)
		return -1;
	return o->want_err && (fd_set_nonblock(x->errs, e) < 0 ||
			       fd_set_nonblock(c->errs.fd, e) < 0)
		       ? -1
		       : 0;
}

static void free_exec(struct guest_exec *x)
{
	close_fd(&x->in);
	close_fd(&x->out);
	close_fd(&x->errs);
	close_fd(&x->agents);
	free(x);
}

static enum guest_role role_of(const struct guest_exec_opts *o)
{
	if (o->agent)
		return GUEST_LENT;
	return o->bulk ? GUEST_BULK : GUEST_CONTROL;
}

int guest_exec_start(struct guest *g, const struct guest_exec_opts *o,
		     struct deadline d, struct guest_exec **ret, struct err *e)
{
	struct guest_exec *x;
	char *command;

	if (guest_quote_command(o, &command, e) < 0)
		return -1;
	x = ALLOC_NEW(struct guest_exec);
	x->in = x->out = x->errs = x->agents = -1;
	x->c = guest_chan_new(g, GUEST_EXEC, role_of(o), command, d);
	if (make_fds(x, o, e) < 0) {
		guest_chan_finish(x->c);
		x->c->refs = 1; /* the thread never had it */
		guest_chan_unref(x->c);
		free_exec(x);
		return -1;
	}
	guest_chan_submit(x->c);
	if (guest_chan_await_open(x->c, o->cancel_fd > 0 ? o->cancel_fd : -1,
				  e) < 0) {
		abandon(x->c);
		free_exec(x);
		return -1;
	}
	*ret = x;
	return 0;
}

int guest_exec_in_fd(struct guest_exec *x)
{
	return x->in;
}

int guest_exec_out_fd(struct guest_exec *x)
{
	return x->out;
}

int guest_exec_err_fd(struct guest_exec *x)
{
	return x->errs;
}

int guest_exec_event_fd(struct guest_exec *x)
{
	return x->c->event_fd;
}

void guest_exec_close_in(struct guest_exec *x)
{
	close_fd(&x->in);
}

/* 1: it exited, 0: it runs, -1: its end will not be known */
static int look(struct guest_exec *x, struct guest_exit *ret, struct err *e)
{
	struct guest_chan *c = x->c;
	int rc = 0;

	pthread_mutex_lock(&c->g->lock);
	if (c->ended && c->err.code != ERR_NONE) {
		if (e)
			*e = c->err;
		rc = -1;
	} else if (c->exited) {
		*ret = c->exit;
		rc = 1;
	} else if (c->ended) {
		rc = err_set(e, ERR_CANCELLED, "the command was stopped");
	}
	pthread_mutex_unlock(&c->g->lock);
	return rc;
}

int guest_exec_wait(struct guest_exec *x, struct deadline d,
		    struct guest_exit *ret, struct err *e)
{
	struct pollfd pf = {.fd = x->c->event_fd, .events = POLLIN};
	int rc;

	while ((rc = look(x, ret, e)) == 0)
		if (deadline_poll(&pf, 1, d, "waiting for the command to end",
				  e) < 0)
			return -1;
	return rc < 0 ? -1 : 0;
}

static void ask_signal(struct guest_chan *c, const char *signal)
{
	pthread_mutex_lock(&c->g->lock);
	memcpy(c->want_signal, signal, strlen(signal) + 1);
	pthread_mutex_unlock(&c->g->lock);
	guest_wake(c->g);
}

int guest_exec_signal(struct guest_exec *x, const char *signal, struct err *e)
{
	static const char *const known[] = {
		"ABRT", "ALRM", "FPE",	"HUP",	"ILL",	"INT", "KILL",
		"PIPE", "QUIT", "SEGV", "TERM", "USR1", "USR2"};

	for (size_t i = 0; i < ARRAY_COUNT(known); i++) {
		if (strcmp(signal, known[i]) == 0) {
			ask_signal(x->c, known[i]);
			return 0;
		}
	}
	return err_set(e, ERR_INVALID, "%s: ssh knows no such signal", signal);
}

void guest_exec_stop(struct guest_exec *x)
{
	struct guest_exit ignored;

	pthread_mutex_lock(&x->c->g->lock);
	x->c->want_stop = true;
	pthread_mutex_unlock(&x->c->g->lock);
	guest_wake(x->c->g);
	if (guest_exec_wait(x, deadline_in_ms(STOP_MS), &ignored, NULL) < 0)
		return; /* it could not be ended, or nobody knows how it did */
}

int guest_exec_agent_fd(struct guest_exec *x)
{
	return x->agents;
}

int guest_exec_take_agent(struct guest_exec *x)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec iov = {&byte, 1};
	struct msghdr m = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof(control.room),
	};
	const struct cmsghdr *c;
	int fd;

	if (recvmsg(x->agents, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) <= 0)
		return -1;
	c = CMSG_FIRSTHDR(&m);
	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return -1;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

void guest_exec_cut(struct guest_exec *x)
{
	pthread_mutex_lock(&x->c->g->lock);
	x->c->want_cut = true;
	pthread_mutex_unlock(&x->c->g->lock);
	guest_exec_free(x);
}

void guest_exec_free(struct guest_exec *x)
{
	if (!x)
		return;
	abandon(x->c);
	free_exec(x);
}

/* ---- run ---- */

/* One stream into its buffer; closed at its end. */
static int collect(int *fd, struct buf *to, struct err *e)
{
	char scratch[RUN_STEP_LEN];
	struct err err = {0};
	ssize_t n;

	if (!to) {
		n = read(*fd, scratch, sizeof(scratch));
		err.errnum = n < 0 ? errno : 0;
	} else if (to->len == to->cap) {
		n = read(*fd, scratch, 1);
		if (n > 0)
			return err_set(e, ERR_LIMIT,
				       "the command says more than %zu bytes",
				       to->cap);
		err.errnum = n < 0 ? errno : 0;
	} else {
		n = buf_read_fd(to, *fd, RUN_STEP_LEN, &err);
	}
	if (n == 0)
		close_fd(fd);
	if (n < 0 && err.errnum != EAGAIN && err.errnum != EINTR)
		return err_set(e, ERR_SYSTEM, "reading the command's output");
	return 0;
}

static void feed(struct guest_exec *x, const struct guest_run *r, size_t *at)
{
	ssize_t n = 0;

	if (*at < r->in_len)
		n = send(x->in, (const char *)r->in + *at, r->in_len - *at,
			 MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n > 0)
		*at += (size_t)n;
	/* a command that reads no more of it may still do its work */
	if (*at == r->in_len || (n < 0 && errno != EAGAIN && errno != EINTR))
		guest_exec_close_in(x);
}

static int run_streams(struct guest_exec *x, const struct guest_run *r,
		       struct deadline d, struct err *e)
{
	size_t at = 0;

	if (r->in_len == 0)
		guest_exec_close_in(x);
	while (x->out >= 0 || x->errs >= 0) {
		struct pollfd fds[] = {{.fd = x->in, .events = POLLOUT},
				       {.fd = x->out, .events = POLLIN},
				       {.fd = x->errs, .events = POLLIN},
				       {.fd = r->cancel_fd, .events = POLLIN}};

		/* a flood, of bytes that nobody keeps, is always ready */
		if (deadline_poll(fds, 4, d, "waiting for the command to end",
				  e) < 0 ||
		    deadline_check(d, "waiting for the command to end", e) < 0)
			return -1;
		if (fds[3].revents)
			return err_set(e, ERR_CANCELLED, "cancelled");
		if (fds[0].revents)
			feed(x, r, &at);
		if (fds[1].revents && collect(&x->out, r->out, e) < 0)
			return -1;
		if (fds[2].revents && collect(&x->errs, r->err, e) < 0)
			return -1;
	}
	return 0;
}

int guest_run(struct guest *g, const struct guest_run *r, struct deadline d,
	      struct guest_exit *ret, struct err *e)
{
	const struct guest_exec_opts o = {.argv = r->argv,
					  .want_err = r->err != NULL,
					  .cancel_fd = r->cancel_fd};
	struct guest_exec *x;
	int rc;

	if (guest_exec_start(g, &o, d, &x, e) < 0)
		return -1;
	rc = run_streams(x, r, d, e);
	if (rc == 0)
		rc = guest_exec_wait(x, d, ret, e);
	else
		guest_exec_stop(x);
	guest_exec_free(x);
	return rc;
}
