/*
 * A service whose one VM "demo" is the sshd of guest_tool.h: the real transport
 * and the real handlers of what runs and edits in a guest and drives its
 * desktop, without a hypervisor. The desktop is that of GUEST_DISPLAY and
 * GUEST_XAUTHORITY.
 *
 * usage: guest_service HOME      serves HOME/run/host.sock until SIGTERM
 */
#include "base/alloc.h"
#include "base/home.h"
#include "base/log.h"
#include "tests/tools/guest_tool.h"
#include "vmctl/handlers.h"
#include "vmctl/instance.h"
#include "vmctl/job.h"
#include "vmctl/machines.h"
#include "vmctl/serve.h"
#include "vmctl/service.h"

#include <pthread.h>
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
	static struct machine all[] = {
		{"demo", true}, {"other", true}, {"sleeping", false}};

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

int machine_guest_booting(struct machine *m, struct guest **ret, struct err *e)
{
	return machine_guest(m, ret, e);
}

int machine_check_runs(struct machine *m, struct err *e)
{
	struct guest *ignored;

	return machine_guest(m, &ignored, e);
}

/* no operation here ends a machine */
void machine_drop(struct machine *m)
{
	(void)m;
}

void machine_forget(struct machine *m)
{
	(void)m;
}

const char *machine_name(const struct machine *m)
{
	return m->name;
}

static pthread_mutex_t desktop_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t desktop_free;
static bool desktop_taken;
static struct machine_desktop desktop;

static void init_desktop(void)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&desktop_free, &attr);
	pthread_condattr_destroy(&attr);
}

struct machine_desktop *machine_desktop_lock(struct machine *m,
					     struct deadline d, struct err *e)
{
	struct timespec until = deadline_timespec(d);
	bool mine;

	(void)m;
	pthread_mutex_lock(&desktop_mutex);
	while (desktop_taken && !deadline_passed(d))
		pthread_cond_timedwait(&desktop_free, &desktop_mutex, &until);
	mine = !desktop_taken;
	desktop_taken = true;
	pthread_mutex_unlock(&desktop_mutex);
	if (mine)
		return &desktop;
	err_set(e, ERR_TIMEOUT, "the desktop is busy with another call");
	return NULL;
}

void machine_desktop_unlock(struct machine *m)
{
	(void)m;
	pthread_mutex_lock(&desktop_mutex);
	desktop_taken = false;
	pthread_cond_signal(&desktop_free);
	pthread_mutex_unlock(&desktop_mutex);
}

void machine_desktop_note(struct machine *m, const char *how, int64_t rest_ms)
{
	(void)m;
	(void)how;
	(void)rest_ms;
}

struct machine_display machine_display(const struct machine *m)
{
	static char socket[64];
	/* NOLINTBEGIN(concurrency-mt-unsafe): nobody sets them */
	const char *number = getenv("GUEST_DISPLAY");
	const char *xauthority = getenv("GUEST_XAUTHORITY");
	/* NOLINTEND(concurrency-mt-unsafe) */

	(void)m;
	if (!number || !xauthority)
		return (struct machine_display){"/nowhere", "/nowhere", 0};
	snprintf(socket, sizeof(socket), "/tmp/.X11-unix/X%s", number);
	return (struct machine_display){xauthority, socket,
					(unsigned)strtoul(number, NULL, 10)};
}

/* ---- the service ---- */

/* A visitor is there as long as the file HOME/visitor is. */
static int list_vms(struct call *c, const json_t *args, json_t **ret_result,
		    struct err *e)
{
	const struct home *h = &call_service(c)->home;
	autofree char *visitor = alloc_printf("%s/visitor", h->relocated);
	static const struct {
		const char *name, *state;
	} rows[] = {{"demo", "running"},
		    {"other", "running"},
		    {"sleeping", "off"},
		    /* such as an orphan may have */
		    {"No name\nof ours", "orphan"},
		    {"visitor", "running"}};
	json_t *list = json_array();

	(void)args;
	(void)e;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		bool there = strcmp(rows[i].name, "visitor") != 0 ||
			     access(visitor, F_OK) == 0;

		if (there && call_may_use_vm(c, rows[i].name))
			json_array_append_new(
				list, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}",
						"name", rows[i].name, "state",
						rows[i].state, "address", "-",
						"shape", "small", "image",
						"base", "owner", "person"));
	}
	*ret_result = json_pack("{s:o}", "rows", list);
	return 0;
}

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
		{"vm_screenshot", op_vm_screenshot},
		{"vm_click", op_vm_click},
		{"vm_move", op_vm_move},
		{"vm_drag", op_vm_drag},
		{"vm_scroll", op_vm_scroll},
		{"vm_type", op_vm_type},
		{"vm_key", op_vm_key},
		{"vm_wait", op_vm_wait},
		{"vm_actions", op_vm_actions},
		{"vm_view", op_vm_view},
		{"vm_windows", op_vm_windows},
		{"vm_window", op_vm_window},
		{"vm_copy", op_vm_copy},
		{"vm_list", list_vms},
		{"vm_hold", op_vm_hold},
		{"vm_mouse_down", op_vm_mouse_down},
		{"vm_mouse_up", op_vm_mouse_up},
		{"vm_clipboard", op_vm_clipboard},
		{"vm_launch", op_vm_launch},
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
	init_desktop();
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
	if (desktop.state)
		desktop.drop(desktop.state);
	jobs_free(service.jobs);
	guest_free(guest);
	close(lock_fd);
	home_finish(&service.home);
	return 0;
}
