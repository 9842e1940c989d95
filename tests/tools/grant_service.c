/*
 * A service whose VMs "demo" and "other" are the sshd of guest_tool.h, and
 * "sleeping" is off: the real transport and the real handlers of what runs in a
 * guest and of what it is granted, without a hypervisor.
 *
 * usage: grant_service HOME      serves HOME/run/host.sock until SIGTERM
 */
#include "base/alloc.h"
#include "base/db.h"
#include "base/home.h"
#include "base/log.h"
#include "base/path.h"
#include "grants/store.h"
#include "grants/token.h"
#include "tests/tools/guest_tool.h"
#include "vmctl/apply.h"
#include "vmctl/audit.h"
#include "vmctl/backend.h"
#include "vmctl/handlers.h"
#include "vmctl/instance.h"
#include "vmctl/job.h"
#include "vmctl/machines.h"
#include "vmctl/registry.h"
#include "vmctl/serve.h"
#include "vmctl/service.h"

#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>

static struct guest *guest;

/* ---- in place of vmctl/machines.c ---- */

struct machine {
	const char *name;
	enum machine_state state;
};

static struct machine all[] = {{"demo", MACHINE_RUNNING},
			       {"other", MACHINE_RUNNING},
			       {"sleeping", MACHINE_OFF}};

static struct machine *find_machine(const char *name)
{
	for (size_t i = 0; i < ARRAY_COUNT(all); i++) {
		if (strcmp(all[i].name, name) == 0)
			return &all[i];
	}
	return NULL;
}

int machines_borrow(struct machines *m, const void *who, const char *name,
		    struct machine **ret, struct err *e)
{
	(void)m;
	(void)who;
	*ret = find_machine(name);
	return *ret ? 0 : err_set(e, ERR_NOT_FOUND, "there is no VM %s", name);
}

int machines_get(struct machines *m, const struct call *c, const char *name,
		 struct machine **ret, struct err *e)
{
	if (!call_may_use_vm(c, name))
		return err_set(e, ERR_NOT_FOUND, "there is no VM %s", name);
	return machines_borrow(m, c, name, ret, e);
}

void machines_return(struct machines *m, const void *who)
{
	(void)m;
	(void)who;
}

void machines_release(struct machines *m, const struct call *c)
{
	machines_return(m, c);
}

void machines_explain(struct machines *m, const struct call *c, struct err *e)
{
	(void)m;
	(void)c;
	(void)e;
}

const char *machine_name(const struct machine *m)
{
	return m->name;
}

int machine_guest(struct machine *m, struct guest **ret, struct err *e)
{
	if (m->state != MACHINE_RUNNING)
		return err_set(e, ERR_STATE, "%s is %s", m->name,
			       machine_state_name(m->state));
	*ret = guest;
	return 0;
}

void machine_drop(struct machine *m)
{
	(void)m;
	guest_drop(guest);
}

/* ---- in place of a hypervisor ---- */

static int state_of(struct backend *b, const char *name,
		    enum machine_state *ret, struct err *e)
{
	struct machine *m;

	(void)b;
	if (machines_borrow(NULL, NULL, name, &m, e))
		return -1;
	*ret = m->state;
	return 0;
}

static int pause_it(struct backend *b, const char *name, struct err *e)
{
	struct machine *m;

	(void)b;
	if (machines_borrow(NULL, NULL, name, &m, e))
		return -1;
	m->state = MACHINE_PAUSED;
	return 0;
}

/* As `start` does once a machine is up. */
static int start(struct call *c, const json_t *args, json_t **ret_result,
		 struct err *e)
{
	const char *name = json_string_value(json_object_get(args, "vm"));
	struct err ignored = {0};
	struct machine *m;

	(void)ret_result;
	if (machines_get(NULL, c, name, &m, e))
		return -1;
	m->state = MACHINE_RUNNING;
	/* a guest that does not take it is ready all the same */
	(void)!apply_ready(call_service(c)->apply, m, guest,
			   deadline_in_ms(30000), &ignored);
	return 0;
}

static int stop(struct call *c, const json_t *args, json_t **ret_result,
		struct err *e)
{
	const char *name = json_string_value(json_object_get(args, "vm"));
	struct machine *m;

	(void)ret_result;
	if (machines_get(NULL, c, name, &m, e))
		return -1;
	m->state = MACHINE_OFF;
	return 0;
}

/* As `rm`: no machine, but what it was granted goes first. */
static int rm(struct call *c, const json_t *args, json_t **ret_result,
	      struct err *e)
{
	const char *name = json_string_value(json_object_get(args, "vm"));

	(void)ret_result;
	return apply_forget(call_service(c)->apply, name, e);
}

/* ---- the service ---- */

static call_handler *find(const struct op *op)
{
	static const struct {
		const char *name;
		call_handler *handler;
	} rows[] = {
		{"vm_run", op_vm_run},
		{"vm_grant", op_vm_grant},
		{"vm_revoke", op_vm_revoke},
		{"vm_grants", op_vm_grants},
		{"agent_forward", op_agent_forward},
		{"approvals", op_approvals},
		{"approve", op_approve},
		{"deny", op_deny},
		{"panic", op_panic},
		{"vm_start", start},
		{"vm_stop", stop},
		{"vm_rm", rm},
	};

	for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
		if (strcmp(rows[i].name, op->name) == 0)
			return rows[i].handler;
	return NULL;
}

static int no_prepare(struct registry *r, struct vm_record *v, void *ctx,
		      struct err *e)
{
	(void)r;
	(void)ctx;
	(void)e;
	snprintf(v->mac, sizeof(v->mac), "52:54:00:00:00:%02zx",
		 (size_t)(find_machine(v->name) - all));
	snprintf(v->address, sizeof(v->address), "192.0.2.%zu",
		 (size_t)(find_machine(v->name) - all) + 1);
	return 0;
}

static int add_records(struct service *s, struct err *e)
{
	for (size_t i = 0; i < ARRAY_COUNT(all); i++) {
		struct vm_record v = {.layers = alloc_str("[]")};
		struct err why = {0};
		int rc;

		snprintf(v.name, sizeof(v.name), "%s", all[i].name);
		snprintf(v.uuid, sizeof(v.uuid), "uuid-%zu", i);
		rc = registry_add(s->registry, &v, 0, no_prepare, NULL, &why);
		vm_record_finish(&v);
		/* of a service before this one */
		if (rc != 0 && why.code != ERR_EXISTS) {
			*e = why;
			return -1;
		}
		if (registry_set_phase(s->registry, all[i].name, VM_READY, e))
			return -1;
	}
	return 0;
}

static int open_service(struct service *s, struct err *e)
{
	static const struct backend_ops ops = {.state = state_of,
					       .pause = pause_it};
	static struct backend backend = {.ops = &ops};
	autofree char *audit = path_join(s->home.state, "audit.jsonl");

	s->jobs = jobs_new();
	s->backend = &backend;
	if (db_open(s->home.db, registry_migrations, &s->db, e) ||
	    registry_new(s->db, &s->registry, e) || add_records(s, e) ||
	    audit_open(audit, &s->audit, e))
		return -1;
	s->grants = store_new(s->db, &s->home);
	s->apply = apply_new(s);
	if (store_reconcile(s->grants, e) ||
	    token_reconcile(s->db, &s->home, e))
		return -1;
	return apply_start(s->apply, e);
}

static void close_service(struct service *s)
{
	apply_free(s->apply);
	store_free(s->grants);
	registry_free(s->registry);
	db_close(s->db);
	audit_free(s->audit);
	jobs_free(s->jobs);
	home_finish(&s->home);
}

int main(int argc, char *argv[])
{
	struct service service = {0};
	struct serve_opts o = {.service = &service, .handler = find};
	struct serve *serve = NULL;
	struct err e = {0};
	sigset_t set;
	int lock_fd;

	log_init("grant_service", LOG_WARN);
	CHECK(argc == 2);
	CHECK_OK(home_init(&service.home, argv[1], &e), &e);
	CHECK_OK(home_make_dirs(&service.home, &e), &e);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	guest = tool_guest();
	CHECK_OK(open_service(&service, &e), &e);
	o.audit = service.audit;
	o.signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
	o.socket_path = service.home.socket;
	lock_fd = instance_lock(&service.home, deadline_in_ms(1000), &e);
	CHECK_OK(lock_fd, &e);
	o.listen_fd = instance_listen(&service.home, &e);
	CHECK_OK(o.listen_fd, &e);
	CHECK_OK(serve_new(&o, &serve, &e), &e);
	CHECK_OK(serve_run(serve, &e), &e);
	serve_free(serve);
	close_service(&service);
	guest_free(guest);
	close(lock_fd);
	return 0;
}
