/* What becomes a pin, and what does not: over a guest agent that says what it is
 * told. */
#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/db.h"
#include "base/path.h"
#include "ops/validate.h"
#include "vmctl/backend.h"
#include "vmctl/conn.h"
#include "vmctl/pin.h"
#include "vmctl/registry.h"

#include <stdio.h>
#include <string.h>

#define KEY_A                                                                  \
	"ssh-ed25519 "                                                         \
	"AAAAC3NzaC1lZDI1NTE5AAAAIFGvcC1ptkp9FY6iURu8g93247L3lm5s7a1nMt7co+mC"
#define KEY_B                                                                  \
	"ssh-ed25519 "                                                         \
	"AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define SHOWN_A "SHA256:Mo8ijCoYTeMXgsQ+oaTBm+RlopsgkDkSKMe5iCzjPpg"

/* -- a backend that has an agent --------------------------------------------- */

struct fake {
	struct backend b;
	const char *key; /* NULL: it does not answer */
};

static int fake_key(struct backend *b, const char *name, struct deadline d,
		    char **ret_line, struct err *e)
{
	const struct fake *f = (struct fake *)b;

	(void)d;
	if (!f->key)
		return err_set(e, ERR_UNAVAILABLE,
			       "the guest agent of %s does not answer", name);
	*ret_line = alloc_str(f->key);
	return 0;
}

static int fake_state(struct backend *b, const char *name,
		      enum machine_state *ret, struct err *e)
{
	(void)b;
	(void)name;
	(void)e;
	*ret = MACHINE_RUNNING;
	return 0;
}

static const struct backend_ops fake_ops = {.state = fake_state,
					    .read_host_key = fake_key};

struct fixture {
	struct service s;
	struct fake fake;
	struct conn conn;
	struct call call;
};

static int prepare(struct registry *r, struct vm_record *v, void *ctx,
		   struct err *e)
{
	(void)r;
	(void)ctx;
	(void)e;
	/* nothing listens at port 22 of it, and no packet leaves the host */
	snprintf(v->address, sizeof(v->address), "127.0.0.9");
	return 0;
}

static void set_up(struct fixture *f)
{
	struct vm_record v = {.name = "demo", .layers = alloc_str("[]")};
	struct err e = {0};

	*f = (struct fixture){.fake = {{&fake_ops}, KEY_A},
			      .conn = {.refs = 1}};
	assert_ok(home_init(&f->s.home, unit_dir(), &e), &e);
	assert_ok(home_make_dirs(&f->s.home, &e), &e);
	assert_ok(db_open(f->s.home.db, registry_migrations, &f->s.db, &e), &e);
	assert_ok(registry_new(f->s.db, &f->s.registry, &e), &e);
	f->s.backend = &f->fake.b;
	f->s.machines = machines_new(&f->s);
	f->call = (struct call){.conn = &f->conn, .op = op_find("vm_pin")};
	assert_ok(registry_add(f->s.registry, &v, 0, prepare, NULL, &e), &e);
	assert_ok(registry_set_phase(f->s.registry, "demo", VM_READY, &e), &e);
	vm_record_finish(&v);
}

static void tear_down(struct fixture *f)
{
	machines_release(f->s.machines, &f->call);
	machines_free(f->s.machines);
	registry_free(f->s.registry);
	db_close(f->s.db);
	home_finish(&f->s.home);
}

static struct machine *machine(struct fixture *f)
{
	struct machine *m;
	struct err e = {0};

	assert_ok(machines_get(f->s.machines, &f->call, "demo", &m, &e), &e);
	return m;
}

static char *pinned(struct fixture *f)
{
	char *line = NULL;

	return hostkey_read(&f->s.home, "demo", &line, NULL) ? NULL : line;
}

/* -- cases --------------------------------------------------------------------- */

/* D19 */
static void through_the_agent(void **state)
{
	struct fixture f;
	struct pin_change change;
	autofree char *line = NULL;
	struct err e = {0};
	struct guest *one, *same, *other;

	(void)state;
	set_up(&f);
	assert_true(pin_is_missing(&f.s, "demo"));
	assert_fails(machine_guest(machine(&f), &one, &e), &e, ERR_DENIED,
		     "boxery pin demo --from-guest");
	assert_ok(pin_through_agent(&f.s, machine(&f), deadline_in_ms(0),
				    &change, &e),
		  &e);
	assert_string_equal(change.now, SHOWN_A);
	assert_string_equal(change.before, "");
	line = pinned(&f);
	assert_string_equal(line, KEY_A " boxery-demo");
	assert_false(pin_is_missing(&f.s, "demo"));

	/* the same key: who is connected stays so */
	assert_ok(machine_guest(machine(&f), &one, &e), &e);
	assert_ok(pin_through_agent(&f.s, machine(&f), deadline_in_ms(0),
				    &change, &e),
		  &e);
	assert_string_equal(change.before, SHOWN_A);
	assert_ok(machine_guest(machine(&f), &same, &e), &e);
	assert_ptr_equal(one, same);

	/* another: whoever the old one let in is not known any more */
	f.fake.key = KEY_B " root@demo";
	assert_ok(pin_through_agent(&f.s, machine(&f), deadline_in_ms(0),
				    &change, &e),
		  &e);
	assert_string_equal(change.before, SHOWN_A);
	assert_string_not_equal(change.now, SHOWN_A);
	assert_ok(machine_guest(machine(&f), &other, &e), &e);
	assert_ptr_not_equal(one, other);
	tear_down(&f);
}

/* What fails changes nothing. */
static void failures(void **state)
{
	struct pin_change change = {.now = "as it was"};
	autofree char *path = NULL, *line = NULL;
	struct fixture f;
	struct err e = {0};

	(void)state;
	set_up(&f);
	path = path_join(f.s.home.config, "host-keys/demo");
	assert_ok(hostkey_pin(&f.s.home, "demo", KEY_A, &e), &e);
	f.fake.key = NULL;
	assert_fails(pin_through_agent(&f.s, machine(&f), deadline_in_ms(0),
				       &change, &e),
		     &e, ERR_UNAVAILABLE, "does not answer");
	f.fake.key = "ssh-ed25519 AAAA";
	assert_fails(pin_through_agent(&f.s, machine(&f), deadline_in_ms(0),
				       &change, &e),
		     &e, ERR_INVALID, "");
	assert_string_equal(change.now, "as it was");
	line = pinned(&f);
	assert_string_equal(line, KEY_A " boxery-demo");
	/* a pin that cannot be read is a pin all the same */
	assert_ok(path_write_file(path, "x\n", 2, 0600, &e), &e);
	assert_false(pin_is_missing(&f.s, "demo"));
	tear_down(&f);
}

/* No agent may, whatever it is confined to. */
static void not_for_agents(void **state)
{
	auto_json json_t *args = json_pack("{s:s}", "vm", "demo");
	struct err e = {0};

	(void)state;
	assert_null(validate_args(op_find("vm_pin"), args, true, &e));
	assert_int_equal(e.code, ERR_DENIED);
}

/* What trust on first use means is said before it is done. */
static void caution(void **state)
{
	const struct op_param *p =
		op_param_find(op_find("vm_pin"), "from_guest");

	(void)state;
	assert_non_null(p);
	assert_true(p->flags & OP_CLI_ONLY);
	assert_non_null(p->caution);
	assert_non_null(strstr(p->caution, "trust on first use"));
	assert_non_null(strstr(p->caution, "keystrokes, files, tokens"));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(through_the_agent),
	cmocka_unit_test(failures),
	cmocka_unit_test(not_for_agents),
	cmocka_unit_test(caution),
};

UNIT_MAIN(tests)
