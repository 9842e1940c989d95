#include "mcp/tools.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "mcp/copied.h"
#include "mcp/longcall.h"
#include "mcp/present.h"
#include "mcp/resourceuri.h"
#include "mcp/shelves.h"
#include "ops/schema.h"
#include "ops/validate.h"

#include <string.h>

static bool is_view(const struct op *op)
{
	return strcmp(op->name, "vm_view") == 0;
}

/* Where a client that shows MCP Apps finds the page; the second key is how
 * older ones look for it. */
static json_t *view_meta(void)
{
	return json_pack("{s:{s:s}, s:s}", "ui", "resourceUri",
			 RESOURCEURI_VIEW, "ui/resourceUri", RESOURCEURI_VIEW);
}

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
	if (is_view(op))
		json_object_set_new(t, "_meta", view_meta());
	return t;
}

static bool is_open(const struct tools *t, const struct op *op)
{
	return (op->flags & OP_AGENT) &&
	       (!t->read_only || (op->flags & OP_READS));
}

void tools_init(struct tools *t)
{
	auto_json json_t *list = json_array();

	for (unsigned i = 0; op_at(i); i++) {
		if (is_open(t, op_at(i)))
			json_array_append_new(list, tool_entry(op_at(i)));
	}
	t->list = json_print(list);
	if (t->links) {
		t->copied =
			copied_new(t->copy_root, links_opts(t->links)->home);
		t->shelves = shelves_new(t->links, t->copied);
	}
	t->rounds = rounds_new(t->asker ? t->asker : "", LIMIT_ROUND_MS);
}

void tools_finish(struct tools *t)
{
	shelves_free(t->shelves);
	copied_free(t->copied);
	t->shelves = NULL;
	t->copied = NULL;
	free(t->list);
	t->list = NULL;
	rounds_free(t->rounds);
	t->rounds = NULL;
}

static const char *list_tools(void *ctx)
{
	const struct tools *t = ctx;

	return t->list;
}

static const void *find_tool(void *ctx, const char *name)
{
	const struct op *op = op_find(name);

	return op && is_open(ctx, op) ? op : NULL;
}

static bool is_long(void *ctx, const void *tool)
{
	const struct op *op = tool;

	(void)ctx;
	/* a person takes his time */
	return op->kind != OP_CALL || (op->flags & OP_ASKS);
}

static const char *lane_of(void *ctx, const void *tool, const json_t *args)
{
	const struct op *op = tool;

	(void)ctx;
	if (op->result != OP_RESULT_IMAGE || !(op->flags & OP_CHANGES))
		return NULL;
	return json_string_value(json_object_get(args, "vm"));
}

/* For whoever follows what is logged. */
static void say(const struct tools_call *c, enum protocol_level level,
		const char *what, const char *which)
{
	const struct op *op = c->tool;
	autofree char *text = NULL;

	if (!c->log)
		return;
	text = alloc_printf("%s: %s: %s", op->name, what, which);
	c->log(c->ctx, level, text);
}

/* -- calls ----------------------------------------------------------------- */

#define KEY "approve"

/*
 * The service's question, put to the person behind the client. What comes back
 * goes to the service as it is: that decides what is a yes.
 */
static json_t *on_confirm(void *ctx, const json_t *question)
{
	const struct tools_call *c = ctx;
	auto_json json_t *answers = NULL;
	auto_json json_t *requests = json_pack(
		"{s:{s:s, s:{s:s, s:O*, s:O*}}}", KEY, "method",
		"elicitation/create", "params", "mode", "form", "message",
		json_object_get(question, "dialog"), "requestedSchema",
		json_object_get(question, "schema"));
	json_t *answer;

	if (!requests)
		alloc_fail("no memory for a question");
	answers = c->ask(c->ctx, requests);
	answer = json_object_get(answers, KEY);
	return answer ? json_pack("{s:O}", "dialog", answer) : NULL;
}

static void on_progress(void *ctx, const struct client_progress *p)
{
	const struct tools_call *c = ctx;

	c->progress(c->ctx, p);
}

static json_t *call_job(const struct tools *t, const struct tools_call *c,
			const json_t *args, struct err *e)
{
	const struct op *op = c->tool;
	struct longcall_ask ask = {
		.op = op,
		.args = args,
		.copy_root = t->copy_root,
		.cancel_fd = c->cancel_fd,
		.answer_by = c->answer_by,
		.progress = on_progress,
		.confirm = on_confirm,
		.ctx = (void *)(uintptr_t)c,
	};
	char job[LONGCALL_JOB_SIZE];
	auto_json json_t *result = NULL;

	if (longcall_run(t->links, &ask, &result, job, e) != 0)
		return NULL;
	/* one that goes on has files there by and by */
	if (strcmp(op->name, "vm_copy") == 0)
		copied_note(t->copied,
			    json_string_value(json_object_get(args, "from")),
			    json_string_value(json_object_get(args, "to")));
	if (!result)
		say(c, LEVEL_INFO, "goes on as a job", job);
	return result ? present_result(op, result, NULL) : present_running(job);
}

static json_t *call_now(const struct tools *t, const struct tools_call *c,
			const json_t *args, struct err *e)
{
	struct client_io io = client_io_none(c->answer_by);
	const struct op *op = c->tool;
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
	io.ctx = (void *)(uintptr_t)c;
	io.progress = on_progress;
	io.confirm = on_confirm;
	io.image = &image;
	io.cancel_fd = c->cancel_fd;
	rc = client_call(client, op->name, args, &io, &result, e);
	links_give(t->links, client);
	if (rc == 0 && is_view(op))
		shown = present_view(op, args, result, &image);
	else if (rc == 0)
		shown = present_result(op, result, &image);
	buf_finish(&image);
	return shown;
}

/*
 * What the front-end knows, in the parameters that are its to fill in; a model
 * that fills one in itself is told that there is none. A new reference.
 */
static json_t *fill_in(const struct tools_call *c, struct err *e)
{
	const struct op *op = c->tool;
	json_t *args = c->args ? json_copy((json_t *)(uintptr_t)c->args)
			       : json_object();

	for (const struct op_param *p = op->params; p->name; p++) {
		if (!(p->flags & OP_FILLED))
			continue;
		if (json_object_get(args, p->name)) {
			err_set(e, ERR_INVALID, "%s: unknown parameter",
				p->name);
			json_decref(args);
			return NULL;
		}
		if (c->client && strcmp(p->name, "client_info") == 0)
			json_object_set_new(
				args, p->name,
				json_lossy(c->client, strlen(c->client)));
	}
	return args;
}

static json_t *call_tool(void *ctx, const struct tools_call *c)
{
	const struct tools *t = ctx;
	const struct op *op = c->tool;
	struct err e = {0};
	auto_json json_t *args = fill_in(c, &e);
	auto_json json_t *valid = NULL;
	json_t *shown = NULL;

	/* Only to see whether they are: it is the service that fills in what
	 * an agent may not even name. */
	valid = args ? validate_args(op, args, true, &e) : NULL;
	if (valid && !t->copy_root && validate_is_local(op, valid))
		err_set(&e, ERR_DENIED, "%s: %s", op->name,
			t->copy_root_refusal);
	else if (valid)
		shown = op->kind == OP_CALL ? call_now(t, c, args, &e)
					    : call_job(t, c, args, &e);
	if (shown)
		return shown;
	/* stopped, or asked for anew with an answer: that is no failure */
	if (e.code != ERR_CANCELLED)
		say(c, LEVEL_WARNING, "failed", err_msg(&e));
	return present_error(err_msg(&e));
}

struct toolset tools_set(struct tools *t)
{
	struct library none = {0};

	return (struct toolset){
		.ctx = t,
		.list = list_tools,
		.find = find_tool,
		.is_long = is_long,
		.lane = lane_of,
		.call = call_tool,
		.rounds = t->rounds,
		.library = t->shelves ? shelves_library(t->shelves) : none,
	};
}
