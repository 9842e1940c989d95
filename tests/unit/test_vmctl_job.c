/* Jobs: who sees them, what waiting for one gives, what is kept. */
#include "tests/support/unit.h"

#include "base/json.h"
#include "base/limits.h"
#include "vmctl/job.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static const struct jobs_asker owner = {
	.client = "0:a", .agent = true, .cancel_fd = -1};

static struct deadline soon(void)
{
	return deadline_in_ms(20);
}

static void test_result(void **state)
{
	struct jobs *js = jobs_new();
	auto_json json_t *result = json_pack("{s:s}", "name", "demo");
	auto_json json_t *got = NULL;
	struct err e = {0};
	struct job *j = jobs_start(js, "vm_new", "0:a", "", &e);
	char id[32];

	(void)state;
	assert_non_null(j);
	snprintf(id, sizeof(id), "%s", job_id(j));
	assert_int_equal(id[0], 'j');
	assert_int_equal(strlen(id), 11);
	assert_int_equal(jobs_running(js), 1);
	job_finish(j, result, NULL);
	assert_int_equal(jobs_running(js), 0);
	/* as often as one asks */
	for (int i = 0; i < 2; i++) {
		assert_ok(jobs_wait(js, &owner, id, soon(), &got, &e), &e);
		assert_true(json_equal(got, result));
		json_decref(got);
		got = NULL;
	}
	jobs_free(js);
}

static void test_running(void **state)
{
	struct jobs *js = jobs_new();
	auto_json json_t *got = NULL;
	const json_t *progress;
	struct err e = {0};
	struct job *j = jobs_start(js, "vm_new", "0:a", "", &e);

	(void)state;
	job_progress(j, 5, 10, "booting");
	assert_ok(jobs_wait(js, &owner, job_id(j), soon(), &got, &e), &e);
	assert_string_equal(json_string_value(json_object_get(got, "state")),
			    "running");
	assert_string_equal(json_string_value(json_object_get(got, "job")),
			    job_id(j));
	progress = json_object_get(got, "progress");
	assert_int_equal(json_integer_value(json_object_get(progress, "done")),
			 5);
	assert_string_equal(
		json_string_value(json_object_get(progress, "text")),
		"booting");
	job_finish(j, NULL, &(struct err){.code = ERR_CANCELLED});
	jobs_free(js);
}

static void test_failure(void **state)
{
	struct jobs *js = jobs_new();
	struct err why = {0};
	struct err e = {0};
	struct job *j = jobs_start(js, "vm_new", "0:a", "", &e);
	json_t *got = NULL;

	(void)state;
	err_set(&why, ERR_NOSPACE, "disk full");
	job_finish(j, NULL, &why);
	assert_fails(jobs_wait(js, &owner, job_id(j), soon(), &got, &e), &e,
		     ERR_NOSPACE, "vm_new: disk full");
	assert_null(got);
	jobs_free(js);
}

/* Another agent's job is as unknown as one that never was. */
static void test_scope(void **state)
{
	struct jobs_asker other = {
		.client = "0:b", .agent = true, .cancel_fd = -1};
	struct jobs_asker person = {.client = "0:cli", .cancel_fd = -1};
	struct jobs *js = jobs_new();
	auto_json json_t *result = json_object();
	struct err e = {0};
	struct job *j = jobs_start(js, "vm_run", "0:a", "", &e);
	json_t *got = NULL;

	(void)state;
	job_finish(j, result, NULL);
	assert_fails(jobs_wait(js, &other, job_id(j), soon(), &got, &e), &e,
		     ERR_NOT_FOUND, "the service was restarted");
	assert_fails(jobs_wait(js, &owner, "jnever", soon(), &got, &e), &e,
		     ERR_NOT_FOUND, "unknown job jnever");
	assert_ok(jobs_wait(js, &person, job_id(j), soon(), &got, &e), &e);
	json_decref(got);
	jobs_free(js);
}

/* Two servers of one client, each for a VM of its own. */
static void test_vms(void **state)
{
	static const char *const a[] = {"a", NULL}, *const b[] = {"b", NULL},
			  *const both[] = {"b", "a", NULL};
	static const struct {
		const char *vms;
		const char *const *scope;
		bool seen;
	} rows[] = {
		{"a", a, true},	    {"a", b, false},  {"a", NULL, true},
		{"a,b", a, false},  {"a,b", b, false}, {"a,b", both, true},
		{"ab", both, false}, {"", a, true},
	};
	struct jobs *js = jobs_new();
	auto_json json_t *result = json_object();
	struct err e = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		struct jobs_asker asker = owner;
		struct job *j = jobs_start(js, "vm_run", "0:a", rows[i].vms, &e);
		json_t *got = NULL;

		job_finish(j, result, NULL);
		asker.vms = rows[i].scope;
		if (rows[i].seen)
			assert_ok(jobs_wait(js, &asker, job_id(j), soon(), &got,
					    &e),
				  &e);
		else
			assert_fails(jobs_wait(js, &asker, job_id(j), soon(),
					       &got, &e),
				     &e, ERR_NOT_FOUND, "unknown job");
		json_decref(got);
	}
	jobs_free(js);
}

struct waiting {
	struct jobs *js;
	struct jobs_asker asker;
	const char *id;
	int rc;
	struct err e;
	json_t *got;
};

static void *wait_long(void *arg)
{
	struct waiting *w = arg;

	w->rc = jobs_wait(w->js, &w->asker, w->id, deadline_in_ms(20000),
			  &w->got, &w->e);
	return NULL;
}

/* A waiter is woken by the end, and by its own cancellation. */
static void test_wake(void **state)
{
	struct jobs *js = jobs_new();
	auto_json json_t *result = json_pack("{s:i}", "n", 1);
	int cancel_fd = eventfd(0, EFD_CLOEXEC);
	struct err e = {0};
	struct job *j = jobs_start(js, "vm_new", "0:a", "", &e);
	struct waiting w[2] = {{.js = js, .asker = owner, .id = job_id(j)},
			       {.js = js, .asker = owner, .id = job_id(j)}};
	pthread_t threads[2];
	uint64_t one = 1;

	(void)state;
	w[1].asker.cancel_fd = cancel_fd;
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, wait_long, &w[i]), 0);
	assert_int_equal(write(cancel_fd, &one, sizeof(one)), sizeof(one));
	pthread_join(threads[1], NULL);
	assert_int_equal(w[1].rc, -1);
	assert_int_equal(w[1].e.code, ERR_CANCELLED);
	job_finish(j, result, NULL);
	pthread_join(threads[0], NULL);
	assert_ok(w[0].rc, &w[0].e);
	assert_true(json_equal(w[0].got, result));
	json_decref(w[0].got);
	close(cancel_fd);
	jobs_free(js);
}

/* The newest are kept, by number and by weight; running ones always. */
static void test_kept(void **state)
{
	struct jobs *js = jobs_new();
	autofree char *big = calloc(1, 1024 * 1024);
	auto_json json_t *small = json_object();
	auto_json json_t *large = NULL;
	struct err e = {0};
	struct job *running = jobs_start(js, "vm_new", "0:a", "", &e);
	char first[32], last[32];
	json_t *got = NULL;
	struct job *j;

	(void)state;
	memset(big, 'x', 1024 * 1024 - 1);
	large = json_pack("{s:s}", "text", big);
	j = jobs_start(js, "vm_new", "0:a", "", &e);
	snprintf(first, sizeof(first), "%s", job_id(j));
	job_finish(j, small, NULL);
	for (int i = 0; i < LIMIT_JOBS_COUNT + 1; i++)
		job_finish(jobs_start(js, "vm_new", "0:a", "", &e), small, NULL);
	assert_fails(jobs_wait(js, &owner, first, soon(), &got, &e), &e,
		     ERR_NOT_FOUND, "ended too long ago");
	j = jobs_start(js, "vm_new", "0:a", "", &e);
	snprintf(first, sizeof(first), "%s", job_id(j));
	job_finish(j, large, NULL);
	for (int i = 0; i < LIMIT_JOBS_KEPT_LEN / (1024 * 1024) + 1; i++) {
		j = jobs_start(js, "vm_new", "0:a", "", &e);
		snprintf(last, sizeof(last), "%s", job_id(j));
		job_finish(j, large, NULL);
	}
	assert_fails(jobs_wait(js, &owner, first, soon(), &got, &e), &e,
		     ERR_NOT_FOUND, "");
	assert_ok(jobs_wait(js, &owner, last, soon(), &got, &e), &e);
	json_decref(got);
	assert_ok(jobs_wait(js, &owner, job_id(running), soon(), &got, &e), &e);
	json_decref(got);
	job_finish(running, small, NULL);
	jobs_free(js);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_result),	cmocka_unit_test(test_running),
	cmocka_unit_test(test_failure), cmocka_unit_test(test_scope), cmocka_unit_test(test_vms),
	cmocka_unit_test(test_wake),	cmocka_unit_test(test_kept),
};

UNIT_MAIN(tests)
