/* What concerns the service itself: its state, its end, and waiting for what
 * it does. */
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/json.h"
#include "base/version.h"
#include "vmctl/handlers.h"
#include "vmctl/job.h"
#include "vmctl/machines.h"
#include "vmctl/ops_desktop.h"
#include "vmctl/ready.h"
#include "vmctl/registry.h"
#include "vmctl/serve.h"
#include "vmctl/service.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Resident memory, or 0 when the kernel does not tell. */
static int64_t resident_len(void)
{
	autoclose int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	char text[128];
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	const char *second;

	if (n <= 0)
		return 0;
	text[n] = '\0';
	second = strchr(text, ' ');
	return second ? strtoll(second, NULL, 10) * sysconf(_SC_PAGESIZE) : 0;
}

int op_service_status(struct call *c, const json_t *args, json_t **ret_result,
		      struct err *e)
{
	struct service *s = call_service(c);
	struct serve_counts counts = serve_counts(s->serve);

	(void)args;
	(void)e;
	*ret_result = json_pack(
		"{s:b, s:I, s:s, s:I, s:i, s:i, s:i, s:I, s:s, s:s}", "running",
		1, "pid", (json_int_t)getpid(), "version", version_string(),
		"uptime_s", (json_int_t)(counts.uptime_ms / 1000), "clients",
		(int)counts.clients, "calls", (int)counts.calls, "jobs",
		(int)jobs_running(s->jobs), "memory_bytes",
		(json_int_t)resident_len(), "socket", s->home.socket, "state",
		s->home.state);
	return 0;
}

int op_service_stop(struct call *c, const json_t *args, json_t **ret_result,
		    struct err *e)
{
	(void)args;
	(void)e;
	/* our own answer is flushed before the service ends */
	serve_stop(call_service(c)->serve);
	*ret_result = json_pack("{s:b, s:I}", "stopping", 1, "pid",
				(json_int_t)getpid());
	return 0;
}

/* Until the time is over or the call is cancelled. */
static int wait_time(struct call *c, struct deadline d, struct err *e)
{
	struct pollfd p = {.fd = call_cancel_fd(c), .events = POLLIN};
	struct err why = {0};

	if (deadline_poll(&p, 1, d, "waiting", &why) < 0 &&
	    why.code != ERR_TIMEOUT) {
		*e = why;
		return -1;
	}
	return call_check(c, e);
}

/* The result or the state of a job. */
static int wait_job(struct call *c, const char *id, struct deadline d,
		    json_t **ret_result, struct err *e)
{
	struct jobs_asker asker = {
		.client = call_client(c),
		.agent = call_from_agent(c),
		.vms = call_scope(c),
		.cancel_fd = call_cancel_fd(c),
	};

	return jobs_wait(call_service(c)->jobs, &asker, id, d, ret_result, e);
}

/* Until it answers; that it does not yet is an answer too. */
static int wait_ready(struct call *c, const char *vm, struct deadline d,
		      json_t **ret_result, struct err *e)
{
	struct service *s = call_service(c);
	struct vm_record v;
	struct machine *m;
	struct err why = {0};
	bool ready;

	if (machines_get(s->machines, c, vm, &m, e) != 0 ||
	    registry_get(s->registry, vm, &v, e) != 0)
		return -1;
	ready = (v.phase != VM_READY || machine_check_runs(m, &why) == 0) &&
		ready_wait(c, m, &v, d, &why) == 0;
	vm_record_finish(&v);
	if (!ready && why.code != ERR_TIMEOUT) {
		*e = why;
		return -1;
	}
	*ret_result = json_pack("{s:s, s:b}", "vm", vm, "ready", (int)ready);
	return 0;
}

int op_vm_wait(struct call *c, const json_t *args, json_t **ret_result,
	       struct err *e)
{
	double seconds = json_number_value(json_object_get(args, "seconds"));
	bool shot = json_is_true(json_object_get(args, "screenshot"));
	struct deadline d = deadline_in_ms((int64_t)(seconds * 1000));
	auto_json json_t *result = json_object();
	const char *job = NULL;
	const char *vm = NULL;

	d = deadline_min(d, call_deadline(c));
	if (json_opt_str(args, "job", &job, e) != 0 ||
	    json_opt_str(args, "vm", &vm, e) != 0)
		return -1;
	if (job)
		return wait_job(c, job, d, ret_result, e);
	if (shot && !vm)
		return err_set(e, ERR_INVALID,
			       "vm_wait: a screenshot of which "
			       "vm?");
	if (vm && !shot)
		return wait_ready(c, vm, d, ret_result, e);
	if (wait_time(c, d, e) != 0 ||
	    (shot && ops_desktop_screenshot(c, vm, result, e) != 0))
		return -1;
	json_object_set_new(result, "waited_s", json_real(seconds));
	*ret_result = TAKE_PTR(result);
	return 0;
}
