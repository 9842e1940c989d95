/* Who asked for what, and what became of it. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "vmctl/audit_read.h"
#include "vmctl/handlers.h"
#include "vmctl/service.h"

int op_audit(struct call *c, const json_t *args, json_t **ret_result,
	     struct err *e)
{
	autofree char *path = path_join(call_service(c)->home.state,
					"audit.jsonl");
	struct audit_want want = {0};
	int64_t lines = 0;
	json_t *rows;

	/* a VM that was removed is asked for as well */
	if (json_opt_str(args, "vm", &want.vm, e) ||
	    json_opt_bool(args, "grants", &want.grants_only, e) ||
	    json_opt_int(args, "lines", &lines, e))
		return -1;
	want.count = (size_t)lines;
	if (audit_read(path, &want, &rows, e))
		return -1;
	*ret_result = json_pack("{s:o}", "rows", rows);
	return 0;
}
