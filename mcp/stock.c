#include "mcp/stock.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "mcp/resourceuri.h"
#include "mcp/viewpage.h"
#include "ops/validate.h"

#include <stdlib.h>
#include <string.h>

/* -- the service ----------------------------------------------------------- */

json_t *stock_call(const struct stock_asking *a, const char *op, json_t *args,
		   struct buf *image, struct err *e)
{
	auto_json json_t *owned = args;
	struct client_io io = client_io_none(a->answer_by);
	json_t *result;

	io.cancel_fd = a->cancel_fd;
	io.image = image;
	if (client_call(a->client, op, owned, &io, &result, e) != 0)
		return NULL;
	return result;
}

json_t *stock_vms(const struct stock_asking *a, struct err *e)
{
	return stock_call(a, "vm_list", json_object(), NULL, e);
}

json_t *stock_console(const struct stock_asking *a, const char *vm,
		      struct err *e)
{
	return stock_call(a, "vm_read",
			  json_pack("{s:s, s:s, s:i}", "vm", vm, "path",
				    "console:", "limit", 10000),
			  NULL, e);
}

const char *stock_name(const json_t *row)
{
	const char *name = json_string_value(json_object_get(row, "name"));
	struct err e = {0};

	return name && validate_vm_name(name, &e) == 0 ? name : NULL;
}

static bool is_running(const json_t *row)
{
	const char *state = json_string_value(json_object_get(row, "state"));

	return state && strcmp(state, "running") == 0;
}

/* -- resources/list -------------------------------------------------------- */

struct entry {
	enum resourceuri_kind kind;
	const char *name;     /* of the VM, or the path */
	const char *title_of; /* "The desktop of %s" */
	const char *help, *mime;
	long long size; /* -1: not known */
};

/* By URI, so that each is there once. */
static void add_entry(json_t *all, const struct entry *en)
{
	autofree char *uri = resourceuri_print(en->kind, en->name);
	autofree char *title = alloc_printf("%s%s", en->title_of, en->name);
	json_t *r = json_object();

	json_object_set_new(r, "uri", json_string(uri));
	json_object_set_new(r, "name", json_lossy(title, strlen(title)));
	json_object_set_new(r, "title", json_lossy(title, strlen(title)));
	json_object_set_new(r, "description", json_string(en->help));
	json_object_set_new(r, "mimeType", json_string(en->mime));
	if (en->size >= 0)
		json_object_set_new(r, "size", json_integer(en->size));
	json_object_set_new(all, uri, r);
}

const char *stock_mime(const char *path)
{
	static const struct {
		const char *end, *mime;
	} rows[] = {
		{".png", "image/png"},	       {".jpg", "image/jpeg"},
		{".jpeg", "image/jpeg"},       {".pdf", "application/pdf"},
		{".json", "application/json"}, {".txt", "text/plain"},
		{".md", "text/markdown"},      {".csv", "text/csv"},
		{".log", "text/plain"},
	};
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < ARRAY_COUNT(rows); i++) {
		if (strcmp(rows[i].end, dot) == 0)
			return rows[i].mime;
	}
	return "application/octet-stream";
}

static void add_copied(void *ctx, const char *path, long long size)
{
	add_entry(ctx, &(struct entry){
			       .kind = RESOURCEURI_COPIED,
			       .name = path,
			       .title_of = "",
			       .help = "A file that was copied out of a VM",
			       .mime = stock_mime(path),
			       .size = size,
		       });
}

static void add_vm(json_t *all, const json_t *row)
{
	const char *name = stock_name(row);

	if (!name)
		return;
	if (is_running(row))
		add_entry(all, &(struct entry){
				       .kind = RESOURCEURI_SCREENSHOT,
				       .name = name,
				       .title_of = "Screen of ",
				       .help = "The desktop as it is when it "
					       "is read",
				       .mime = "image/png",
				       .size = -1,
			       });
	add_entry(all, &(struct entry){
			       .kind = RESOURCEURI_CONSOLE,
			       .name = name,
			       .title_of = "Console of ",
			       .help = "The end of the console's log",
			       .mime = "text/plain",
			       .size = -1,
		       });
}

json_t *stock_collect(struct copied *copied, const struct stock_asking *a,
		      struct err *e)
{
	auto_json json_t *list = stock_vms(a, e);
	const json_t *rows = json_object_get(list, "rows");
	json_t *all;

	if (!list)
		return NULL;
	all = json_object();
	for (size_t i = 0; i < json_array_size(rows); i++)
		add_vm(all, json_array_get(rows, i));
	copied_each(copied, add_copied, all);
	add_entry(all, &(struct entry){
			       .kind = RESOURCEURI_PAGE,
			       .name = "",
			       .title_of = "The view of vm_view",
			       .help = "For clients that show MCP Apps",
			       .mime = VIEWPAGE_MIME,
			       .size = -1,
		       });
	return all;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **stock_uris(const json_t *all)
{
	const char **uris =
		alloc_array(json_object_size(all) + 1, sizeof(*uris));
	size_t n = 0;
	const char *uri;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)all, uri, v) uris[n++] = uri;
	qsort(uris, n, sizeof(*uris), compare);
	uris[n] = NULL;
	return uris;
}
