#include "mcp/shelves.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/crypto.h"
#include "base/json.h"
#include "base/limits.h"
#include "mcp/present.h"
#include "mcp/prompts.h"
#include "mcp/resourceuri.h"
#include "mcp/shelfwatch.h"
#include "mcp/stock.h"
#include "mcp/viewpage.h"

#include <string.h>

#define COMPLETIONS_COUNT 100

struct shelves {
	struct links *links;
	struct copied *copied;
	struct shelfwatch *watch;
	struct feed *feed;
};

/* -- resources/list -------------------------------------------------------- */

/* What comes after the cursor, which is the last URI of the page before. */
static json_t *page_of(const json_t *all, const char *cursor)
{
	autofree const char **uris = stock_uris(all);
	const char **at = uris;
	json_t *page = json_array();
	json_t *result = json_pack("{s:o}", "resources", page);

	while (cursor && *at && strcmp(*at, cursor) <= 0)
		at++;
	for (; *at && json_array_size(page) < LIMIT_MCP_PAGE_COUNT; at++)
		json_array_append(page, json_object_get(all, *at));
	if (*at)
		json_object_set_new(result, "nextCursor", json_string(at[-1]));
	return result;
}

static json_t *fail(struct jsonrpc_fault *f, const struct err *why)
{
	jsonrpc_fault_set(f, JSONRPC_INTERNAL_ERROR, "%s", err_msg(why));
	return NULL;
}

static json_t *answer_list(const struct shelves *s,
			   const struct stock_asking *a, const char *cursor,
			   struct jsonrpc_fault *f)
{
	struct resourceuri u;
	auto_json json_t *all = NULL;
	struct err e = {0};

	if (cursor && !resourceuri_parse(cursor, &u)) {
		jsonrpc_fault_set(f, JSONRPC_INVALID_PARAMS,
				  "cursor: not one that this server gave");
		return NULL;
	}
	if (cursor)
		resourceuri_finish(&u);
	all = stock_collect(s->copied, a, &e);
	return all ? page_of(all, cursor) : fail(f, &e);
}

static json_t *answer_templates(void)
{
	static const struct {
		const char *uri, *name, *title, *help, *mime;
	} rows[] = {
		{"boxery://vm/{vm}/screenshot", "screenshot", "Screen of a VM",
		 "The desktop as it is when it is read", "image/png"},
		{"boxery://vm/{vm}/console", "console", "Console of a VM",
		 "The end of the console's log", "text/plain"},
	};
	json_t *list = json_array();

	for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
		json_array_append_new(
			list,
			json_pack("{s:s, s:s, s:s, s:s, s:s}", "uriTemplate",
				  rows[i].uri, "name", rows[i].name, "title",
				  rows[i].title, "description", rows[i].help,
				  "mimeType", rows[i].mime));
	return json_pack("{s:o}", "resourceTemplates", list);
}

/* -- resources/read -------------------------------------------------------- */

/* content: taken over. */
static json_t *contents(const char *uri, const char *mime, const char *key,
			json_t *content, json_t *meta)
{
	return json_pack("{s:[{s:s, s:s, s:o, s:o}]}", "contents", "uri", uri,
			 "mimeType", mime, key, content, "_meta", meta);
}

static json_t *untrusted(void)
{
	return json_pack("{s:b}", "boxery/untrusted", 1);
}

static json_t *blob(const char *uri, const char *mime, const struct buf *bytes)
{
	autofree char *text =
		crypto_base64(bytes->len ? bytes->data : "", bytes->len);

	return contents(uri, mime, "blob", json_string_nocheck(text),
			untrusted());
}

static json_t *fenced(const char *uri, const char *what, const char *text)
{
	autofree char *marked = present_fence(what, text);

	return contents(uri, "text/plain", "text",
			json_lossy(marked, strlen(marked)), untrusted());
}

static json_t *read_screenshot(const struct stock_asking *a, const char *uri,
			       const char *vm, struct err *e)
{
	json_t *result = NULL;
	auto_json json_t *shot = NULL;
	struct buf image;

	buf_init(&image, LIMIT_IMAGE_LEN);
	shot = stock_call(a, "vm_view", json_pack("{s:s}", "vm", vm), &image,
			  e);
	if (shot)
		result = blob(uri, present_mime(image.data, image.len), &image);
	buf_finish(&image);
	return result;
}

static json_t *read_console(const struct stock_asking *a, const char *uri,
			    const char *vm, struct err *e)
{
	auto_json json_t *page = stock_console(a, vm, e);
	const char *text = json_string_value(json_object_get(page, "text"));

	return page ? fenced(uri, "console", text ? text : "") : NULL;
}

/* Is it text that JSON can hold as it is? */
static bool is_text(const struct buf *b)
{
	auto_json json_t *v = NULL;

	if (memchr(b->data, '\0', b->len))
		return false;
	v = json_stringn(b->data, b->len);
	return v != NULL;
}

static json_t *read_copied(const struct shelves *s, const char *uri,
			   const char *path, struct err *e)
{
	json_t *result = NULL;
	struct buf bytes;

	buf_init(&bytes, LIMIT_MCP_RESOURCE_LEN);
	if (copied_read(s->copied, path, &bytes, e) != 0) {
		;
	} else if (bytes.len > 0 && is_text(&bytes)) {
		autofree char *text = alloc_strn(bytes.data, bytes.len);

		result = fenced(uri, "file", text);
	} else {
		result = blob(uri, stock_mime(path), &bytes);
	}
	buf_finish(&bytes);
	return result;
}

static json_t *read_page(const char *uri, struct err *e)
{
	autofree char *html = viewpage_html(e);

	return html ? contents(uri, VIEWPAGE_MIME, "text", json_string(html),
			       viewpage_meta())
		    : NULL;
}

/* Only that of a VM needs the service. */
static json_t *answer_read(const struct shelves *s,
			   const struct stock_asking *a, const char *uri,
			   struct jsonrpc_fault *f)
{
	struct resourceuri u;
	json_t *result = NULL;
	struct err e = {0};

	if (!resourceuri_parse(uri, &u))
		return library_not_found(f, uri);
	switch (u.kind) {
	case RESOURCEURI_SCREENSHOT:
		result = read_screenshot(a, uri, u.name, &e);
		break;
	case RESOURCEURI_CONSOLE:
		result = read_console(a, uri, u.name, &e);
		break;
	case RESOURCEURI_COPIED:
		result = read_copied(s, uri, u.name, &e);
		break;
	case RESOURCEURI_PAGE:
		result = read_page(uri, &e);
		break;
	}
	resourceuri_finish(&u);
	if (result)
		return result;
	/* one of another's is none to this client */
	return e.code == ERR_NOT_FOUND || e.code == ERR_DENIED
		       ? library_not_found(f, uri)
		       : fail(f, &e);
}

/* -- completion/complete --------------------------------------------------- */

/* Is the argument the name of a VM? False with *f: there is no such one. */
static bool completes_vm(const struct ask_complete *c, struct jsonrpc_fault *f)
{
	bool is_vm = true;

	if (c->of_prompt ? prompts_has(c->of, c->name, &is_vm)
			 : strcmp(c->name, "vm") == 0 &&
				   strncmp(c->of, "boxery://vm/{vm}/", 17) == 0)
		return is_vm;
	jsonrpc_fault_set(f, JSONRPC_INVALID_PARAMS,
			  "ref: there is no such argument: %.100s", c->name);
	return false;
}

static json_t *answer_complete(const struct stock_asking *a,
			       const struct ask_complete *c)
{
	struct err e = {0};
	/* without a service there is nothing to offer, and nothing wrong */
	auto_json json_t *list = a ? stock_vms(a, &e) : NULL;
	const json_t *rows = json_object_get(list, "rows");
	json_t *values = json_array();
	size_t len = strlen(c->value), total = 0;

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const char *name = stock_name(json_array_get(rows, i));

		if (!name || strncmp(name, c->value, len) != 0)
			continue;
		if (total++ < COMPLETIONS_COUNT)
			json_array_append_new(values, json_string(name));
	}
	return json_pack("{s:{s:o, s:I, s:b}}", "completion", "values", values,
			 "total", (json_int_t)total, "hasMore",
			 total > COMPLETIONS_COUNT);
}

/* -- all of them ----------------------------------------------------------- */

static bool needs_service(const struct ask *ask)
{
	struct resourceuri u;
	bool needs;

	if (ask->kind != ASK_RESOURCE_READ)
		return true;
	if (!resourceuri_parse(ask->uri, &u))
		return false;
	needs = u.kind == RESOURCEURI_SCREENSHOT ||
		u.kind == RESOURCEURI_CONSOLE;
	resourceuri_finish(&u);
	return needs;
}

static json_t *ask_service(struct shelves *s, const struct library_ask *la,
			   struct jsonrpc_fault *f)
{
	const struct ask *ask = la->ask;
	struct stock_asking a = {.cancel_fd = la->cancel_fd,
				 .answer_by = la->answer_by};
	struct err e = {0};
	json_t *result;

	if (needs_service(ask) && links_take(s->links, &a.client, &e) != 0)
		return ask->kind == ASK_COMPLETE
			       ? answer_complete(NULL, &ask->complete)
			       : fail(f, &e);
	if (ask->kind == ASK_RESOURCES_LIST)
		result = answer_list(s, &a, ask->cursor, f);
	else if (ask->kind == ASK_COMPLETE)
		result = answer_complete(&a, &ask->complete);
	else
		result = answer_read(s, &a, ask->uri, f);
	if (a.client)
		links_give(s->links, a.client);
	return result;
}

static json_t *answer(void *ctx, const struct library_ask *la,
		      struct jsonrpc_fault *f)
{
	const struct ask *ask = la->ask;

	if (ask->kind == ASK_TEMPLATES_LIST)
		return answer_templates();
	if (ask->kind == ASK_PROMPTS_LIST)
		return prompts_list();
	if (ask->kind == ASK_PROMPT_GET)
		return prompts_get(ask->prompt, ask->args, f);
	if (ask->kind == ASK_COMPLETE && !completes_vm(&ask->complete, f))
		return f->code ? NULL
			       : json_pack("{s:{s:[], s:i, s:b}}", "completion",
					   "values", "total", 0, "hasMore", 0);
	return ask_service(ctx, la, f);
}

static bool may_watch(void *ctx, const char *uri)
{
	struct resourceuri u;
	bool may;

	(void)ctx;
	if (!resourceuri_parse(uri, &u))
		return false;
	may = u.kind == RESOURCEURI_SCREENSHOT || u.kind == RESOURCEURI_CONSOLE;
	resourceuri_finish(&u);
	return may;
}

struct shelves *shelves_new(struct links *links, struct copied *copied)
{
	struct shelves *s = ALLOC_NEW(struct shelves);
	struct feed_source source = {.look = shelfwatch_look,
				     .every_ms = LIMIT_MCP_LOOK_MS};

	s->links = links;
	s->copied = copied;
	s->watch = shelfwatch_new(links_opts(links), copied);
	source.ctx = s->watch;
	s->feed = feed_new(&source);
	return s;
}

void shelves_free(struct shelves *s)
{
	if (!s)
		return;
	feed_free(s->feed);
	shelfwatch_free(s->watch);
	free(s);
}

struct library shelves_library(struct shelves *s)
{
	return (struct library){.ctx = s,
				.answer = answer,
				.may_watch = may_watch,
				.feed = s->feed};
}
