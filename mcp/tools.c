#include "mcp/tools.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "mcp/longcall.h"
#include "mcp/present.h"
#include "ops/schema.h"
#include "ops/validate.h"

#include <string.h>

static json_t *tool_entry(const struct op *op)
{
	json_t *t = json_object();
	json_t *output = schema_output(op);
	autofree char *text =
		alloc_printf("%s. %s", op->summary, op->description);

	json_object_set_new(t, "name", json_string(op->name));
	json_object_set_new(t, "title", json_string(op->summary));
	json_object_set_new(t, "description", json_string(text));
	json_object_set_new(t, "inputSchema", schema_input(op));
	if (output)
		json_object_set_new(t, "outputSchema", output);
	json_object_set_new(t, "annotations", schema_annotations(op));
	return t;
}

json_t *tools_list(void)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < op_count; i++) {
		if (op_table[i].flags & OP_AGENT)
			json_array_append_new(list, tool_entry(&op_table[i]));
	}
	return list;
}

const struct op *tools_find(const char *name)
{
	const struct op *op = op_find(name);

	return op && (op->flags & OP_AGENT) ? op : NULL;
}

const char *tools_lane(const struct op *op, const json_t *args)
{
	if (op->result != OP_RESULT_IMAGE || !(op->flags & OP_CHANGES))
		return NULL;
	return json_string_value(json_object_get(args, "vm"));
}

static json_t *call_job(const struct tools *t, const struct tools_call *c,
			const json_t *args, struct err *e)
{
	struct longcall_ask ask = {
		.op = c->op,
		.args = args,
		.copy_root = t->copy_root,
		.cancel_fd = c->cancel_fd,
		.answer_by = c->answer_by,
		.progress = c->progress,
		.ctx = c->ctx,
	};
	char job[LONGCALL_JOB_SIZE];
	auto_json json_t *result = NULL;

	if (longcall_run(t->links, &ask, &result, job, e) != 0)
		return NULL;
	return result ? present_result(c->op, result, NULL)
		      : present_running(job);
}

static json_t *call_now(const struct tools *t, const struct tools_call *c,
			const json_t *args, struct err *e)
{
	struct client_io io = client_io_none(c->answer_by);
	auto_json json_t *result = NULL;
	struct client *client;
	struct buf image;
	json_t *shown = NULL;
	int rc;

	if (links_take(t->links, &client, e) != 0)
		return NULL;
	buf_init(&image, LIMIT_IMAGE_LEN);
	/* vm_wait may wait for all of the time and then take a picture */
	io.deadline.at_ms += LIMIT_ANSWER_SLACK_MS;
	io.ctx = c->ctx;
	io.progress = c->progress;
	io.image = &image;
	io.cancel_fd = c->cancel_fd;
	rc = client_call(client, c->op->name, args, &io, &result, e);
	links_give(t->links, client);
	if (rc == 0)
		shown = present_result(c->op, result, &image);
	buf_finish(&image);
	return shown;
}

json_t *tools_call(const struct tools *t, const struct tools_call *c)
{
	auto_json json_t *none = json_object();
	const json_t *args = c->args ? c->args : none;
	auto_json json_t *valid = NULL;
	json_t *shown = NULL;
	struct err e = {0};

	/* Only to see whether they are: it is the service that fills in what
	 * an agent may not even name. */
	valid = validate_args(c->op, args, true, &e);
	if (valid && !t->copy_root && validate_is_local(c->op, valid))
		err_set(&e, ERR_DENIED, "%s: %s", c->op->name,
			t->copy_root_refusal);
	else if (valid)
		shown = c->op->kind == OP_CALL ? call_now(t, c, args, &e)
					       : call_job(t, c, args, &e);
	return shown ? shown : present_error(err_msg(&e));
}
