#include "vmctl/audit_read.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"

#include <string.h>

/* the file is renamed away when a line has made it longer than its limit */
#define FILE_LEN ((size_t)LIMIT_AUDIT_LEN + LIMIT_RPC_FRAME_LEN)

static bool names(const char *joined, const char *vm)
{
	size_t len = strlen(vm);

	while (*joined) {
		size_t n = strcspn(joined, ",");

		if (n == len && strncmp(joined, vm, n) == 0)
			return true;
		joined += n + (joined[n] == ',');
	}
	return false;
}

static void set_joined(json_t *row, const json_t *grants)
{
	autofree char *text = alloc_str("");

	for (size_t i = 0; i < json_array_size(grants); i++) {
		const char *one = json_string_value(json_array_get(grants, i));
		char *more = alloc_printf("%s%s%s", text, *text ? "," : "",
					  one ? one : "?");

		free(text);
		text = more;
	}
	if (*text)
		json_object_set_new(row, "grants", json_string(text));
}

/* The row of a line, or NULL when it is not wanted. */
static json_t *row_of(const json_t *line, const struct audit_want *w)
{
	static const char *const kept[] = {"outcome", "client", "agent", "terms",
					   "way",     "job",	"ms"};
	const char *t = json_string_value(json_object_get(line, "t"));
	const char *event = json_string_value(json_object_get(line, "event"));
	const char *op = json_string_value(json_object_get(line, "op"));
	const char *vm = json_string_value(json_object_get(line, "vm"));
	json_t *row;

	if (!t || !vm || (!event && !op) || (w->grants_only && !event) ||
	    (w->vm && !names(vm, w->vm)))
		return NULL;
	row = json_pack("{s:s, s:s, s:s}", "t", t, "what", event ? event : op,
			"vm", vm);
	for (size_t i = 0; i < ARRAY_COUNT(kept); i++) {
		json_t *value = json_object_get(line, kept[i]);

		if (value)
			json_object_set(row, kept[i], value);
	}
	set_joined(row, json_object_get(line, "grants"));
	return row;
}

/* From the last line back, each wanted one in front of those before. */
static int read_back(const char *path, const struct audit_want *w,
		     json_t *rows, struct err *e)
{
	autofree char *text = NULL;
	struct err why = {0};
	size_t end;

	if (path_read_file(path, FILE_LEN, &text, &end, &why)) {
		if (why.code == ERR_NOT_FOUND)
			return 0;
		*e = why;
		return -1;
	}
	while (end > 0 && json_array_size(rows) < w->count) {
		const char *before = memrchr(text, '\n', end - 1);
		size_t start = before ? (size_t)(before - text) + 1 : 0;
		auto_json json_t *line =
			json_parse(text + start, end - start, NULL);
		json_t *row = line ? row_of(line, w) : NULL;

		if (row)
			json_array_insert_new(rows, 0, row);
		end = start;
	}
	return 0;
}

int audit_read(const char *path, const struct audit_want *w, json_t **ret_rows,
	       struct err *e)
{
	autofree char *older = alloc_printf("%s.1", path);
	auto_json json_t *rows = json_array();

	if (read_back(path, w, rows, e) || read_back(older, w, rows, e))
		return -1;
	*ret_rows = TAKE_PTR(rows);
	return 0;
}
