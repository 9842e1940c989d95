/*
 * A service whose one VM "demo" is the sshd of guest_tool.h: the real transport
 * and the real handlers of what runs and edits in a guest, without a hypervisor.
 *
 * usage: guest_service HOME      serves HOME/run/host.sock until SIGTERM
 */
#include "base/home.h"
#include "base/log.h"
#include "tests/tools/guest_tool.h"
#include "vmctl/handlers.h"
#include "vmctl/instance.h"
#include "vmctl/job.h"
#include "vmctl/machines.h"
#include "vmctl/serve.h"
#include "vmctl/service.h"

#include <signal.h>
#include <sys/signalfd.h>

static struct guest *guest;

/* ---- in place of vmctl/machines.c ---- */

struct machine {
	const char *name;
	bool on;
};

int machines_get(struct machines *m, const struct call *c, const char *name,
		 struct machine **ret, struct err *e)
{
	static struct machine all[] = {{"demo", true}, {"other", true},
				       {"sleeping", false}};

	(void)m;
	for (size_t i = 0; i < ARRAY_COUNT(all); i++) {
		if (strcmp(all[i].name, name) != 0)
			continue;
		if (!call_may_use_vm(c, name))
			break;
		*ret = &all[i];
		return 0;
	}
	return err_set(e, ERR_NOT_FOUND, "there is no VM %s", name);
}

void machines_release(struct machines *m, const struct call *c)
{
	(void)m;
	(void)c;
}

void machines_explain(struct machines *m, const struct call *c, struct err *e)
{
	(void)m;
	(void)c;
	(void)e;
}

int machine_guest(struct machine *m, struct guest **ret, struct err *e)
{
	if (!m->on)
		return err_set(e, ERR_STATE, "%s is off", m->name);
	*ret = guest;
	return 0;
}

/* ---- the service ---- */

static call_handler *find(const struct op *op)
{
	static const struct {
		const char *name;
		call_handler *handler;
	} rows[] = {
		{"vm_run", op_vm_run},
		{"vm_read", op_vm_read},
		{"vm_write", op_vm_write},
		{"vm_edit", op_vm_edit},
	};

	for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
		if (strcmp(rows[i].name, op->name) == 0)
			return rows[i].handler;
	return NULL;
}

int main(int argc, char *argv[])
{
	struct service service = {0};
	struct serve_opts o = {.service = &service, .handler = find};
	struct serve *serve = NULL;
	struct err e = {0};
	sigset_t set;
	int lock_fd;

	log_init("guest_service", LOG_WARN);
	CHECK(argc == 2);
	CHECK_OK(home_init(&service.home, argv[1], &e), &e);
	CHECK_OK(home_make_dirs(&service.home, &e), &e);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	guest = tool_guest();
	service.jobs = jobs_new();
	o.signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
	o.socket_path = service.home.socket;
	lock_fd = instance_lock(&service.home, deadline_in_ms(1000), &e);
	CHECK_OK(lock_fd, &e);
	o.listen_fd = instance_listen(&service.home, &e);
	CHECK_OK(o.listen_fd, &e);
	CHECK_OK(serve_new(&o, &serve, &e), &e);
	CHECK_OK(serve_run(serve, &e), &e);
	serve_free(serve);
	jobs_free(service.jobs);
	guest_free(guest);
	close(lock_fd);
	home_finish(&service.home);
	return 0;
}
