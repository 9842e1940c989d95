/*
 * The body of a call's thread. The I/O thread has looked at nothing but the
 * frame; here the payload is parsed, held against the table and the client's
 * scope, and the handler runs. Whatever happens, exactly one RESULT or ERROR
 * goes out and one line each into the log and the audit.
 */
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "ops/validate.h"
#include "vmctl/audit.h"
#include "vmctl/conn.h"
#include "vmctl/job.h"
#include "vmctl/machines.h"
#include "vmctl/serve.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* VMs named by the arguments, for scope and audit. */
struct vms {
	char text[LIMIT_NAME_LEN * 2 + 2];
	bool local_end; /* an endpoint on the client's side */
	bool vm_end;
};

static void name_vm(struct vms *v, const char *name)
{
	size_t len = strlen(v->text);

	snprintf(v->text + len, sizeof(v->text) - len, "%s%s",
		 len > 0 ? "," : "", name);
}

/* args are valid by now. */
static int check_scope(const struct call *c, const json_t *args,
		       struct vms *ret_vms, struct err *e)
{
	for (const struct op_param *p = c->op->params; p->name; p++) {
		const char *text =
			json_string_value(json_object_get(args, p->name));
		struct validate_endpoint end = {.vm = ""};
		const char *name = text;

		if (!text)
			continue;
		if (p->type == OP_ENDPOINT) {
			if (validate_endpoint(text, &end, e) != 0)
				return -1;
			ret_vms->local_end |= !*end.vm;
			ret_vms->vm_end |= *end.vm != '\0';
			name = end.vm;
		} else if (p->type != OP_VM && p->type != OP_NEW_VM) {
			continue;
		}
		if (!*name)
			continue;
		name_vm(ret_vms, name);
		if (!call_may_use_vm(c, name))
			return err_set(e, ERR_DENIED,
				       "%s: VM %s is not one of those this "
				       "client was started for",
				       c->op->name, name);
	}
	return 0;
}

/*
 * What losing the client means. A job goes on; but a command ends with the
 * person who watches it, unless it was asked to be detached, and a copy needs
 * the client when one end is on its side.
 */
static bool survives(const struct op *op, const struct vms *vms, bool detached)
{
	if (op->kind != OP_JOB)
		return false;
	if (vms->local_end)
		return false;
	return vms->vm_end || detached || !(op->flags & OP_ENDS_WITH_CLIENT);
}

struct request {
	json_t *args;
	bool detached;
	struct vms vms;
};

static void set_deadline(struct call *c, int64_t asked_ms)
{
	int64_t ms = c->op->kind == OP_JOB ? DEADLINE_MAX_MS : LIMIT_CALL_MS;

	if (asked_ms > 0 && asked_ms < ms)
		ms = asked_ms;
	c->deadline = deadline_in_ms(ms);
}

/* Nothing of the payload is kept: a job may take hours, its request needs no
 * megabytes. */
static int parse(struct call *c, struct request *r, struct err *e)
{
	auto_json json_t *body = json_parse(c->payload, c->payload_len, e);
	const json_t *opts;
	const char *name;
	int64_t deadline_ms = 0;

	free(TAKE_PTR(c->payload));
	if (!body)
		return -1;
	if (!json_is_object(body))
		return err_set(e, ERR_PROTOCOL, "a call must be an object");
	if (json_get_str(body, "op", &name, e) != 0)
		return -1;
	c->op = op_find(name);
	if (!c->op)
		return err_set(e, ERR_INVALID,
			       "unknown operation \"%.64s\" (a service older "
			       "than its client? boxery service restart)",
			       name);
	opts = json_object_get(body, "opts");
	if (opts && (json_opt_bool(opts, "stream", &c->streams, e) != 0 ||
		     json_opt_bool(opts, "detached", &r->detached, e) != 0 ||
		     json_opt_int(opts, "deadline_ms", &deadline_ms, e) != 0))
		return -1;
	set_deadline(c, deadline_ms);
	r->args = validate_args(c->op, json_object_get(body, "args"),
				call_from_agent(c), e);
	if (!r->args || check_scope(c, r->args, &r->vms, e) != 0)
		return -1;
	return 0;
}

/* With an outcome that says what it is, whatever the handler left out. */
static int run_handler(struct call *c, call_handler *handler,
		       const json_t *args, json_t **ret_result, struct err *e)
{
	int rc = handler(c, args, ret_result, e);

	if (rc == 0) {
		/* what went wrong on the way and was coped with */
		*e = (struct err){0};
		if (!*ret_result)
			*ret_result = json_object();
	}
	if (rc != 0 && call_service(c)->machines)
		machines_explain(call_service(c)->machines, c, e);
	if (rc != 0)
		call_explain_end(c, e);
	if (rc != 0 && e->code == ERR_NONE)
		err_set(e, ERR_INTERNAL, "%s failed without a reason",
			c->op->name);
	return rc;
}

static int run_job(struct call *c, call_handler *handler,
		   const struct request *r, json_t **ret_result, struct err *e)
{
	struct jobs *jobs = call_service(c)->jobs;
	auto_json json_t *told = NULL;
	int rc;

	c->job = jobs_start(jobs, c->op->name, call_client(c), r->vms.text, e);
	if (!c->job)
		return -1;
	told = json_pack("{s:i, s:i, s:s, s:s}", "done", 0, "total", 0, "text",
			 c->op->summary, "job", job_id(c->job));
	conn_send_json(c->conn, RPC_PROGRESS, c->id, told);
	rc = run_handler(c, handler, r->args, ret_result, e);
	job_finish(c->job, rc == 0 ? *ret_result : NULL, rc == 0 ? NULL : e);
	return rc;
}

static int run(struct call *c, const struct request *r, json_t **ret_result,
	       struct err *e)
{
	/* cppcheck-suppress AssignmentIntegerToAddress ; it is a pointer */
	call_handler *handler = serve_opts(c->conn->serve)->handler(c->op);
	int rc;

	if (!handler)
		return err_set(e, ERR_INVALID,
			       "%s is done by the client program itself",
			       c->op->name);
	call_set_survives(c, survives(c->op, &r->vms, r->detached));
	if (c->op->kind == OP_JOB)
		rc = run_job(c, handler, r, ret_result, e);
	else
		rc = run_handler(c, handler, r->args, ret_result, e);
	if (call_service(c)->machines)
		machines_release(call_service(c)->machines, c);
	return rc;
}

static void answer(struct call *c, const json_t *result, struct err *e)
{
	auto_json json_t *body = NULL;
	struct buf frame;

	buf_init(&frame, LIMIT_RPC_FRAME_LEN + 16);
	if (result &&
	    rpc_encode_json(&frame, RPC_RESULT, c->id, result, e) != 0)
		err_wrap(e, "the result");
	if (e->code != ERR_NONE) {
		body = json_pack("{s:s, s:s}", "code", err_code_name(e->code),
				 "message", err_msg(e));
		conn_send_json(c->conn, RPC_ERROR, c->id, body);
	} else {
		pthread_mutex_lock(&c->conn->lock);
		conn_push(c->conn, &frame);
		pthread_mutex_unlock(&c->conn->lock);
	}
	buf_finish(&frame);
}

static void note(const struct call *c, const struct request *r,
		 const struct err *e, int64_t started_ms)
{
	const char *op = c->op ? c->op->name : "(unknown)";
	struct audit *audit = serve_opts(c->conn->serve)->audit;
	struct audit_entry entry = {
		.client = call_client(c),
		.op = op,
		.vm = r->vms.text,
		.job = call_job(c),
		.agent = call_from_agent(c),
		.outcome = e->code,
		.took_ms = deadline_now_ms() - started_ms,
	};

	log_info("%s %s%s%s: %s in %" PRId64 " ms", entry.client, op,
		 *entry.vm ? " " : "", entry.vm,
		 e->code == ERR_NONE ? "ok" : err_msg(e), entry.took_ms);
	if (audit)
		audit_add(audit, &entry);
}

void *dispatch_call(void *arg)
{
	struct call *c = arg;
	struct serve *serve = c->conn->serve;
	int64_t started_ms = deadline_now_ms();
	struct request r = {0};
	auto_json json_t *result = NULL;
	struct err e = {0};

	if (parse(c, &r, &e) == 0 && run(c, &r, &result, &e) != 0) {
		json_decref(result);
		result = NULL;
	}
	note(c, &r, &e, started_ms);
	serve_close_call(serve, c);
	answer(c, result, &e);
	json_decref(r.args);
	/* after this the service may end */
	serve_end_call(serve, c);
	return NULL;
}
