#include "tests/support/unit.h"

#include "base/alloc.h"
#include "vmctl/registry.h"

#include <stdio.h>
#include <string.h>

static struct db *open_db(void)
{
	struct db *db = NULL;
	struct err e = {0};

	assert_ok(db_open(unit_path("boxery.db"), registry_migrations, &db, &e),
		  &e);
	return db;
}

static struct registry *open_registry(struct db *db)
{
	struct registry *r = NULL;
	struct err e = {0};

	assert_ok(registry_new(db, &r, &e), &e);
	return r;
}

static struct vm_record record(const char *name, const char *owner)
{
	static unsigned serial;
	struct vm_record v = {
		.phase = VM_CREATING,
		.shape = "small",
		.cpus = 1,
		.memory_len = 1ULL << 40,
		.disk_len = 1ULL << 41,
		.image = "img",
		.layers = alloc_str("[]"),
		.desktop = true,
		.created_s = 1234567890123,
	};

	serial++;
	snprintf(v.name, sizeof(v.name), "%s", name);
	snprintf(v.owner, sizeof(v.owner), "%s", owner);
	snprintf(v.uuid, sizeof(v.uuid), "uuid-%u", serial);
	snprintf(v.mac, sizeof(v.mac), "mac-%u", serial);
	return v;
}

static int prepare(struct registry *r, struct vm_record *v, void *ctx,
		   struct err *e)
{
	const char *address = ctx;

	(void)r;
	if (!address)
		return err_set(e, ERR_UNAVAILABLE, "no network");
	snprintf(v->address, sizeof(v->address), "%s", address);
	return 0;
}

static int add(struct registry *r, const char *name, const char *owner,
	       unsigned limit, const char *address, struct err *e)
{
	struct vm_record v = record(name, owner);
	char text[16] = "";
	int rc;

	if (address)
		snprintf(text, sizeof(text), "%s", address);
	rc = registry_add(r, &v, limit, prepare, address ? text : NULL, e);
	vm_record_finish(&v);
	return rc;
}

static int note(void *ctx, struct err *e)
{
	(void)e;
	*(bool *)ctx = true;
	return 0;
}

static void round_trip(void **state)
{
	bool used, done = false;
	struct db *db = open_db();
	struct registry *r = open_registry(db);
	struct vm_record v;
	struct err e = {0};

	(void)state;
	assert_ok(add(r, "demo", "0:cli", 0, "10.0.0.2", &e), &e);
	assert_ok(registry_get(r, "demo", &v, &e), &e);
	assert_string_equal(v.name, "demo");
	assert_string_equal(v.owner, "0:cli");
	assert_string_equal(v.address, "10.0.0.2");
	assert_string_equal(v.layers, "[]");
	assert_int_equal(v.phase, VM_CREATING);
	assert_int_equal(v.memory_len, 1ULL << 40);
	assert_int_equal(v.disk_len, 1ULL << 41);
	assert_int_equal(v.created_s, 1234567890123);
	assert_true(v.desktop);
	vm_record_finish(&v);
	assert_ok(registry_set_phase(r, "demo", VM_READY, &e), &e);
	assert_ok(registry_set_address(r, "demo", "10.0.0.9",
				       "52:54:00:00:00:09", &e), &e);
	assert_ok(registry_get(r, "demo", &v, &e), &e);
	assert_int_equal(v.phase, VM_READY);
	assert_string_equal(v.address, "10.0.0.9");
	assert_string_equal(v.mac, "52:54:00:00:00:09");
	vm_record_finish(&v);
	assert_true(registry_address_taken(r, "10.0.0.9", "other"));
	assert_false(registry_address_taken(r, "10.0.0.9", "demo"));
	assert_false(registry_address_taken(r, "10.0.0.2", "other"));
	assert_ok(registry_unless_image_used(r, v.image, note, &done, &used,
					     &e),
		  &e);
	assert_true(used && !done);
	assert_ok(registry_unless_image_used(r, "another", note, &done, &used,
					     &e),
		  &e);
	assert_true(!used && done);
	assert_ok(registry_remove(r, "demo", &e), &e);
	done = false;
	assert_ok(registry_unless_image_used(r, v.image, note, &done, &used,
					     &e),
		  &e);
	assert_true(!used && done);
	assert_ok(registry_remove(r, "demo", &e), &e);
	assert_fails(registry_get(r, "demo", &v, &e), &e, ERR_NOT_FOUND,
		     "no VM is named demo");
	registry_free(r);
	db_close(db);
}

/* What step by step becomes of a record's network. */
static void network(void **state)
{
	struct db *db = open_db();
	struct registry *r = open_registry(db);
	struct vm_record v = record("demo", "0:cli");
	struct vm_records all;
	struct err e = {0};
	char address[] = "10.0.0.2";

	(void)state;
	v.network = NET_NONE;
	assert_ok(registry_add(r, &v, 0, prepare, address, &e), &e);
	vm_record_finish(&v);
	assert_ok(registry_get(r, "demo", &v, &e), &e);
	assert_int_equal(v.network, NET_NONE);
	assert_false(v.filtered);
	assert_string_equal(v.stopped, "");
	vm_record_finish(&v);
	assert_ok(registry_set_filtered(r, "demo", true, &e), &e);
	assert_ok(registry_set_stopped(r, "demo", "it was open", &e), &e);
	assert_ok(registry_copy(r, &all, &e), &e);
	assert_int_equal(all.count, 1);
	assert_true(all.list[0].filtered);
	assert_string_equal(all.list[0].stopped, "it was open");
	assert_string_equal(all.list[0].layers, "[]");
	vm_records_finish(&all);
	registry_free(r);
	db_close(db);
}

/* B26: a record of the version before had no network filter. */
static void older(void **state)
{
	const char *const first[] = {registry_migrations[0], NULL};
	struct db *db = NULL;
	struct registry *r;
	struct vm_record v;
	struct err e = {0};

	(void)state;
	assert_ok(db_open(unit_path("boxery.db"), first, &db, &e), &e);
	assert_ok(db_exec(db, &e,
			  "INSERT INTO vm VALUES ('old', 'ready', 'u', 'm', "
			  "'10.0.0.2', '0:cli', 'small', 1, 1, 1, 'img', '[]', "
			  "1, 1)",
			  ""),
		  &e);
	db_close(db);
	db = open_db();
	r = open_registry(db);
	assert_ok(registry_get(r, "old", &v, &e), &e);
	assert_int_equal(v.network, NET_NAT);
	assert_false(v.filtered);
	assert_string_equal(v.stopped, "");
	vm_record_finish(&v);
	registry_free(r);
	db_close(db);
}

/* A name is taken once; what failed to be added takes none. */
static void names(void **state)
{
	struct db *db = open_db();
	struct registry *r = open_registry(db);
	struct vm_record v;
	struct err e = {0};

	(void)state;
	assert_fails(add(r, "a", "0:cli", 0, NULL, &e), &e, ERR_UNAVAILABLE,
		     "no network");
	assert_fails(registry_get(r, "a", &v, &e), &e, ERR_NOT_FOUND, "a");
	assert_ok(add(r, "a", "0:cli", 0, "10.0.0.2", &e), &e);
	assert_fails(add(r, "a", "0:cli", 0, "10.0.0.3", &e), &e, ERR_EXISTS,
		     "named a exists");
	assert_fails(add(r, "b", "0:cli", 0, "10.0.0.2", &e), &e, ERR_EXISTS,
		     "");
	registry_free(r);
	db_close(db);
}

static void agents_limit(void **state)
{
	struct db *db = open_db();
	struct registry *r = open_registry(db);
	struct err e = {0};

	(void)state;
	/* a person's do not count, and are not counted */
	assert_ok(add(r, "p", "0:cli", 0, "10.0.0.2", &e), &e);
	assert_ok(add(r, "a", "agent:0:x", 2, "10.0.0.3", &e), &e);
	assert_ok(add(r, "b", "agent:0:y", 2, "10.0.0.4", &e), &e);
	assert_fails(add(r, "c", "agent:0:z", 2, "10.0.0.5", &e), &e, ERR_LIMIT,
		     "own 2 VMs and may own 2");
	assert_ok(add(r, "q", "0:cli", 0, "10.0.0.5", &e), &e);
	assert_ok(registry_remove(r, "a", &e), &e);
	assert_ok(add(r, "c", "agent:0:z", 2, "10.0.0.3", &e), &e);
	registry_free(r);
	db_close(db);
}

/* What a dead service was making is told as broken, not as being made. */
static void restart(void **state)
{
	static const enum vm_phase phases[] = {VM_CREATING, VM_READY,
					       VM_REMOVING, VM_BROKEN};
	static const enum vm_phase after[] = {VM_BROKEN, VM_READY, VM_REMOVING,
					      VM_BROKEN};
	struct db *db = open_db();
	struct registry *r = open_registry(db);
	struct vm_record v;
	struct err e = {0};

	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(phases); i++) {
		autofree char *name = alloc_printf("vm%u", i);
		autofree char *address = alloc_printf("10.0.0.%u", i + 2);

		assert_ok(add(r, name, "0:cli", 0, address, &e), &e);
		assert_ok(registry_set_phase(r, name, phases[i], &e), &e);
	}
	registry_free(r);
	db_close(db);
	db = open_db();
	r = open_registry(db);
	for (unsigned i = 0; i < ARRAY_COUNT(phases); i++) {
		autofree char *name = alloc_printf("vm%u", i);

		assert_ok(registry_get(r, name, &v, &e), &e);
		assert_int_equal(v.phase, after[i]);
		vm_record_finish(&v);
	}
	registry_free(r);
	db_close(db);
}

static int collect(const struct vm_record *v, void *ctx, struct err *e)
{
	char *seen = ctx; /* of 64 bytes */
	size_t len = strlen(seen);

	if (strcmp(v->name, "stop") == 0)
		return err_set(e, ERR_CANCELLED, "stopped");
	snprintf(seen + len, 64 - len, "%s", v->name);
	return 0;
}

static void listing(void **state)
{
	struct db *db = open_db();
	struct registry *r = open_registry(db);
	char names_seen[64] = "";
	struct err e = {0};

	(void)state;
	assert_ok(registry_list(r, collect, names_seen, &e), &e);
	assert_string_equal(names_seen, "");
	assert_ok(add(r, "b", "0:cli", 0, "10.0.0.2", &e), &e);
	assert_ok(add(r, "a", "0:cli", 0, "10.0.0.3", &e), &e);
	assert_ok(registry_list(r, collect, names_seen, &e), &e);
	assert_string_equal(names_seen, "ab");
	assert_ok(add(r, "stop", "0:cli", 0, "10.0.0.4", &e), &e);
	assert_fails(registry_list(r, collect, names_seen, &e), &e,
		     ERR_CANCELLED, "stopped");
	registry_free(r);
	db_close(db);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(round_trip),	cmocka_unit_test(network),
	cmocka_unit_test(older),
	cmocka_unit_test(names),
	cmocka_unit_test(agents_limit), cmocka_unit_test(restart),
	cmocka_unit_test(listing),
};
UNIT_MAIN(tests)
