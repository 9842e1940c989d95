/* The living side of machines, over a backend that says what it is told. */
#include "tests/support/unit.h"

#include "base/alloc.h"
#include "vmctl/backend.h"
#include "vmctl/guest.h"
#include "vmctl/hostkey.h"
#include "vmctl/machines.h"
#include "vmctl/registry.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* -- a backend without machines ----------------------------------------------- */

struct fake {
	struct backend b;
	enum machine_state state;
	_Atomic unsigned asked;
};

static int fake_state(struct backend *b, const char *name,
		      enum machine_state *ret, struct err *e)
{
	struct fake *f = (struct fake *)b;

	(void)name;
	(void)e;
	f->asked++;
	*ret = f->state;
	return 0;
}

static const struct backend_ops fake_ops = {.name = "fake",
					    .state = fake_state};

/* -- a service without clients ------------------------------------------------- */

struct fixture {
	struct service s;
	struct fake fake;
};

static int prepare(struct registry *r, struct vm_record *v, void *ctx,
		   struct err *e)
{
	(void)r;
	(void)ctx;
	(void)e;
	snprintf(v->address, sizeof(v->address), "192.0.2.1");
	return 0;
}

static void add_vm(struct fixture *f, const char *name)
{
	struct vm_record v = {.layers = alloc_str("[]")};
	struct err e = {0};

	snprintf(v.name, sizeof(v.name), "%s", name);
	assert_ok(registry_add(f->s.registry, &v, 0, prepare, NULL, &e), &e);
	assert_ok(registry_set_phase(f->s.registry, name, VM_READY, &e), &e);
	vm_record_finish(&v);
}

static void set_up(struct fixture *f)
{
	struct err e = {0};

	*f = (struct fixture){.fake = {{&fake_ops}, MACHINE_RUNNING, 0}};
	assert_ok(home_init(&f->s.home, unit_dir(), &e), &e);
	assert_ok(home_make_dirs(&f->s.home, &e), &e);
	assert_ok(db_open(f->s.home.db, registry_migrations, &f->s.db, &e), &e);
	assert_ok(registry_new(f->s.db, &f->s.registry, &e), &e);
	f->s.backend = &f->fake.b;
	f->s.machines = machines_new(&f->s);
	add_vm(f, "demo");
}

static void tear_down(struct fixture *f)
{
	machines_free(f->s.machines);
	registry_free(f->s.registry);
	db_close(f->s.db);
	home_finish(&f->s.home);
}

static void pin(struct fixture *f, const char *name)
{
	struct hostkey k;
	struct err e = {0};

	assert_ok(hostkey_create(&f->s.home, name, &k, &e), &e);
	hostkey_finish(&k);
}

/* -- cases --------------------------------------------------------------------- */

static void existence(void **state)
{
	struct fixture f;
	struct machine *m, *again;
	struct err e = {0};

	(void)state;
	set_up(&f);
	assert_fails(machines_get(f.s.machines, NULL, "no", &m, &e), &e,
		     ERR_NOT_FOUND, "no VM is named no");
	assert_ok(machines_get(f.s.machines, NULL, "demo", &m, &e), &e);
	assert_ok(machines_get(f.s.machines, NULL, "demo", &again, &e), &e);
	assert_ptr_equal(m, again);
	assert_string_equal(machine_name(m), "demo");
	assert_ok(machines_claim(f.s.machines, NULL, "new", &m, &e), &e);
	assert_string_equal(machine_name(m), "new");
	tear_down(&f);
}

static void busy(void **state)
{
	struct fixture f;
	struct machine *m;
	struct err e = {0};

	(void)state;
	set_up(&f);
	assert_ok(machines_get(f.s.machines, NULL, "demo", &m, &e), &e);
	assert_ok(machine_lock(m, NULL, "stopping", &e), &e);
	assert_fails(machine_lock(m, NULL, "starting", &e), &e, ERR_BUSY,
		     "demo is busy with stopping");
	machine_unlock(m);
	assert_ok(machine_lock(m, NULL, "starting", &e), &e);
	machine_unlock(m);
	tear_down(&f);
}

/* D18, and each state with what to do about it. */
static void guests(void **state)
{
	static const struct {
		enum machine_state state;
		const char *says;
	} cases[] = {
		{MACHINE_OFF, "demo is off: boxery start demo"},
		{MACHINE_PAUSED, "paused"},
		{MACHINE_CRASHED, "crashed"},
		{MACHINE_NOSPACE, "disk is full"},
		{MACHINE_ABSENT, "boxery rm demo"},
	};
	struct fixture f;
	struct machine *m;
	struct guest *g, *again;
	struct err e = {0};

	(void)state;
	set_up(&f);
	assert_ok(machines_get(f.s.machines, NULL, "demo", &m, &e), &e);
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		f.fake.state = cases[i].state;
		assert_fails(machine_guest(m, &g, &e), &e, ERR_STATE,
			     cases[i].says);
	}
	f.fake.state = MACHINE_RUNNING;
	assert_fails(machine_guest(m, &g, &e), &e, ERR_DENIED,
		     "Host key verification failed");
	pin(&f, "demo");
	assert_ok(machine_guest(m, &g, &e), &e);
	f.fake.asked = 0;
	assert_ok(machine_guest(m, &again, &e), &e);
	assert_ptr_equal(g, again);
	/* just seen running: not asked again, until it was dropped */
	assert_int_equal(f.fake.asked, 0);
	machine_drop(m);
	f.fake.state = MACHINE_OFF;
	assert_fails(machine_guest(m, &g, &e), &e, ERR_STATE, "off");
	tear_down(&f);
}

/* Nobody asks after a machine that no call waits for, or that somebody makes,
 * boots or ends; one that went off is not believed to run any more. */
static void watched(void **state)
{
	struct fixture f;
	struct machine *m;
	struct guest *g;
	struct err e = {0};

	(void)state;
	set_up(&f);
	pin(&f, "demo");
	machines_look(f.s.machines);
	assert_int_equal(f.fake.asked, 0);
	assert_ok(machines_get(f.s.machines, NULL, "demo", &m, &e), &e);
	assert_ok(machine_guest(m, &g, &e), &e);
	f.fake.asked = 0;
	machines_look(f.s.machines);
	assert_int_equal(f.fake.asked, 1);
	f.fake.state = MACHINE_OFF;
	assert_ok(machine_lock(m, NULL, "starting", &e), &e);
	machines_look(f.s.machines);
	assert_int_equal(f.fake.asked, 1);
	assert_ok(machine_guest(m, &g, &e), &e);
	machine_unlock(m);
	machines_look(f.s.machines);
	assert_int_equal(f.fake.asked, 2);
	assert_fails(machine_guest(m, &g, &e), &e, ERR_STATE, "demo is off");
	/* the thread does it by itself */
	f.fake.asked = 0;
	assert_ok(machines_watch(f.s.machines, &e), &e);
	for (int i = 0; i < 200 && f.fake.asked == 0; i++)
		deadline_sleep_ms(50);
	assert_true(f.fake.asked > 0);
	tear_down(&f);
}

static void phases(void **state)
{
	static const struct {
		enum vm_phase phase;
		const char *says;
	} cases[] = {
		{VM_CREATING, "still being created"},
		{VM_REMOVING, "being removed"},
		{VM_BROKEN, "boxery rm demo"},
	};
	struct fixture f;
	struct machine *m;
	struct guest *g;
	struct err e = {0};

	(void)state;
	set_up(&f);
	pin(&f, "demo");
	assert_ok(machines_get(f.s.machines, NULL, "demo", &m, &e), &e);
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		assert_ok(registry_set_phase(f.s.registry, "demo",
					     cases[i].phase, &e),
			  &e);
		assert_fails(machine_guest(m, &g, &e), &e, ERR_STATE,
			     cases[i].says);
		/* whoever makes it needs it earlier */
		assert_ok(machine_guest_booting(m, &g, &e), &e);
	}
	tear_down(&f);
}

/* A new VM of an old one's name has another key: another guest. */
static void forgotten(void **state)
{
	struct fixture f;
	struct machine *m;
	struct guest *old, *new;
	struct err e = {0};

	(void)state;
	set_up(&f);
	pin(&f, "demo");
	assert_ok(machines_get(f.s.machines, NULL, "demo", &m, &e), &e);
	assert_ok(machine_guest(m, &old, &e), &e);
	machine_forget(m);
	pin(&f, "demo");
	assert_ok(machine_guest(m, &new, &e), &e);
	/* the old one is still good: somebody may be using it */
	assert_ptr_not_equal(old, new);
	guest_drop(old);
	tear_down(&f);
}

static unsigned dropped;

static void drop(void *state)
{
	(void)state;
	dropped++;
}

static void desktops(void **state)
{
	struct fixture f;
	struct machine *m;
	struct machine_desktop *d;
	struct err e = {0};

	(void)state;
	set_up(&f);
	assert_ok(machines_get(f.s.machines, NULL, "demo", &m, &e), &e);
	d = machine_desktop_lock(m, deadline_in_ms(1000), &e);
	assert_non_null(d);
	d->state = &f;
	d->drop = drop;
	assert_null(machine_desktop_lock(m, deadline_in_ms(30), &e));
	assert_int_equal(e.code, ERR_TIMEOUT);
	machine_desktop_unlock(m);
	dropped = 0;
	machine_drop(m);
	assert_int_equal(dropped, 1);
	machine_drop(m);
	assert_int_equal(dropped, 1);
	tear_down(&f);
}

static void *lock_often(void *arg)
{
	struct machine *m = arg;

	for (int i = 0; i < 500; i++) {
		struct machine_desktop *d;

		if (machine_lock(m, NULL, "working", NULL) == 0)
			machine_unlock(m);
		d = machine_desktop_lock(m, deadline_in_ms(10000), NULL);
		if (d)
			machine_desktop_unlock(m);
		machine_drop(m);
	}
	return NULL;
}

static void threads(void **state)
{
	struct fixture f;
	struct machine *m;
	pthread_t t[4];
	struct err e = {0};

	(void)state;
	set_up(&f);
	assert_ok(machines_get(f.s.machines, NULL, "demo", &m, &e), &e);
	for (size_t i = 0; i < ARRAY_COUNT(t); i++)
		assert_int_equal(pthread_create(&t[i], NULL, lock_often, m), 0);
	for (size_t i = 0; i < ARRAY_COUNT(t); i++)
		pthread_join(t[i], NULL);
	assert_ok(machine_lock(m, NULL, "alone", &e), &e);
	tear_down(&f);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(existence), cmocka_unit_test(busy),
	cmocka_unit_test(guests),    cmocka_unit_test(phases),
	cmocka_unit_test(forgotten), cmocka_unit_test(desktops),
	cmocka_unit_test(threads),   cmocka_unit_test(watched),
};
UNIT_MAIN(tests)
