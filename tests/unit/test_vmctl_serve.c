/* The service's transport, whole: serve on its I/O thread, the real client on
 * this one. */
#include "tests/support/served.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/limits.h"
#include "vmctl/job.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- calls
 * -------------------------------------------------------------------- */

static void test_call(void **state)
{
	auto_client struct client *c = served_connect("cli", false, NULL);
	struct client_io io = served_io(SERVED_WAIT_MS);
	auto_json json_t *r = NULL;
	auto_json json_t *want = NULL;
	struct err e;

	(void)state;
	assert_true(client_is_alive(c));
	assert_ok(served_call(c, "vm_info", "{\"vm\":\"demo\"}", &io, &r, &e),
		  &e);
	want = json_pack("{s:o, s:b, s:{s:s}}", "client",
			 json_sprintf("%u:cli", (unsigned)getuid()), "agent", 0,
			 "args", "vm", "demo");
	assert_true(json_equal(r, want));
	json_decref(r);
	r = NULL;
	assert_fails(served_call(c, "doctor", "{}", &io, &r, &e), &e, ERR_LIMIT,
		     "the result");
	assert_fails(served_call(c, "service_status", "{}", &io, &r, &e), &e,
		     ERR_INTERNAL, "failed without a reason");
	assert_fails(served_call(c, "build_base", "{}", &io, &r, &e), &e,
		     ERR_INVALID, "done by the client program");
	/* after all that, the connection is as good as new */
	assert_ok(served_call(c, "vm_info", "{\"vm\":\"demo\"}", &io, &r, &e),
		  &e);
}

/* A hostile client does not validate: the service does. */
static void test_scope(void **state)
{
	static const char *const vms[] = {"mine", NULL};
	auto_client struct client *c = served_connect("scoped", true, vms);
	struct client_io io = served_io(SERVED_WAIT_MS);
	auto_json json_t *r = NULL;
	struct err e;

	(void)state;
	assert_ok(served_call(c, "vm_info", "{\"vm\":\"mine\"}", &io, &r, &e),
		  &e);
	assert_fails(
		served_call(c, "vm_info", "{\"vm\":\"other\"}", &io, &r, &e),
		&e, ERR_DENIED, "VM other is not one of those");
	assert_fails(
		served_call(c, "vm_new", "{\"vm\":\"other\"}", &io, &r, &e), &e,
		ERR_DENIED, "VM other is not one of those");
	assert_fails(served_call(c, "vm_copy",
				 "{\"from\":\"mine:a\",\"to\":\"other:b\"}",
				 &io, &r, &e),
		     &e, ERR_DENIED, "VM other is not one of those");
}

/* K03: whoever asks for an agent and forgets the copy root gets no copy. */
static void test_unconfined_agent(void **state)
{
	auto_client struct client *agent = served_connect("a", true, NULL);
	struct client_io io = served_io(SERVED_WAIT_MS);
	auto_json json_t *r = NULL;
	struct err e;

	(void)state;
	atomic_store(&served.release, 1);
	assert_fails(served_call(agent, "vm_copy",
				 "{\"from\":\"local:/etc/hostname\","
				 "\"to\":\"demo:x\"}",
				 &io, &r, &e),
		     &e, ERR_DENIED, "to be confined to");
	assert_fails(served_call(agent, "vm_copy",
				 "{\"from\":\"demo:x\",\"to\":\"local:x\"}",
				 &io, &r, &e),
		     &e, ERR_DENIED, "to be confined to");
	assert_int_equal(atomic_load(&served.running), 0);
}

static void test_streams(void **state)
{
	auto_client struct client *c = served_connect("cli", false, NULL);
	struct client_io io = served_io(SERVED_WAIT_MS);
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
	assert_ok(served_call(c, "vm_run", "{\"vm\":\"a\",\"argv\":[\"cat\"]}",
			      &io, &r, &e),
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
	auto_client struct client *c = served_connect("cli", false, NULL);
	struct client_io io = served_io(SERVED_WAIT_MS);
	auto_json json_t *r = NULL;
	struct buf png;
	struct err e;

	(void)state;
	buf_init(&png, LIMIT_IMAGE_LEN);
	io.image = &png;
	assert_ok(
		served_call(c, "vm_screenshot", "{\"vm\":\"a\"}", &io, &r, &e),
		&e);
	assert_int_equal(png.len, 3 * LIMIT_RPC_WINDOW_LEN);
	buf_finish(&png);
	/* nobody wants it: it still ends */
	io.image = NULL;
	json_decref(r);
	r = NULL;
	assert_ok(
		served_call(c, "vm_screenshot", "{\"vm\":\"a\"}", &io, &r, &e),
		&e);
}

static json_t *say_yes(void *ctx, const json_t *question)
{
	*(bool *)ctx =
		strcmp(json_string_value(json_object_get(question, "text")),
		       "really?") == 0;
	return json_pack("{s:s}", "terminal", "yes");
}

static json_t *say_nothing(void *ctx, const json_t *question)
{
	(void)ctx;
	(void)question;
	return NULL;
}

/* The answer comes to the handler as the front-end gave it. */
static void test_confirm(void **state)
{
	auto_client struct client *c = served_connect("cli", false, NULL);
	struct client_io io = served_io(SERVED_WAIT_MS);
	auto_json json_t *r = NULL;
	bool asked = false;
	struct err e;

	(void)state;
	io.ctx = &asked;
	io.confirm = say_yes;
	assert_ok(served_call(c, "vm_stop", "{\"vm\":\"a\"}", &io, &r, &e), &e);
	assert_true(asked);
	io.confirm = say_nothing;
	assert_fails(served_call(c, "vm_stop", "{\"vm\":\"a\"}", &io, &r, &e),
		     &e, ERR_DENIED, "nobody to ask");
	io.confirm = NULL;
	assert_fails(served_call(c, "vm_stop", "{\"vm\":\"a\"}", &io, &r, &e),
		     &e, ERR_DENIED, "nobody to ask");
}

/* ---- ends
 * ------------------------------------------------------------------------ */

static void test_cancel(void **state)
{
	auto_client struct client *c = served_connect("cli", false, NULL);
	int cancel_fd = eventfd(1, EFD_CLOEXEC);
	struct client_io io = served_io(SERVED_WAIT_MS);
	auto_json json_t *r = NULL;
	struct err e;

	(void)state;
	io.cancel_fd = cancel_fd;
	assert_fails(served_call(c, "vm_wait", "{}", &io, &r, &e), &e,
		     ERR_CANCELLED, "cancelled");
	/* a job too, when it is asked for */
	assert_fails(served_call(c, "vm_new", "{\"vm\":\"a\"}", &io, &r, &e),
		     &e, ERR_CANCELLED, "cancelled");
	close(cancel_fd);
	io.cancel_fd = -1;
	assert_ok(served_call(c, "vm_list", "{}", &io, &r, &e), &e);
}

static void test_deadline(void **state)
{
	auto_client struct client *c = served_connect("cli", false, NULL);
	struct client_io io = served_io(100);
	auto_json json_t *r = NULL;
	struct err e;

	(void)state;
	assert_fails(served_call(c, "vm_wait", "{}", &io, &r, &e), &e,
		     ERR_TIMEOUT, "took too long");
	served_until(&served.cancelled, 1);
	io = served_io(SERVED_WAIT_MS);
	assert_ok(served_call(c, "vm_list", "{}", &io, &r, &e), &e);
}

static void note_job(void *ctx, const struct client_progress *p)
{
	if (p->job)
		snprintf(ctx, 32, "%s", p->job);
}

/* A detached job outlasts the patience and the connection of its client. */
static void test_detached(void **state)
{
	struct client *c = served_connect("stdio", true, NULL);
	struct jobs_asker asker = {.agent = true, .cancel_fd = -1};
	autofree char *identity = alloc_printf("%u:stdio", (unsigned)getuid());
	struct client_io io = served_io(300);
	auto_json json_t *r = NULL;
	char id[32] = "";
	struct err e;

	(void)state;
	io.detached = true;
	io.ctx = id;
	io.progress = note_job;
	assert_fails(served_call(c, "vm_run",
				 "{\"vm\":\"a\",\"command\":\"x\"}", &io, &r,
				 &e),
		     &e, ERR_TIMEOUT, "goes on as job");
	assert_int_equal(id[0], 'j');
	/* the connection serves on; late frames of the job disturb nothing */
	io = served_io(SERVED_WAIT_MS);
	for (int i = 0; i < 10; i++) {
		assert_ok(served_call(c, "vm_list", "{}", &io, &r, &e), &e);
		json_decref(r);
		r = NULL;
		deadline_sleep_ms(5);
	}
	client_free(c);
	served_until_calls(1);
	atomic_store(&served.release, 1);
	asker.client = identity;
	assert_ok(jobs_wait(served.service.jobs, &asker, id,
			    deadline_in_ms(SERVED_WAIT_MS), &r, &e),
		  &e);
	assert_string_equal(json_string_value(json_object_get(r, "job")), id);
	assert_int_equal(atomic_load(&served.cancelled), 0);
}

/* A second reference to each socket that a client is served on, as a child of
 * the service has between fork and exec. */
static unsigned hold_client_sockets(int *ret, unsigned max)
{
	unsigned count = 0;

	for (int fd = 3; fd < 256 && count < max; fd++) {
		struct sockaddr_un at = {0};
		socklen_t len = sizeof(at);
		int listens = 0;
		socklen_t size = sizeof(listens);

		if (getsockname(fd, (struct sockaddr *)&at, &len) == 0 &&
		    strcmp(at.sun_path, served.home.socket) == 0 &&
		    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens,
			       &size) == 0 &&
		    !listens)
			ret[count++] = fcntl(fd, F_DUPFD_CLOEXEC, 256);
	}
	return count;
}

/* M17: a client that leaves while a program is being started is forgotten
 * once, though its socket is still open somewhere. */
static void test_leaves_during_fork(void **state)
{
	struct client *c = served_connect("cli", false, NULL);
	int held[8];
	unsigned count = hold_client_sockets(held, ARRAY_COUNT(held));
	auto_client struct client *other = NULL;
	struct client_io io = served_io(SERVED_WAIT_MS);
	auto_json json_t *r = NULL;
	struct err e;

	(void)state;
	assert_int_equal(count, 1);
	client_free(c);
	for (int i = 0; serve_counts(served.serve).clients != 0; i++) {
		assert_in_range(i, 0, 1000);
		deadline_sleep_ms(5);
	}
	/* a hang-up that is told again would come now */
	deadline_sleep_ms(50);
	assert_int_equal(serve_counts(served.serve).clients, 0);
	other = served_connect("cli", false, NULL);
	assert_ok(served_call(other, "vm_list", "{}", &io, &r, &e), &e);
	close(held[0]);
}

/* A job whose handler has nothing to say has not failed. */
static void test_empty_result(void **state)
{
	auto_client struct client *c = served_connect("cli", false, NULL);
	struct client_io io = served_io(SERVED_WAIT_MS);
	struct jobs_asker asker = {.cancel_fd = -1};
	char id[32] = "";
	auto_json json_t *r = NULL;
	auto_json json_t *again = NULL;
	struct err e;

	(void)state;
	io.ctx = id;
	io.progress = note_job;
	assert_ok(served_call(c, "vm_start", "{\"vm\":\"demo\"}", &io, &r, &e),
		  &e);
	assert_int_equal(json_object_size(r), 0);
	assert_ok(jobs_wait(served.service.jobs, &asker, id,
			    deadline_in_ms(SERVED_WAIT_MS), &again, &e),
		  &e);
	assert_true(json_equal(again, r));
}

/* A client whose service goes away in the middle of a call hears of it. */
static void test_service_ends(void **state)
{
	auto_client struct client *c = served_connect("cli", false, NULL);
	struct client_io io = served_io(SERVED_WAIT_MS);
	auto_json json_t *r = NULL;
	struct err e;

	(void)state;
	assert_ok(served_call(c, "vm_list", "{}", &io, &r, &e), &e);
	json_decref(r);
	r = NULL;
	served_stop(NULL);
	assert_false(client_is_alive(c));
	assert_fails(served_call(c, "vm_list", "{}", &io, &r, &e), &e,
		     ERR_UNAVAILABLE, "the service ended");
	assert_fails(served_call(c, "vm_list", "{}", &io, &r, &e), &e,
		     ERR_UNAVAILABLE, "lost");
}

static void *stop_soon(void *arg)
{
	(void)arg;
	served_until(&served.running, 1);
	serve_stop(served.serve);
	return NULL;
}

/* Stopping cancels what runs, and its answer still arrives. */
static void test_stop_answers(void **state)
{
	auto_client struct client *c = served_connect("cli", false, NULL);
	struct client_io io = served_io(SERVED_WAIT_MS);
	auto_json json_t *r = NULL;
	pthread_t thread;
	struct err e;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, stop_soon, NULL), 0);
	assert_fails(served_call(c, "vm_new", "{\"vm\":\"a\"}", &io, &r, &e),
		     &e, ERR_CANCELLED, "cancelled");
	pthread_join(thread, NULL);
}

static const struct CMUnitTest tests[] = {
	SERVED(test_call),
	SERVED(test_scope),
	SERVED(test_unconfined_agent), SERVED(test_streams),
	SERVED(test_image),
	SERVED(test_confirm),
	SERVED(test_cancel),
	SERVED(test_deadline),
	SERVED(test_detached),
	SERVED(test_leaves_during_fork),
	SERVED(test_empty_result),
	SERVED(test_stop_answers),
	cmocka_unit_test_setup_teardown(test_service_ends, served_start, NULL),
};

UNIT_MAIN(tests)
