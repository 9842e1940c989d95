/*
 * vm_run, in two forms. A person's (`boxery run`) has argv and streams: bytes
 * cross as they come, both ways, and the result is how the command ended. An
 * agent's has a shell command: what it says is kept in a file (runs.h), and the
 * result shows the head and the tail of it.
 *
 * The end of a command is its exit, not the end of its output: what it left in
 * the background may hold stdout open for ever. So once it exited, its streams
 * are read until they end or nothing has come for QUIET_MS.
 */
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "vmctl/call.h"
#include "vmctl/capture.h"
#include "vmctl/guest.h"
#include "vmctl/handlers.h"
#include "vmctl/machines.h"
#include "vmctl/runs.h"
#include "vmctl/service.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STEP_LEN ((size_t)64 << 10)
#define QUIET_MS 3000
#define PROGRESS_MS 1000
/* Of output that is no longer kept: one step in this time, so that a command
 * which floods does not take a processor of the host for an hour. */
#define FLOOD_STEP_MS 8

struct running {
	struct call *c;
	struct guest_exec *x;
	struct deadline end; /* of the command */
	const char *in;
	size_t in_len;
	bool in_open; /* more may come for its stdin */
	bool out_open, err_open;
	bool exited;
	struct guest_exit exit;
	struct deadline quiet;
	int64_t begun_ms, told_ms;
	uint64_t seen_len;
	/* agents' form */
	struct capture out, errs;
	struct run kept;
};

/* ---- what is asked ---- */

struct request {
	const char *argv[LIMIT_ARGS_COUNT + 1];
	char *env[LIMIT_ARGS_COUNT + 1];
	struct guest_exec_opts opts;
};

static void request_free(struct request *r)
{
	for (size_t i = 0; r->env[i]; i++)
		free(r->env[i]);
	free(r);
}

/* Ssh begins in the home; no shell is there to read "~". */
static const char *home_relative(const char *path)
{
	if (strcmp(path, "~") == 0)
		return NULL;
	return strncmp(path, "~/", 2) == 0 ? path + 2 : path;
}

static int fill_argv(struct request *r, const json_t *args, struct err *e)
{
	const char *command = NULL;
	const json_t *argv = json_object_get(args, "argv");

	if (json_opt_str(args, "command", &command, e) < 0)
		return -1;
	if (command) {
		r->argv[0] = "bash";
		r->argv[1] = "-c";
		r->argv[2] = command;
		return 0;
	}
	if (json_array_size(argv) > LIMIT_ARGS_COUNT)
		return err_set(e, ERR_LIMIT, "more than %d arguments",
			       LIMIT_ARGS_COUNT);
	for (size_t i = 0; i < json_array_size(argv); i++)
		r->argv[i] = json_string_value(json_array_get(argv, i));
	return 0;
}

static int fill_env(struct request *r, const json_t *args, struct err *e)
{
	const json_t *env = json_object_get(args, "env");
	const char *name;
	json_t *value;
	size_t n = 0;

	if (json_object_size(env) > LIMIT_ARGS_COUNT)
		return err_set(e, ERR_LIMIT, "more than %d variables",
			       LIMIT_ARGS_COUNT);
	json_object_foreach((json_t *)(uintptr_t)env, name, value)
		r->env[n++] = alloc_printf("%s=%s", name,
					   json_string_value(value));
	return 0;
}

static int start(struct running *r, const json_t *args, struct guest *g,
		 struct err *e)
{
	struct request *q = ALLOC_NEW(struct request);
	const char *cwd = NULL;
	int rc = -1;

	if (fill_argv(q, args, e) == 0 && fill_env(q, args, e) == 0 &&
	    json_opt_str(args, "cwd", &cwd, e) == 0) {
		q->opts.argv = q->argv;
		q->opts.env = (const char *const *)q->env;
		q->opts.cwd = cwd ? home_relative(cwd) : NULL;
		q->opts.want_err = true;
		q->opts.cancel_fd = call_cancel_fd(r->c);
		rc = guest_exec_start(g, &q->opts, r->end, &r->x, e);
	}
	request_free(q);
	return rc;
}

/* ---- its streams ---- */

static int deliver(struct running *r, bool is_err, const char *p, size_t len,
		   struct err *e)
{
	r->seen_len += len;
	if (call_streams(r->c))
		return call_write(r->c, is_err ? RPC_STDERR : RPC_STDOUT, p,
				  len, e);
	capture_add(is_err ? &r->errs : &r->out, p, len);
	runs_add(&r->kept, p, len);
	if (r->kept.cut)
		deadline_sleep_ms(FLOOD_STEP_MS);
	return 0;
}

static int take_output(struct running *r, bool is_err, struct err *e)
{
	int fd = is_err ? guest_exec_err_fd(r->x) : guest_exec_out_fd(r->x);
	bool *open = is_err ? &r->err_open : &r->out_open;
	char bytes[STEP_LEN];
	ssize_t n = read(fd, bytes, sizeof(bytes));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0)
		return err_sys(e, "reading the command's output");
	r->quiet = deadline_in_ms(QUIET_MS);
	if (n > 0)
		return deliver(r, is_err, bytes, (size_t)n, e);
	*open = false;
	return call_streams(r->c) ? deliver(r, is_err, "", 0, e) : 0;
}

static void close_input(struct running *r)
{
	guest_exec_close_in(r->x);
	r->in_open = false;
}

/* What was asked for is in r->in; a command may end without reading it. */
static void give_input(struct running *r)
{
	ssize_t n = send(guest_exec_in_fd(r->x), r->in, r->in_len,
			 MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n > 0) {
		r->in += n;
		r->in_len -= (size_t)n;
	}
	if ((n < 0 && errno != EAGAIN && errno != EINTR) ||
	    (r->in_len == 0 && !call_streams(r->c)))
		close_input(r);
}

static int more_input(struct running *r, char *bytes, struct err *e)
{
	ssize_t n = call_read(r->c, RPC_STDIN, bytes, STEP_LEN, e);

	if (n < 0)
		return -1;
	if (n == 0) {
		close_input(r);
		return 0;
	}
	r->in = bytes;
	r->in_len = (size_t)n;
	return 0;
}

/* ---- until it ends ---- */

enum { FD_CANCEL, FD_EVENT, FD_OUT, FD_ERR, FD_IN, FD_SOURCE, FD_COUNT };

static void fill_fds(struct running *r, struct pollfd fds[FD_COUNT])
{
	bool wants = r->in_open && r->in_len == 0 && call_streams(r->c);

	for (int i = 0; i < FD_COUNT; i++)
		fds[i] = (struct pollfd){.fd = -1, .events = POLLIN};
	fds[FD_CANCEL].fd = call_cancel_fd(r->c);
	if (!r->exited)
		fds[FD_EVENT].fd = guest_exec_event_fd(r->x);
	if (r->out_open)
		fds[FD_OUT].fd = guest_exec_out_fd(r->x);
	if (r->err_open)
		fds[FD_ERR].fd = guest_exec_err_fd(r->x);
	if (r->in_open && r->in_len > 0) {
		fds[FD_IN].fd = guest_exec_in_fd(r->x);
		fds[FD_IN].events = POLLOUT;
	}
	if (wants)
		fds[FD_SOURCE].fd = call_read_fd(r->c, RPC_STDIN);
}

static void tell(struct running *r)
{
	int64_t now_ms = deadline_now_ms();

	if (now_ms - r->told_ms < PROGRESS_MS)
		return;
	r->told_ms = now_ms;
	call_progress(r->c, (int64_t)r->seen_len, 0,
		      "running for %lld s, %llu bytes of output",
		      (long long)(now_ms - r->begun_ms) / 1000,
		      (unsigned long long)r->seen_len);
}

/* One wait: 1 something is ready, 0 only time has passed, -1. */
static int wait_ready(struct running *r, struct pollfd fds[FD_COUNT],
		      struct err *e)
{
	struct deadline d = deadline_min(r->end, deadline_in_ms(PROGRESS_MS));
	struct err late = {0};

	if (r->exited)
		d = deadline_min(d, r->quiet);
	fill_fds(r, fds);
	if (deadline_poll(fds, FD_COUNT, d, "waiting for the command", &late) <
	    0) {
		if (late.code != ERR_TIMEOUT) {
			*e = late;
			return -1;
		}
		return 0;
	}
	if (fds[FD_CANCEL].revents && call_check(r->c, e) < 0)
		return -1;
	return 1;
}

static int serve(struct running *r, const struct pollfd fds[FD_COUNT],
		 char *bytes, struct err *e)
{
	if (fds[FD_EVENT].revents) {
		if (guest_exec_wait(r->x, r->end, &r->exit, e) < 0)
			return -1;
		r->exited = true;
		r->quiet = deadline_in_ms(QUIET_MS);
	}
	if (fds[FD_IN].revents)
		give_input(r);
	if (fds[FD_SOURCE].revents && more_input(r, bytes, e) < 0)
		return -1;
	if (fds[FD_OUT].revents && take_output(r, false, e) < 0)
		return -1;
	return fds[FD_ERR].revents ? take_output(r, true, e) : 0;
}

/* ERR_TIMEOUT at the command's own end. */
static int run_to_end(struct running *r, struct err *e)
{
	autofree char *bytes = alloc_zero(STEP_LEN);
	struct pollfd fds[FD_COUNT];
	int rc;

	while (!r->exited || r->out_open || r->err_open) {
		rc = wait_ready(r, fds, e);
		if (rc < 0 || (rc > 0 && serve(r, fds, bytes, e) < 0))
			return -1;
		if (!call_streams(r->c))
			tell(r);
		/* what runs on in the background may write without end */
		if (r->exited &&
		    (deadline_passed(r->quiet) || deadline_passed(r->end)))
			return 0;
		if (!r->exited && deadline_check(r->end, "running", e) < 0)
			return -1;
	}
	/* the streams' ends are the truth only when the link lasted */
	return guest_exec_wait(r->x, r->end, &r->exit, e);
}

/* ---- results ---- */

static json_t *exit_record(const struct running *r)
{
	json_t *v = json_object();

	json_object_set_new(v, "exit", json_integer(r->exit.status));
	if (r->exit.signal[0])
		json_object_set_new(v, "signal", json_string(r->exit.signal));
	return v;
}

static json_t *shown_record(struct running *r, bool timed_out)
{
	autofree char *output = alloc_printf("run:%s", r->kept.id);
	autofree char *where = alloc_printf("vm_read %s", output);
	size_t out_len, errs_len;
	bool out_cut, errs_cut;
	json_t *v = r->exited ? exit_record(r) : json_object();

	capture_share(&r->out, &r->errs, &out_len, &errs_len);
	json_object_set_new(v, "stdout",
			    capture_text(&r->out, out_len, where, &out_cut));
	json_object_set_new(v, "stderr",
			    capture_text(&r->errs, errs_len, where, &errs_cut));
	json_object_set_new(v, "output", json_string(output));
	json_object_set_new(v, "truncated", json_boolean(out_cut || errs_cut));
	if (r->kept.cut)
		json_object_set_new(v, "kept_bytes",
				    json_integer((json_int_t)r->kept.kept_len));
	if (timed_out)
		json_object_set_new(v, "timed_out", json_true());
	else if (r->out_open || r->err_open)
		json_object_set_new(v, "background", json_true());
	return v;
}

static int run_streaming(struct running *r, json_t **ret_result, struct err *e)
{
	r->in_open = true;
	if (run_to_end(r, e) < 0)
		return -1;
	*ret_result = exit_record(r);
	return 0;
}

static void end_late(struct running *r)
{
	guest_exec_stop(r->x);
	if (guest_exec_wait(r->x, deadline_in_ms(0), &r->exit, NULL) == 0)
		r->exited = true;
}

static int run_captured(struct running *r, const json_t *args, const char *vm,
			json_t **ret_result, struct err *e)
{
	struct err why = {0};
	int rc;

	if (runs_create(&call_service(r->c)->home, vm, &r->kept, e) < 0)
		return -1;
	capture_init(&r->out);
	capture_init(&r->errs);
	r->in = "";
	rc = json_opt_str(args, "stdin", &r->in, &why);
	r->in_len = strlen(r->in);
	r->in_open = r->in_len > 0;
	if (!r->in_open)
		guest_exec_close_in(r->x);
	if (rc == 0)
		rc = run_to_end(r, &why);
	/* late, but what it said so far is worth an answer */
	if (rc == 0 || (why.code == ERR_TIMEOUT && deadline_passed(r->end))) {
		if (rc < 0)
			end_late(r);
		*ret_result = shown_record(r, rc < 0);
		rc = 0;
	} else {
		if (why.code == ERR_UNAVAILABLE && r->seen_len > 0)
			err_wrap(&why, "what it said is kept in run:%s",
				 r->kept.id);
		*e = why;
	}
	capture_finish(&r->out);
	capture_finish(&r->errs);
	runs_close(&r->kept);
	return rc;
}

int op_vm_run(struct call *c, const json_t *args, json_t **ret_result,
	      struct err *e)
{
	const char *vm = json_string_value(json_object_get(args, "vm"));
	double limit_s = json_number_value(json_object_get(args, "timeout_s"));
	struct running r = {
		.c = c, .out_open = true, .err_open = true, .kept.fd = -1};
	struct machine *m;
	struct guest *g;
	int rc;

	if (machines_get(call_service(c)->machines, c, vm, &m, e) < 0 ||
	    machine_guest(m, &g, e) < 0)
		return -1;
	r.begun_ms = r.told_ms = deadline_now_ms();
	r.end = deadline_min(call_deadline(c),
			     deadline_in_ms((int64_t)(limit_s * 1000)));
	if (start(&r, args, g, e) < 0)
		return -1;
	rc = call_streams(c) ? run_streaming(&r, ret_result, e)
			     : run_captured(&r, args, vm, ret_result, e);
	if (rc < 0)
		guest_exec_stop(r.x);
	guest_exec_free(r.x);
	return rc;
}
