/*
 * vm_copy. The side that is on the asker's computer runs in the client
 * (ops/localtree.h) and speaks over the call's tree streams; between two VMs
 * both sides run here.
 */
#include "base/cleanup.h"
#include "base/json.h"
#include "ops/validate.h"
#include "vmctl/copy.h"
#include "vmctl/handlers.h"
#include "vmctl/machines.h"
#include "vmctl/service.h"

#include <string.h>

struct end {
	struct validate_endpoint at;
	struct guest *guest; /* NULL: the client's */
};

static int find_end(struct call *c, const json_t *args, const char *key,
		    struct end *ret, struct err *e)
{
	struct machine *m;
	const char *text;

	if (json_get_str(args, key, &text, e) != 0 ||
	    validate_endpoint(text, &ret->at, e) != 0)
		return -1;
	ret->guest = NULL;
	if (!ret->at.vm[0])
		return 0;
	if (machines_get(call_service(c)->machines, c, ret->at.vm, &m, e) != 0)
		return -1;
	return machine_guest(m, &ret->guest, e);
}

static int send_down(void *ctx, const void *p, size_t len, struct err *e)
{
	return call_write(ctx, RPC_TREE_DOWN, p, len, e);
}

static ssize_t recv_up(void *ctx, void *p, size_t max, struct err *e)
{
	return call_read(ctx, RPC_TREE_UP, p, max, e);
}

static void tell(void *ctx, uint64_t done, uint64_t total)
{
	call_progress(ctx, (int64_t)done, (int64_t)total, "copying");
}

static json_t *list_warnings(const struct copy_report *r)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < COPY_WARNINGS_COUNT && r->warnings[i]; i++)
		json_array_append_new(list, json_lossy(r->warnings[i],
						       strlen(r->warnings[i])));
	return list;
}

static json_t *describe(const struct copy_report *r, int64_t took_ms)
{
	const struct treewire_result *n = &r->result;

	return json_pack("{s:i, s:I, s:i, s:i, s:i, s:f, s:o}", "files",
			 (int)n->file_count, "bytes",
			 (json_int_t)n->byte_count, "skipped",
			 (int)n->same_count, "links", (int)n->link_count,
			 "dirs", (int)n->dir_count, "seconds",
			 (double)took_ms / 1000.0, "warnings",
			 list_warnings(r));
}

static int copy(struct call *c, const struct end *from, const struct end *to,
		struct copy_report *report, struct err *e)
{
	const struct copy_link link = {.ctx = c,
				       .send = send_down,
				       .recv = recv_up,
				       .recv_fd =
					       call_read_fd(c, RPC_TREE_UP)};
	struct copy_side source = {.guest = from->guest,
				   .vm = from->at.vm,
				   .path = from->at.path,
				   .link = &link,
				   .deadline = call_deadline(c),
				   .cancel_fd = call_cancel_fd(c),
				   .progress = tell,
				   .ctx = c,
				   .report = report};
	struct copy_side sink = source;

	sink.guest = to->guest;
	sink.vm = to->at.vm;
	sink.path = to->at.path;
	if (from->guest && to->guest)
		return copy_between(&source, &sink, e);
	if (from->guest)
		return copy_from_guest(&source, e);
	return copy_to_guest(&sink, e);
}

int op_vm_copy(struct call *c, const json_t *args, json_t **ret_result,
	       struct err *e)
{
	struct copy_report report = {0};
	int64_t start_ms = deadline_now_ms();
	struct end from, to;
	int rc;

	if (find_end(c, args, "from", &from, e) != 0)
		return err_wrap(e, "from");
	if (find_end(c, args, "to", &to, e) != 0)
		return err_wrap(e, "to");
	if (!from.guest && !to.guest)
		return err_set(e, ERR_INVALID,
			       "both ends are local: one must be a VM");
	rc = copy(c, &from, &to, &report, e);
	if (rc == 0)
		*ret_result = describe(&report, deadline_now_ms() - start_ms);
	copy_report_finish(&report);
	return rc;
}
