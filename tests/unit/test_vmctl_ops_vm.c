/* What is told of machines when the hypervisor has its say, and when not. */
#include "tests/support/result_shape.h"
#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/db.h"
#include "vmctl/backend.h"
#include "vmctl/conn.h"
#include "vmctl/handlers.h"
#include "vmctl/machines.h"
#include "vmctl/registry.h"
#include "vmctl/serve.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct fake {
	struct backend b;
	bool deaf;
};

static int fake_list(struct backend *b,
		     void (*each)(void *ctx, const char *name,
				  enum machine_state s),
		     void *ctx, struct err *e)
{
	const struct fake *f = (const struct fake *)b;

	if (f->deaf)
		return err_set(e, ERR_UNAVAILABLE, "libvirt does not answer");
	each(ctx, "demo", MACHINE_RUNNING);
	each(ctx, "stray", MACHINE_OFF);
	return 0;
}

static int fake_port(struct backend *b, const char *name,
		     struct machine_port *ret, struct err *e)
{
	(void)b;
	(void)name;
	(void)e;
	*ret = (struct machine_port){.id = 0};
	return 0;
}

static const struct backend_ops fake_ops = {.list = fake_list,
					    .port = fake_port};

struct fixture {
	struct service s;
	struct fake fake;
	struct serve *serve;
	struct conn conn;
	struct call call;
	unsigned vm_count;
};

static int prepare(struct registry *r, struct vm_record *v, void *ctx,
		   struct err *e)
{
	unsigned n = ++*(unsigned *)ctx;

	(void)r;
	(void)e;
	snprintf(v->address, sizeof(v->address), "192.0.2.%u", n);
	snprintf(v->mac, sizeof(v->mac), "52:54:00:00:00:%02x", n);
	snprintf(v->uuid, sizeof(v->uuid), "%u", n);
	return 0;
}

static void add_vm(struct fixture *f, const char *name, enum vm_phase phase)
{
	struct vm_record v = {.layers = alloc_str("[]")};
	struct err e = {0};

	snprintf(v.name, sizeof(v.name), "%s", name);
	assert_ok(registry_add(f->s.registry, &v, 0, prepare, &f->vm_count, &e),
		  &e);
	assert_ok(registry_set_phase(f->s.registry, name, phase, &e), &e);
	vm_record_finish(&v);
}

static void set_up(struct fixture *f)
{
	struct serve_opts o = {.service = &f->s, .listen_fd = -1,
			       .signal_fd = -1};
	struct err e = {0};

	*f = (struct fixture){.fake = {{&fake_ops}, false}};
	assert_ok(home_init(&f->s.home, unit_dir(), &e), &e);
	assert_ok(home_make_dirs(&f->s.home, &e), &e);
	assert_ok(db_open(f->s.home.db, registry_migrations, &f->s.db, &e), &e);
	assert_ok(registry_new(f->s.db, &f->s.registry, &e), &e);
	f->s.backend = &f->fake.b;
	o.listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_ok(serve_new(&o, &f->serve, &e), &e);
	f->conn.serve = f->serve;
	f->call.conn = &f->conn;
	add_vm(f, "demo", VM_READY);
	add_vm(f, "half", VM_BROKEN);
}

static void tear_down(struct fixture *f)
{
	serve_free(f->serve);
	registry_free(f->s.registry);
	db_close(f->s.db);
	home_finish(&f->s.home);
}

/* "NAME STATE, NAME STATE", in the order of the rows. */
static const char *told(struct fixture *f, json_t **ret_result)
{
	static char text[256];
	auto_json json_t *args = json_object();
	struct err e = {0};
	size_t i, at = 0;
	json_t *row;

	assert_ok(op_vm_list(&f->call, args, ret_result, &e), &e);
	assert_ok(shape_check(op_find("vm_list"), *ret_result, &e), &e);
	json_array_foreach(json_object_get(*ret_result, "rows"), i, row)
	{
		const char *name, *state;

		assert_ok(json_get_str(row, "name", &name, &e), &e);
		assert_ok(json_get_str(row, "state", &state, &e), &e);
		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       "%s%s %s", at ? ", " : "", name, state);
	}
	return text;
}

static void test_list(void **state)
{
	auto_json json_t *all = NULL;
	auto_json json_t *alone = NULL;
	struct fixture f;

	(void)state;
	set_up(&f);
	assert_string_equal(told(&f, &all),
			    "demo running, half broken, stray orphan");
	assert_null(json_object_get(all, "problem"));
	/* the records are shown though nobody can say what runs */
	f.fake.deaf = true;
	assert_string_equal(told(&f, &alone), "demo unknown, half broken");
	assert_string_equal(
		json_string_value(json_object_get(alone, "problem")),
		"libvirt does not answer");
	tear_down(&f);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_list),
};

UNIT_MAIN(tests)
