/*
 * db.h - SQLite, as we use it: WAL, foreign keys, prepared statements
 *
 * Shapes:  struct db is one connection guarded by a mutex. Statements are
 *          written with ?1 ?2 …; db_exec binds `fmt` (s text or NULL, i
 *          int64_t, b blob as pointer+size_t) from the arguments and
 *          db_query calls row() for each row.
 * Errors:  ERR_EXISTS on a UNIQUE conflict, ERR_BUSY after 5 s of another
 *          process's lock, ERR_NOSPACE when the disk is full, else
 *          ERR_INTERNAL with SQLite's words.
 * Threads: any; calls are serialised. row() must not call back into the db.
 */
#ifndef BASE_DB_H
#define BASE_DB_H

#include "base/err.h"

#include <sqlite3.h>
#include <stdint.h>

struct db;

/* Opens or makes the file (0600) and brings it to the newest schema: each
 * string of migrations (NULL ends) is one step of user_version. */
int db_open(const char *path, const char *const *migrations,
	    struct db **ret_db, struct err *e)
	__attribute__((warn_unused_result));
void db_close(struct db *db);
int db_exec(struct db *db, struct err *e, const char *sql, const char *fmt,
	    ...) __attribute__((warn_unused_result));
typedef int db_row_fn(sqlite3_stmt *row, void *ctx, struct err *e);
int db_query(struct db *db, db_row_fn *row, void *ctx, struct err *e,
	     const char *sql, const char *fmt, ...)
	__attribute__((warn_unused_result));
int db_changes(struct db *db); /* rows of the last db_exec of this thread */
/* Runs fn inside BEGIN IMMEDIATE … COMMIT, ROLLBACK when it fails. */
int db_transaction(struct db *db, int (*fn)(struct db *db, void *ctx,
					     struct err *e),
		   void *ctx, struct err *e)
	__attribute__((warn_unused_result));

#endif
