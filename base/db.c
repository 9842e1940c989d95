/*
 * One connection, one recursive mutex around every use of it: a transaction
 * holds it from BEGIN to COMMIT, so statements of other threads cannot end up
 * inside. Other processes are kept out by SQLite's own locks.
 */
#include "base/db.h"

#include "base/alloc.h"
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#define BUSY_MS 5000

struct db {
	sqlite3 *handle;
	pthread_mutex_t lock;
	int in_row; /* a row callback is running */
};

static _Thread_local int changes;

static int failed(struct db *db, const char *what, struct err *e)
{
	int code = sqlite3_extended_errcode(db->handle);
	enum err_code as = ERR_INTERNAL;

	if (code == SQLITE_CONSTRAINT_UNIQUE ||
	    code == SQLITE_CONSTRAINT_PRIMARYKEY)
		as = ERR_EXISTS;
	else if ((code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED)
		as = ERR_BUSY;
	else if ((code & 0xff) == SQLITE_FULL ||
		 sqlite3_system_errno(db->handle) == ENOSPC)
		as = ERR_NOSPACE;
	return err_set(e, as, "database: %s: %s", what,
		       sqlite3_errmsg(db->handle));
}

static int run(struct db *db, const char *sql, struct err *e)
{
	if (sqlite3_exec(db->handle, sql, NULL, NULL, NULL) != SQLITE_OK)
		return failed(db, sql, e);
	return 0;
}

static int take_int(sqlite3_stmt *row, void *ctx, struct err *e)
{
	(void)e;
	*(int64_t *)ctx = sqlite3_column_int64(row, 0);
	return 0;
}

/* The next step of the schema, in a transaction that first looks again how far
 * another process has come meanwhile. */
struct migration {
	const char *const *steps;
	int64_t count;
	int64_t version;
};

static int migrate_one(struct db *db, void *ctx, struct err *e)
{
	struct migration *m = ctx;
	char pragma[64];

	if (db_query(db, take_int, &m->version, e, "PRAGMA user_version", "") <
	    0)
		return -1;
	if (m->version >= m->count)
		return 0;
	if (run(db, m->steps[m->version], e) < 0)
		return -1;
	m->version++;
	sqlite3_snprintf(sizeof(pragma), pragma, "PRAGMA user_version=%lld",
			 (long long)m->version);
	return run(db, pragma, e);
}

static int migrate(struct db *db, const char *path, const char *const *steps,
		   struct err *e)
{
	struct migration m = {.steps = steps};

	while (steps[m.count])
		m.count++;
	if (db_query(db, take_int, &m.version, e, "PRAGMA user_version", "") <
	    0)
		return -1;
	while (m.version < m.count) {
		if (db_transaction(db, migrate_one, &m, e) < 0)
			return err_wrap(e, "%s: schema step %lld", path,
					(long long)m.version + 1);
	}
	if (m.version > m.count)
		return err_set(e, ERR_INVALID,
			       "%s: made by a newer boxery (its schema is %lld, "
			       "this one knows %lld): upgrade boxery",
			       path, (long long)m.version, (long long)m.count);
	return 0;
}

/* SQLite would make the file with the umask's mode. O_EXCL: closing a second
 * fd of a file that is in use would drop this process's locks on it. */
static int make_private(const char *path, struct err *e)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	else if (errno != EEXIST)
		return err_sys(e, "making the database %s", path);
	return 0;
}

static void init_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

static int set_up(struct db *db, const char *path,
		  const char *const *migrations, struct err *e)
{
	if (sqlite3_open_v2(path, &db->handle,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
				    SQLITE_OPEN_EXRESCODE,
			    NULL) != SQLITE_OK)
		return failed(db, path, e);
	sqlite3_busy_timeout(db->handle, BUSY_MS);
	if (run(db, "PRAGMA journal_mode=WAL", e) < 0 ||
	    run(db, "PRAGMA foreign_keys=ON", e) < 0)
		return err_wrap(e, "%s", path);
	return migrate(db, path, migrations, e);
}

int db_open(const char *path, const char *const *migrations,
	    struct db **ret_db, struct err *e)
{
	struct db *db;

	if (make_private(path, e) < 0)
		return -1;
	db = ALLOC_NEW(struct db);
	init_lock(&db->lock);
	if (set_up(db, path, migrations, e) < 0) {
		db_close(db);
		return -1;
	}
	*ret_db = db;
	return 0;
}

void db_close(struct db *db)
{
	if (!db)
		return;
	sqlite3_close(db->handle);
	pthread_mutex_destroy(&db->lock);
	free(db);
}

static int bind_one(sqlite3_stmt *stmt, int at, char kind, va_list *ap)
{
	const char *text;
	const void *blob;

	/* what is bound outlives the statement: it need not be copied */
	switch (kind) {
	case 's':
		text = va_arg(*ap, const char *);
		return sqlite3_bind_text(stmt, at, text, -1, SQLITE_STATIC);
	case 'i':
		return sqlite3_bind_int64(stmt, at, va_arg(*ap, int64_t));
	case 'b':
		blob = va_arg(*ap, const void *);
		return sqlite3_bind_blob64(stmt, at, blob, va_arg(*ap, size_t),
					   SQLITE_STATIC);
	default:
		return SQLITE_MISUSE;
	}
}

static int bind_all(struct db *db, sqlite3_stmt *stmt, const char *fmt,
		    va_list *ap, struct err *e)
{
	if ((size_t)sqlite3_bind_parameter_count(stmt) != strlen(fmt))
		return err_set(e, ERR_INTERNAL,
			       "database: %s: takes %d values, not \"%s\"",
			       sqlite3_sql(stmt),
			       sqlite3_bind_parameter_count(stmt), fmt);
	for (int i = 0; fmt[i]; i++) {
		if (bind_one(stmt, i + 1, fmt[i], ap) != SQLITE_OK)
			return failed(db, sqlite3_sql(stmt), e);
	}
	return 0;
}

static int step_all(struct db *db, sqlite3_stmt *stmt, db_row_fn *row,
		    void *ctx, struct err *e)
{
	int rc;

	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		int failure;

		if (!row)
			continue;
		db->in_row++;
		failure = row(stmt, ctx, e);
		db->in_row--;
		if (failure < 0)
			return -1;
	}
	return rc == SQLITE_DONE ? 0 : failed(db, sqlite3_sql(stmt), e);
}

struct statement {
	const char *sql, *fmt;
	db_row_fn *row;
	void *ctx;
};

static int run_statement(struct db *db, const struct statement *s,
			 va_list *ap, struct err *e)
{
	sqlite3_stmt *stmt = NULL;
	const char *rest = NULL;
	int rc;

	pthread_mutex_lock(&db->lock);
	if (db->in_row)
		rc = err_set(e, ERR_INTERNAL,
			     "database: %s: asked from within a row", s->sql);
	else if (sqlite3_prepare_v2(db->handle, s->sql, -1, &stmt, &rest) !=
		 SQLITE_OK)
		rc = failed(db, s->sql, e);
	else if (rest[strspn(rest, " \t\n;")])
		rc = err_set(e, ERR_INTERNAL,
			     "database: %s: more than one statement", s->sql);
	else
		rc = bind_all(db, stmt, s->fmt, ap, e);
	if (rc == 0)
		rc = step_all(db, stmt, s->row, s->ctx, e);
	/* a statement that writes nothing leaves SQLite's own count as it was */
	if (rc == 0 && !s->row)
		changes = sqlite3_stmt_readonly(stmt)
				  ? 0
				  : sqlite3_changes(db->handle);
	sqlite3_finalize(stmt);
	pthread_mutex_unlock(&db->lock);
	return rc;
}

int db_exec(struct db *db, struct err *e, const char *sql, const char *fmt,
	    ...)
{
	const struct statement s = {.sql = sql, .fmt = fmt};
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = run_statement(db, &s, &ap, e);
	va_end(ap);
	return rc;
}

int db_query(struct db *db, db_row_fn *row, void *ctx, struct err *e,
	     const char *sql, const char *fmt, ...)
{
	const struct statement s = {sql, fmt, row, ctx};
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = run_statement(db, &s, &ap, e);
	va_end(ap);
	return rc;
}

int db_changes(struct db *db)
{
	(void)db;
	return changes;
}

int db_transaction(struct db *db,
		   int (*fn)(struct db *db, void *ctx, struct err *e),
		   void *ctx, struct err *e)
{
	int rc;

	pthread_mutex_lock(&db->lock);
	rc = run(db, "BEGIN IMMEDIATE", e);
	if (rc == 0) {
		rc = fn(db, ctx, e);
		if (rc == 0)
			rc = run(db, "COMMIT", e);
		/* a full disk may have rolled it back already */
		if (rc < 0 && !sqlite3_get_autocommit(db->handle))
			run(db, "ROLLBACK", NULL);
	}
	pthread_mutex_unlock(&db->lock);
	return rc;
}
