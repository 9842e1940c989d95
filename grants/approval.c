#include "grants/approval.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/crypto.h"
#include "base/json.h"
#include "base/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* More is never shown (confirm.h), but a cut must not hide that there is. */
#define WORDS_CAP ((size_t)8 * (LIMIT_REASON_COUNT + LIMIT_CLIENT_INFO_COUNT))

static const char *const states[] = {
	[APPROVAL_PENDING] = "pending",
	[APPROVAL_APPROVED] = "approved",
	[APPROVAL_DENIED] = "denied",
	[APPROVAL_USED] = "used",
};

void approval_finish(struct approval *a)
{
	free(a->client);
	free(a->vm);
	free(a->reason);
	free(a->client_info);
	grantset_finish(&a->set);
	*a = (struct approval){0};
}

/* -- a request as text ----------------------------------------------------- */

/* One spelling for one request (grantset.h): compared as text. */
static char *print_request(const struct approval_request *req)
{
	auto_json json_t *v = json_pack("{s:o, s:I, s:I, s:I}", "grants",
					grantset_json(req->set), "for_s",
					(json_int_t)req->terms.for_s, "until_s",
					(json_int_t)req->terms.until_s, "uses",
					(json_int_t)req->terms.uses);

	return json_print(v);
}

static int parse_request(const char *text, struct approval *a, struct err *e)
{
	auto_json json_t *v = json_parse(text, strlen(text), e);

	if (!v || json_get_int(v, "for_s", &a->terms.for_s, e) < 0 ||
	    json_get_int(v, "until_s", &a->terms.until_s, e) < 0 ||
	    json_get_int(v, "uses", &a->terms.uses, e) < 0)
		return -1;
	return grantset_parse(json_object_get(v, "grants"), &a->set, e);
}

/* -- rows ------------------------------------------------------------------ */

#define COLUMNS                                                            \
	"id, state, client, vm, request, reason, client_info, created_s, " \
	"expires_s"

struct rows {
	struct approval *list;
	size_t count;
};

static void rows_finish(struct rows *r)
{
	for (size_t i = 0; i < r->count; i++)
		approval_finish(&r->list[i]);
	free(r->list);
	*r = (struct rows){0};
}

static const char *column_text(sqlite3_stmt *row, int at)
{
	return (const char *)sqlite3_column_text(row, at);
}

static int take_row(sqlite3_stmt *row, void *ctx, struct err *e)
{
	struct rows *r = ctx;
	struct approval a = {0};

	if (parse_request(column_text(row, 4), &a, e) < 0)
		return err_wrap(e, "database: an approval");
	snprintf(a.id, sizeof(a.id), "%s", column_text(row, 0));
	for (size_t i = 0; i < ARRAY_COUNT(states); i++) {
		if (strcmp(column_text(row, 1), states[i]) == 0)
			a.state = (enum approval_state)i;
	}
	a.client = alloc_str(column_text(row, 2));
	a.vm = alloc_str(column_text(row, 3));
	a.reason = alloc_str(column_text(row, 5));
	a.client_info = alloc_str(column_text(row, 6));
	a.created_s = sqlite3_column_int64(row, 7);
	a.expires_s = sqlite3_column_int64(row, 8);
	r->list = alloc_resize(r->list, r->count + 1, sizeof(*r->list));
	r->list[r->count++] = a;
	return 0;
}

/* The first row, taken out of r. */
static struct approval take_first(struct rows *r)
{
	struct approval a = r->list[0];

	r->list[0] = (struct approval){0};
	return a;
}

static int say_not_waiting(const char *id, struct err *e)
{
	return err_set(
		e, ERR_NOT_FOUND,
		"no request %s waits for an answer: it may have been "
		"answered, or have expired (boxery approvals shows those "
		"that wait)",
		id);
}

static int take_int(sqlite3_stmt *row, void *ctx, struct err *e)
{
	(void)e;
	*(int64_t *)ctx = sqlite3_column_int64(row, 0);
	return 0;
}

/* -- asking ---------------------------------------------------------------- */

struct asking {
	const struct approval_request *req;
	const char *text; /* the request's */
	int64_t now_s;
	struct rows found;
};

static int check_count(struct db *db, const char *client, struct err *e)
{
	int64_t own = 0;
	int64_t all = 0;

	if (db_query(db, take_int, &own, e,
		     "SELECT count(*) FROM approval WHERE state = 'pending' "
		     "AND client = ?1",
		     "s", client) < 0 ||
	    db_query(db, take_int, &all, e,
		     "SELECT count(*) FROM approval WHERE state = 'pending'",
		     "") < 0)
		return -1;
	if (own >= LIMIT_APPROVALS_PER_CLIENT_COUNT ||
	    all >= LIMIT_APPROVALS_COUNT)
		return err_set(
			e, ERR_LIMIT,
			"%" PRId64 " requests wait for a person already: "
			"ask again when some are answered (boxery "
			"approvals)",
			own >= LIMIT_APPROVALS_PER_CLIENT_COUNT ? own : all);
	return 0;
}

static char *capped(const char *words)
{
	return words ? alloc_strn(words, strnlen(words, WORDS_CAP))
		     : alloc_str("");
}

static int find_request(struct db *db, struct asking *a, struct err *e)
{
	return db_query(db, take_row, &a->found, e,
			"SELECT " COLUMNS " FROM approval WHERE client = ?1 "
			"AND vm = ?2 AND request = ?3 AND state <> 'used'",
			"sss", a->req->client, a->req->vm, a->text);
}

static int add_request(struct db *db, struct asking *a, struct err *e)
{
	autofree char *reason = capped(a->req->reason);
	autofree char *info = capped(a->req->client_info);
	char id[APPROVAL_ID_LEN + 1];

	if (check_count(db, a->req->client, e) < 0 ||
	    crypto_random_name(id, APPROVAL_ID_LEN, e) < 0 ||
	    db_exec(db, e,
		    "INSERT INTO approval (id, client, vm, request, reason, "
		    "client_info, state, created_s, expires_s, decided_by) "
		    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'pending', ?7, ?8, '')",
		    "ssssssii", id, a->req->client, a->req->vm, a->text, reason,
		    info, a->now_s, a->now_s + LIMIT_APPROVAL_S) < 0)
		return -1;
	return find_request(db, a, e);
}

static int ask(struct db *db, void *ctx, struct err *e)
{
	struct asking *a = ctx;

	if (db_exec(db, e, "DELETE FROM approval WHERE expires_s <= ?1", "i",
		    a->now_s) < 0 ||
	    find_request(db, a, e) < 0)
		return -1;
	if (a->found.count == 0)
		return add_request(db, a, e);
	if (a->found.list[0].state != APPROVAL_APPROVED)
		return 0;
	return db_exec(db, e,
		       "UPDATE approval SET state = 'used' WHERE id = ?1", "s",
		       a->found.list[0].id);
}

int approval_ask(struct db *db, const struct approval_request *req,
		 int64_t now_s, struct approval *ret, struct err *e)
{
	autofree char *text = print_request(req);
	struct asking a = {.req = req, .text = text, .now_s = now_s};
	int rc = db_transaction(db, ask, &a, e);

	if (rc == 0)
		*ret = take_first(&a.found);
	rows_finish(&a.found);
	return rc;
}

int approval_find(struct db *db, const struct approval_request *req,
		  int64_t now_s, bool *ret_found, struct approval *ret,
		  struct err *e)
{
	autofree char *text = print_request(req);
	struct rows r = {0};
	int rc = db_query(db, take_row, &r, e,
			  "SELECT " COLUMNS " FROM approval WHERE client = ?1 "
			  "AND vm = ?2 AND request = ?3 AND state <> 'used' "
			  "AND expires_s > ?4",
			  "sssi", req->client, req->vm, text, now_s);

	if (rc == 0) {
		*ret_found = r.count > 0;
		if (*ret_found)
			*ret = take_first(&r);
	}
	rows_finish(&r);
	return rc;
}

/* -- answering ------------------------------------------------------------- */

int approval_get(struct db *db, const char *id, int64_t now_s,
		 struct approval *ret, struct err *e)
{
	struct rows r = {0};
	int rc = db_query(db, take_row, &r, e,
			  "SELECT " COLUMNS " FROM approval WHERE id = ?1 AND "
			  "state = 'pending' AND expires_s > ?2",
			  "si", id, now_s);

	if (rc == 0 && r.count == 0)
		rc = say_not_waiting(id, e);
	else if (rc == 0)
		*ret = take_first(&r);
	rows_finish(&r);
	return rc;
}

int approval_decide(struct db *db, const char *id, bool yes, const char *by,
		    int64_t now_s, struct err *e)
{
	if (db_exec(db, e,
		    "UPDATE approval SET state = ?2, decided_by = ?3, "
		    "expires_s = ?5 WHERE id = ?1 AND state = 'pending' AND "
		    "expires_s > ?4",
		    "sssii", id,
		    states[yes ? APPROVAL_APPROVED : APPROVAL_DENIED], by,
		    now_s, now_s + LIMIT_APPROVAL_S) < 0)
		return -1;
	return db_changes(db) == 1 ? 0 : say_not_waiting(id, e);
}

int approval_list(struct db *db, int64_t now_s, approval_fn *fn, void *ctx,
		  struct err *e)
{
	struct rows r = {0};
	int rc = db_query(db, take_row, &r, e,
			  "SELECT " COLUMNS " FROM approval WHERE state = "
			  "'pending' AND expires_s > ?1 ORDER BY created_s, id",
			  "i", now_s);

	for (size_t i = 0; rc == 0 && i < r.count; i++)
		fn(&r.list[i], ctx);
	rows_finish(&r);
	return rc;
}

int approval_forget_vm(struct db *db, const char *vm, struct err *e)
{
	return db_exec(db, e, "DELETE FROM approval WHERE vm = ?1", "s", vm);
}
