/*
 * Every change is one transaction. A projection is written within one, by
 * what the database holds at that moment, so an older state never overwrites
 * a newer one, whichever threads or processes change at once:
 *
 *	add	BEGIN rows COMMIT, BEGIN project COMMIT
 *	remove	BEGIN rows project COMMIT; if that fails, BEGIN project COMMIT
 *
 * Between the two halves of an addition the proxy refuses what was just
 * granted; a service that dies there projects it at its next start.
 */
#include "grants/store.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/crypto.h"
#include "base/path.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct store {
	struct db *db;
	const struct home *home;
};

struct store *store_new(struct db *db, const struct home *h)
{
	struct store *st = ALLOC_NEW(struct store);

	st->db = db;
	st->home = h;
	return st;
}

void store_free(struct store *st)
{
	free(st);
}

/* -- rows ------------------------------------------------------------------ */

struct rows {
	struct store_grant *grants;
	size_t count;
};

static void rows_finish(struct rows *r)
{
	for (size_t i = 0; i < r->count; i++) {
		grant_finish(&r->grants[i].grant);
		free(r->grants[i].text);
		free(r->grants[i].approved_by);
		free(r->grants[i].how);
	}
	free(r->grants);
	*r = (struct rows){0};
}

static const char *column_text(sqlite3_stmt *row, int at)
{
	return (const char *)sqlite3_column_text(row, at);
}

static int take_row(sqlite3_stmt *row, void *ctx, struct err *e)
{
	struct rows *r = ctx;
	struct store_grant g = {0};
	const char *text = column_text(row, 2);

	if (grant_parse(text, strlen(text), &g.grant, e) < 0)
		return err_wrap(e, "database: a grant");
	snprintf(g.id, sizeof(g.id), "%s", column_text(row, 0));
	snprintf(g.vm, sizeof(g.vm), "%s", column_text(row, 1));
	g.text = alloc_str(text);
	g.end_s = sqlite3_column_int64(row, 3);
	g.uses_left = sqlite3_column_type(row, 4) == SQLITE_NULL
			      ? TERMS_USES_ANY
			      : sqlite3_column_int64(row, 4);
	g.used = sqlite3_column_int64(row, 5);
	g.approved_by = alloc_str(column_text(row, 6));
	g.how = alloc_str(column_text(row, 7));
	g.approved_s = sqlite3_column_int64(row, 8);
	r->grants = alloc_resize(r->grants, r->count + 1, sizeof(*r->grants));
	r->grants[r->count++] = g;
	return 0;
}

#define LIVE "((end_s = 0 OR end_s > ?3) AND uses_left IS NOT 0)"

enum which { HELD, ENDED, BOTH }; /* a filter holds HELD when empty */

struct filter {
	const char *vm;	  /* or NULL: any */
	const char *name; /* a text or an id, or NULL: any */
	enum which which;
	int64_t now_s; /* for HELD and ENDED */
};

#define FIND                                                              \
	"SELECT id, vm, text, end_s, uses_left, used, approved_by, how, " \
	"approved_s FROM vm_grant WHERE (?1 IS NULL OR vm = ?1) AND "     \
	"(?2 IS NULL OR text = ?2 OR id = ?2) AND "

static int find(struct db *db, const struct filter *f, struct rows *r,
		struct err *e)
{
	static const char *const sql[] = {
		[HELD] = FIND LIVE " ORDER BY vm, text",
		[ENDED] = FIND "NOT " LIVE " ORDER BY vm, text",
		[BOTH] = FIND "?3 IS NOT NULL ORDER BY vm, text",
	};

	return db_query(db, take_row, r, e, sql[f->which], "ssi", f->vm,
			f->name, f->now_s);
}

static int take_int(sqlite3_stmt *row, void *ctx, struct err *e)
{
	(void)e;
	*(int64_t *)ctx = sqlite3_column_int64(row, 0);
	return 0;
}

/* -- projections ----------------------------------------------------------- */

/* Within a transaction. */
static int project(struct store *st, const char *vm, struct err *e)
{
	struct rows r = {0};
	struct edge x = {0};
	const struct filter all = {.vm = vm, .which = BOTH};
	int rc = find(st->db, &all, &r, e);

	for (size_t i = 0; rc == 0 && i < r.count; i++) {
		const struct store_grant *g = &r.grants[i];
		struct edge_grant out = {
			.kind = g->grant.kind,
			.end_s = g->end_s,
			.uses = g->uses_left,
		};

		if (!edge_has_kind(g->grant.kind))
			continue;
		memcpy(out.id, g->id, sizeof(out.id));
		autofree char *provider = grant_detail(&g->grant);
		edge_add(&x, &out, provider);
	}
	if (rc == 0)
		rc = edge_write(st->home, vm, &x, e);
	edge_finish(&x);
	rows_finish(&r);
	return rc;
}

struct projecting {
	struct store *st;
	const char *vm;
};

static int project_one(struct db *db, void *ctx, struct err *e)
{
	const struct projecting *p = ctx;

	(void)db;
	return project(p->st, p->vm, e);
}

static int project_now(struct store *st, const char *vm, struct err *e)
{
	struct projecting p = {st, vm};

	return db_transaction(st->db, project_one, &p, e);
}

/* -- what is held and what is added ---------------------------------------- */

/* Since when what is asked now would have to last. */
static int64_t counted_from(const struct store_grant *held,
			    const struct store_add *a)
{
	return a->now_s - held->approved_s < a->again_s ? held->approved_s
							 : a->now_s;
}

static bool is_held(const struct rows *r, const struct grant *g,
		    const struct store_add *a)
{
	for (size_t i = 0; i < r->count; i++) {
		const struct store_grant *held = &r->grants[i];

		if (grant_equal(&held->grant, g))
			return terms_within(&a->terms, held->end_s,
					    held->uses_left,
					    counted_from(held, a));
	}
	return false;
}

int store_missing(struct store *st, const struct store_add *a,
		  struct grantset *ret_rest, struct err *e)
{
	const struct filter held = {.vm = a->vm, .now_s = a->now_s};
	struct grantset rest = {0};
	struct rows r = {0};

	if (find(st->db, &held, &r, e) < 0) {
		rows_finish(&r);
		return -1;
	}
	rest.grants = alloc_array(a->set->count, sizeof(*rest.grants));
	for (size_t i = 0; i < a->set->count; i++) {
		if (!is_held(&r, &a->set->grants[i], a))
			rest.grants[rest.count++] =
				grant_copy(&a->set->grants[i]);
	}
	rows_finish(&r);
	*ret_rest = rest;
	return 0;
}

/* uses_left is NULL for any number, which db_exec() does not bind: 0 stands
 * for it. */
static int add_row(struct db *db, const struct store_add *a,
		   const struct grant *g, struct err *e)
{
	autofree char *text = grant_print(g);
	autofree char *slot = grant_slot(g);
	char id[EDGE_ID_LEN + 1];
	struct err own = {0};

	if (crypto_random_name(id, EDGE_ID_LEN, e) < 0)
		return -1;
	if (db_exec(db, &own,
		    "INSERT INTO vm_grant (id, vm, kind, text, slot, end_s, "
		    "uses_left, approved_by, how, approved_s) VALUES (?1, ?2, "
		    "?3, ?4, ?5, ?6, nullif(?7, 0), ?8, ?9, ?10) ON CONFLICT "
		    "(vm, text) DO UPDATE SET end_s = ?6, uses_left = "
		    "nullif(?7, 0), approved_by = ?8, how = ?9, approved_s = "
		    "?10",
		    "sssssiissi", id, a->vm, grant_kind_name(g->kind), text,
		    slot, terms_end(&a->terms, a->now_s), a->terms.uses, a->by,
		    a->how, a->now_s) == 0)
		return 0;
	if (own.code == ERR_EXISTS && slot)
		return err_set(e, ERR_EXISTS,
			       "%s: another grant is in this place of %s; "
			       "revoke it, or give another place "
			       "(file:PATH=>TARGET)",
			       slot, a->vm);
	return err_set(e, own.code, "%s", own.msg);
}

struct adding {
	struct store *st;
	const struct store_add *add;
};

static int add_all(struct db *db, void *ctx, struct err *e)
{
	const struct store_add *a = ((const struct adding *)ctx)->add;
	int64_t count = 0;

	/* what ended is in nobody's way */
	if (db_exec(db, e,
		    "DELETE FROM vm_grant WHERE vm = ?1 AND ((end_s <> 0 AND "
		    "end_s <= ?2) OR uses_left IS 0)",
		    "si", a->vm, a->now_s) < 0)
		return -1;
	for (size_t i = 0; i < a->set->count; i++) {
		if (terms_check(&a->terms, &a->set->grants[i], e) < 0 ||
		    add_row(db, a, &a->set->grants[i], e) < 0)
			return -1;
	}
	if (db_query(db, take_int, &count, e,
		     "SELECT count(*) FROM vm_grant WHERE vm = ?1", "s",
		     a->vm) < 0)
		return -1;
	if (count > LIMIT_GRANTS_PER_VM_COUNT)
		return err_set(e, ERR_LIMIT,
			       "%s: a VM may hold %d grants; revoke some "
			       "(boxery grants shows them)",
			       a->vm, LIMIT_GRANTS_PER_VM_COUNT);
	return 0;
}

int store_add(struct store *st, const struct store_add *a, struct err *e)
{
	struct adding x = {st, a};

	if (db_transaction(st->db, add_all, &x, e) < 0)
		return -1;
	if (project_now(st, a->vm, e) < 0)
		return err_wrap(e,
				"%s was granted, but the proxy could not be "
				"told and refuses it (boxery service restart "
				"tries again)",
				a->vm);
	return 0;
}

int store_list(struct store *st, const char *vm, int64_t now_s, store_fn *fn,
	       void *ctx, struct err *e)
{
	const struct filter held = {.vm = vm, .now_s = now_s};
	struct rows r = {0};
	int rc = find(st->db, &held, &r, e);

	for (size_t i = 0; rc == 0 && i < r.count; i++)
		fn(&r.grants[i], ctx);
	rows_finish(&r);
	return rc;
}

/* -- what is taken away ---------------------------------------------------- */

struct removal {
	struct store *st;
	struct filter filter;
	struct rows gone;
};

static int remove_rows(struct db *db, void *ctx, struct err *e)
{
	struct removal *m = ctx;
	const char *before = NULL;

	if (find(db, &m->filter, &m->gone, e) < 0)
		return -1;
	for (size_t i = 0; i < m->gone.count; i++) {
		if (db_exec(db, e, "DELETE FROM vm_grant WHERE id = ?1", "s",
			    m->gone.grants[i].id) < 0)
			return -1;
	}
	/* rows come in order of their VM */
	for (size_t i = 0; i < m->gone.count; i++) {
		const char *vm = m->gone.grants[i].vm;

		if (before && strcmp(before, vm) == 0)
			continue;
		if (project(m->st, vm, e) < 0)
			return -1;
		before = vm;
	}
	return 0;
}

/* What could not be taken away is shown to the proxy again, as far as that
 * works: the error that counts has been set. */
static void put_back(struct removal *m)
{
	struct err ignored = {0};

	for (size_t i = 0; i < m->gone.count; i++) {
		if (project_now(m->st, m->gone.grants[i].vm, &ignored) < 0)
			return;
	}
}

static int take_away(struct removal *m, store_fn *fn, void *ctx, struct err *e)
{
	int rc = db_transaction(m->st->db, remove_rows, m, e);

	if (rc < 0)
		put_back(m);
	for (size_t i = 0; rc == 0 && fn && i < m->gone.count; i++)
		fn(&m->gone.grants[i], ctx);
	if (rc == 0 && m->filter.name && m->gone.count == 0)
		rc = err_set(e, ERR_NOT_FOUND,
			     "%s has no grant %s (boxery grants shows what it "
			     "has)",
			     m->filter.vm ? m->filter.vm : "no VM",
			     m->filter.name);
	rows_finish(&m->gone);
	return rc;
}

int store_revoke(struct store *st, const char *vm, const char *which,
		 store_fn *fn, void *ctx, struct err *e)
{
	struct removal m = {
		.st = st,
		.filter = {.vm = vm, .name = which, .which = BOTH},
	};

	return take_away(&m, fn, ctx, e);
}

int store_expire(struct store *st, int64_t now_s, store_fn *fn, void *ctx,
		 struct err *e)
{
	struct removal m = {
		.st = st,
		.filter = {.which = ENDED, .now_s = now_s},
	};

	return take_away(&m, fn, ctx, e);
}

int store_forget_vm(struct store *st, const char *vm, struct err *e)
{
	if (store_revoke(st, vm, NULL, NULL, NULL, e) < 0)
		return -1;
	return edge_remove(st->home, vm, e);
}

int store_next_end(struct store *st, int64_t *ret_s, struct err *e)
{
	return db_query(st->db, take_int, ret_s, e,
			"SELECT ifnull(min(end_s), 0) FROM vm_grant WHERE "
			"end_s <> 0",
			"");
}

int store_use(struct store *st, const char *vm, const char *id, int64_t now_s,
	      struct err *e)
{
	if (db_exec(st->db, e,
		    "UPDATE vm_grant SET used = used + 1, uses_left = "
		    "uses_left - 1 WHERE vm = ?1 AND id = ?2 AND " LIVE,
		    "ssi", vm, id, now_s) < 0)
		return -1;
	if (db_changes(st->db) != 1)
		return err_set(e, ERR_DENIED,
			       "the grant has ended, was revoked, or has no "
			       "use left");
	return 0;
}

/* -- a service that starts ------------------------------------------------- */

static int take_vm(sqlite3_stmt *row, void *ctx, struct err *e)
{
	(void)e;
	json_object_set_new(ctx, column_text(row, 0), json_true());
	return 0;
}

/* Whatever lies in edge/ and is not of those VMs. */
static int remove_others(const struct home *h, const json_t *vms, struct err *e)
{
	static const char suffix[] = ".json";
	autofree char *path = path_join(h->config, "edge");
	DIR *dir = opendir(path);
	const struct dirent *entry;
	int rc = 0;

	if (!dir)
		return 0; /* nothing was ever granted */
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's is, per stream */
	while (rc == 0 && (entry = readdir(dir))) {
		size_t len = strlen(entry->d_name);

		if (len <= strlen(suffix) ||
		    strcmp(entry->d_name + len - strlen(suffix), suffix) != 0)
			continue;
		autofree char *vm =
			alloc_strn(entry->d_name, len - strlen(suffix));
		if (!json_object_get(vms, vm))
			rc = edge_remove(h, vm, e);
	}
	closedir(dir);
	return rc;
}

static int reconcile(struct db *db, void *ctx, struct err *e)
{
	struct store *st = ctx;
	json_t *vms = json_object();
	const char *vm;
	json_t *v;
	int rc = db_query(db, take_vm, vms, e,
			  "SELECT DISTINCT vm FROM vm_grant", "");

	if (rc == 0)
		rc = remove_others(st->home, vms, e);
	json_object_foreach(vms, vm, v)
	{
		if (rc == 0)
			rc = project(st, vm, e);
	}
	json_decref(vms);
	return rc;
}

int store_reconcile(struct store *st, struct err *e)
{
	return db_transaction(st->db, reconcile, st, e);
}
