#include "tests/support/served.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/home.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/rpc.h"
#include "ops/client.h"
#include "vmctl/audit.h"
#include "vmctl/instance.h"
#include "vmctl/job.h"
#include "vmctl/serve.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

struct served served;

/* ---- handlers
 * ----------------------------------------------------------------- */

static int echo(struct call *c, const json_t *args, json_t **ret, struct err *e)
{
	*ret = json_pack("{s:s, s:b, s:O}", "client", call_client(c), "agent",
			 (int)call_from_agent(c), "args", args);
	err_set(e, ERR_TIMEOUT, "coped with"); /* no failure: it says 0 */
	return 0;
}

/* Ends when cancelled, and only then. */
static int hang(struct call *c, const json_t *args, json_t **ret, struct err *e)
{
	struct pollfd p = {.fd = call_cancel_fd(c), .events = POLLIN};

	(void)args;
	(void)ret;
	atomic_fetch_add(&served.running, 1);
	if (deadline_poll(&p, 1, call_deadline(c), "hanging", e) < 0)
		return -1;
	atomic_fetch_add(&served.cancelled, 1);
	return call_check(c, e);
}

/* A job that lasts until it is released, and says so meanwhile. */
static int job(struct call *c, const json_t *args, json_t **ret, struct err *e)
{
	atomic_fetch_add(&served.running, 1);
	for (int i = 0; !atomic_load(&served.release); i++) {
		if (call_check(c, e) != 0) {
			atomic_fetch_add(&served.cancelled, 1);
			return -1;
		}
		call_progress(c, i, 0, "step %d", i);
		deadline_sleep_ms(2);
	}
	*ret = json_pack("{s:O, s:s}", "name", json_object_get(args, "vm"),
			 "job", call_job(c));
	return 0;
}

/* stdin to stdout to its end; then one line to stderr. */
static int cat(struct call *c, const json_t *args, json_t **ret, struct err *e)
{
	autofree char *bytes = alloc_array(65536, 1);
	int64_t total = 0;
	ssize_t n;

	(void)args;
	assert_true(call_streams(c));
	while ((n = call_read(c, RPC_STDIN, bytes, 65536, e)) > 0) {
		if (call_write(c, RPC_STDOUT, bytes, (size_t)n, e) != 0)
			return -1;
		total += n;
	}
	if (n < 0 || call_write(c, RPC_STDERR, "done\n", 5, e) != 0)
		return -1;
	*ret = json_pack("{s:I, s:i}", "total", (json_int_t)total, "status", 0);
	return 0;
}

/* Writes without end: only credit, loss and cancellation stop it. */
static int flood(struct call *c, const json_t *args, json_t **ret,
		 struct err *e)
{
	static const char block[65536];

	(void)args;
	(void)ret;
	atomic_fetch_add(&served.running, 1);
	while (call_write(c, RPC_STDOUT, block, sizeof(block), e) == 0)
		;
	atomic_fetch_add(&served.cancelled, 1);
	return -1;
}

static int run(struct call *c, const json_t *args, json_t **ret, struct err *e)
{
	const char *word = json_string_value(
		json_array_get(json_object_get(args, "argv"), 0));

	if (!word || strcmp(word, "job") == 0)
		return job(c, args, ret, e);
	return strcmp(word, "cat") == 0 ? cat(c, args, ret, e)
					: flood(c, args, ret, e);
}

static int ask(struct call *c, const json_t *args, json_t **ret, struct err *e)
{
	auto_json json_t *question = json_pack("{s:s}", "text", "really?");
	auto_json json_t *answer = NULL;

	(void)args;
	if (call_confirm(c, question, &answer, e) != 0)
		return -1;
	if (!answer)
		return err_set(e, ERR_DENIED, "nobody to ask");
	*ret = json_incref(answer);
	return 0;
}

static int image(struct call *c, const json_t *args, json_t **ret,
		 struct err *e)
{
	autofree char *bytes = alloc_zero(3 * LIMIT_RPC_WINDOW_LEN);

	(void)args;
	(void)ret;
	return call_write(c, RPC_IMAGE, bytes, 3 * LIMIT_RPC_WINDOW_LEN, e);
}

static int too_much(struct call *c, const json_t *args, json_t **ret,
		    struct err *e)
{
	autofree char *text = alloc_zero(LIMIT_RPC_FRAME_LEN + 1);

	(void)c;
	(void)args;
	(void)e;
	memset(text, 'x', LIMIT_RPC_FRAME_LEN);
	*ret = json_pack("{s:s}", "text", text);
	return 0;
}

/* Done, with nothing to say. */
static int done(struct call *c, const json_t *args, json_t **ret, struct err *e)
{
	(void)c;
	(void)args;
	(void)ret;
	(void)e;
	return 0;
}

static int silent(struct call *c, const json_t *args, json_t **ret,
		  struct err *e)
{
	(void)c;
	(void)args;
	(void)ret;
	(void)e;
	return -1;
}

static call_handler *find_handler(const struct op *op)
{
	static const struct {
		const char *name;
		call_handler *handler;
	} rows[] = {
		{"vm_info", echo},
		{"vm_list", echo},
		{"vm_wait", hang},
		{"vm_new", job},
		{"vm_run", run},
		{"vm_stop", ask},
		{"vm_screenshot", image},
		{"doctor", too_much},
		{"service_status", silent},
		{"vm_copy", job},
		{"vm_start", done},
	};

	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		if (strcmp(rows[i].name, op->name) == 0)
			return rows[i].handler;
	}
	return NULL;
}

/* ---- a service for a case
 * ------------------------------------------------------ */

static void *run_serve(void *arg)
{
	struct err e = {0};

	(void)arg;
	if (serve_run(served.serve, &e) != 0)
		log_error("serve_run: %s", err_msg(&e));
	return NULL;
}

int served_start(void **state)
{
	struct serve_opts o = {.service = &served.service,
			       .handler = find_handler,
			       .signal_fd = -1};
	struct err e = {0};

	(void)state;
	log_init("test", LOG_ERROR);
	atomic_store(&served.cancelled, 0);
	atomic_store(&served.release, 0);
	atomic_store(&served.running, 0);
	assert_ok(home_init(&served.home, unit_dir(), &e), &e);
	assert_ok(home_make_dirs(&served.home, &e), &e);
	assert_ok(audit_open(unit_path("audit.jsonl"), &served.audit, &e), &e);
	served.lock_fd = instance_lock(&served.home, deadline_in_ms(0), &e);
	assert_ok(served.lock_fd, &e);
	served.service.jobs = jobs_new();
	o.audit = served.audit;
	o.socket_path = served.home.socket;
	o.listen_fd = instance_listen(&served.home, &e);
	assert_ok(o.listen_fd, &e);
	assert_ok(serve_new(&o, &served.serve, &e), &e);
	assert_int_equal(pthread_create(&served.thread, NULL, run_serve, NULL),
			 0);
	return 0;
}

int served_stop(void **state)
{
	(void)state;
	serve_stop(served.serve);
	pthread_join(served.thread, NULL);
	assert_int_equal(serve_counts(served.serve).calls, 0);
	assert_int_equal(access(served.home.socket, F_OK), -1);
	serve_free(served.serve);
	jobs_free(served.service.jobs);
	audit_free(served.audit);
	close(served.lock_fd);
	home_finish(&served.home);
	return 0;
}

struct client *served_connect(const char *name, bool agent,
			      const char *const *vms)
{
	struct client_opts o = {.home = &served.home,
				.name = name,
				.agent = agent,
				.vms = vms,
				.no_start = true};
	struct client *c = NULL;
	struct err e = {0};

	assert_ok(client_connect(&o, &c, &e), &e);
	return c;
}

void served_until(atomic_int *counter, int value)
{
	struct deadline d = deadline_in_ms(SERVED_WAIT_MS);

	while (atomic_load(counter) < value) {
		assert_false(deadline_passed(d));
		deadline_sleep_ms(1);
	}
}

void served_until_calls(unsigned count)
{
	struct deadline d = deadline_in_ms(SERVED_WAIT_MS);

	while (serve_counts(served.serve).calls != count) {
		assert_false(deadline_passed(d));
		deadline_sleep_ms(1);
	}
}

struct client_io served_io(int64_t ms)
{
	return client_io_none(deadline_in_ms(ms));
}

int served_call(struct client *c, const char *op, const char *args,
		const struct client_io *io, json_t **ret, struct err *e)
{
	auto_json json_t *a = json_loads(args, 0, NULL);

	assert_non_null(a);
	*e = (struct err){0};
	return client_call(c, op, a, io, ret, e);
}

/* ---- a client that may break the protocol ---- */

int served_raw_connect(void)
{
	struct err e = {0};
	int fd = fd_unix_connect(served.home.socket, &e);

	assert_ok(fd, &e);
	return fd;
}

void served_raw_send(int fd, enum rpc_type type, uint32_t call,
		     const char *json)
{
	auto_json json_t *body = json_loads(json, 0, NULL);
	struct err e = {0};
	struct buf frame;

	assert_non_null(body);
	buf_init(&frame, 2 * LIMIT_RPC_FRAME_LEN);
	assert_ok(rpc_encode_json(&frame, type, call, body, &e), &e);
	assert_ok(fd_write_all(fd, frame.data, frame.len,
			       deadline_in_ms(SERVED_WAIT_MS), &e),
		  &e);
	buf_finish(&frame);
}

/* The next frame that is no progress: its type; its text if it is JSON. */
int served_raw_next(int fd, struct buf *in, char *text, size_t size)
{
	struct err e = {0};

	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		struct rpc_frame f;
		size_t used;
		int rc = rpc_decode((const uint8_t *)in->data, in->len, &f,
				    &used, &e);

		assert_ok(rc, &e);
		if (rc > 0) {
			int type = (int)f.type;

			snprintf(text, size, "%.*s", (int)f.payload_len,
				 (const char *)f.payload);
			buf_consume(in, used);
			if (type != RPC_PROGRESS)
				return type;
			continue;
		}
		assert_ok(deadline_poll(&p, 1, deadline_in_ms(SERVED_WAIT_MS),
					"raw", &e),
			  &e);
		if (buf_read_fd(in, fd, 65536, &e) <= 0)
			return 0;
	}
}

/* A raw client that said hello. */
int served_raw_greeted(struct buf *in)
{
	char text[256];
	int fd = served_raw_connect();

	served_raw_send(fd, RPC_HELLO, 0, "{\"version\":1,\"client\":\"raw\"}");
	assert_int_equal(served_raw_next(fd, in, text, sizeof(text)),
			 RPC_HELLO);
	return fd;
}
