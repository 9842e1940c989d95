#include "vmctl/lifecycle.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/crypto.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/path.h"
#include "vmctl/apply.h"
#include "vmctl/backend.h"
#include "vmctl/conffile.h"
#include "vmctl/datadir.h"
#include "vmctl/hostkey.h"
#include "vmctl/isolation.h"
#include "vmctl/overlay.h"
#include "vmctl/ready.h"
#include "vmctl/runs.h"
#include "vmctl/seed.h"
#include "vmctl/service.h"
#include "vmctl/sshconfig.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* qemu-img and mtools on a busy host */
#define FILES_MS 120000
/* an emulated guest's shell, and a connection of its own for an agent */
#define GRANTS_MS 60000
/* a new overlay takes little, but a guest that boots writes at once */
#define NEW_NEED_LEN ((uint64_t)1 << 30)

/* -- the record --------------------------------------------------------------
 */

static int fill_identity(struct vm_record *v, struct err *e)
{
	uint8_t r[16];

	if (crypto_random(r, sizeof(r), e))
		return -1;
	/* version 4, variant 1 (RFC 9562) */
	r[6] = (r[6] & 0x0f) | 0x40;
	r[8] = (r[8] & 0x3f) | 0x80;
	snprintf(v->uuid, sizeof(v->uuid),
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
		 "%02x%02x%02x%02x%02x%02x",
		 r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9],
		 r[10], r[11], r[12], r[13], r[14], r[15]);
	return 0;
}

struct asker {
	struct registry *registry;
	const char *name;
};

static bool address_taken(void *ctx, const char *address)
{
	const struct asker *a = ctx;

	return registry_address_taken(a->registry, address, a->name);
}

static int pick_address(struct service *s, struct vm_record *v, struct err *e)
{
	struct asker a = {s->registry, v->name};
	struct machine_address got;

	if (s->backend->ops->reserve(s->backend, v->address, address_taken, &a,
				     &got, e))
		return -1;
	memcpy(v->address, got.address, sizeof(v->address));
	memcpy(v->mac, got.mac, sizeof(v->mac));
	return 0;
}

/* Inside the transaction that adds the row: nobody else picks meanwhile. */
static int prepare(struct registry *r, struct vm_record *v, void *ctx,
		   struct err *e)
{
	struct service *s = ctx;

	(void)r;
	/* once the row is there, nobody removes it */
	if (!image_exists(&s->home, v->image))
		return err_set(e, ERR_NOT_FOUND,
			       "image %s has just been replaced: try again",
			       v->image);
	return pick_address(s, v, e);
}

static int agent_limit(struct service *s, unsigned *ret, struct err *e)
{
	autofree char *path = path_join(s->home.config, "config");
	int64_t limit = LIMIT_AGENT_VMS_COUNT;

	if (conffile_get_int(path, "agent_vms", 1, 1000, &limit, e))
		return -1;
	*ret = (unsigned)limit;
	return 0;
}

static int add_record(struct call *c, const struct image *image,
		      struct vm_record *v, struct err *e)
{
	struct service *s = call_service(c);
	unsigned limit = 0;

	v->phase = VM_CREATING;
	v->created_s = time(NULL);
	v->layers = json_print(image->layers);
	snprintf(v->image, sizeof(v->image), "%s", image->id);
	if (fill_identity(v, e) ||
	    (call_from_agent(c) && agent_limit(s, &limit, e)))
		return -1;
	return registry_add(s->registry, v, limit, prepare, s, e);
}

/* -- its parts ---------------------------------------------------------------
 */

static int make_files(struct call *c, const struct image *image,
		      const struct vm_record *v, struct err *e)
{
	struct service *s = call_service(c);
	autofree char *templates = path_join(s->guest_dir, "seed");
	autofree char *seed_path = datadir_seed(&s->home, v->name);
	autofree char *disk = datadir_disk(&s->home, v->name);
	struct deadline d = deadline_in_ms(FILES_MS);
	struct hostkey keys = {0};
	const struct seed seed = {templates, v->name, v->uuid, &keys};
	int rc;

	if (hostkey_create(&s->home, v->name, &keys, e))
		return -1;
	rc = seed_write(&seed, seed_path, d, e);
	hostkey_finish(&keys);
	if (rc || call_check(c, e))
		return -1;
	return overlay_create(image->path, disk, v->disk_len, d, e);
}

/* Is it to be behind the network filter? Only that holds back one that is
 * to reach nothing. */
static int is_isolated(struct service *s, const struct vm_record *v, bool *ret,
		       struct err *e)
{
	if (isolation_wanted(&s->home, ret, e))
		return -1;
	if (!*ret && v->network == NET_NONE)
		return err_set(e, ERR_STATE,
			       "%s is to have no network, and "
			       "BOXERY_NET_ISOLATION=off in host.env turns off "
			       "what sees to that",
			       v->name);
	return 0;
}

static int define(struct service *s, const struct vm_record *v, bool isolated,
		  struct err *e)
{
	autofree char *disk = datadir_disk(&s->home, v->name);
	autofree char *seed = datadir_seed(&s->home, v->name);
	autofree char *console = datadir_console(&s->home, v->name);
	const struct machine_spec spec = {
		.name = v->name,
		.uuid = v->uuid,
		.cpus = v->cpus,
		.memory_len = v->memory_len,
		.disk_path = disk,
		.seed_path = seed,
		.console_path = console,
		.mac = v->mac,
		.address = v->address,
		.network = v->network,
		.isolated = isolated,
		.uefi = true,
	};

	return s->backend->ops->define(s->backend, &spec, e);
}

/* One that is off, or waits: its port is right before it runs (on). */
static int power_on(struct service *s, const char *name, struct err *e)
{
	struct backend *b = s->backend;

	if (b->ops->boot(b, name, e) || isolation_enforce(s, name, e))
		return -1;
	return b->ops->resume(b, name, e);
}

/* From nothing running to the moment before it is waited for. */
static int boot(struct call *c, const struct vm_record *v, struct err *e)
{
	struct service *s = call_service(c);
	bool isolated;

	if (is_isolated(s, v, &isolated, e) ||
	    datadir_reset_console(&s->home, v->name, e) ||
	    define(s, v, isolated, e) ||
	    sshconfig_update(&s->home, s->registry, e) ||
	    registry_set_filtered(s->registry, v->name, isolated, e) ||
	    registry_set_stopped(s->registry, v->name, "", e))
		return -1;
	return power_on(s, v->name, e);
}

/* Somebody else, the watch, may have cut its power meanwhile. */
static int explain_stop(struct service *s, const char *name, struct err *e)
{
	struct vm_record v;

	if (registry_get(s->registry, name, &v, NULL))
		return -1;
	/* else what e says already */
	(void)!isolation_check_stopped(&v, e);
	vm_record_finish(&v);
	return -1;
}

/* What it may use, and a token that no earlier boot knows. A guest that does
 * not take it is ready all the same: boxery grants says what it lacks. */
static void bring_grants(struct call *c, struct machine *m)
{
	struct service *s = call_service(c);
	struct guest *g;
	struct err e = {0};

	call_progress(c, 0, 0, "bringing what it was granted");
	if (machine_guest_booting(m, &g, &e) ||
	    apply_ready(s->apply, m, g, deadline_in_ms(GRANTS_MS), &e))
		log_warn("%s: grants: %s", machine_name(m), err_msg(&e));
}

typedef int wait_fn(struct call *c, struct machine *m,
		    const struct vm_record *v, struct deadline d,
		    struct err *e);

static int wait_ready(struct call *c, struct machine *m,
		      const struct vm_record *v, wait_fn *wait, struct err *e)
{
	struct service *s = call_service(c);

	if (wait(c, m, v, deadline_in_ms(LIMIT_BOOT_MS), e))
		return explain_stop(s, v->name, e);
	if (isolation_enforce(s, v->name, e))
		return -1;
	bring_grants(c, m);
	return 0;
}

static void show_mode(struct call *c, const char *what)
{
	struct service *s = call_service(c);
	bool accelerated = false;

	(void)!s->backend->ops->accelerated(s->backend, &accelerated, NULL);
	call_progress(c, 0, 0, "%s%s", what,
		      accelerated ? "" : " (no KVM: emulated, which is slow)");
}

static int make(struct call *c, struct machine *m, const struct image *image,
		struct vm_record *v, struct err *e)
{
	struct service *s = call_service(c);

	call_progress(c, 0, 0, "making keys and disk");
	if (make_files(c, image, v, e) || call_check(c, e))
		return -1;
	show_mode(c, "starting");
	if (boot(c, v, e) || wait_ready(c, m, v, ready_wait, e))
		return -1;
	if (registry_set_phase(s->registry, v->name, VM_READY, e))
		return -1;
	v->phase = VM_READY;
	return 0;
}

/* -- whole operations --------------------------------------------------------
 */

static int check_new(struct service *s, const struct image *image,
		     const struct vm_record *v, struct err *e)
{
	autofree char *vms = datadir_vms(&s->home);
	enum machine_state state;

	if (!s->guest_dir)
		return err_set(e, ERR_NOT_FOUND,
			       "boxery's folder guest/ is not where it was "
			       "installed: make install");
	if (v->disk_len < image->disk_len)
		return err_set(e, ERR_INVALID,
			       "the disk must be at least as large as the "
			       "image's: %llu MiB",
			       (unsigned long long)(image->disk_len >> 20));
	if (overlay_check_space(vms, NEW_NEED_LEN, "a new VM", e) ||
	    s->backend->ops->init(s->backend, e) ||
	    s->backend->ops->state(s->backend, v->name, &state, e))
		return -1;
	if (state != MACHINE_ABSENT)
		return err_set(e, ERR_EXISTS,
			       "libvirt has a machine %s that boxery has no "
			       "record of: boxery rm %s",
			       v->name, v->name);
	return 0;
}

int life_create(struct call *c, struct machine *m, const struct life_new *n,
		struct err *e)
{
	struct service *s = call_service(c);
	struct vm_record *v = n->v;
	struct err undo = {0};

	if (check_new(s, n->image, v, e) || add_record(c, n->image, v, e))
		return -1;
	if ((!n->recorded || n->recorded(n->ctx, e) == 0) &&
	    make(c, m, n->image, v, e) == 0)
		return 0;
	call_progress(c, 0, 0, "undoing: %s", err_msg(e));
	if (life_remove(s, m, &undo) == 0)
		return -1;
	(void)!registry_set_phase(s->registry, v->name, VM_BROKEN, NULL);
	return err_set(e, undo.code,
		       "%s; and what was made is still there (%s): "
		       "boxery rm %s",
		       err_msg(e), err_msg(&undo), v->name);
}

/* An address of the network as it is now; the network may have been made
 * again since. */
static int refresh_address(struct service *s, struct vm_record *v,
			   struct err *e)
{
	char address[sizeof(v->address)], mac[sizeof(v->mac)];

	memcpy(address, v->address, sizeof(address));
	memcpy(mac, v->mac, sizeof(mac));
	if (pick_address(s, v, e))
		return -1;
	if (strcmp(address, v->address) == 0 && strcmp(mac, v->mac) == 0)
		return 0;
	return registry_set_address(s->registry, v->name, v->address, v->mac,
				    e);
}

static int check_disk(struct service *s, const struct vm_record *v,
		      struct err *e)
{
	autofree char *disk = datadir_disk(&s->home, v->name);

	if (access(disk, F_OK))
		return err_sys(e, "the disk of %s is gone (boxery rm %s): %s",
			       v->name, v->name, disk);
	return 0;
}

int life_start(struct call *c, struct machine *m, struct vm_record *v,
	       struct err *e)
{
	struct service *s = call_service(c);
	struct backend *b = s->backend;
	enum machine_state state;

	if (b->ops->state(b, v->name, &state, e))
		return -1;
	switch (state) {
	case MACHINE_RUNNING:
		if (isolation_enforce(s, v->name, e))
			return -1;
		break;
	case MACHINE_PAUSED:
	case MACHINE_NOSPACE:
		if (power_on(s, v->name, e))
			return -1;
		break;
	case MACHINE_CRASHED:
		if (b->ops->stop(b, v->name, true, deadline_in_ms(0), -1, e))
			return -1;
		__attribute__((fallthrough)); /* clang knows no comment */
	case MACHINE_OFF:
	case MACHINE_ABSENT:
	default:
		show_mode(c, "starting");
		machine_drop(m);
		if (check_disk(s, v, e) || refresh_address(s, v, e) ||
		    boot(c, v, e))
			return -1;
		break;
	}
	return wait_ready(c, m, v, ready_wait_pinning, e);
}

int life_redefine(struct service *s, struct vm_record *v, bool running,
		  struct err *e)
{
	bool isolated;

	if (is_isolated(s, v, &isolated, e))
		return -1;
	/* one that runs keeps the address that it is reached at */
	if (!running && refresh_address(s, v, e))
		return -1;
	if (define(s, v, isolated, e))
		return -1;
	return running ? 0
		       : registry_set_filtered(s->registry, v->name, isolated,
					       e);
}

struct drop {
	struct service *s;
	const char *image;
};

static int remove_image(void *ctx, struct err *e)
{
	struct drop *d = ctx;

	return image_remove(&d->s->home, d->image, e);
}

int life_drop_image(struct service *s, const char *image, bool *ret_used,
		    struct err *e)
{
	struct drop d = {s, image};

	return registry_unless_image_used(s->registry, image, remove_image, &d,
					  ret_used, e);
}

void life_drop_import(struct service *s, const char *image)
{
	struct err e = {0};
	bool used;

	if (image_is_import(image) && life_drop_image(s, image, &used, &e))
		log_warn("%s", err_msg(&e));
}

int life_remove(struct service *s, struct machine *m, struct err *e)
{
	const char *name = machine_name(m);
	struct backend *b = s->backend;
	struct vm_record v = {.mac = "", .image = ""};

	if (registry_get(s->registry, name, &v, NULL) == 0)
		vm_record_finish(&v);
	/* first of all: whatever comes after, it may use nothing any more */
	if (registry_set_phase(s->registry, name, VM_REMOVING, e) ||
	    apply_forget(s->apply, name, e))
		return -1;
	machine_drop(m);
	if (b->ops->stop(b, name, true, deadline_in_ms(0), -1, e) ||
	    b->ops->undefine(b, name, v.mac, e) ||
	    datadir_remove_vm(&s->home, name, e) ||
	    hostkey_remove(&s->home, name, e) ||
	    runs_forget(&s->home, name, e) ||
	    /* what somebody granted meanwhile */
	    apply_forget(s->apply, name, e) ||
	    registry_remove(s->registry, name, e))
		return -1;
	machine_forget(m);
	life_drop_import(s, v.image);
	return sshconfig_update(&s->home, s->registry, e);
}
