#include "vmctl/registry.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "grants/tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const registry_migrations[] = {
	"CREATE TABLE vm ("
	" name TEXT PRIMARY KEY NOT NULL,"
	" phase TEXT NOT NULL CHECK (phase IN"
	"  ('creating', 'ready', 'removing', 'broken')),"
	" uuid TEXT NOT NULL UNIQUE,"
	" mac TEXT NOT NULL UNIQUE,"
	" address TEXT NOT NULL UNIQUE,"
	" owner TEXT NOT NULL,"
	" shape TEXT NOT NULL,"
	" cpus INTEGER NOT NULL,"
	" memory_len INTEGER NOT NULL,"
	" disk_len INTEGER NOT NULL,"
	" image TEXT NOT NULL,"
	" layers TEXT NOT NULL,"
	" desktop INTEGER NOT NULL,"
	" created_s INTEGER NOT NULL"
	") STRICT",
	"ALTER TABLE vm ADD COLUMN network TEXT NOT NULL DEFAULT 'nat';"
	"ALTER TABLE vm ADD COLUMN filtered INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE vm ADD COLUMN stopped TEXT NOT NULL DEFAULT ''",
	tables_grants_1,
	/* whose ssh agent a granted ssh-agent is (agentfwd.h) */
	"CREATE TABLE vm_agent ("
	" vm TEXT PRIMARY KEY NOT NULL,"
	" socket TEXT NOT NULL"
	") STRICT",
	NULL,
};

#define COLUMNS                                                             \
	"name, phase, uuid, mac, address, owner, shape, cpus, memory_len, " \
	"disk_len, image, layers, desktop, created_s, network, filtered, "  \
	"stopped"

static const char *const phases[] = {
	[VM_CREATING] = "creating",
	[VM_READY] = "ready",
	[VM_REMOVING] = "removing",
	[VM_BROKEN] = "broken",
};

struct registry {
	struct db *db;
};

const char *vm_phase_name(enum vm_phase p)
{
	return phases[p];
}

void vm_record_finish(struct vm_record *r)
{
	free(r->layers);
	free(r->stopped);
	r->layers = NULL;
	r->stopped = NULL;
}

int registry_new(struct db *db, struct registry **ret, struct err *e)
{
	struct registry *r;

	if (db_exec(db, e,
		    "UPDATE vm SET phase = 'broken' WHERE phase = 'creating'",
		    ""))
		return -1;
	r = ALLOC_NEW(struct registry);
	r->db = db;
	*ret = r;
	return 0;
}

void registry_free(struct registry *r)
{
	free(r);
}

/* -- rows --------------------------------------------------------------------
 */

#define TAKE_TEXT(row, at, member)             \
	snprintf(member, sizeof(member), "%s", \
		 (const char *)sqlite3_column_text(row, at))

static void take_row(sqlite3_stmt *row, struct vm_record *v)
{
	const char *phase = (const char *)sqlite3_column_text(row, 1);

	*v = (struct vm_record){.phase = VM_BROKEN};
	for (unsigned i = 0; i < ARRAY_COUNT(phases); i++) {
		if (strcmp(phase, phases[i]) == 0)
			v->phase = (enum vm_phase)i;
	}
	TAKE_TEXT(row, 0, v->name);
	TAKE_TEXT(row, 2, v->uuid);
	TAKE_TEXT(row, 3, v->mac);
	TAKE_TEXT(row, 4, v->address);
	TAKE_TEXT(row, 5, v->owner);
	TAKE_TEXT(row, 6, v->shape);
	v->cpus = (unsigned)sqlite3_column_int(row, 7);
	v->memory_len = (uint64_t)sqlite3_column_int64(row, 8);
	v->disk_len = (uint64_t)sqlite3_column_int64(row, 9);
	TAKE_TEXT(row, 10, v->image);
	v->layers = alloc_str((const char *)sqlite3_column_text(row, 11));
	v->desktop = sqlite3_column_int(row, 12);
	v->created_s = sqlite3_column_int64(row, 13);
	/* of a newer version's names, the one that reaches least */
	if (!net_mode_parse((const char *)sqlite3_column_text(row, 14),
			    &v->network))
		v->network = NET_NONE;
	v->filtered = sqlite3_column_int(row, 15);
	v->stopped = alloc_str((const char *)sqlite3_column_text(row, 16));
}

struct get {
	struct vm_record *ret;
	bool found;
};

static int get_row(sqlite3_stmt *row, void *ctx, struct err *e)
{
	struct get *g = ctx;

	(void)e;
	take_row(row, g->ret);
	g->found = true;
	return 0;
}

int registry_get(struct registry *r, const char *name, struct vm_record *ret,
		 struct err *e)
{
	struct get g = {.ret = ret};

	if (db_query(r->db, get_row, &g, e,
		     "SELECT " COLUMNS " FROM vm WHERE name = ?1", "s", name))
		return -1;
	if (!g.found)
		return err_set(e, ERR_NOT_FOUND,
			       "no VM is named %s (boxery ls shows all)", name);
	return 0;
}

struct list {
	registry_row_fn *fn;
	void *ctx;
};

static int list_row(sqlite3_stmt *row, void *ctx, struct err *e)
{
	struct list *l = ctx;
	struct vm_record v;
	int rc;

	take_row(row, &v);
	rc = l->fn(&v, l->ctx, e);
	vm_record_finish(&v);
	return rc;
}

int registry_list(struct registry *r, registry_row_fn *fn, void *ctx,
		  struct err *e)
{
	struct list l = {fn, ctx};

	return db_query(r->db, list_row, &l, e,
			"SELECT " COLUMNS " FROM vm ORDER BY name", "");
}

void vm_records_finish(struct vm_records *r)
{
	for (size_t i = 0; i < r->count; i++)
		vm_record_finish(&r->list[i]);
	free(r->list);
	*r = (struct vm_records){NULL, 0};
}

static int copy_row(sqlite3_stmt *row, void *ctx, struct err *e)
{
	struct vm_records *r = ctx;

	(void)e;
	r->list = alloc_resize(r->list, r->count + 1, sizeof(*r->list));
	take_row(row, &r->list[r->count++]);
	return 0;
}

int registry_copy(struct registry *r, struct vm_records *ret, struct err *e)
{
	struct vm_records all = {NULL, 0};

	if (db_query(r->db, copy_row, &all, e,
		     "SELECT " COLUMNS " FROM vm ORDER BY name", "")) {
		vm_records_finish(&all);
		return -1;
	}
	*ret = all;
	return 0;
}

static int take_count(sqlite3_stmt *row, void *ctx, struct err *e)
{
	(void)e;
	*(int64_t *)ctx = sqlite3_column_int64(row, 0);
	return 0;
}

/* -- changes -----------------------------------------------------------------
 */

struct add {
	struct registry *registry;
	struct vm_record *v;
	unsigned max_owned;
	registry_prepare_fn *prepare;
	void *ctx;
};

static int check_limit(struct db *db, unsigned max_owned, struct err *e)
{
	int64_t count = 0;

	if (db_query(db, take_count, &count, e,
		     "SELECT count(*) FROM vm WHERE owner LIKE 'agent:%'", ""))
		return -1;
	if (count >= max_owned)
		return err_set(e, ERR_LIMIT,
			       "agents own %" PRId64 " VMs and may own %u: "
			       "remove one (vm_rm), or let the person raise "
			       "agent_vms in boxery's config",
			       count, max_owned);
	return 0;
}

static int add_row(struct db *db, void *ctx, struct err *e)
{
	struct add *a = ctx;
	struct vm_record *v = a->v;
	int64_t count = 0;

	if (db_query(db, take_count, &count, e,
		     "SELECT count(*) FROM vm WHERE name = ?1", "s", v->name))
		return -1;
	if (count)
		return err_set(e, ERR_EXISTS,
			       "a VM named %s exists already (boxery ls)",
			       v->name);
	if (a->max_owned && check_limit(db, a->max_owned, e))
		return -1;
	if (a->prepare(a->registry, v, a->ctx, e))
		return -1;
	return db_exec(db, e,
		       "INSERT INTO vm (" COLUMNS ") VALUES (?1, ?2, ?3, ?4, "
		       "?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, "
		       "0, '')",
		       "sssssssiiissiis", v->name, phases[v->phase], v->uuid,
		       v->mac, v->address, v->owner, v->shape, (int64_t)v->cpus,
		       (int64_t)v->memory_len, (int64_t)v->disk_len, v->image,
		       v->layers, (int64_t)v->desktop, v->created_s,
		       net_mode_name(v->network));
}

int registry_add(struct registry *r, struct vm_record *v, unsigned max_owned,
		 registry_prepare_fn *prepare, void *ctx, struct err *e)
{
	struct add a = {r, v, max_owned, prepare, ctx};

	return db_transaction(r->db, add_row, &a, e);
}

int registry_set_phase(struct registry *r, const char *name,
		       enum vm_phase phase, struct err *e)
{
	return db_exec(r->db, e, "UPDATE vm SET phase = ?2 WHERE name = ?1",
		       "ss", name, phases[phase]);
}

int registry_set_address(struct registry *r, const char *name,
			 const char *address, const char *mac, struct err *e)
{
	return db_exec(r->db, e,
		       "UPDATE vm SET address = ?2, mac = ?3 WHERE name = ?1",
		       "sss", name, address, mac);
}

int registry_set_filtered(struct registry *r, const char *name, bool filtered,
			  struct err *e)
{
	return db_exec(r->db, e, "UPDATE vm SET filtered = ?2 WHERE name = ?1",
		       "si", name, (int64_t)filtered);
}

int registry_set_stopped(struct registry *r, const char *name, const char *why,
			 struct err *e)
{
	return db_exec(r->db, e, "UPDATE vm SET stopped = ?2 WHERE name = ?1",
		       "ss", name, why);
}

int registry_remove(struct registry *r, const char *name, struct err *e)
{
	return db_exec(r->db, e, "DELETE FROM vm WHERE name = ?1", "s", name);
}

bool registry_address_taken(struct registry *r, const char *address,
			    const char *but_name)
{
	int64_t count = 0;

	if (db_query(r->db, take_count, &count, NULL,
		     "SELECT count(*) FROM vm WHERE address = ?1 AND "
		     "name != ?2",
		     "ss", address, but_name))
		return true;
	return count > 0;
}

struct unless {
	const char *image;
	int (*fn)(void *ctx, struct err *e);
	void *ctx;
	bool used;
};

static int unless_used(struct db *db, void *ctx, struct err *e)
{
	struct unless *u = ctx;
	int64_t count = 0;

	if (db_query(db, take_count, &count, e,
		     "SELECT count(*) FROM vm WHERE image = ?1", "s", u->image))
		return -1;
	u->used = count > 0;
	return u->used ? 0 : u->fn(u->ctx, e);
}

int registry_unless_image_used(struct registry *r, const char *image,
			       int (*fn)(void *ctx, struct err *e), void *ctx,
			       bool *ret_used, struct err *e)
{
	struct unless u = {image, fn, ctx, false};

	if (db_transaction(r->db, unless_used, &u, e))
		return -1;
	*ret_used = u.used;
	return 0;
}
