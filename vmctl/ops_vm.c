/* Machines as a person or an agent asks for them: new, ls, info, start, stop,
 * rm. What is done to a machine is in lifecycle.c. */
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "vmctl/backend.h"
#include "vmctl/datadir.h"
#include "vmctl/describe.h"
#include "vmctl/handlers.h"
#include "vmctl/image.h"
#include "vmctl/lifecycle.h"
#include "vmctl/machines.h"
#include "vmctl/ops_grant.h"
#include "vmctl/registry.h"
#include "vmctl/service.h"
#include "vmctl/shape.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* the power button, then the power */
#define STOP_MS 120000
/* whoever is told to end his work on a machine has undone it within */
#define TAKE_MS 60000
#define AGENT_OWNER "agent:"
#define IMPORT_CHUNK_LEN ((size_t)256 * 1024)

/* A record whose machine libvirt knows no record of. */
#define STATE_ORPHAN "orphan"
/* Nobody could be asked. */
#define STATE_UNKNOWN "unknown"
#define STATE_REMOVED "removed"

/* -- ls ---------------------------------------------------------------------- */

struct known {
	char name[LIMIT_NAME_LEN + 1];
	enum machine_state state;
	bool listed;
};
struct listing {
	struct call *call;
	struct known *known;
	size_t count;
	bool deaf; /* the backend does not answer */
	json_t *rows;
};

static void add_known(void *ctx, const char *name, enum machine_state s)
{
	struct listing *l = ctx;
	struct known *k;

	l->known = alloc_resize(l->known, l->count + 1, sizeof(*k));
	k = &l->known[l->count++];
	*k = (struct known){.state = s};
	snprintf(k->name, sizeof(k->name), "%s", name);
}

static enum machine_state take_known(struct listing *l, const char *name)
{
	for (size_t i = 0; i < l->count; i++) {
		if (strcmp(l->known[i].name, name) == 0) {
			l->known[i].listed = true;
			return l->known[i].state;
		}
	}
	return MACHINE_ABSENT;
}

/* The records are copied first: describing one asks libvirt. */
static int add_rows(struct listing *l, struct err *e)
{
	struct service *s = call_service(l->call);
	struct vm_records all;

	if (registry_copy(s->registry, &all, e))
		return -1;
	for (size_t i = 0; i < all.count; i++) {
		const struct vm_record *v = &all.list[i];
		enum machine_state state = take_known(l, v->name);
		json_t *row;

		if (!call_may_use_vm(l->call, v->name))
			continue;
		row = describe_row(s, v, state);
		if (l->deaf && v->phase == VM_READY)
			json_object_set_new(row, "state",
					    json_string(STATE_UNKNOWN));
		json_array_append_new(l->rows, row);
	}
	vm_records_finish(&all);
	return 0;
}

/* Machines that libvirt has and no record tells of. */
static void add_orphans(struct listing *l)
{
	for (size_t i = 0; i < l->count; i++) {
		const struct known *k = &l->known[i];

		if (k->listed || !call_may_use_vm(l->call, k->name))
			continue;
		json_array_append_new(
			l->rows,
			json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "name",
				  k->name, "state", STATE_ORPHAN, "address", "",
				  "shape", "", "image", "", "owner", ""));
	}
}

int op_vm_list(struct call *c, const json_t *args, json_t **ret_result,
	       struct err *e)
{
	struct service *s = call_service(c);
	struct listing l = {.call = c, .rows = json_array()};
	struct err why = {0};
	int rc;

	(void)args;
	/* what the records say is worth knowing all the same */
	l.deaf = s->backend->ops->list(s->backend, add_known, &l, &why) != 0;
	rc = add_rows(&l, e);
	if (rc == 0) {
		add_orphans(&l);
		*ret_result = json_pack("{s:O}", "rows", l.rows);
	}
	if (rc == 0 && l.deaf)
		json_object_set_new(*ret_result, "problem",
				    json_string(err_msg(&why)));
	json_decref(l.rows);
	free(l.known);
	return rc;
}

/* -- info -------------------------------------------------------------------- */

static int get_info(struct service *s, const char *name, json_t **ret,
		    struct err *e)
{
	struct vm_record v;
	enum machine_state state;
	int rc;

	if (registry_get(s->registry, name, &v, e))
		return -1;
	rc = s->backend->ops->state(s->backend, name, &state, e);
	if (rc == 0)
		*ret = describe_vm(s, &v, state);
	vm_record_finish(&v);
	return rc;
}

int op_vm_info(struct call *c, const json_t *args, json_t **ret_result,
	       struct err *e)
{
	struct service *s = call_service(c);
	const char *name, *how;
	struct machine *m;

	if (json_get_str(args, "vm", &name, e) ||
	    machines_get(s->machines, c, name, &m, e) ||
	    get_info(s, name, ret_result, e))
		return -1;
	how = machine_desktop_how(m);
	if (how)
		json_object_set_new(*ret_result, "mirror", json_string(how));
	return 0;
}

/* -- new --------------------------------------------------------------------- */

static int take_sizes(struct service *s, const json_t *args,
		      struct vm_record *v, struct err *e)
{
	autofree char *path = path_join(s->home.config, "shapes.json");
	const char *name = "standard";
	int64_t cpus = 0, memory = 0, disk = 0;
	struct shape shape;

	if (json_opt_str(args, "shape", &name, e) ||
	    shape_load(path, name, &shape, e) ||
	    json_opt_int(args, "cpus", &cpus, e) ||
	    json_opt_int(args, "memory", &memory, e) ||
	    json_opt_int(args, "disk", &disk, e))
		return -1;
	snprintf(v->shape, sizeof(v->shape), "%s", name);
	v->cpus = cpus ? (unsigned)cpus : shape.cpus;
	v->memory_len = memory ? (uint64_t)memory : shape.memory_len;
	v->disk_len = disk ? (uint64_t)disk : shape.disk_len;
	return 0;
}

static int receive(struct call *c, int fd, struct err *e)
{
	autofree char *chunk = alloc_array(IMPORT_CHUNK_LEN, 1);
	struct deadline d = call_deadline(c);
	int64_t done = 0;

	for (;;) {
		ssize_t n = call_read(c, RPC_STDIN, chunk, IMPORT_CHUNK_LEN, e);

		if (n <= 0)
			return (int)n;
		if (fd_write_all(fd, chunk, (size_t)n, d, e))
			return -1;
		done += n;
		call_progress(c, done, 0, "receiving the image: %lld MiB",
			      (long long)(done >> 20));
	}
}

/* The client sends the file's bytes: we open no path that a client names. */
static int import(struct call *c, const char *name, uint64_t disk_max_len,
		  struct image *ret, struct err *e)
{
	struct service *s = call_service(c);
	autofree char *path = NULL;
	autoclose int fd = image_import_open(&s->home, &path, e);
	const struct image_import i = {
		.path = path,
		.name = name,
		.disk_max_len = disk_max_len,
		.cancel_fd = call_cancel_fd(c),
		.deadline = call_deadline(c),
	};

	if (fd < 0)
		return -1;
	if (receive(c, fd, e)) {
		unlink(path);
		return err_wrap(e, "%s", name);
	}
	call_progress(c, 0, 0, "converting the image");
	return image_import(&s->home, &i, ret, e);
}

static int take_network(const json_t *args, struct vm_record *v, struct err *e)
{
	const char *name = net_mode_name(NET_NAT);

	if (json_opt_str(args, "network", &name, e))
		return -1;
	if (!net_mode_parse(name, &v->network))
		return err_set(e, ERR_INVALID, "network must be nat or none");
	return 0;
}

static int choose_image(struct call *c, const json_t *args,
			struct vm_record *v, struct image *ret, struct err *e)
{
	struct service *s = call_service(c);
	const char *name = NULL;
	bool headless = false;

	if (json_opt_str(args, "image", &name, e) ||
	    json_opt_bool(args, "headless", &headless, e))
		return -1;
	v->desktop = !name && !headless;
	if (name)
		return import(c, name, v->disk_len, ret, e);
	return image_find(&s->home, v->desktop, ret, e);
}

static void set_owner(struct call *c, struct vm_record *v)
{
	snprintf(v->owner, sizeof(v->owner), "%s%s",
		 call_from_agent(c) ? AGENT_OWNER : "", call_client(c));
}

static int check_free(struct service *s, const char *name, struct err *e)
{
	struct vm_record v;
	struct err why = {0};

	if (registry_get(s->registry, name, &v, &why) == 0) {
		vm_record_finish(&v);
		return err_set(e, ERR_EXISTS,
			       "a VM named %s exists already (boxery ls)",
			       name);
	}
	if (why.code == ERR_NOT_FOUND)
		return 0;
	*e = why;
	return -1;
}

struct making {
	struct granting granting;
	const json_t *args;
};

static int store_grants(void *ctx, struct err *e)
{
	struct making *n = ctx;

	return grant_new_store(&n->granting, n->args, e);
}

static int make(struct call *c, struct machine *m, struct making *n,
		struct vm_record *v, struct err *e)
{
	struct service *s = call_service(c);
	struct image image = {.path = NULL};
	const struct life_new life = {&image, v, store_grants, n};
	int rc;

	/* told before gigabytes are received; registry_add() makes it sure */
	if (check_free(s, v->name, e) || take_sizes(s, n->args, v, e) ||
	    take_network(n->args, v, e) ||
	    grant_new_ask(c, v->name, n->args, &n->granting, e))
		return -1;
	rc = choose_image(c, n->args, v, &image, e);
	if (rc == 0)
		rc = life_create(c, m, &life, e);
	if (rc)
		life_drop_import(s, image.id);
	image_finish(&image);
	return rc;
}

int op_vm_new(struct call *c, const json_t *args, json_t **ret_result,
	      struct err *e)
{
	struct service *s = call_service(c);
	struct vm_record v = {.phase = VM_CREATING};
	struct making n = {.args = args};
	struct machine *m;
	const char *name;
	int rc;

	if (json_get_str(args, "vm", &name, e) ||
	    machines_claim(s->machines, c, name, &m, e) ||
	    machine_lock(m, c, "being created", e))
		return -1;
	snprintf(v.name, sizeof(v.name), "%s", name);
	set_owner(c, &v);
	rc = make(c, m, &n, &v, e);
	if (rc == 0)
		rc = get_info(s, name, ret_result, e);
	machine_unlock(m);
	granting_finish(&n.granting);
	vm_record_finish(&v);
	return rc;
}

/* -- start, stop ------------------------------------------------------------- */

static int check_made(const struct vm_record *v, struct err *e)
{
	if (v->phase == VM_READY)
		return 0;
	return err_set(e, ERR_STATE,
		       "%s is %s, so it cannot be started: boxery rm %s",
		       v->name, vm_phase_name(v->phase), v->name);
}

static int start(struct call *c, struct machine *m, struct err *e)
{
	struct vm_record v;
	int rc;

	if (registry_get(call_service(c)->registry, machine_name(m), &v, e))
		return -1;
	rc = check_made(&v, e);
	if (rc == 0)
		rc = life_start(c, m, &v, e);
	if (rc && e->code == ERR_CANCELLED)
		err_wrap(e, "%s is left as it is (boxery stop --force %s)",
			 v.name, v.name);
	vm_record_finish(&v);
	return rc;
}

int op_vm_start(struct call *c, const json_t *args, json_t **ret_result,
		struct err *e)
{
	struct service *s = call_service(c);
	struct machine *m;
	const char *name;
	int rc;

	if (json_get_str(args, "vm", &name, e) ||
	    machines_get(s->machines, c, name, &m, e) ||
	    machine_lock(m, c, "starting", e))
		return -1;
	rc = start(c, m, e);
	machine_unlock(m);
	return rc ? -1 : get_info(s, name, ret_result, e);
}

static bool is_agents(const struct vm_record *v)
{
	return strncmp(v->owner, AGENT_OWNER, strlen(AGENT_OWNER)) == 0;
}

/* A `new` that is ended leaves nothing: an agent may do that to agents' own. */
static bool may_end_work(struct call *c, const char *name)
{
	struct vm_record v;
	bool may;

	if (!call_from_agent(c) ||
	    registry_get(call_service(c)->registry, name, &v, NULL))
		return true;
	may = v.phase == VM_READY || is_agents(&v);
	vm_record_finish(&v);
	return may;
}

static int lock_to_stop(struct call *c, struct machine *m, bool force,
			struct err *e)
{
	const char *name = machine_name(m);
	autofree char *why = alloc_printf(
		"%s was stopped meanwhile (boxery stop --force %s)", name,
		name);
	bool ended;

	if (!force || !may_end_work(c, name))
		return machine_lock(m, c, "stopping", e);
	return machine_take(m, "stopping", why, deadline_in_ms(TAKE_MS), &ended,
			    e);
}

static int stop(struct call *c, struct machine *m, bool force, struct err *e)
{
	struct backend *b = call_service(c)->backend;

	call_progress(c, 0, 0, force ? "cutting the power"
				     : "asking the guest to shut down");
	if (b->ops->stop(b, machine_name(m), force, deadline_in_ms(STOP_MS),
			 call_cancel_fd(c), e))
		return -1;
	machine_drop(m);
	return 0;
}

int op_vm_stop(struct call *c, const json_t *args, json_t **ret_result,
	       struct err *e)
{
	struct service *s = call_service(c);
	bool force = false;
	auto_json json_t *info = NULL;
	struct err why = {0};
	struct machine *m;
	const char *name;
	int rc;

	if (json_get_str(args, "vm", &name, e) ||
	    json_opt_bool(args, "force", &force, e) ||
	    machines_get(s->machines, c, name, &m, e) ||
	    lock_to_stop(c, m, force, e))
		return -1;
	rc = stop(c, m, force, e);
	machine_unlock(m);
	if (rc)
		return -1;
	/* one that was being made has been undone */
	if (get_info(s, name, &info, &why) && why.code != ERR_NOT_FOUND) {
		*e = why;
		return -1;
	}
	*ret_result = json_pack(
		"{s:s, s:s}", "name", name, "state",
		info ? json_string_value(json_object_get(info, "state"))
		     : STATE_REMOVED);
	return 0;
}

/* -- rm ---------------------------------------------------------------------- */

/* A running machine is removed only when that was said, or when it is none
 * that somebody works with. */
static int check_off(struct call *c, const struct vm_record *v, bool force,
		     struct err *e)
{
	struct service *s = call_service(c);
	enum machine_state state;

	if (s->backend->ops->state(s->backend, v->name, &state, e))
		return -1;
	if (force || v->phase != VM_READY ||
	    (state != MACHINE_RUNNING && state != MACHINE_PAUSED))
		return 0;
	if (call_from_agent(c))
		return err_set(e, ERR_STATE, "%s is %s: vm_stop it first",
			       v->name, machine_state_name(state));
	return err_set(e, ERR_STATE,
		       "%s is %s: boxery stop %s first, or boxery rm --force "
		       "%s",
		       v->name, machine_state_name(state), v->name, v->name);
}

static int check_remove(struct call *c, const char *name, bool force,
			struct err *e)
{
	struct service *s = call_service(c);
	enum machine_state state;
	struct err why = {0};
	struct vm_record v;
	int rc;

	if (registry_get(s->registry, name, &v, &why)) {
		/* a person may clean up what has no record */
		if (why.code == ERR_NOT_FOUND && !call_from_agent(c) &&
		    s->backend->ops->state(s->backend, name, &state, NULL) ==
			    0 &&
		    state != MACHINE_ABSENT)
			return 0;
		*e = why;
		return -1;
	}
	rc = 0;
	if (call_from_agent(c) && !is_agents(&v))
		rc = err_set(e, ERR_DENIED,
			     "%s was made by a person, and agents may remove "
			     "only what agents made",
			     name);
	if (rc == 0)
		rc = check_off(c, &v, force, e);
	vm_record_finish(&v);
	return rc;
}

static int lock_to_remove(struct machine *m, bool force, bool *ret_ended,
			  struct err *e)
{
	const char *name = machine_name(m);
	autofree char *why = alloc_printf(
		"%s was removed meanwhile (boxery rm --force %s)", name, name);

	if (!force)
		return machine_lock(m, NULL, "being removed", e);
	return machine_take(m, "being removed", why, deadline_in_ms(TAKE_MS),
			    ret_ended, e);
}

int op_vm_rm(struct call *c, const json_t *args, json_t **ret_result,
	     struct err *e)
{
	struct service *s = call_service(c);
	bool force = false, ended = false;
	struct machine *m;
	const char *name;
	int rc;

	if (json_get_str(args, "vm", &name, e) ||
	    json_opt_bool(args, "force", &force, e) ||
	    machines_claim(s->machines, c, name, &m, e) ||
	    lock_to_remove(m, force, &ended, e))
		return -1;
	rc = check_remove(c, name, force, e);
	if (rc == 0)
		rc = life_remove(s, m, e);
	else if (ended && e->code == ERR_NOT_FOUND)
		rc = 0; /* it was being made, and has been undone */
	machine_unlock(m);
	if (rc == 0)
		*ret_result = json_pack("{s:s, s:b}", "name", name, "removed",
					1);
	return rc;
}
