#include "cli/invoke.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/utf8.h"
#include "base/version.h"
#include "cli/person.h"
#include "cli/meter.h"
#include "cli/render.h"
#include "ops/client.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PRINT_CAP ((size_t)64 * 1024 * 1024)

/* A terminal that stopped reading must not keep us for ever. */
static int write_out(const void *p, size_t len, struct err *e)
{
	return fd_write_all(STDOUT_FILENO, p, len,
			    deadline_in_ms(DEADLINE_MAX_MS), e);
}

static int connect_service(const struct invoke *v, bool no_start,
			   struct client **ret, struct err *e)
{
	struct client_opts o = {
		.home = v->home,
		.name = v->front->client ? v->front->client : "cli",
		.no_start = no_start,
	};
	const char *version;

	if (client_connect(&o, ret, e) != 0)
		return -1;
	version = client_service_version(*ret);
	if (isatty(STDERR_FILENO) && !v->front->quiet &&
	    strcmp(version, version_string()) != 0)
		fprintf(stderr,
			"boxery: the service is boxery-host %.64s, this is "
			"boxery %s (boxery service restart)\n",
			version, version_string());
	return 0;
}

/* Said here by its name: later it is only "the input". */
static int check_is_file(int fd, const char *path, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return err_sys(e, "%s", path);
	if (S_ISREG(st.st_mode))
		return 0;
	return err_set(e, ERR_INVALID, "%s: is no regular file", path);
}

/* The file whose bytes are sent along: its fd, -1 when there is none. */
static int open_sent(const char *op, const json_t *args, int *ret_fd,
		     struct err *e)
{
	const struct op *row = op_find(op);

	for (const struct op_param *p = row->params; p->name; p++) {
		const char *path =
			json_string_value(json_object_get(args, p->name));

		if (!(p->flags & OP_SENT) || !path)
			continue;
		*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
		if (*ret_fd < 0)
			return err_sys(e, "%s", path);
		return check_is_file(*ret_fd, path, e);
	}
	return 0;
}

struct asked {
	const char *op;
	const json_t *args;
	bool no_start;
	struct buf *image; /* collected here; NULL: none wanted */
};

/* What the callbacks of a call know. */
struct screen {
	struct meter meter;
	int cancel_fd;
};

static void show_progress(void *ctx, const struct client_progress *p)
{
	meter_show(&((struct screen *)ctx)->meter, p);
}

static json_t *ask_person(void *ctx, const json_t *question)
{
	struct screen *s = ctx;

	meter_clear(&s->meter);
	return person_ask(question, s->cancel_fd);
}

static int call(const struct invoke *v, const struct asked *a,
		json_t **ret_result, struct err *e)
{
	/* a command's output is its own business: no meter on top of it. As
	 * JSON, it is part of the result instead */
	bool streams = strcmp(a->op, "vm_run") == 0 && !v->front->json;
	struct client_io io = client_io_none(deadline_in_ms(DEADLINE_MAX_MS));
	auto_client struct client *c = NULL;
	autoclose int sent_fd = -1;
	struct screen screen = {.cancel_fd = v->cancel_fd};
	int rc;

	if (open_sent(a->op, a->args, &sent_fd, e) != 0 ||
	    connect_service(v, a->no_start, &c, e) != 0)
		return -1;
	io.in_fd = sent_fd;
	meter_init(&screen.meter, v->front->quiet || streams);
	io.ctx = &screen;
	io.progress = show_progress;
	io.confirm = ask_person;
	io.cancel_fd = v->cancel_fd;
	io.image = a->image;
	if (streams) {
		io.in_fd = STDIN_FILENO;
		io.out_fd = STDOUT_FILENO;
		io.err_fd = STDERR_FILENO;
	}
	rc = client_call(c, a->op, a->args, &io, ret_result, e);
	meter_clear(&screen.meter);
	return rc;
}

int invoke_op(const struct invoke *v, const char *op, const json_t *args,
	      bool no_start, json_t **ret_result, struct err *e)
{
	struct asked a = {.op = op, .args = args, .no_start = no_start};

	return call(v, &a, ret_result, e);
}

int invoke_print(const struct invoke *v, const struct op *op,
		 const json_t *result, struct err *e)
{
	struct buf out;
	int rc;

	buf_init(&out, PRINT_CAP);
	if (v->front->json)
		rc = render_json(&out, result, isatty(STDOUT_FILENO), e);
	else
		rc = render_result(&out, op, result, e);
	if (rc == 0)
		rc = write_out(out.data, out.len, e);
	buf_finish(&out);
	return rc;
}

/* ---- results with a meaning of their own
 * ------------------------------------- */

static int signal_number(const char *name)
{
	for (int sig = 1; sig < NSIG; sig++) {
		const char *known = sigabbrev_np(sig);

		if (known && strcmp(known, name) == 0)
			return sig;
	}
	return 0;
}

/* The status of the command in the guest, as a shell would give it. */
static int run_status(const json_t *result)
{
	const char *name = "";
	int64_t status = -1;
	struct err e = {0};

	if (json_opt_int(result, "exit", &status, &e) != 0 ||
	    json_opt_str(result, "signal", &name, &e) != 0)
		return err_exit_status(ERR_PROTOCOL);
	if (*name)
		return 128 + signal_number(name);
	if (json_is_true(json_object_get(result, "timed_out")))
		return err_exit_status(ERR_TIMEOUT);
	return status >= 0 && status <= 255 ? (int)status
					    : err_exit_status(ERR_PROTOCOL);
}

/* `doctor` found something wrong. */
static bool any_not_ok(const json_t *result)
{
	const json_t *rows = json_object_get(result, "rows");

	for (size_t i = 0; i < json_array_size(rows); i++) {
		if (json_is_false(
			    json_object_get(json_array_get(rows, i), "ok")))
			return true;
	}
	return false;
}

/* The rest of the result is right, but not all that it could be. */
static bool tell_problem(const json_t *result)
{
	const char *text = json_string_value(json_object_get(result, "problem"));
	char shown[1024];

	if (!text)
		return false;
	utf8_escape(shown, sizeof(shown), text, strlen(text));
	fprintf(stderr, "boxery: %s\n", shown);
	return true;
}

/* ---- images
 * ---------------------------------------------------------------------- */

static int check_output(const struct invoke *v, struct err *e)
{
	if (v->front->output || !isatty(STDOUT_FILENO))
		return 0;
	return err_set(e, ERR_INVALID,
		       "an image is nothing for a terminal: --output FILE, or "
		       "redirect standard output");
}

static int put_image(const struct invoke *v, const struct op *op,
		     const struct buf *image, const json_t *result,
		     struct err *e)
{
	if (image->len == 0)
		return err_set(e, ERR_PROTOCOL, "%s: no image came", op->name);
	if (!v->front->output)
		return write_out(image->data, image->len, e);
	if (path_write_file(v->front->output, image->data, image->len, 0644,
			    e) != 0)
		return -1;
	return invoke_print(v, op, result, e);
}

static int image_and_print(const struct invoke *v, const struct op *op,
			   const json_t *args, struct err *e)
{
	auto_json json_t *result = NULL;
	struct buf image;
	struct asked a = {.op = op->name, .args = args, .image = &image};
	int rc = -1;

	if (check_output(v, e) != 0)
		return -1;
	buf_init(&image, LIMIT_IMAGE_LEN);
	if (call(v, &a, &result, e) == 0)
		rc = put_image(v, op, &image, result, e);
	buf_finish(&image);
	return rc;
}

int invoke_and_print(const struct invoke *v, const struct op *op,
		     const json_t *args, int *ret_status, struct err *e)
{
	auto_json json_t *result = NULL;
	int status = 0;

	if (argv_option_applies(ARGV_OUTPUT, op)) {
		if (image_and_print(v, op, args, e) != 0)
			return -1;
		*ret_status = 0;
		return 0;
	}
	if (invoke_op(v, op->name, args, false, &result, e) != 0)
		return -1;
	if (strcmp(op->name, "vm_run") == 0) {
		/* its output is all there is to see */
		status = run_status(result);
		if (!v->front->json) {
			*ret_status = status;
			return 0;
		}
	} else if (op->result == OP_RESULT_TABLE && any_not_ok(result)) {
		status = 1;
	} else if (json_is_false(json_object_get(result, "ready"))) {
		/* waited for, in vain */
		status = err_exit_status(ERR_TIMEOUT);
	}
	if (invoke_print(v, op, result, e) != 0)
		return -1;
	if (tell_problem(result))
		status = err_exit_status(ERR_UNAVAILABLE);
	*ret_status = status;
	return 0;
}
