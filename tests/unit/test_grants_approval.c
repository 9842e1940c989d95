/* Requests that wait for a person: bound to client, VM and exact grants,
 * answered once, void after a while. */
#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "grants/approval.h"
#include "grants/tables.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define NOW 1000000

static const char *const migrations[] = {tables_grants_1, NULL};
static struct db *db;

static int set_up(void **state)
{
	struct err e = {0};

	(void)state;
	assert_ok(db_open(unit_path("boxery.db"), migrations, &db, &e), &e);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	db_close(db);
	return 0;
}

/* A request: grants are texts separated by blanks. */
struct req {
	const char *client, *vm, *grants;
	struct terms terms;
};

static int try_ask(const struct req *r, int64_t now_s, struct approval *ret,
		   struct err *e)
{
	json_t *list = json_array();
	struct grantset set = {0};
	struct approval_request req = {
		.client = r->client,
		.vm = r->vm,
		.set = &set,
		.terms = r->terms,
		.reason = "because",
		.client_info = "Client 1.0",
	};
	const char *at = r->grants;
	int rc;

	while (*at) {
		size_t len = strcspn(at, " ");

		json_array_append_new(list, json_stringn(at, len));
		at += len + (at[len] == ' ');
	}
	assert_ok(grantset_parse(list, &set, e), e);
	rc = approval_ask(db, &req, now_s, ret, e);
	grantset_finish(&set);
	json_decref(list);
	return rc;
}

/* The id goes to id unless NULL. */
static enum approval_state ask(const struct req *r, int64_t now_s,
			       char id[APPROVAL_ID_LEN + 1])
{
	struct approval a = {0};
	enum approval_state s;
	struct err e = {0};

	assert_ok(try_ask(r, now_s, &a, &e), &e);
	s = a.state;
	if (id)
		memcpy(id, a.id, sizeof(a.id));
	approval_finish(&a);
	return s;
}

static const struct req base = {
	"1:stdio", "demo", "llm:openai env:A", {.for_s = 60}};

static void approve(const char *id, int64_t now_s)
{
	struct err e = {0};

	assert_ok(approval_decide(db, id, true, "1:cli", now_s, &e), &e);
}

static void approved(void **state)
{
	char id[APPROVAL_ID_LEN + 1];
	char again[APPROVAL_ID_LEN + 1];
	struct req other_order = base;
	struct approval a = {0};
	struct err e = {0};

	(void)state;
	other_order.grants = "env:A llm:openai env:A";
	assert_int_equal(ask(&base, NOW, id), APPROVAL_PENDING);
	/* the same request is the same one */
	assert_int_equal(ask(&other_order, NOW + 1, again), APPROVAL_PENDING);
	assert_string_equal(id, again);
	/* all that the question needs */
	assert_ok(approval_get(db, id, NOW + 1, &a, &e), &e);
	assert_string_equal(a.client, "1:stdio");
	assert_string_equal(a.vm, "demo");
	assert_int_equal(a.set.count, 2);
	assert_string_equal(a.set.grants[1].name, "openai");
	assert_int_equal(a.terms.for_s, 60);
	assert_string_equal(a.reason, "because");
	assert_string_equal(a.client_info, "Client 1.0");
	assert_int_equal(a.expires_s, NOW + LIMIT_APPROVAL_S);
	approval_finish(&a);
	approve(id, NOW + 2);
	/* answered: neither shown nor answered again */
	assert_fails(approval_get(db, id, NOW + 2, &a, &e), &e, ERR_NOT_FOUND,
		     "waits for an answer");
	assert_fails(approval_decide(db, id, false, "x", NOW + 2, &e), &e,
		     ERR_NOT_FOUND, "waits for an answer");
	/* served once */
	assert_int_equal(ask(&base, NOW + 3, again), APPROVAL_APPROVED);
	assert_string_equal(id, again);
	assert_int_equal(ask(&base, NOW + 3, again), APPROVAL_PENDING);
	assert_string_not_equal(id, again);
}

static void denied(void **state)
{
	char id[APPROVAL_ID_LEN + 1];
	struct err e = {0};

	(void)state;
	ask(&base, NOW, id);
	assert_ok(approval_decide(db, id, false, "1:cli", NOW + 10, &e), &e);
	/* asking again and again does not wear the person down */
	assert_int_equal(ask(&base, NOW + 11, NULL), APPROVAL_DENIED);
	assert_int_equal(ask(&base, NOW + 9 + LIMIT_APPROVAL_S, NULL),
			 APPROVAL_DENIED);
	assert_int_equal(ask(&base, NOW + 10 + LIMIT_APPROVAL_S, NULL),
			 APPROVAL_PENDING);
}

/* A yes is for what was asked, by whom and for which VM, and nothing else. */
static void bound(void **state)
{
	const struct req others[] = {
		{"1:other", base.vm, base.grants, base.terms},
		{"2:stdio", base.vm, base.grants, base.terms},
		{base.client, "demo2", base.grants, base.terms},
		{base.client, base.vm, "llm:openai", base.terms},
		{base.client, base.vm, "llm:openai env:A env:B", base.terms},
		{base.client, base.vm, base.grants, {.for_s = 61}},
		{base.client, base.vm, base.grants, {0}},
		{base.client, base.vm, base.grants, {.for_s = 60, .uses = 1}},
		{base.client, base.vm, base.grants, {.until_s = NOW + 60}},
	};
	char id[APPROVAL_ID_LEN + 1];

	(void)state;
	ask(&base, NOW, id);
	approve(id, NOW);
	for (size_t i = 0; i < ARRAY_COUNT(others); i++) {
		if (ask(&others[i], NOW, NULL) != APPROVAL_PENDING)
			fail_msg("row %zu", i);
	}
	assert_int_equal(ask(&base, NOW, NULL), APPROVAL_APPROVED);
}

static void expired(void **state)
{
	char id[APPROVAL_ID_LEN + 1];
	struct approval a = {0};
	struct err e = {0};

	(void)state;
	/* unanswered */
	ask(&base, NOW, id);
	assert_fails(approval_get(db, id, NOW + LIMIT_APPROVAL_S, &a, &e), &e,
		     ERR_NOT_FOUND, id);
	assert_fails(
		approval_decide(db, id, true, "x", NOW + LIMIT_APPROVAL_S, &e),
		&e, ERR_NOT_FOUND, id);
	/* not fetched */
	approve(id, NOW + 5);
	assert_int_equal(ask(&base, NOW + 5 + LIMIT_APPROVAL_S, NULL),
			 APPROVAL_PENDING);
	/* no such thing */
	assert_fails(approval_get(db, "", NOW, &a, &e), &e, ERR_NOT_FOUND, "");
	assert_fails(approval_decide(db, "nosuch", true, "x", NOW, &e), &e,
		     ERR_NOT_FOUND, "nosuch");
}

static void count(const struct approval *a, void *ctx)
{
	(void)a;
	(*(int *)ctx)++;
}

static void caps(void **state)
{
	struct approval a = {0};
	struct err e = {0};
	int waiting = 0;

	(void)state;
	for (int c = 0; c < LIMIT_APPROVALS_COUNT; c++) {
		char client[32], vm[32];
		struct req r = {client, vm, "ssh-agent", {0}};

		snprintf(client, sizeof(client), "1:c%d",
			 c / LIMIT_APPROVALS_PER_CLIENT_COUNT);
		snprintf(vm, sizeof(vm), "vm%d", c);
		assert_int_equal(ask(&r, NOW, NULL), APPROVAL_PENDING);
		if (c != LIMIT_APPROVALS_PER_CLIENT_COUNT - 1)
			continue;
		/* one client's, but what waits already is found */
		assert_int_equal(ask(&r, NOW, NULL), APPROVAL_PENDING);
		r.vm = "more";
		assert_fails(try_ask(&r, NOW, &a, &e), &e, ERR_LIMIT,
			     "8 requests wait");
	}
	/* of all */
	assert_fails(try_ask(&base, NOW, &a, &e), &e, ERR_LIMIT,
		     "64 requests wait");
	assert_ok(approval_list(db, NOW, count, &waiting, &e), &e);
	assert_int_equal(waiting, LIMIT_APPROVALS_COUNT);
	assert_ok(approval_forget_vm(db, "vm3", &e), &e);
	assert_int_equal(ask(&base, NOW, NULL), APPROVAL_PENDING);
	/* none is left when their time is over */
	assert_int_equal(ask(&base, NOW + LIMIT_APPROVAL_S, NULL),
			 APPROVAL_PENDING);
	waiting = 0;
	assert_ok(
		approval_list(db, NOW + LIMIT_APPROVAL_S, count, &waiting, &e),
		&e);
	assert_int_equal(waiting, 1);
}

static void *fetch(void *arg)
{
	atomic_int *fetched = arg;

	if (ask(&base, NOW, NULL) == APPROVAL_APPROVED)
		(*fetched)++;
	return NULL;
}

/* One yes serves one of the calls that come at once. */
static void at_once(void **state)
{
	pthread_t threads[8];
	atomic_int fetched = 0;
	char id[APPROVAL_ID_LEN + 1];

	(void)state;
	ask(&base, NOW, id);
	approve(id, NOW);
	for (size_t i = 0; i < ARRAY_COUNT(threads); i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, fetch, &fetched), 0);
	for (size_t i = 0; i < ARRAY_COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(fetched, 1);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
static const struct CMUnitTest tests[] = {
	TEST(approved), TEST(denied), TEST(bound),
	TEST(expired),	TEST(caps),   TEST(at_once),
};
UNIT_MAIN(tests)
