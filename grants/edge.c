#include "grants/edge.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "grants/terms.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define VERSION 1
#define FILE_CAP (256 << 10)

bool edge_has_kind(enum grant_kind kind)
{
	return kind == GRANT_LLM || kind == GRANT_HTTP || kind == GRANT_GITHUB;
}

void edge_add(struct edge *x, const struct edge_grant *g, const char *provider)
{
	x->grants = alloc_resize(x->grants, x->count + 1, sizeof(*x->grants));
	x->grants[x->count] = *g;
	x->grants[x->count].provider = alloc_str(provider);
	x->count++;
}

void edge_finish(struct edge *x)
{
	for (size_t i = 0; i < x->count; i++)
		free(x->grants[i].provider);
	free(x->grants);
	*x = (struct edge){0};
}

/* -- text ------------------------------------------------------------------ */

static json_t *number_or_null(int64_t n, int64_t null)
{
	return n == null ? json_null() : json_integer(n);
}

char *edge_print(const char *vm, const struct edge *x)
{
	json_t *list = json_array();
	auto_json json_t *file = NULL;

	for (size_t i = 0; i < x->count; i++) {
		const struct edge_grant *g = &x->grants[i];

		json_array_append_new(
			list,
			json_pack("{s:s, s:s, s:s, s:o, s:o}", "id", g->id,
				  "kind", grant_kind_name(g->kind), "provider",
				  g->provider, "until",
				  number_or_null(g->end_s, 0), "uses",
				  number_or_null(g->uses, TERMS_USES_ANY)));
	}
	file = json_pack("{s:i, s:s, s:o}", "v", VERSION, "vm", vm, "grants",
			 list);
	return json_print(file);
}

/* The grant's own grammar decides what kind and provider may be. */
static int parse_what(const char *kind, const char *provider,
		      struct edge_grant *ret, struct err *e)
{
	autofree char *text =
		alloc_printf("%s%s%s", kind, provider[0] ? ":" : "", provider);
	struct grant g = {0};
	bool proxied;

	if (grant_parse(text, strlen(text), &g, e) < 0)
		return -1;
	proxied = edge_has_kind(g.kind);
	ret->kind = g.kind;
	grant_finish(&g);
	if (!proxied)
		return err_set(e, ERR_INVALID, "%s: not for the proxy", text);
	return 0;
}

static int parse_one(const json_t *v, struct edge *x, struct err *e)
{
	struct edge_grant g = {.uses = TERMS_USES_ANY};
	const char *id, *kind, *provider;

	if (json_object_size(v) != 5)
		return err_set(e, ERR_INVALID, "a grant must have 5 members");
	if (json_get_str(v, "id", &id, e) < 0 ||
	    json_get_str(v, "kind", &kind, e) < 0 ||
	    json_get_str(v, "provider", &provider, e) < 0 ||
	    json_opt_int(v, "until", &g.end_s, e) < 0 ||
	    json_opt_int(v, "uses", &g.uses, e) < 0)
		return -1;
	/* 0 and -1 are how we write "none" in memory, not in the file */
	if (!json_object_get(v, "until") || !json_object_get(v, "uses") ||
	    (g.end_s <= 0 && !json_is_null(json_object_get(v, "until"))) ||
	    (g.uses < 0 && !json_is_null(json_object_get(v, "uses"))) ||
	    strlen(id) != EDGE_ID_LEN)
		return err_set(e, ERR_INVALID, "id, until or uses is wrong");
	if (parse_what(kind, provider, &g, e) < 0)
		return -1;
	memcpy(g.id, id, EDGE_ID_LEN + 1);
	edge_add(x, &g, provider);
	return 0;
}

static int parse_list(const json_t *file, const char *vm, struct edge *x,
		      struct err *e)
{
	const json_t *list = json_object_get(file, "grants");
	const char *owner;
	size_t i;
	json_t *v;

	if (json_get_str(file, "vm", &owner, e) < 0)
		return -1;
	if (strcmp(owner, vm) != 0)
		return err_set(e, ERR_INVALID, "is of the VM %s", owner);
	if (!json_is_array(list) ||
	    json_array_size(list) > LIMIT_GRANTS_PER_VM_COUNT)
		return err_set(e, ERR_INVALID,
			       "grants: must be an array of "
			       "at most %d",
			       LIMIT_GRANTS_PER_VM_COUNT);
	json_array_foreach(list, i, v)
	{
		if (parse_one(v, x, e) < 0)
			return err_wrap(e, "grant %zu", i + 1);
	}
	return 0;
}

int edge_parse(const char *text, size_t len, const char *vm, struct edge *ret,
	       struct err *e)
{
	auto_json json_t *file = json_parse(text, len, e);
	struct edge x = {0};
	int64_t version;

	if (!file || json_get_int(file, "v", &version, e) < 0)
		return -1;
	if (version == VERSION && parse_list(file, vm, &x, e) < 0) {
		edge_finish(&x);
		return -1;
	}
	*ret = x;
	return 0;
}

/* -- file ------------------------------------------------------------------ */

static char *file_of(const struct home *h, const char *vm)
{
	return alloc_printf("%s/edge/%s.json", h->config, vm);
}

int edge_write(const struct home *h, const char *vm, const struct edge *x,
	       struct err *e)
{
	autofree char *dir = path_join(h->config, "edge");
	autofree char *path = file_of(h, vm);
	autofree char *text = edge_print(vm, x);

	if (path_make_dirs(dir, 0700, e) < 0)
		return -1;
	return path_write_file(path, text, strlen(text), 0600, e);
}

int edge_read(const struct home *h, const char *vm, struct edge *ret,
	      struct err *e)
{
	autofree char *path = file_of(h, vm);
	autofree char *text = NULL;
	struct err own = {0};
	size_t len;

	if (path_read_file(path, FILE_CAP, &text, &len, &own) < 0) {
		if (own.code == ERR_NOT_FOUND) {
			*ret = (struct edge){0};
			return 0;
		}
		return err_set(e, own.code, "%s", own.msg);
	}
	if (edge_parse(text, len, vm, ret, e) < 0)
		return err_wrap(e, "%s", path);
	return 0;
}

int edge_remove(const struct home *h, const char *vm, struct err *e)
{
	autofree char *path = file_of(h, vm);

	if (unlink(path) < 0 && errno != ENOENT)
		return err_sys(e, "%s", path);
	return 0;
}

const struct edge_grant *edge_find(const struct edge *x, enum grant_kind kind,
				   const char *provider, int64_t now_s)
{
	for (size_t i = 0; i < x->count; i++) {
		const struct edge_grant *g = &x->grants[i];

		if (g->kind == kind && strcmp(g->provider, provider) == 0 &&
		    (g->end_s == 0 || g->end_s > now_s))
			return g;
	}
	return NULL;
}
