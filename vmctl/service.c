#include "vmctl/service.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/db.h"
#include "base/log.h"
#include "base/path.h"
#include "grants/store.h"
#include "grants/token.h"
#include "vmctl/apply.h"
#include "vmctl/backend.h"
#include "vmctl/image.h"
#include "vmctl/job.h"
#include "vmctl/lifecycle.h"
#include "vmctl/machines.h"
#include "vmctl/netwatch.h"
#include "vmctl/registry.h"
#include "vmctl/sshconfig.h"

#include <string.h>

/* Installed beside us, or in the tree we were built in. NULL: nowhere, which
 * build-base will say. */
static char *find_guest_dir(void)
{
	static const char *const places[] = {
		"../share/boxery/guest", /* PREFIX/bin */
		"../../../guest",	 /* build/MODE/bin */
	};

	return path_beside_program(places, ARRAY_COUNT(places));
}

static int drop_unused(struct image *i, void *ctx, struct err *e)
{
	(void)e;
	life_drop_import(ctx, i->id);
	return 0;
}

int service_open(struct service *s, struct err *e)
{
	struct err why = {0};

	s->guest_dir = find_guest_dir();
	s->jobs = jobs_new();
	if (db_open(s->home.db, registry_migrations, &s->db, e) != 0 ||
	    registry_new(s->db, &s->registry, e) != 0)
		return -1;
	s->backend = backend_libvirt_new(&s->home);
	s->machines = machines_new(s);
	/* before anybody is answered: what the proxy reads is what we hold */
	s->grants = store_new(s->db, &s->home);
	s->apply = apply_new(s);
	if (store_reconcile(s->grants, e) != 0 ||
	    token_reconcile(s->db, &s->home, e) != 0)
		return -1;
	if (machines_watch(s->machines, e) != 0)
		return -1;
	image_sweep(&s->home);
	if (image_list(&s->home, drop_unused, s, &why) != 0)
		log_warn("images: %s", err_msg(&why));
	/* it names this program, which may lie elsewhere than the last one */
	if (sshconfig_update(&s->home, s->registry, &why) != 0)
		log_warn("ssh_config is not up to date: %s", err_msg(&why));
	return 0;
}

int service_watch(struct service *s, struct audit *audit, struct err *e)
{
	s->audit = audit;
	if (apply_start(s->apply, e) != 0)
		return -1;
	return netwatch_new(s, &s->netwatch, e);
}

void service_close(struct service *s)
{
	netwatch_free(s->netwatch);
	apply_free(s->apply);
	store_free(s->grants);
	machines_free(s->machines);
	if (s->backend)
		s->backend->ops->free(s->backend);
	registry_free(s->registry);
	db_close(s->db);
	jobs_free(s->jobs);
	free(s->guest_dir);
	home_finish(&s->home);
	*s = (struct service){0};
}
