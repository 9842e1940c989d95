#include "base/db.h"

#include "base/deadline.h"
#include "base/path.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const schema[] = {
	"CREATE TABLE vm (name TEXT PRIMARY KEY, size INTEGER, note BLOB);"
	"CREATE TABLE disk (vm TEXT NOT NULL REFERENCES vm(name), n INTEGER,"
	" UNIQUE (vm, n));",
	"ALTER TABLE vm ADD COLUMN extra TEXT DEFAULT 'e';",
	NULL,
};

static struct db *open_db(const char *const *migrations)
{
	struct db *db = NULL;
	struct err e = {0};

	assert_ok(db_open(unit_path("test.db"), migrations, &db, &e), &e);
	return db;
}

static int take_int(sqlite3_stmt *row, void *ctx, struct err *e)
{
	(void)e;
	*(int64_t *)ctx = sqlite3_column_int64(row, 0);
	return 0;
}

static int64_t get_int(struct db *db, const char *sql)
{
	struct err e = {0};
	int64_t n = -1;

	assert_ok(db_query(db, take_int, &n, &e, sql, ""), &e);
	return n;
}

static void add_vm(struct db *db, const char *name)
{
	struct err e = {0};

	assert_ok(db_exec(db, &e, "INSERT INTO vm (name) VALUES (?1)", "s",
			  name),
		  &e);
}

static void is_set_up(void **state)
{
	static const char *const files[] = {"test.db", "test.db-wal",
					    "test.db-shm"};
	mode_t old = umask(0);
	struct db *db = open_db(schema);
	struct stat st;

	(void)state;
	add_vm(db, "a");
	umask(old);
	for (unsigned i = 0; i < ARRAY_COUNT(files); i++) {
		assert_int_equal(stat(unit_path(files[i]), &st), 0);
		assert_int_equal(st.st_mode, S_IFREG | 0600);
	}
	assert_int_equal(get_int(db, "PRAGMA foreign_keys"), 1);
	assert_int_equal(get_int(db, "PRAGMA busy_timeout"), 5000);
	assert_int_equal(get_int(db, "SELECT COUNT(*) FROM "
				     "pragma_journal_mode "
				     "WHERE journal_mode = 'wal'"),
			 1);
	assert_int_equal(get_int(db, "PRAGMA user_version"), 2);
	db_close(db);
	db_close(NULL);
}

static int check_row(sqlite3_stmt *row, void *ctx, struct err *e)
{
	(void)e;
	++*(int *)ctx;
	assert_string_equal((const char *)sqlite3_column_text(row, 0), "demo");
	assert_true(sqlite3_column_int64(row, 1) == INT64_MIN);
	assert_int_equal(sqlite3_column_bytes(row, 2), 3);
	assert_memory_equal(sqlite3_column_blob(row, 2), "\0\1\2", 3);
	return 0;
}

static void binds_and_reads(void **state)
{
	struct db *db = open_db(schema);
	struct err e = {0};
	int rows = 0;

	(void)state;
	assert_ok(db_exec(db, &e, "INSERT INTO vm VALUES (?1, ?2, ?3, ?4)",
			  "sibs", "demo", INT64_MIN, "\0\1\2", (size_t)3,
			  (char *)NULL),
		  &e);
	assert_int_equal(db_changes(db), 1);
	assert_ok(db_query(db, check_row, &rows, &e,
			   "SELECT name, size, note FROM vm WHERE name = ?1 "
			   "AND extra IS NULL; \n",
			   "s", "demo"),
		  &e);
	assert_int_equal(rows, 1);
	assert_int_equal(db_changes(db), 1);
	assert_ok(db_exec(db, &e, "DELETE FROM vm WHERE name = 'none'", ""),
		  &e);
	assert_int_equal(db_changes(db), 0);
	add_vm(db, "one");
	assert_ok(db_exec(db, &e, "UPDATE vm SET size = 1", ""), &e);
	assert_int_equal(db_changes(db), 2);
	assert_ok(db_exec(db, &e, "PRAGMA user_version", ""), &e);
	assert_int_equal(db_changes(db), 0);
	db_close(db);
}

static void misuse_is_told(void **state)
{
	struct db *db = open_db(schema);
	struct err e = {0};

	(void)state;
	assert_fails(db_exec(db, &e, "SELECT ?1", ""), &e, ERR_INTERNAL,
		     "takes 1 values");
	assert_fails(db_exec(db, &e, "SELECT 1", "s", "x"), &e, ERR_INTERNAL,
		     "takes 0 values");
	assert_fails(db_exec(db, &e, "SELECT ?1", "x", "x"), &e, ERR_INTERNAL,
		     "");
	assert_fails(db_exec(db, &e, "SELECT 1; SELECT 2", ""), &e,
		     ERR_INTERNAL, "more than one");
	assert_fails(db_exec(db, &e, "SELEC", ""), &e, ERR_INTERNAL, "syntax");
	db_close(db);
}

static void conflicts(void **state)
{
	struct db *db = open_db(schema);
	struct err e = {0};

	(void)state;
	add_vm(db, "a");
	assert_fails(db_exec(db, &e, "INSERT INTO vm (name) VALUES ('a')", ""),
		     &e, ERR_EXISTS, "UNIQUE");
	assert_ok(db_exec(db, &e, "INSERT INTO disk VALUES ('a', 1)", ""), &e);
	assert_fails(db_exec(db, &e, "INSERT INTO disk VALUES ('a', 1)", ""),
		     &e, ERR_EXISTS, "UNIQUE");
	assert_fails(db_exec(db, &e, "INSERT INTO disk VALUES ('b', 1)", ""),
		     &e, ERR_INTERNAL, "FOREIGN KEY");
	assert_fails(db_exec(db, &e, "INSERT INTO disk VALUES (NULL, 1)", ""),
		     &e, ERR_INTERNAL, "NOT NULL");
	db_close(db);
}

static void full(void **state)
{
	struct db *db = open_db(schema);
	struct err e = {0};

	(void)state;
	assert_ok(db_exec(db, &e, "PRAGMA max_page_count = 10", ""), &e);
	assert_fails(db_exec(db, &e,
			     "INSERT INTO vm (name, note) VALUES "
			     "('big', zeroblob(1000000))",
			     ""),
		     &e, ERR_NOSPACE, "full");
	add_vm(db, "small");
	db_close(db);
}

/* -- the schema -------------------------------------------------------------- */

static const char *const first_schema[] = {
	"CREATE TABLE t (x); INSERT INTO t VALUES (1);", NULL};
static const char *const second_schema[] = {
	"CREATE TABLE t (x); INSERT INTO t VALUES (1);",
	"UPDATE t SET x = x + 1;", "UPDATE t SET x = x * 10;", NULL};
static const char *const broken_schema[] = {
	"CREATE TABLE t (x); INSERT INTO t VALUES (1);",
	"UPDATE t SET x = x + 1;", "UPDATE t SET x = 99; UPDATE nonsense;",
	NULL};

static void migrates_step_by_step(void **state)
{
	struct db *db = open_db(first_schema);
	struct err e = {0};

	(void)state;
	assert_int_equal(get_int(db, "SELECT x FROM t"), 1);
	db_close(db);
	/* a step that fails leaves what the one before it made */
	db = NULL;
	assert_fails(db_open(unit_path("test.db"), broken_schema, &db, &e), &e,
		     ERR_INTERNAL, "schema step 3");
	assert_null(db);
	db = open_db((const char *const[]){"", "", NULL});
	assert_int_equal(get_int(db, "SELECT x FROM t"), 2);
	db_close(db);
	db = open_db(second_schema);
	assert_int_equal(get_int(db, "SELECT x FROM t"), 20);
	db_close(db);
	db = open_db(second_schema);
	assert_int_equal(get_int(db, "SELECT x FROM t"), 20);
	db_close(db);
	/* back to an older program */
	db = NULL;
	assert_fails(db_open(unit_path("test.db"), first_schema, &db, &e), &e,
		     ERR_INVALID, "made by a newer boxery");
	assert_null(db);
}

struct late {
	const char *path;
	int64_t seen;
};

static void *open_late(void *arg)
{
	struct late *l = arg;
	struct db *db = NULL;

	if (db_open(l->path, second_schema, &db, NULL) == 0 &&
	    db_query(db, take_int, &l->seen, NULL, "SELECT x FROM t", "") < 0)
		l->seen = -1;
	db_close(db);
	return NULL;
}

/* Two programs start at once: each step is done once. */
static void migrates_once(void **state)
{
	pthread_t threads[4];
	struct late late[4];

	(void)state;
	for (int i = 0; i < 4; i++) {
		late[i] = (struct late){.path = unit_path("test.db")};
		pthread_create(&threads[i], NULL, open_late, &late[i]);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 4; i++)
		assert_int_equal(late[i].seen, 20);
}

static void files_that_are_no_database(void **state)
{
	struct db *db = NULL;
	struct err e = {0};

	(void)state;
	assert_fails(db_open(unit_path("no/test.db"), schema, &db, &e), &e,
		     ERR_NOT_FOUND, "no/test.db");
	assert_ok(path_write_file(unit_path("test.db"),
				  "these bytes are not a database, really", 38,
				  0600, &e),
		  &e);
	assert_fails(db_open(unit_path("test.db"), schema, &db, &e), &e,
		     ERR_INTERNAL, "not a database");
	assert_null(db);
}

/* -- rows and transactions ----------------------------------------------------- */

static int refuse_second(sqlite3_stmt *row, void *ctx, struct err *e)
{
	(void)row;
	return ++*(int *)ctx < 2 ? 0 : err_set(e, ERR_STATE, "no more");
}

static int ask_again(sqlite3_stmt *row, void *ctx, struct err *e)
{
	(void)row;
	return db_exec(ctx, e, "SELECT 1", "");
}

static void rows_may_stop(void **state)
{
	struct db *db = open_db(schema);
	struct err e = {0};
	int n = 0;

	(void)state;
	add_vm(db, "a");
	add_vm(db, "b");
	add_vm(db, "c");
	assert_fails(db_query(db, refuse_second, &n, &e, "SELECT * FROM vm",
			      ""),
		     &e, ERR_STATE, "no more");
	assert_int_equal(n, 2);
	assert_fails(db_query(db, ask_again, db, &e, "SELECT * FROM vm", ""),
		     &e, ERR_INTERNAL, "within a row");
	db_close(db);
}

static int add_two(struct db *db, void *ctx, struct err *e)
{
	add_vm(db, "one");
	if (db_exec(db, e, "INSERT INTO vm (name) VALUES (?1)", "s", ctx) < 0)
		return -1;
	return 0;
}

static int nest(struct db *db, void *ctx, struct err *e)
{
	return db_transaction(db, add_two, ctx, e);
}

static void transactions(void **state)
{
	struct db *db = open_db(schema);
	struct err e = {0};

	(void)state;
	assert_fails(db_transaction(db, add_two, (char[]){"one"}, &e), &e,
		     ERR_EXISTS, "UNIQUE");
	assert_int_equal(get_int(db, "SELECT COUNT(*) FROM vm"), 0);
	assert_fails(db_transaction(db, nest, (char[]){"two"}, &e), &e,
		     ERR_INTERNAL, "within a transaction");
	assert_int_equal(get_int(db, "SELECT COUNT(*) FROM vm"), 0);
	assert_ok(db_transaction(db, add_two, (char[]){"two"}, &e), &e);
	assert_int_equal(get_int(db, "SELECT COUNT(*) FROM vm"), 2);
	db_close(db);
}

static int add_one(struct db *db, void *ctx, struct err *e)
{
	int64_t n = 0;

	(void)ctx;
	if (db_query(db, take_int, &n, e, "SELECT size FROM vm", "") < 0)
		return -1;
	return db_exec(db, e, "UPDATE vm SET size = ?1", "i", n + 1);
}

static void *count_up(void *arg)
{
	for (int i = 0; i < 25; i++) {
		if (db_transaction(arg, add_one, NULL, NULL) < 0)
			return NULL;
	}
	return NULL;
}

/* Threads on one connection, and on two: no update is lost. */
static void transactions_exclude(void **state)
{
	struct db *a = open_db(schema);
	struct db *b = open_db(schema);
	pthread_t threads[4];
	struct err e = {0};

	(void)state;
	assert_ok(db_exec(a, &e, "INSERT INTO vm (name, size) VALUES ('x', 0)",
			  ""),
		  &e);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, count_up, i & 1 ? a : b);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(get_int(a, "SELECT size FROM vm"), 100);
	db_close(a);
	db_close(b);
}

static int hold(struct db *db, void *ctx, struct err *e)
{
	struct db *other = ctx;
	int64_t from = deadline_now_ms();
	struct err busy = {0};

	(void)db;
	(void)e;
	assert_fails(db_exec(other, &busy, "INSERT INTO vm (name) VALUES ('x')",
			     ""),
		     &busy, ERR_BUSY, "locked");
	assert_true(deadline_now_ms() - from >= 4500);
	/* readers do not wait */
	from = deadline_now_ms();
	assert_int_equal(get_int(other, "SELECT COUNT(*) FROM vm"), 0);
	assert_true(deadline_now_ms() - from < 2000);
	return 0;
}

static void waits_five_seconds_for_another(void **state)
{
	struct db *a = open_db(schema);
	struct db *b = open_db(schema);
	struct err e = {0};

	(void)state;
	assert_ok(db_transaction(a, hold, b, &e), &e);
	db_close(a);
	db_close(b);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(is_set_up),
	cmocka_unit_test(binds_and_reads),
	cmocka_unit_test(misuse_is_told),
	cmocka_unit_test(conflicts),
	cmocka_unit_test(full),
	cmocka_unit_test(migrates_step_by_step),
	cmocka_unit_test(migrates_once),
	cmocka_unit_test(files_that_are_no_database),
	cmocka_unit_test(rows_may_stop),
	cmocka_unit_test(transactions),
	cmocka_unit_test(transactions_exclude),
	cmocka_unit_test(waits_five_seconds_for_another),
};

UNIT_MAIN(tests)
