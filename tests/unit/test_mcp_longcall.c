/*
 * A service of our own, a few frames long, stands at the socket: it takes a
 * call up, names a job or not, and answers in its own time.
 */
#include "mcp/longcall.h"

#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/rpc.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

struct service {
	const char *job;   /* named at once, or NULL: silence */
	int answer_ms;	   /* from the call; -1: leaves instead */
	int ask_ms;	   /* then it asks, and answers once it was answered */
	bool detached, cancelled; /* what it saw */
	char answer[64];	  /* to its question */
	int listen_fd;
	pthread_t thread;
	struct home home;
	struct client_opts opts;
	struct links *links;
};

static void answer(int fd, enum rpc_type type, uint32_t call, const char *text)
{
	auto_json json_t *body = json_parse(text, strlen(text), NULL);
	struct err e = {0};
	struct buf b;

	buf_init(&b, LIMIT_RPC_FRAME_LEN);
	assert_ok(rpc_encode_json(&b, type, call, body, &e), &e);
	assert_ok(fd_write_all(fd, b.data, b.len, deadline_in_ms(5000), &e),
		  &e);
	buf_finish(&b);
}

/*
 * The next frame, its payload good until the next call; false when the client
 * left or the time is over.
 */
static bool next_frame(int fd, struct buf *in, size_t *used, struct deadline d,
		       struct rpc_frame *ret)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct err e = {0};

	buf_consume(in, *used);
	*used = 0;
	while (rpc_decode((const uint8_t *)in->data, in->len, ret, used, &e) ==
	       0) {
		if (deadline_poll(&p, 1, d, "reading", &e) < 0 ||
		    buf_read_fd(in, fd, 65536, &e) <= 0)
			return false;
	}
	return true;
}

/* Ask once its time has come; false: it is not the time. */
static bool ask_in_time(struct service *s, int fd, uint32_t call)
{
	if (!s->ask_ms || call == 0)
		return false;
	deadline_sleep_ms(s->ask_ms);
	s->ask_ms = 0;
	answer(fd, RPC_CONFIRM, call, "{\"question\":{\"dialog\":\"May it?\"}}");
	return true;
}

static void note_answer(struct service *s, const struct rpc_frame *f)
{
	auto_json json_t *body = rpc_payload_json(f, NULL);
	autofree char *text = json_print(json_object_get(body, "answer"));

	snprintf(s->answer, sizeof(s->answer), "%s", text);
}

static bool is_detached(const struct rpc_frame *f)
{
	auto_json json_t *body = rpc_payload_json(f, NULL);

	return json_is_true(json_object_get(json_object_get(body, "opts"),
					    "detached"));
}

/* Serves one client's one call. */
static void *service_main(void *arg)
{
	struct service *s = arg;
	autoclose int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	struct deadline d = deadline_in_ms(10000);
	autofree char *progress = alloc_printf(
		"{\"done\":1,\"total\":2,\"text\":\"half\",\"job\":\"%s\"}",
		s->job ? s->job : "");
	struct rpc_frame f;
	uint32_t call = 0;
	size_t used = 0;
	struct buf in;

	buf_init(&in, (size_t)4 << 20);
	while (next_frame(fd, &in, &used, d, &f)) {
		if (f.type == RPC_HELLO) {
			answer(fd, RPC_HELLO, 0,
			       "{\"version\":1,\"program\":\"t\"}");
		} else if (f.type == RPC_CALL) {
			s->detached = is_detached(&f);
			call = f.call;
			if (s->job)
				answer(fd, RPC_PROGRESS, call, progress);
			if (s->answer_ms < 0)
				break;
			if (!ask_in_time(s, fd, call))
				d = deadline_in_ms(s->answer_ms);
		} else if (f.type == RPC_ANSWER) {
			note_answer(s, &f);
			d = deadline_in_ms(s->answer_ms);
		} else if (f.type == RPC_CANCEL) {
			s->cancelled = true;
			answer(fd, RPC_ERROR, call,
			       "{\"code\":\"cancelled\","
			       "\"message\":\"stopped\"}");
			call = 0;
			d = deadline_in_ms(10000);
		}
	}
	if (call != 0 && s->answer_ms >= 0) {
		answer(fd, RPC_PROGRESS, call, "{\"done\":2,\"total\":2}");
		answer(fd, RPC_RESULT, call, "{\"made\":true}");
		d = deadline_in_ms(10000);
		while (next_frame(fd, &in, &used, d, &f))
			;
	}
	buf_finish(&in);
	return NULL;
}

static void start(struct service *s)
{
	struct err e = {0};

	assert_ok(home_init(&s->home, unit_dir(), &e), &e);
	assert_ok(home_make_dirs(&s->home, &e), &e);
	s->listen_fd = fd_unix_listen(s->home.socket, &e);
	assert_ok(s->listen_fd, &e);
	assert_int_equal(pthread_create(&s->thread, NULL, service_main, s), 0);
	s->opts = (struct client_opts){.home = &s->home,
				       .name = "test",
				       .agent = true,
				       .no_start = true};
	s->links = links_new(&s->opts);
}

static void finish(struct service *s)
{
	struct deadline d = deadline_in_ms(10000);

	/* an abandoned call's thread ends with its answer */
	while (!links_are_idle(s->links) && !deadline_passed(d))
		deadline_sleep_ms(5);
	assert_true(links_are_idle(s->links));
	links_free(s->links);
	pthread_join(s->thread, NULL);
	close(s->listen_fd);
	home_finish(&s->home);
}

static atomic_int progress_count;

static void on_progress(void *ctx, const struct client_progress *p)
{
	(void)ctx;
	(void)p;
	atomic_fetch_add(&progress_count, 1);
}

/* What a person gives, and how long that takes. */
static struct {
	int takes_ms;
	int cancel_fd; /* written meanwhile, unless 0 */
	bool asked;
} person;

static json_t *on_confirm(void *ctx, const json_t *question)
{
	uint64_t one = 1;

	(void)ctx;
	assert_string_equal(
		json_string_value(json_object_get(question, "dialog")),
		"May it?");
	person.asked = true;
	deadline_sleep_ms(person.takes_ms);
	if (person.cancel_fd > 0)
		assert_int_equal(write(person.cancel_fd, &one, sizeof(one)),
				 sizeof(one));
	return json_pack("{s:s}", "dialog", "whatever");
}

static int run(struct service *s, int64_t ms, int cancel_fd, json_t **ret,
	       char job[LONGCALL_JOB_SIZE], struct err *e)
{
	auto_json json_t *args = json_pack("{s:s}", "vm", "a");
	struct longcall_ask ask = {.op = op_find("vm_new"),
				   .args = args,
				   .cancel_fd = cancel_fd,
				   .answer_by = deadline_in_ms(ms),
				   .progress = on_progress,
				   .confirm = on_confirm};

	atomic_store(&progress_count, 0);
	return longcall_run(s->links, &ask, ret, job, e);
}

static void a_quick_job_gives_its_result(void **state)
{
	struct service s = {.job = "j1", .answer_ms = 50};
	char job[LONGCALL_JOB_SIZE] = "";
	json_t *result = NULL;
	struct err e = {0};

	(void)state;
	start(&s);
	assert_ok(run(&s, 5000, -1, &result, job, &e), &e);
	assert_true(json_is_true(json_object_get(result, "made")));
	assert_string_equal(job, "");
	assert_int_equal(atomic_load(&progress_count), 2);
	json_decref(result);
	finish(&s);
	assert_true(s.detached);
	assert_false(s.cancelled);
}

static void a_slow_job_gives_its_id_and_goes_on(void **state)
{
	/* long enough that a busy machine has named the job by then */
	struct service s = {.job = "j2", .answer_ms = 4000};
	char job[LONGCALL_JOB_SIZE] = "";
	json_t *result = NULL;
	struct err e = {0};

	(void)state;
	start(&s);
	assert_ok(run(&s, 2000, -1, &result, job, &e), &e);
	assert_null(result);
	assert_string_equal(job, "j2");
	assert_false(links_are_idle(s.links));
	finish(&s);
	/* nothing was said to an asker that had gone */
	assert_int_equal(atomic_load(&progress_count), 1);
	assert_false(s.cancelled);
}

static void silence_is_cancelled(void **state)
{
	struct service s = {.job = NULL, .answer_ms = 5000};
	int fd = eventfd(0, EFD_CLOEXEC);
	char job[LONGCALL_JOB_SIZE] = "";
	json_t *result = NULL;
	struct err e = {0};

	(void)state;
	start(&s);
	assert_fails(run(&s, 150, fd, &result, job, &e), &e, ERR_TIMEOUT,
		     "vm_new");
	close(fd);
	finish(&s);
	assert_true(s.cancelled);
}

static void an_asker_may_cancel(void **state)
{
	struct service s = {.job = "j3", .answer_ms = 5000};
	int fd = eventfd(1, EFD_CLOEXEC);
	char job[LONGCALL_JOB_SIZE] = "";
	json_t *result = NULL;
	struct err e = {0};

	(void)state;
	start(&s);
	assert_fails(run(&s, 5000, fd, &result, job, &e), &e, ERR_CANCELLED,
		     "stopped");
	close(fd);
	finish(&s);
	assert_true(s.cancelled);
}

static void a_service_that_leaves_is_an_error(void **state)
{
	struct service s = {.job = "j4", .answer_ms = -1};
	char job[LONGCALL_JOB_SIZE] = "";
	json_t *result = NULL;
	struct err e = {0};

	(void)state;
	start(&s);
	assert_fails(run(&s, 5000, -1, &result, job, &e), &e, ERR_UNAVAILABLE,
		     "service");
	finish(&s);
}

static void no_service_is_an_error(void **state)
{
	struct service s = {.job = "j5", .answer_ms = -1};
	char job[LONGCALL_JOB_SIZE] = "";
	json_t *result = NULL;
	struct err e = {0};

	(void)state;
	assert_ok(home_init(&s.home, unit_dir(), &e), &e);
	s.opts = (struct client_opts){.home = &s.home,
				      .name = "test",
				      .agent = true,
				      .no_start = true};
	s.links = links_new(&s.opts);
	assert_fails(run(&s, 5000, -1, &result, job, &e), &e, ERR_UNAVAILABLE,
		     "");
	links_free(s.links);
	home_finish(&s.home);
}

static void a_question_is_waited_for(void **state)
{
	/* for longer than an answer is */
	struct service s = {.job = "j6", .answer_ms = 5000, .ask_ms = 1};
	char job[LONGCALL_JOB_SIZE] = "";
	json_t *result = NULL;
	struct err e = {0};

	(void)state;
	person = (typeof(person)){.takes_ms = 3000};
	start(&s);
	assert_ok(run(&s, 2000, -1, &result, job, &e), &e);
	assert_true(person.asked);
	assert_null(result);
	assert_string_equal(job, "j6");
	finish(&s);
	assert_string_equal(s.answer, "{\"dialog\":\"whatever\"}");
	assert_false(s.cancelled);
}

static void an_asker_that_left_is_asked_nothing(void **state)
{
	struct service s = {.job = "j7", .answer_ms = 100, .ask_ms = 3000};
	char job[LONGCALL_JOB_SIZE] = "";
	json_t *result = NULL;
	struct err e = {0};

	(void)state;
	person = (typeof(person)){0};
	start(&s);
	assert_ok(run(&s, 1500, -1, &result, job, &e), &e);
	finish(&s);
	assert_false(person.asked);
	assert_string_equal(s.answer, "null");
}

/* Nothing is said in a person's place: the call ends as it would have. */
static void a_call_cancelled_while_it_asks_is_not_answered_for(void **state)
{
	struct service s = {.job = "j8", .answer_ms = 5000, .ask_ms = 1};
	int fd = eventfd(0, EFD_CLOEXEC);
	char job[LONGCALL_JOB_SIZE] = "";
	json_t *result = NULL;
	struct err e = {0};

	(void)state;
	person = (typeof(person)){.cancel_fd = fd};
	start(&s);
	assert_fails(run(&s, 5000, fd, &result, job, &e), &e, ERR_CANCELLED,
		     "stopped");
	close(fd);
	finish(&s);
	assert_true(s.cancelled);
	assert_string_equal(s.answer, "");
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_quick_job_gives_its_result),
	cmocka_unit_test(a_slow_job_gives_its_id_and_goes_on),
	cmocka_unit_test(silence_is_cancelled),
	cmocka_unit_test(an_asker_may_cancel),
	cmocka_unit_test(a_service_that_leaves_is_an_error),
	cmocka_unit_test(no_service_is_an_error),
	cmocka_unit_test(a_question_is_waited_for),
	cmocka_unit_test(an_asker_that_left_is_asked_nothing),
	cmocka_unit_test(a_call_cancelled_while_it_asks_is_not_answered_for),
};
UNIT_MAIN(tests)
