/*
 * One program from start to end: a poll loop over its three pipes, its pidfd
 * and the caller's cancel_fd. Its end is what ends the loop, not the end of
 * its output, which a daemon it left behind may hold open; what was written
 * before is drained first.
 */
#include "base/proc.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/fd.h"

#include <errno.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#define READ_STEP_LEN (64 << 10)
/* a longer line reaches line() in pieces */
#define LINE_LEN (16 << 10)
/* of stderr only the end is of interest */
#define TAIL_LEN 4096

struct pump {
	const struct proc_run *run;
	const char *name;
	pid_t pid;
	int in_fd, out_fd, err_fd, pid_fd; /* ours; -1: closed or none */
	size_t in_done;
	struct buf out;	 /* what was read and not yet handed on */
	struct buf tail; /* of stderr */
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Hand on each line, and with `all` also the rest that has no end. A carriage
 * return ends one too: that is how programs draw progress. */
static void hand_lines(struct pump *p, bool all)
{
	size_t from = 0;

	while (from < p->out.len) {
		size_t len = strcspn(p->out.data + from, "\r\n");
		size_t end = from + len;

		if (end >= p->out.len && !all && len < LINE_LEN)
			break;
		if (end < p->out.len)
			p->out.data[end] = '\0';
		if (len > 0)
			p->run->line(p->out.data + from, p->run->line_ctx);
		from = end < p->out.len ? end + 1 : p->out.len;
	}
	buf_consume(&p->out, from);
}

static int take_out(struct pump *p, struct err *e)
{
	if (p->run->line) {
		hand_lines(p, false);
		return 0;
	}
	if (p->run->out &&
	    buf_add(p->run->out, p->out.data, p->out.len, e) < 0)
		return err_wrap(e, "the output of %s", p->name);
	buf_reset(&p->out);
	return 0;
}

/* One read; 0 also when there is nothing. The fd is closed at its end. */
static int read_some(struct buf *to, int *fd, size_t max, struct err *e)
{
	struct err why = {0};
	ssize_t n = buf_read_fd(to, *fd, max, &why);

	if (n == 0)
		close_fd(fd);
	if (n >= 0 || why.errnum == EAGAIN || why.errnum == EINTR)
		return n > 0 ? 1 : 0;
	if (e)
		*e = why;
	return -1;
}

static int pump_out(struct pump *p, struct err *e)
{
	int n = read_some(&p->out, &p->out_fd, READ_STEP_LEN, e);

	if (n > 0 && take_out(p, e) < 0)
		return -1;
	return n;
}

static int pump_err(struct pump *p, struct err *e)
{
	int n = read_some(&p->tail, &p->err_fd, TAIL_LEN, e);

	if (p->tail.len > TAIL_LEN)
		buf_consume(&p->tail, p->tail.len - TAIL_LEN);
	return n;
}

static int pump_in(struct pump *p, struct err *e)
{
	const char *from = (const char *)p->run->in + p->in_done;
	ssize_t n = fd_write_some(p->in_fd, from, p->run->in_len - p->in_done);

	if (n >= 0)
		p->in_done += (size_t)n;
	else if (errno == EPIPE) /* it wants no more: its status tells */
		p->in_done = p->run->in_len;
	else if (errno != EAGAIN && errno != EINTR)
		return err_sys(e, "feeding %s", p->name);
	if (p->in_done == p->run->in_len)
		close_fd(&p->in_fd);
	return 0;
}

/* What the program wrote before it ended. */
static int drain(struct pump *p, struct err *e)
{
	int n = 1;

	while (n > 0 && p->out_fd >= 0)
		n = pump_out(p, e);
	if (n < 0)
		return -1;
	for (n = 1; n > 0 && p->err_fd >= 0;)
		n = pump_err(p, e);
	if (p->run->line)
		hand_lines(p, true);
	return n < 0 ? -1 : 0;
}

/* 0: go on, 1: it has ended, -1. */
static int pump_once(struct pump *p, struct deadline d, struct err *e)
{
	enum { IN, OUT, ERR, END, CANCEL };
	struct pollfd fds[] = {
		[IN] = {.fd = p->in_fd, .events = POLLOUT},
		[OUT] = {.fd = p->out_fd, .events = POLLIN},
		[ERR] = {.fd = p->err_fd, .events = POLLIN},
		[END] = {.fd = p->pid_fd, .events = POLLIN},
		[CANCEL] = {.fd = p->run->cancel_fd, .events = POLLIN},
	};

	if (deadline_poll(fds, ARRAY_COUNT(fds), d, "waiting for a program",
			  e) < 0)
		return err_wrap(e, "%s", p->name);
	/* a program that never pauses must not outlast its deadline */
	if (deadline_check(d, "a program was at work", e) < 0)
		return err_wrap(e, "%s", p->name);
	if (fds[CANCEL].revents)
		return err_set(e, ERR_CANCELLED, "%s: cancelled", p->name);
	if (fds[IN].revents && pump_in(p, e) < 0)
		return -1;
	if (fds[OUT].revents && pump_out(p, e) < 0)
		return -1;
	if (fds[ERR].revents && pump_err(p, e) < 0)
		return -1;
	if (fds[END].revents)
		return drain(p, e) < 0 ? -1 : 1;
	return 0;
}

/* The last line that says something. */
static const char *last_line(struct buf *tail)
{
	char *line;

	while (tail->len > 0 && strchr("\r\n\t ", tail->data[tail->len - 1]))
		tail->len--;
	tail->data[tail->len] = '\0';
	line = memrchr(tail->data, '\n', tail->len);
	return line ? line + 1 : tail->data;
}

static int judge(struct pump *p, int status, struct err *e)
{
	const char *why = last_line(&p->tail);

	if (status == 0)
		return 0;
	if (status > 128)
		return err_set(e, ERR_SYSTEM, "%s: ended by signal %d%s%s",
			       p->name, status - 128, why[0] ? ": " : "", why);
	return err_set(e, ERR_SYSTEM, "%s: exit status %d%s%s", p->name, status,
		       why[0] ? ": " : "", why);
}

/* Pipes for what is wanted; ret_theirs are the child's ends. */
static int make_pipes(struct pump *p, int ret_theirs[3], struct err *e)
{
	int fds[2];

	if (p->run->in) {
		if (fd_pipe(fds, e) < 0)
			return -1;
		ret_theirs[0] = fds[0];
		p->in_fd = fds[1];
		if (fd_set_nonblock(p->in_fd, e) < 0)
			return -1;
	}
	if (p->run->out || p->run->line) {
		if (fd_pipe(fds, e) < 0)
			return -1;
		p->out_fd = fds[0];
		ret_theirs[1] = fds[1];
		if (fd_set_nonblock(p->out_fd, e) < 0)
			return -1;
	}
	if (fd_pipe(fds, e) < 0)
		return -1;
	p->err_fd = fds[0];
	ret_theirs[2] = fds[1];
	return fd_set_nonblock(p->err_fd, e);
}

static int start(struct pump *p, const char *const *argv, struct err *e)
{
	int theirs[3] = {-1, -1, -1};
	struct proc_opts o = {0};

	if (make_pipes(p, theirs, e) == 0) {
		o = (struct proc_opts){.in_fd = theirs[0],
				       .out_fd = theirs[1],
				       .err_fd = theirs[2],
				       .limits = p->run->limits};
		p->pid = proc_spawn(argv, &o, e);
	}
	for (int i = 0; i < 3; i++)
		close_fd(&theirs[i]);
	return p->pid < 0 ? -1 : 0;
}

static int run_to_end(struct pump *p, struct deadline d, struct err *e)
{
	int status = 0;
	int rc;

	p->pid_fd = pidfd_open(p->pid, 0);
	if (p->pid_fd < 0)
		rc = err_sys(e, "%s", p->name);
	else
		do {
			rc = pump_once(p, d, e);
		} while (rc == 0);
	if (rc < 0) {
		if (p->run->term_ms > 0)
			proc_kill_in(p->pid, p->run->term_ms);
		else
			proc_kill(p->pid);
		return -1;
	}
	if (proc_wait(p->pid, d, &status, e) < 0)
		return -1;
	if (p->run->ret_status)
		*p->run->ret_status = status;
	else
		rc = judge(p, status, e);
	return rc < 0 ? -1 : 0;
}

int proc_run(const char *const *argv, const struct proc_run *r,
	     struct deadline d, struct err *e)
{
	struct pump p = {.run = r,
			 .name = argv[0],
			 .pid = -1,
			 .in_fd = -1,
			 .out_fd = -1,
			 .err_fd = -1,
			 .pid_fd = -1};
	int rc;

	buf_init(&p.out, LINE_LEN + READ_STEP_LEN);
	buf_init(&p.tail, (size_t)2 * TAIL_LEN);
	rc = start(&p, argv, e);
	if (rc == 0)
		rc = run_to_end(&p, d, e);
	close_fd(&p.in_fd);
	close_fd(&p.out_fd);
	close_fd(&p.err_fd);
	close_fd(&p.pid_fd);
	buf_finish(&p.out);
	buf_finish(&p.tail);
	return rc;
}
