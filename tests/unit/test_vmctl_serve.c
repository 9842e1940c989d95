/*
 * The service's transport, whole: serve on its I/O thread, the real client on
 * this one, a raw socket where a client misbehaves. Handlers of this file
 * stand behind real rows of the table, because what is tested is how calls of
 * each kind travel, not what they do to a VM.
 */
#include "tests/support/unit.h"

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

#define WAIT_MS 20000

static struct {
	struct home home;
	struct service service;
	struct audit *audit;
	struct serve *serve;
	int lock_fd;
	pthread_t thread;
	/* what the handlers saw */
	atomic_int cancelled; /* calls that ended cancelled */
	atomic_int release;   /* vm_new may end */
	atomic_int running;
} t;

/* ---- handlers ----------------------------------------------------------------- */

static int echo(struct call *c, const json_t *args, json_t **ret,
		struct err *e)
{
	(void)e;
	*ret = json_pack("{s:s, s:b, s:O}", "client", call_client(c), "agent",
			 (int)call_from_agent(c), "args", args);
	return 0;
}

/* Ends when cancelled, and only then. */
static int hang(struct call *c, const json_t *args, json_t **ret,
		struct err *e)
{
	struct pollfd p = {.fd = call_cancel_fd(c), .events = POLLIN};

	(void)args;
	(void)ret;
	atomic_fetch_add(&t.running, 1);
	if (deadline_poll(&p, 1, call_deadline(c), "hanging", e) < 0)
		return -1;
	atomic_fetch_add(&t.cancelled, 1);
	return call_check(c, e);
}

/* A job that lasts until it is released, and says so meanwhile. */
static int job(struct call *c, const json_t *args, json_t **ret,
	       struct err *e)
{
	atomic_fetch_add(&t.running, 1);
	for (int i = 0; !atomic_load(&t.release); i++) {
		if (call_check(c, e) != 0) {
			atomic_fetch_add(&t.cancelled, 1);
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
	atomic_fetch_add(&t.running, 1);
	while (call_write(c, RPC_STDOUT, block, sizeof(block), e) == 0)
		;
	atomic_fetch_add(&t.cancelled, 1);
	return -1;
}

static int run(struct call *c, const json_t *args, json_t **ret,
	       struct err *e)
{
	const char *word = json_string_value(
		json_array_get(json_object_get(args, "argv"), 0));

	if (!word || strcmp(word, "job") == 0)
		return job(c, args, ret, e);
	return strcmp(word, "cat") == 0 ? cat(c, args, ret, e)
					: flood(c, args, ret, e);
}

static int ask(struct call *c, const json_t *args, json_t **ret,
	       struct err *e)
{
	auto_json json_t *question = json_pack("{s:s}", "text", "really?");

	(void)args;
	(void)ret;
	return call_confirm(c, question, e);
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
		{"vm_info", echo},	    {"vm_list", echo},
		{"vm_wait", hang},	    {"vm_new", job},
		{"vm_run", run},	    {"vm_stop", ask},
		{"vm_screenshot", image},   {"doctor", too_much},
		{"service_status", silent}, {"vm_copy", job},
	};

	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		if (strcmp(rows[i].name, op->name) == 0)
			return rows[i].handler;
	}
	return NULL;
}

/* ---- a service for a case ------------------------------------------------------ */

static void *run_serve(void *arg)
{
	struct err e = {0};

	(void)arg;
	if (serve_run(t.serve, &e) != 0)
		log_error("serve_run: %s", err_msg(&e));
	return NULL;
}

static int start(void **state)
{
	struct serve_opts o = {.service = &t.service,
			       .handler = find_handler,
			       .signal_fd = -1};
	struct err e = {0};

	(void)state;
	log_init("test", LOG_ERROR);
	atomic_store(&t.cancelled, 0);
	atomic_store(&t.release, 0);
	atomic_store(&t.running, 0);
	assert_ok(home_init(&t.home, unit_dir(), &e), &e);
	assert_ok(home_make_dirs(&t.home, &e), &e);
	assert_ok(audit_open(unit_path("audit.jsonl"), &t.audit, &e), &e);
	t.lock_fd = instance_lock(&t.home, deadline_in_ms(0), &e);
	assert_ok(t.lock_fd, &e);
	t.service.jobs = jobs_new();
	o.audit = t.audit;
	o.socket_path = t.home.socket;
	o.listen_fd = instance_listen(&t.home, &e);
	assert_ok(o.listen_fd, &e);
	assert_ok(serve_new(&o, &t.serve, &e), &e);
	assert_int_equal(pthread_create(&t.thread, NULL, run_serve, NULL), 0);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	serve_stop(t.serve);
	pthread_join(t.thread, NULL);
	assert_int_equal(serve_counts(t.serve).calls, 0);
	assert_int_equal(access(t.home.socket, F_OK), -1);
	serve_free(t.serve);
	jobs_free(t.service.jobs);
	audit_free(t.audit);
	close(t.lock_fd);
	home_finish(&t.home);
	return 0;
}

static struct client *connect_as(const char *name, bool agent,
				 const char *const *vms)
{
	struct client_opts o = {.home = &t.home,
				.name = name,
				.agent = agent,
				.vms = vms,
				.no_start = true};
	struct client *c = NULL;
	struct err e = {0};

	assert_ok(client_connect(&o, &c, &e), &e);
	return c;
}

static void until(atomic_int *counter, int value)
{
	struct deadline d = deadline_in_ms(WAIT_MS);

	while (atomic_load(counter) < value) {
		assert_false(deadline_passed(d));
		deadline_sleep_ms(1);
	}
}

static void until_calls(unsigned count)
{
	struct deadline d = deadline_in_ms(WAIT_MS);

	while (serve_counts(t.serve).calls != count) {
		assert_false(deadline_passed(d));
		deadline_sleep_ms(1);
	}
}

static struct client_io io_in(int64_t ms)
{
	return client_io_none(deadline_in_ms(ms));
}

static int call_text(struct client *c, const char *op, const char *args,
		     const struct client_io *io, json_t **ret, struct err *e)
{
	auto_json json_t *a = json_loads(args, 0, NULL);

	assert_non_null(a);
	*e = (struct err){0};
	return client_call(c, op, a, io, ret, e);
}

/* ---- calls -------------------------------------------------------------------- */

static void test_call(void **state)
{
	auto_client struct client *c = connect_as("cli", false, NULL);
	struct client_io io = io_in(WAIT_MS);
	auto_json json_t *r = NULL;
	auto_json json_t *want = NULL;
	struct err e;

	(void)state;
	assert_true(client_is_alive(c));
	assert_ok(call_text(c, "vm_info", "{\"vm\":\"demo\"}", &io, &r, &e),
		  &e);
	want = json_pack("{s:o, s:b, s:{s:s}}", "client",
			 json_sprintf("%u:cli", (unsigned)getuid()), "agent", 0,
			 "args", "vm", "demo");
	assert_true(json_equal(r, want));
	json_decref(r);
	r = NULL;
	assert_fails(call_text(c, "doctor", "{}", &io, &r, &e), &e, ERR_LIMIT,
		     "the result");
	assert_fails(call_text(c, "service_status", "{}", &io, &r, &e), &e,
		     ERR_INTERNAL, "failed without a reason");
	assert_fails(call_text(c, "build_base", "{}", &io, &r, &e), &e,
		     ERR_INVALID, "done by the client program");
	/* after all that, the connection is as good as new */
	assert_ok(call_text(c, "vm_info", "{\"vm\":\"demo\"}", &io, &r, &e),
		  &e);
}

/* A hostile client does not validate: the service does. */
static void test_scope(void **state)
{
	static const char *const vms[] = {"mine", NULL};
	auto_client struct client *c = connect_as("scoped", true, vms);
	struct client_io io = io_in(WAIT_MS);
	auto_json json_t *r = NULL;
	struct err e;

	(void)state;
	assert_ok(call_text(c, "vm_info", "{\"vm\":\"mine\"}", &io, &r, &e),
		  &e);
	assert_fails(call_text(c, "vm_info", "{\"vm\":\"other\"}", &io, &r, &e),
		     &e, ERR_DENIED, "VM other is not one of those");
	assert_fails(call_text(c, "vm_new", "{\"vm\":\"other\"}", &io, &r, &e),
		     &e, ERR_DENIED, "VM other is not one of those");
	assert_fails(call_text(c, "vm_copy",
			       "{\"from\":\"mine:a\",\"to\":\"other:b\"}", &io,
			       &r, &e),
		     &e, ERR_DENIED, "VM other is not one of those");
}

static void test_streams(void **state)
{
	auto_client struct client *c = connect_as("cli", false, NULL);
	struct client_io io = io_in(WAIT_MS);
	const size_t len = 5 * LIMIT_RPC_WINDOW_LEN + 12345;
	autofree char *sent = alloc_array(len, 1);
	autofree char *got = alloc_array(len + 1, 1);
	auto_json json_t *r = NULL;
	FILE *in = tmpfile(), *out = tmpfile(), *err = tmpfile();
	struct err e;

	(void)state;
	for (size_t i = 0; i < len; i++)
		sent[i] = (char)(i * 31 + i / 977);
	assert_int_equal(fwrite(sent, 1, len, in), len);
	rewind(in);
	io.in_fd = fileno(in);
	io.out_fd = fileno(out);
	io.err_fd = fileno(err);
	assert_ok(call_text(c, "vm_run",
			    "{\"vm\":\"a\",\"argv\":[\"cat\"]}", &io, &r, &e),
		  &e);
	rewind(out);
	assert_int_equal(fread(got, 1, len + 1, out), len);
	assert_memory_equal(got, sent, len);
	rewind(err);
	assert_int_equal(fread(got, 1, len, err), 5);
	fclose(in);
	fclose(out);
	fclose(err);
}

static void test_image(void **state)
{
	auto_client struct client *c = connect_as("cli", false, NULL);
	struct client_io io = io_in(WAIT_MS);
	auto_json json_t *r = NULL;
	struct buf png;
	struct err e;

	(void)state;
	buf_init(&png, LIMIT_IMAGE_LEN);
	io.image = &png;
	assert_ok(call_text(c, "vm_screenshot", "{\"vm\":\"a\"}", &io, &r, &e),
		  &e);
	assert_int_equal(png.len, 3 * LIMIT_RPC_WINDOW_LEN);
	buf_finish(&png);
	/* nobody wants it: it still ends */
	io.image = NULL;
	json_decref(r);
	r = NULL;
	assert_ok(call_text(c, "vm_screenshot", "{\"vm\":\"a\"}", &io, &r, &e),
		  &e);
}

static bool say_yes(void *ctx, const json_t *question)
{
	*(bool *)ctx = strcmp(json_string_value(
				      json_object_get(question, "text")),
			      "really?") == 0;
	return true;
}

static void test_confirm(void **state)
{
	auto_client struct client *c = connect_as("cli", false, NULL);
	struct client_io io = io_in(WAIT_MS);
	auto_json json_t *r = NULL;
	bool asked = false;
	struct err e;

	(void)state;
	io.ctx = &asked;
	io.confirm = say_yes;
	assert_ok(call_text(c, "vm_stop", "{\"vm\":\"a\"}", &io, &r, &e), &e);
	assert_true(asked);
	io.confirm = NULL;
	assert_fails(call_text(c, "vm_stop", "{\"vm\":\"a\"}", &io, &r, &e),
		     &e, ERR_DENIED, "not confirmed");
}

/* ---- ends ------------------------------------------------------------------------ */

static void test_cancel(void **state)
{
	auto_client struct client *c = connect_as("cli", false, NULL);
	int cancel_fd = eventfd(1, EFD_CLOEXEC);
	struct client_io io = io_in(WAIT_MS);
	auto_json json_t *r = NULL;
	struct err e;

	(void)state;
	io.cancel_fd = cancel_fd;
	assert_fails(call_text(c, "vm_wait", "{}", &io, &r, &e), &e,
		     ERR_CANCELLED, "cancelled");
	/* a job too, when it is asked for */
	assert_fails(call_text(c, "vm_new", "{\"vm\":\"a\"}", &io, &r, &e), &e,
		     ERR_CANCELLED, "cancelled");
	close(cancel_fd);
	io.cancel_fd = -1;
	assert_ok(call_text(c, "vm_list", "{}", &io, &r, &e), &e);
}

static void test_deadline(void **state)
{
	auto_client struct client *c = connect_as("cli", false, NULL);
	struct client_io io = io_in(100);
	auto_json json_t *r = NULL;
	struct err e;

	(void)state;
	assert_fails(call_text(c, "vm_wait", "{}", &io, &r, &e), &e,
		     ERR_TIMEOUT, "took too long");
	until(&t.cancelled, 1);
	io = io_in(WAIT_MS);
	assert_ok(call_text(c, "vm_list", "{}", &io, &r, &e), &e);
}

static void note_job(void *ctx, const struct client_progress *p)
{
	if (p->job)
		snprintf(ctx, 32, "%s", p->job);
}

/* A detached job outlasts the patience and the connection of its client. */
static void test_detached(void **state)
{
	struct client *c = connect_as("stdio", true, NULL);
	struct jobs_asker asker = {.agent = true, .cancel_fd = -1};
	autofree char *identity = alloc_printf("%u:stdio", (unsigned)getuid());
	struct client_io io = io_in(300);
	auto_json json_t *r = NULL;
	char id[32] = "";
	struct err e;

	(void)state;
	io.detached = true;
	io.ctx = id;
	io.progress = note_job;
	assert_fails(call_text(c, "vm_run", "{\"vm\":\"a\",\"command\":\"x\"}",
			       &io, &r, &e),
		     &e, ERR_TIMEOUT, "goes on as job");
	assert_int_equal(id[0], 'j');
	/* the connection serves on; late frames of the job disturb nothing */
	io = io_in(WAIT_MS);
	for (int i = 0; i < 10; i++) {
		assert_ok(call_text(c, "vm_list", "{}", &io, &r, &e), &e);
		json_decref(r);
		r = NULL;
		deadline_sleep_ms(5);
	}
	client_free(c);
	until_calls(1);
	atomic_store(&t.release, 1);
	asker.client = identity;
	assert_ok(jobs_wait(t.service.jobs, &asker, id,
			    deadline_in_ms(WAIT_MS), &r, &e),
		  &e);
	assert_string_equal(json_string_value(json_object_get(r, "job")), id);
	assert_int_equal(atomic_load(&t.cancelled), 0);
}

/* ---- clients that leave or misbehave ----------------------------------------- */

static int raw_connect(void)
{
	struct err e = {0};
	int fd = fd_unix_connect(t.home.socket, &e);

	assert_ok(fd, &e);
	return fd;
}

static void raw_send(int fd, enum rpc_type type, uint32_t call,
		     const char *json)
{
	auto_json json_t *body = json_loads(json, 0, NULL);
	struct err e = {0};
	struct buf frame;

	assert_non_null(body);
	buf_init(&frame, 2 * LIMIT_RPC_FRAME_LEN);
	assert_ok(rpc_encode_json(&frame, type, call, body, &e), &e);
	assert_ok(fd_write_all(fd, frame.data, frame.len,
			       deadline_in_ms(WAIT_MS), &e),
		  &e);
	buf_finish(&frame);
}

/* The next frame that is no progress: its type; its text if it is JSON. */
static int raw_next(int fd, struct buf *in, char *text, size_t size)
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
		assert_ok(deadline_poll(&p, 1, deadline_in_ms(WAIT_MS), "raw",
					&e),
			  &e);
		if (buf_read_fd(in, fd, 65536, &e) <= 0)
			return 0;
	}
}

/* A raw client that said hello. */
static int raw_greeted(struct buf *in)
{
	char text[256];
	int fd = raw_connect();

	raw_send(fd, RPC_HELLO, 0, "{\"version\":1,\"client\":\"raw\"}");
	assert_int_equal(raw_next(fd, in, text, sizeof(text)), RPC_HELLO);
	return fd;
}

/* Each is told why, then dropped; a well-behaved one beside it is served. */
static void test_protocol(void **state)
{
	static const struct {
		const char *bytes; /* after the hello, or instead of it */
		size_t len;
		bool greet;
		const char *error;
	} cases[] = {
#define RAW(s) s, sizeof(s) - 1
		{RAW("GET / HTTP/1.1\r\n\r\n"), false, ""},
		{RAW("\0\0\0\0"), false, ""},
		{RAW("\xff\xff\xff\xff"), false, ""},
		{RAW("\0\0\0\7\2\0\0\0\1{}"), false, "must be a hello"},
		{RAW("\0\0\0\7\1\0\0\0\0{}"), false, "version"},
		{RAW("\0\0\0\6\1\0\0\0\0{"), false, ""},
		{RAW("\0\0\0\7\1\0\0\0\0{}"), true, "messages of type 1"},
		{RAW("\0\0\0\7\x8\0\0\0\1{}"), true, "messages of type 8"},
		{RAW("\0\0\0\7\x7f\0\0\0\1{}"), true, ""},
		{RAW("\0\0\0\7\2\0\0\0\0{}"), true, "outside of a call"},
		{RAW("\0\0\0\6\4\0\0\0\1\x63"), true, ""},
		{RAW("\0\0\0\5\4\0\0\0\1"), true, ""},
		{RAW("\0\0\0\7\x7\0\0\0\1[]"), true, ""},
	};
	auto_client struct client *good = connect_as("good", false, NULL);
	struct client_io io = io_in(WAIT_MS);

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct err e = {0};
		auto_json json_t *r = NULL;
		char text[1024];
		struct buf in;
		int fd;

		buf_init(&in, 2 * LIMIT_RPC_FRAME_LEN);
		fd = cases[i].greet ? raw_greeted(&in) : raw_connect();
		assert_ok(fd_write_all(fd, cases[i].bytes, cases[i].len,
				       deadline_in_ms(WAIT_MS), &e),
			  &e);
		assert_int_equal(raw_next(fd, &in, text, sizeof(text)),
				 RPC_ERROR);
		if (!strstr(text, cases[i].error))
			fail_msg("case %zu: %s", i, text);
		assert_int_equal(raw_next(fd, &in, text, sizeof(text)), 0);
		close(fd);
		buf_finish(&in);
		assert_ok(call_text(good, "vm_list", "{}", &io, &r, &e), &e);
	}
}

static void test_version(void **state)
{
	char text[1024];
	struct buf in;
	int fd = raw_connect();

	(void)state;
	buf_init(&in, 2 * LIMIT_RPC_FRAME_LEN);
	raw_send(fd, RPC_HELLO, 0, "{\"version\":99,\"client\":\"new\"}");
	assert_int_equal(raw_next(fd, &in, text, sizeof(text)), RPC_ERROR);
	assert_non_null(strstr(text, "run boxery service restart"));
	assert_non_null(strstr(text, "\"state\""));
	close(fd);
	buf_finish(&in);
}

static void test_hello(void **state)
{
	static const struct {
		const char *hello, *error;
	} cases[] = {
		{"{\"version\":1,\"client\":\"\"}", "is no client name"},
		{"{\"version\":1,\"client\":\"a\\nb\"}", "is no client name"},
		{"{\"version\":1,\"client\":5}", "client"},
		{"{\"version\":1,\"vms\":[\"../x\"]}", "is no VM name"},
		{"{\"version\":1,\"vms\":[1]}", "must hold strings"},
		{"{\"version\":1,\"vms\":{}}", "must be an array"},
		{"{\"version\":\"1\"}", "version"},
		{"{\"version\":1,\"agent\":\"yes\"}", "agent"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		char text[1024];
		struct buf in;
		int fd = raw_connect();

		buf_init(&in, 2 * LIMIT_RPC_FRAME_LEN);
		raw_send(fd, RPC_HELLO, 0, cases[i].hello);
		assert_int_equal(raw_next(fd, &in, text, sizeof(text)),
				 RPC_ERROR);
		if (!strstr(text, cases[i].error))
			fail_msg("%s: %s", cases[i].hello, text);
		close(fd);
		buf_finish(&in);
	}
}

/* Bad calls are answered; the connection goes on. */
static void test_bad_calls(void **state)
{
	static const struct {
		const char *call, *error;
	} cases[] = {
		{"{}", "op"},
		{"{\"op\":\"nope\"}", "unknown operation"},
		{"{\"op\":5}", "op"},
		{"{\"op\":\"vm_info\"}", "vm: is required"},
		{"{\"op\":\"vm_info\",\"args\":[]}", "must be an object"},
		{"{\"op\":\"vm_info\",\"args\":{\"vm\":\"A\"}}", "no VM name"},
		{"{\"op\":\"vm_info\",\"opts\":{\"stream\":1}}", "stream"},
		{"{\"op\":\"vm_info\",\"opts\":{\"deadline_ms\":\"x\"}}",
		 "deadline_ms"},
		{"{\"op\":\"vm_ssh\",\"args\":{\"vm\":\"a\"}}",
		 "done by the client"},
	};
	char text[1024];
	struct buf in;
	int fd;

	(void)state;
	buf_init(&in, 2 * LIMIT_RPC_FRAME_LEN);
	fd = raw_greeted(&in);
	for (uint32_t i = 0; i < ARRAY_COUNT(cases); i++) {
		raw_send(fd, RPC_CALL, i + 1, cases[i].call);
		assert_int_equal(raw_next(fd, &in, text, sizeof(text)),
				 RPC_ERROR);
		if (!strstr(text, cases[i].error))
			fail_msg("%s: %s", cases[i].call, text);
	}
	/* an id is free again once it was answered */
	raw_send(fd, RPC_CALL, 1, "{\"op\":\"vm_list\"}");
	assert_int_equal(raw_next(fd, &in, text, sizeof(text)), RPC_RESULT);
	/* what comes for a call that ended is nobody's */
	raw_send(fd, RPC_CANCEL, 1, "{}");
	raw_send(fd, RPC_CALL, 2, "{\"op\":\"vm_list\"}");
	assert_int_equal(raw_next(fd, &in, text, sizeof(text)), RPC_RESULT);
	close(fd);
	buf_finish(&in);
}

/* More bytes than granted is a broken client, not a larger queue. */
static void test_credit(void **state)
{
	autofree char *bytes = alloc_zero(512 * 1024);
	struct err e = {0};
	struct buf in, out;
	char text[1024];
	int fd;

	(void)state;
	buf_init(&in, 2 * LIMIT_RPC_FRAME_LEN);
	buf_init(&out, 4 * LIMIT_RPC_FRAME_LEN);
	fd = raw_greeted(&in);
	raw_send(fd, RPC_CALL, 1,
		 "{\"op\":\"vm_run\",\"args\":{\"vm\":\"a\",\"argv\":[\"job\"]}}");
	for (int i = 0; i < 3; i++)
		assert_ok(rpc_encode_data(&out, 1, RPC_STDIN, bytes,
					  512 * 1024, &e),
			  &e);
	/* it may hang up before it has read all */
	if (fd_write_all(fd, out.data, out.len, deadline_in_ms(WAIT_MS), &e) !=
	    0)
		assert_true(e.errnum == EPIPE || e.errnum == ECONNRESET);
	assert_int_equal(raw_next(fd, &in, text, sizeof(text)), RPC_ERROR);
	assert_non_null(strstr(text, "more was sent than granted"));
	close(fd);
	buf_finish(&in);
	buf_finish(&out);
	/* and its call went with it */
	until(&t.cancelled, 1);
}

/* One that never reads gets its window and no more, and holds up nobody. */
static void test_stalled_reader(void **state)
{
	auto_client struct client *good = connect_as("good", false, NULL);
	struct client_io io = io_in(WAIT_MS);
	auto_json json_t *r = NULL;
	struct buf in;
	struct err e;
	int fd;

	(void)state;
	buf_init(&in, 2 * LIMIT_RPC_FRAME_LEN);
	fd = raw_greeted(&in);
	for (uint32_t i = 1; i <= 8; i++)
		raw_send(fd, RPC_CALL, i,
			 "{\"op\":\"vm_run\",\"args\":{\"vm\":\"a\","
			 "\"argv\":[\"flood\"]},\"opts\":{\"stream\":true}}");
	until(&t.running, 8);
	for (int i = 0; i < 20; i++) {
		assert_ok(call_text(good, "vm_list", "{}", &io, &r, &e), &e);
		json_decref(r);
		r = NULL;
	}
	assert_int_equal(atomic_load(&t.cancelled), 0);
	close(fd);
	buf_finish(&in);
	until(&t.cancelled, 8);
	until_calls(0);
}

/* Losing the client ends its waits and its commands, not its jobs. */
static void test_lost_client(void **state)
{
	struct buf in;
	int fd;

	(void)state;
	buf_init(&in, 2 * LIMIT_RPC_FRAME_LEN);
	fd = raw_greeted(&in);
	raw_send(fd, RPC_CALL, 1, "{\"op\":\"vm_wait\"}");
	raw_send(fd, RPC_CALL, 2,
		 "{\"op\":\"vm_run\",\"args\":{\"vm\":\"a\",\"argv\":[\"job\"]}}");
	raw_send(fd, RPC_CALL, 3,
		 "{\"op\":\"vm_copy\",\"args\":{\"from\":\"local:x\","
		 "\"to\":\"a:y\"},\"opts\":{\"detached\":true}}");
	raw_send(fd, RPC_CALL, 4,
		 "{\"op\":\"vm_new\",\"args\":{\"vm\":\"a\"}}");
	raw_send(fd, RPC_CALL, 5,
		 "{\"op\":\"vm_copy\",\"args\":{\"from\":\"a:x\","
		 "\"to\":\"b:y\"}}");
	raw_send(fd, RPC_CALL, 6,
		 "{\"op\":\"vm_run\",\"args\":{\"vm\":\"a\",\"argv\":[\"job\"]},"
		 "\"opts\":{\"detached\":true}}");
	until(&t.running, 6);
	close(fd);
	buf_finish(&in);
	until(&t.cancelled, 3);
	until_calls(3);
	assert_int_equal(atomic_load(&t.cancelled), 3);
	assert_int_equal(jobs_running(t.service.jobs), 3);
	atomic_store(&t.release, 1);
	until_calls(0);
}

/* The loss may come before the call's thread has looked at what it is. */
static void test_lost_at_once(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		struct buf in;
		int fd;

		buf_init(&in, 2 * LIMIT_RPC_FRAME_LEN);
		fd = raw_greeted(&in);
		raw_send(fd, RPC_CALL, 1,
			 "{\"op\":\"vm_new\",\"args\":{\"vm\":\"a\"}}");
		close(fd);
		buf_finish(&in);
	}
	until(&t.running, 50);
	atomic_store(&t.release, 1);
	until_calls(0);
	assert_int_equal(atomic_load(&t.cancelled), 0);
}

static void test_too_many_calls(void **state)
{
	char text[1024];
	struct buf in;
	int fd;

	(void)state;
	buf_init(&in, 2 * LIMIT_RPC_FRAME_LEN);
	fd = raw_greeted(&in);
	for (uint32_t i = 1; i <= LIMIT_CALLS_PER_CLIENT_COUNT; i++)
		raw_send(fd, RPC_CALL, i, "{\"op\":\"vm_wait\"}");
	until(&t.running, LIMIT_CALLS_PER_CLIENT_COUNT);
	raw_send(fd, RPC_CALL, 1000, "{\"op\":\"vm_list\"}");
	assert_int_equal(raw_next(fd, &in, text, sizeof(text)), RPC_ERROR);
	assert_non_null(strstr(text, "64 calls running"));
	/* another connection of the same client does not help; another client
	 * is not touched */
	auto_client struct client *same = connect_as("raw", false, NULL);
	auto_client struct client *other = connect_as("cli", false, NULL);
	struct client_io io = io_in(WAIT_MS);
	auto_json json_t *r = NULL;
	struct err e;
	assert_fails(call_text(same, "vm_list", "{}", &io, &r, &e), &e,
		     ERR_LIMIT, "try again");
	assert_ok(call_text(other, "vm_list", "{}", &io, &r, &e), &e);
	close(fd);
	buf_finish(&in);
	until_calls(0);
}

/* A client whose service goes away in the middle of a call hears of it. */
static void test_service_ends(void **state)
{
	auto_client struct client *c = connect_as("cli", false, NULL);
	struct client_io io = io_in(WAIT_MS);
	auto_json json_t *r = NULL;
	struct err e;

	(void)state;
	assert_ok(call_text(c, "vm_list", "{}", &io, &r, &e), &e);
	json_decref(r);
	r = NULL;
	stop(NULL);
	assert_false(client_is_alive(c));
	assert_fails(call_text(c, "vm_list", "{}", &io, &r, &e), &e,
		     ERR_UNAVAILABLE, "the service ended");
	assert_fails(call_text(c, "vm_list", "{}", &io, &r, &e), &e,
		     ERR_UNAVAILABLE, "lost");
}

static void *stop_soon(void *arg)
{
	(void)arg;
	until(&t.running, 1);
	serve_stop(t.serve);
	return NULL;
}

/* Stopping cancels what runs, and its answer still arrives. */
static void test_stop_answers(void **state)
{
	auto_client struct client *c = connect_as("cli", false, NULL);
	struct client_io io = io_in(WAIT_MS);
	auto_json json_t *r = NULL;
	pthread_t thread;
	struct err e;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, stop_soon, NULL), 0);
	assert_fails(call_text(c, "vm_new", "{\"vm\":\"a\"}", &io, &r, &e), &e,
		     ERR_CANCELLED, "cancelled");
	pthread_join(thread, NULL);
}

#define SERVED(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

static const struct CMUnitTest tests[] = {
	SERVED(test_call),	   SERVED(test_scope),
	SERVED(test_streams),	   SERVED(test_image),
	SERVED(test_confirm),	   SERVED(test_cancel),
	SERVED(test_deadline),	   SERVED(test_detached),
	SERVED(test_protocol),	   SERVED(test_version),
	SERVED(test_hello),	   SERVED(test_bad_calls),
	SERVED(test_credit),	   SERVED(test_stalled_reader),
	SERVED(test_lost_client),  SERVED(test_lost_at_once),
	SERVED(test_too_many_calls),
	cmocka_unit_test_setup_teardown(test_service_ends, start, NULL),
	SERVED(test_stop_answers),
};

UNIT_MAIN(tests)
