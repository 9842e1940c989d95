/* The list of a desktop's windows: looked at under its lock. */
#include "base/json.h"
#include "vmctl/deskconn.h"
#include "vmctl/handlers.h"
#include "vmctl/ops_desktop.h"

#include <string.h>

json_t *ops_desktop_window(const struct desktop_window *w)
{
	json_t *row =
		json_pack("{s:I, s:o, s:o, s:b, s:b, s:I, s:I, s:I, s:I}", "id",
			  (json_int_t)w->id, "title",
			  json_lossy(w->title, strlen(w->title)), "program",
			  json_lossy(w->program, strlen(w->program)), "focused",
			  w->focused, "minimized", w->minimized, "x",
			  (json_int_t)w->frame.x, "y", (json_int_t)w->frame.y,
			  "width", (json_int_t)w->frame.width_px, "height",
			  (json_int_t)w->frame.height_px);

	if (w->pid)
		json_object_set_new(row, "pid", json_integer(w->pid));
	if (w->workspace >= 0)
		json_object_set_new(row, "workspace",
				    json_integer(w->workspace));
	return row;
}

int op_vm_windows(struct call *c, const json_t *args, json_t **ret_result,
		  struct err *e)
{
	const char *vm = json_string_value(json_object_get(args, "vm"));
	auto_desktop_windows struct desktop_windows l = {0};
	json_t *rows = json_array();
	struct deskconn_visit v;
	int rc = -1;

	if (deskconn_enter(c, vm, &v, e) == 0)
		rc = deskconn_leave(
			&v, desktop_windows(v.desktop, &v.turn, &l, e), false);
	for (unsigned i = 0; rc == 0 && i < l.count; i++)
		json_array_append_new(rows, ops_desktop_window(&l.at[i]));
	if (rc == 0)
		*ret_result = json_pack("{s:O}", "rows", rows);
	if (rc == 0 && l.cut)
		json_object_set_new(*ret_result, "cut", json_true());
	json_decref(rows);
	return rc;
}
