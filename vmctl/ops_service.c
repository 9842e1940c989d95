/* What concerns the service itself: its state and its end. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/version.h"
#include "vmctl/handlers.h"
#include "vmctl/job.h"
#include "vmctl/serve.h"
#include "vmctl/service.h"

#include <fcntl.h>
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
