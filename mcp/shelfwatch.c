/*
 * Looks have a connection of their own, which never starts a service: who only
 * listens must not keep one alive that was stopped.
 */
#include "mcp/shelfwatch.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/crypto.h"
#include "base/json.h"
#include "base/limits.h"
#include "mcp/resourceuri.h"
#include "mcp/stock.h"

#include <string.h>

#define LOOK_MS 5000

struct shelfwatch {
	struct copied *copied;
	struct client_opts opts;
	struct client *client;
	char *list;	   /* as it was; NULL: not looked at yet */
	json_t *resources; /* what each was known by, by URI */
};

static void look_at_list(struct shelfwatch *s, struct feed *f,
			 const struct stock_asking *a)
{
	struct err e = {0};
	auto_json json_t *all = stock_collect(s->copied, a, &e);
	autofree const char **uris = all ? stock_uris(all) : NULL;
	auto_json json_t *names = json_array();
	char *list;
	bool changed;

	if (!uris)
		return;
	for (const char **at = uris; *at; at++)
		json_array_append_new(names, json_string(*at));
	list = json_print(names);
	changed = s->list && strcmp(s->list, list) != 0;
	free(s->list);
	s->list = list;
	if (changed)
		feed_tell(f, FEED_RESOURCES, NULL);
}

/* What a desktop is known by: the number of its picture. An image is made only
 * when there is a new one, and is not kept. */
static json_t *know_screen(const struct stock_asking *a, const char *vm,
			   json_t *before)
{
	json_t *args = json_pack("{s:s}", "vm", vm);
	auto_json json_t *shot = NULL;
	const json_t *parts;
	struct err e = {0};

	if (before && json_integer_value(before) > 0)
		json_object_set(args, "since", before);
	shot = stock_call(a, "vm_view", args, NULL, &e);
	parts = json_object_get(shot, "images");
	if (!shot || (parts && json_array_size(parts) == 0))
		return json_incref(before);
	return json_incref(json_object_get(shot, "number"));
}

static json_t *know_console(const struct stock_asking *a, const char *vm,
			    json_t *before)
{
	struct err e = {0};
	auto_json json_t *page = stock_console(a, vm, &e);
	const char *text = json_string_value(json_object_get(page, "text"));
	char hash[CRYPTO_SHA256_HEX_SIZE];

	if (!text || crypto_sha256_hex(text, strlen(text), hash, &e) != 0)
		return json_incref(before);
	return json_string(hash);
}

static void look_at_resource(struct shelfwatch *s, struct feed *f,
			     const struct stock_asking *a, const char *uri,
			     json_t *known)
{
	json_t *before = json_object_get(s->resources, uri), *now;
	struct resourceuri u;

	if (!resourceuri_parse(uri, &u))
		return;
	now = u.kind == RESOURCEURI_SCREENSHOT
		      ? know_screen(a, u.name, before)
		      : know_console(a, u.name, before);
	resourceuri_finish(&u);
	if (!now)
		return;
	if (before && !json_equal(before, now))
		feed_tell(f, FEED_UPDATED, uri);
	json_object_set_new(known, uri, now);
}

static bool connect_again(struct shelfwatch *s)
{
	struct err e = {0};

	if (s->client && client_is_alive(s->client))
		return true;
	client_free(s->client);
	s->client = NULL;
	return client_connect(&s->opts, &s->client, &e) == 0;
}

void shelfwatch_look(void *ctx, struct feed *f, bool list, const json_t *uris,
		     int stop_fd)
{
	struct shelfwatch *s = ctx;
	struct stock_asking a = {.cancel_fd = stop_fd,
				 .answer_by = deadline_in_ms(LOOK_MS)};
	json_t *known;

	if (!connect_again(s))
		return;
	a.client = s->client;
	if (list)
		look_at_list(s, f, &a);
	known = json_object();
	for (size_t i = 0; i < json_array_size(uris); i++) {
		a.answer_by = deadline_in_ms(LOOK_MS);
		look_at_resource(s, f, &a,
				 json_string_value(json_array_get(uris, i)),
				 known);
	}
	json_decref(s->resources);
	s->resources = known;
}

struct shelfwatch *shelfwatch_new(const struct client_opts *opts,
				  struct copied *copied)
{
	struct shelfwatch *s = ALLOC_NEW(struct shelfwatch);

	s->copied = copied;
	s->opts = *opts;
	s->opts.no_start = true;
	return s;
}

void shelfwatch_free(struct shelfwatch *s)
{
	client_free(s->client);
	json_decref(s->resources);
	free(s->list);
	free(s);
}
