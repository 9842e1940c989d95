/* What outlives a call and what does not: names that were only asked for, and
 * what a removed VM leaves to the next one of its name. */
#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/db.h"
#include "base/path.h"
#include "base/secret.h"
#include "grants/store.h"
#include "grants/token.h"
#include "vmctl/apply.h"
#include "vmctl/backend.h"
#include "vmctl/conn.h"
#include "vmctl/lifecycle.h"
#include "vmctl/machines.h"
#include "vmctl/registry.h"
#include "vmctl/runs.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* An agent that asks for machines which are not there, for hours. */
static void test_unknown_names_do_not_add_up(void **state)
{
	struct service s = {.guest_dir = NULL};
	struct machines *all = machines_new(&s);
	struct conn conn = {.refs = 1};
	struct call call = {.conn = &conn};
	struct machine *m;
	struct err e = {0};
	size_t before_len = mallinfo2().uordblks;

	(void)state;
	for (int i = 0; i < 5000; i++) {
		char name[32];

		snprintf(name, sizeof(name), "nobody-%d", i);
		assert_ok(machines_claim(all, &call, name, &m, &e), &e);
		assert_ok(machine_lock(m, NULL, "being removed", &e), &e);
		machine_unlock(m);
		machines_release(all, &call);
	}
	assert_true(mallinfo2().uordblks < before_len + 64 * 1024);
	machines_free(all);
}

static void count_rest(void *state)
{
	(*(_Atomic int *)state)++;
}

/* A desktop that nobody looks at rests, once, and again after another look;
 * one that is in use does so later. */
static void test_desktop_rests(void **state)
{
	static _Atomic int rests;
	struct service s = {.guest_dir = NULL};
	struct machines *all = machines_new(&s);
	struct machine_desktop *d;
	struct machine *m;
	struct err e = {0};

	(void)state;
	assert_ok(machines_claim(all, NULL, "demo", &m, &e), &e);
	assert_ok(machines_watch(all, &e), &e);
	assert_null(machine_desktop_how(m));
	for (int i = 1; i <= 2; i++) {
		d = machine_desktop_lock(m, deadline_in_ms(20000), &e);
		assert_non_null(d);
		d->state = &rests;
		d->rest = count_rest;
		machine_desktop_note(m, "kept", 20);
		deadline_sleep_ms(100);
		assert_int_equal(rests, i - 1);
		assert_string_equal(machine_desktop_how(m), "kept");
		machine_desktop_unlock(m);
		for (int k = 0; k < 400 && rests < i; k++)
			deadline_sleep_ms(20);
		assert_int_equal(rests, i);
		assert_string_equal(machine_desktop_how(m), "at rest");
	}
	deadline_sleep_ms(100);
	assert_int_equal(rests, 2);
	machines_free(all);
}

/* Two calls at one machine: what the first lets go the second still has. */
static void test_shared(void **state)
{
	struct service s = {.guest_dir = NULL};
	struct machines *all = machines_new(&s);
	struct conn conn = {.refs = 1};
	struct call one = {.conn = &conn}, two = {.conn = &conn};
	struct machine *m, *same;
	struct err e = {0};

	(void)state;
	assert_ok(machines_claim(all, &one, "demo", &m, &e), &e);
	assert_ok(machines_claim(all, &two, "demo", &same, &e), &e);
	assert_ptr_equal(m, same);
	assert_ok(machine_lock(m, NULL, "starting", &e), &e);
	machines_release(all, &two);
	assert_ok(machines_claim(all, &two, "demo", &same, &e), &e);
	assert_fails(machine_lock(same, NULL, "stopping", &e), &e, ERR_BUSY,
		     "busy with starting");
	machine_unlock(m);
	machines_release(all, &one);
	assert_string_equal(machine_name(same), "demo");
	machines_release(all, &two);
	machines_free(all);
}

struct worker {
	struct machines *all;
	struct machine *machine;
	struct call call;
	struct err e;
};

/* As a handler that boots it and looks now and then whether it should go on. */
static void *work(void *arg)
{
	struct worker *w = arg;

	while (call_check(&w->call, &w->e) == 0)
		deadline_sleep_ms(5);
	machine_unlock(w->machine);
	call_explain_end(&w->call, &w->e);
	machines_release(w->all, &w->call);
	return NULL;
}

/* By force: who is at work is told why he ends, whoever may not be ended is
 * waited for. */
static void test_taken(void **state)
{
	struct service s = {.guest_dir = NULL};
	struct machines *all = machines_new(&s);
	struct conn conn = {.refs = 1, .fd = -1};
	struct call call = {.conn = &conn};
	struct worker w = {.all = all,
			   .call = {.conn = &conn,
				    .op = op_find("vm_start"),
				    .deadline = deadline_in_ms(20000),
				    .cancel_fd = -1}};
	struct err e = {0};
	bool ended = false;
	pthread_t thread;

	(void)state;
	for (int i = 0; i < RPC_STREAM_COUNT; i++)
		w.call.in[i].ready_fd = -1;
	pthread_mutex_init(&conn.lock, NULL);
	pthread_cond_init(&w.call.changed, NULL);
	assert_ok(machines_claim(all, &call, "demo", &w.machine, &e), &e);
	assert_ok(machines_claim(all, &w.call, "demo", &w.machine, &e), &e);
	assert_ok(machine_lock(w.machine, &w.call, "starting", &e), &e);
	pthread_create(&thread, NULL, work, &w);
	assert_ok(machine_take(w.machine, "stopping", "demo was stopped",
			       deadline_in_ms(20000), &ended, &e),
		  &e);
	assert_true(ended);
	pthread_join(thread, NULL);
	assert_fails(-1, &w.e, ERR_STATE, "demo was stopped");
	assert_fails(machine_take(w.machine, "being removed", "no",
				  deadline_in_ms(20), &ended, &e),
		     &e, ERR_BUSY, "busy with stopping");
	machine_unlock(w.machine);
	free(w.call.ended);
	pthread_cond_destroy(&w.call.changed);
	pthread_mutex_destroy(&conn.lock);
	machines_release(all, &call);
	machines_free(all);
}

static void *unlock_soon(void *arg)
{
	deadline_sleep_ms(50);
	machine_desktop_unlock(arg);
	return NULL;
}

/* One at a time at a desktop; who waits too long is told. */
static void test_desktop_turns(void **state)
{
	struct service s = {.guest_dir = NULL};
	struct machines *all = machines_new(&s);
	struct conn conn = {.refs = 1};
	struct call call = {.conn = &conn};
	struct machine *m;
	struct err e = {0};
	pthread_t thread;

	(void)state;
	assert_ok(machines_claim(all, &call, "demo", &m, &e), &e);
	assert_non_null(machine_desktop_lock(m, deadline_in_ms(0), &e));
	assert_null(machine_desktop_lock(m, deadline_in_ms(20), &e));
	assert_fails(-1, &e, ERR_TIMEOUT, "busy with another call");
	pthread_create(&thread, NULL, unlock_soon, m);
	assert_non_null(machine_desktop_lock(m, deadline_in_ms(20000), &e));
	pthread_join(thread, NULL);
	machine_desktop_unlock(m);
	machines_release(all, &call);
	machines_free(all);
}

/* ---- what a removed VM leaves ---- */

static int stop(struct backend *b, const char *name, bool force,
		struct deadline d, int cancel_fd, struct err *e)
{
	(void)b;
	(void)name;
	(void)force;
	(void)d;
	(void)cancel_fd;
	(void)e;
	return 0;
}

static int undefine(struct backend *b, const char *name, const char *mac,
		    struct err *e)
{
	(void)b;
	(void)name;
	(void)mac;
	(void)e;
	return 0;
}

static void count_held(const struct store_grant *g, void *ctx)
{
	(void)g;
	++*(int *)ctx;
}

/* E25: nor what it was granted, nor its token */
static void test_removed_leaves_nothing(void **state)
{
	static const struct backend_ops ops = {.stop = stop,
					       .undefine = undefine};
	struct backend backend = {.ops = &ops};
	struct service s = {.backend = &backend};
	struct conn conn = {.refs = 1};
	struct call call = {.conn = &conn};
	struct machine *m;
	struct grant grant = {0};
	const struct grantset set = {&grant, 1};
	struct secret *token = NULL;
	struct err e = {0};
	char *tokens = NULL;
	struct run r;
	size_t len;
	int held = 0;

	(void)state;
	assert_ok(home_init(&s.home, unit_dir(), &e), &e);
	assert_ok(home_make_dirs(&s.home, &e), &e);
	assert_ok(db_open(s.home.db, registry_migrations, &s.db, &e), &e);
	assert_ok(registry_new(s.db, &s.registry, &e), &e);
	s.machines = machines_new(&s);
	s.grants = store_new(s.db, &s.home);
	s.apply = apply_new(&s);
	assert_ok(grant_parse("llm:openai", 10, &grant, &e), &e);
	assert_ok(store_add(s.grants,
			    &(struct store_add){.vm = "demo",
						.set = &set,
						.by = "1:cli",
						.how = "terminal",
						.now_s = 1},
			    &e),
		  &e);
	assert_ok(token_mint(s.db, &s.home, "demo", 1, &token, &e), &e);
	assert_ok(runs_create(&s.home, "demo", &r, &e), &e);
	runs_add(&r, "secret", 6);
	runs_close(&r);

	assert_ok(machines_claim(s.machines, &call, "demo", &m, &e), &e);
	assert_ok(life_remove(&s, m, &e), &e);
	machines_release(s.machines, &call);
	assert_fails(runs_open(&s.home, "demo", r.id, &e), &e, ERR_NOT_FOUND,
		     r.id);
	assert_ok(store_list(s.grants, NULL, 1, count_held, &held, &e), &e);
	assert_int_equal(held, 0);
	assert_int_equal(access(unit_path("config/edge/demo.json"), F_OK), -1);
	assert_ok(path_read_file(unit_path("config/tokens.json"), 4096, &tokens,
				 &len, &e),
		  &e);
	assert_null(strstr(tokens, "demo"));

	free(tokens);
	secret_free(token);
	grant_finish(&grant);
	apply_free(s.apply);
	store_free(s.grants);
	machines_free(s.machines);
	registry_free(s.registry);
	db_close(s.db);
	home_finish(&s.home);
}

/* ---- why a guest did not answer ---- */

static enum machine_state told_state;

static int tell_state(struct backend *b, const char *name,
		      enum machine_state *ret, struct err *e)
{
	(void)b;
	(void)name;
	(void)e;
	*ret = told_state;
	return 0;
}

static void test_explained(void **state)
{
	static const struct {
		enum err_code code;
		enum machine_state state;
		const char *busy, *want, *op;
	} cases[] = {
		{ERR_UNAVAILABLE, MACHINE_OFF, NULL,
		 "demo is off: boxery start demo", "vm_run"},
		{ERR_TIMEOUT, MACHINE_CRASHED, NULL, "demo has crashed",
		 "vm_copy"},
		{ERR_TIMEOUT, MACHINE_RUNNING, NULL, "as it was", "vm_run"},
		{ERR_INVALID, MACHINE_OFF, NULL, "as it was", "vm_run"},
		/* whoever is at work on it tells more */
		{ERR_TIMEOUT, MACHINE_OFF, "starting", "as it was", "vm_run"},
		/* and so do those who make it, once it is undone, and boot it */
		{ERR_UNAVAILABLE, MACHINE_ABSENT, NULL, "as it was", "vm_new"},
		{ERR_UNAVAILABLE, MACHINE_OFF, NULL, "as it was", "vm_start"},
	};
	static const struct backend_ops ops = {.state = tell_state};
	struct backend backend = {.ops = &ops};
	struct service s = {.backend = &backend};
	struct conn conn = {.refs = 1};
	struct call call = {.conn = &conn}, other = {.conn = &conn};
	struct machine *m;
	struct err e = {0};

	(void)state;
	assert_ok(db_open(unit_path("boxery.db"), registry_migrations, &s.db,
			  &e),
		  &e);
	assert_ok(registry_new(s.db, &s.registry, &e), &e);
	s.machines = machines_new(&s);
	assert_ok(machines_claim(s.machines, &call, "demo", &m, &e), &e);
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		told_state = cases[i].state;
		other.op = call.op = op_find(cases[i].op);
		if (cases[i].busy)
			assert_ok(machine_lock(m, NULL, cases[i].busy, &e), &e);
		err_set(&e, cases[i].code, "as it was");
		machines_explain(s.machines, &other, &e);
		assert_string_equal(err_msg(&e), "as it was");
		machines_explain(s.machines, &call, &e);
		assert_non_null(strstr(err_msg(&e), cases[i].want));
		/* what it said itself stays with it */
		assert_non_null(strstr(err_msg(&e), "as it was"));
		if (cases[i].busy)
			machine_unlock(m);
	}
	machines_release(s.machines, &call);
	machines_free(s.machines);
	registry_free(s.registry);
	db_close(s.db);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_unknown_names_do_not_add_up),
	cmocka_unit_test(test_shared),
	cmocka_unit_test(test_desktop_rests),
	cmocka_unit_test(test_desktop_turns),
	cmocka_unit_test(test_taken),
	cmocka_unit_test(test_removed_leaves_nothing),
	cmocka_unit_test(test_explained),
};

UNIT_MAIN(tests)
