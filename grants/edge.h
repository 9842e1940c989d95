/*
 * edge.h - config/edge/NAME.json: what the proxy may do for one VM
 *
 *	{"v":1, "vm":"demo", "grants":[
 *	 {"id":"k3…", "kind":"llm", "provider":"openai",
 *	  "until":1790000000, "uses":null}]}
 *
 * The store writes it whole at each change; the proxy reads it at each
 * request. `kind` is llm, http or github and `provider` what follows it in the
 * grant's text ("openai", "my_api", "a/b:ro", ""). `until` null: no end.
 * `uses` null: any number; else each use is counted in the database under the
 * id (store_use), and the number here is what was left at the time of writing.
 *
 * Shapes:  a file that is missing, or of another version, means no grants.
 * Units:   seconds since the epoch.
 * Errors:  ERR_INVALID for a file that is not as above: its reader treats that
 *          as no grants too, and says so.
 * Threads: no shared state.
 */
#ifndef GRANTS_EDGE_H
#define GRANTS_EDGE_H

#include "base/err.h"
#include "base/home.h"
#include "grants/grant.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EDGE_ID_LEN 12

struct edge_grant {
	char id[EDGE_ID_LEN + 1];
	enum grant_kind kind;
	char *provider;
	int64_t end_s; /* 0: no end */
	int64_t uses;  /* TERMS_USES_ANY: any number */
};

struct edge {
	struct edge_grant *grants;
	size_t count;
};

bool edge_has_kind(enum grant_kind kind); /* llm, http, github */
/* To the end of the list, with a copy of provider instead of g's. */
void edge_add(struct edge *x, const struct edge_grant *g, const char *provider);
void edge_finish(struct edge *x);

char *edge_print(const char *vm, const struct edge *x) /* free() */
	__attribute__((returns_nonnull));
/* vm: whose file it must be. */
int edge_parse(const char *text, size_t len, const char *vm, struct edge *ret,
	       struct err *e) __attribute__((warn_unused_result));

int edge_write(const struct home *h, const char *vm, const struct edge *x,
	       struct err *e) __attribute__((warn_unused_result));
int edge_read(const struct home *h, const char *vm, struct edge *ret,
	      struct err *e) __attribute__((warn_unused_result));
/* The VM is gone; a file that is not there is success. */
int edge_remove(const struct home *h, const char *vm, struct err *e)
	__attribute__((warn_unused_result));

/* The grant that allows it at this time, or NULL. */
const struct edge_grant *edge_find(const struct edge *x, enum grant_kind kind,
				   const char *provider, int64_t now_s);

#endif
