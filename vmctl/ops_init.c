/* Setting the host up, and bringing what an earlier version left to this one.
 * Each step may be done again. */
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "vmctl/backend.h"
#include "vmctl/datadir.h"
#include "vmctl/handlers.h"
#include "vmctl/isolation.h"
#include "vmctl/lifecycle.h"
#include "vmctl/machines.h"
#include "vmctl/registry.h"
#include "vmctl/service.h"
#include "vmctl/sshconfig.h"

#include <string.h>
#include <unistd.h>

#define STEPS 4

static int make_data(struct service *s, struct err *e)
{
	struct datadir_qemu q;

	s->backend->ops->qemu_user(s->backend, &q);
	return datadir_make(&s->home, &q, e);
}

/* What root has to do first: the front-end asks, runs it and calls again. */
static json_t *describe_root(struct service *s, const struct err *why)
{
	autofree char *images = datadir_images(&s->home);
	autofree char *vms = datadir_vms(&s->home);
	autofree char *uid = alloc_printf("%u", (unsigned)geteuid());
	autofree char *gid = NULL;
	struct datadir_qemu q;

	s->backend->ops->qemu_user(s->backend, &q);
	gid = alloc_printf("%u", (unsigned)q.gid);
	return json_pack("{s:s, s:[s, s, s, s, s, s, s, s, s, s, s]}",
			 "needs_root", err_msg(why), "command", "install",
			 "-d", "-m", "2710", "-o", uid, "-g", gid, s->home.data,
			 images, vms);
}

/* The same for what a host can do without: "wants_root". NULL: nothing. */
static json_t *helper_command(void)
{
	autofree char *ours = netread_find_ours();

	if (geteuid() == 0 || !ours)
		return NULL;
	switch (netread_state(ours)) {
	case NETREAD_READY: break;
	case NETREAD_ABSENT:
		return json_pack("[s, s, s, s, s, s, s, s, s, s]", "install",
				 "-D", "-m", "0750", "-o", "root", "-g",
				 "libvirt", ours, NETREAD_PATH);
	case NETREAD_POWERLESS:
		return json_pack("[s, s, s]", "setcap", NETREAD_CAPS,
				 NETREAD_PATH);
	}
	return NULL;
}

/* -- machines that are there ------------------------------------------------- */

static bool has_no_port(enum machine_state state)
{
	return state == MACHINE_OFF || state == MACHINE_ABSENT;
}

/* *ret_restart: what it runs as is less than it would be booted as. */
static int renew_locked(struct service *s, struct vm_record *v,
			bool *ret_restart, struct err *e)
{
	struct backend *b = s->backend;
	struct isolation_look look;
	enum machine_state state;

	if (b->ops->state(b, v->name, &state, e) ||
	    life_redefine(s, v, !has_no_port(state), e) ||
	    isolation_look(s, v, NULL, &look, e))
		return -1;
	*ret_restart = look.is == ISOLATION_LATER;
	return 0;
}

/* One that somebody is at work on is defined anew by who starts it. */
static int renew(struct call *c, struct vm_record *v, bool *ret_restart,
		 struct err *e)
{
	struct service *s = call_service(c);
	struct machine *m;
	int rc;

	if (v->phase != VM_READY ||
	    machines_claim(s->machines, c, v->name, &m, NULL) ||
	    machine_lock(m, NULL, "being defined anew", NULL))
		return 0;
	rc = renew_locked(s, v, ret_restart, e);
	machine_unlock(m);
	return rc;
}

/* "a: why; b: why" */
static char *append(char *text, char *more)
{
	char *both;

	if (!text)
		return more;
	both = alloc_printf("%s; %s", text, more);
	free(text);
	free(more);
	return both;
}

/* *ret_restart, *ret_failed: for the person, or NULL. */
static int renew_all(struct call *c, char **ret_restart, char **ret_failed,
		     struct err *e)
{
	struct service *s = call_service(c);
	struct vm_records all;

	if (registry_copy(s->registry, &all, e))
		return -1;
	for (size_t i = 0; i < all.count; i++) {
		struct vm_record *v = &all.list[i];
		struct err why = {0};
		bool restart = false;

		if (renew(c, v, &restart, &why))
			*ret_failed = append(*ret_failed,
					     alloc_printf("%s: %s", v->name,
							  err_msg(&why)));
		else if (restart)
			*ret_restart = append(
				*ret_restart,
				alloc_printf("boxery stop %s && boxery start "
					     "%s",
					     v->name, v->name));
	}
	vm_records_finish(&all);
	return s->backend->ops->retire(s->backend, e);
}

/* -- the whole --------------------------------------------------------------- */

static json_t *describe_host(struct service *s, bool accelerated)
{
	return json_pack(
		"{s:s, s:s, s:s, s:s, s:s}", "config", s->home.config, "state",
		s->home.state, "data", s->home.data, "instance",
		s->home.instance, "acceleration",
		accelerated ? "KVM"
			    : "none: guests are emulated, which is slow "
			      "(boxery doctor says why)");
}

/* Is it read back? And what would have to be done for that. */
static void add_check(json_t *o)
{
	json_t *command = helper_command();
	struct isolation_chains chains;

	isolation_read(&chains);
	json_object_set_new(
		o, "isolation_check",
		json_string(chains.readable ? "the host's packet filter is "
					      "read after each start"
					    : err_msg(&chains.why)));
	isolation_chains_finish(&chains);
	if (command) {
		json_object_set_new(o, "wants_root",
				    json_string("to see whether libvirt "
						"applied all of a VM's "
						"network filter"));
		json_object_set_new(o, "command", command);
	}
}

static int set_up(struct call *c, json_t **ret, struct err *e)
{
	struct service *s = call_service(c);
	autofree char *restart = NULL;
	autofree char *failed = NULL;
	bool accelerated, isolated;

	call_progress(c, 1, STEPS, "libvirt's network and filters");
	if (isolation_wanted(&s->home, &isolated, e) ||
	    s->backend->ops->init(s->backend, e))
		return -1;
	call_progress(c, 2, STEPS, "the VMs' definitions");
	if (renew_all(c, &restart, &failed, e))
		return -1;
	call_progress(c, 3, STEPS, "ssh's configuration");
	if (sshconfig_update(&s->home, s->registry, e) ||
	    s->backend->ops->accelerated(s->backend, &accelerated, e))
		return -1;
	*ret = describe_host(s, accelerated);
	if (isolated)
		add_check(*ret);
	else
		json_object_set_new(*ret, "isolation",
				    json_string("off, as host.env says"));
	if (restart)
		json_object_set_new(*ret, "to_isolate_running_vms",
				    json_string(restart));
	if (failed)
		json_object_set_new(*ret, "not_redefined",
				    json_lossy(failed, strlen(failed)));
	return 0;
}

int op_init(struct call *c, const json_t *args, json_t **ret_result,
	    struct err *e)
{
	struct service *s = call_service(c);
	struct err why = {0};

	(void)args;
	call_progress(c, 0, STEPS, "folders");
	if (make_data(s, &why) == 0)
		return set_up(c, ret_result, e);
	if (why.code == ERR_DENIED && geteuid() != 0) {
		*ret_result = describe_root(s, &why);
		return 0;
	}
	*e = why;
	return -1;
}
