#include "vmctl/describe.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "vmctl/datadir.h"
#include "vmctl/hostkey.h"
#include "vmctl/isolation.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

const char *describe_state(enum vm_phase phase, enum machine_state state)
{
	return phase == VM_READY ? machine_state_name(state)
				 : vm_phase_name(phase);
}

static void set_text(json_t *o, const char *key, const char *text)
{
	json_object_set_new(o, key, json_string(text));
}

/* -- in a list --------------------------------------------------------------- */

/* Only what is not as it should be, and as libvirt says: looking at the host's
 * packet filter takes too long for a list. */
static void add_isolation(struct service *s, const struct vm_record *v,
			  enum machine_state state, json_t *row)
{
	struct isolation_look look;

	if (*v->stopped) {
		json_object_set_new(row, "isolation",
				    json_sprintf("stopped: %s", v->stopped));
		return;
	}
	if (state == MACHINE_OFF || state == MACHINE_ABSENT ||
	    isolation_look(s, v, NULL, &look, NULL) ||
	    look.is == ISOLATION_IDLE || look.is == ISOLATION_ON ||
	    look.is == ISOLATION_UNVERIFIED)
		return;
	set_text(row, "isolation", isolation_text(look.is));
}

json_t *describe_row(struct service *s, const struct vm_record *v,
		     enum machine_state state)
{
	json_t *row = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "name",
				v->name, "state",
				describe_state(v->phase, state), "address",
				v->address, "shape", v->shape, "image",
				v->image, "owner", v->owner);

	add_isolation(s, v, state, row);
	return row;
}

/* -- all of it --------------------------------------------------------------- */

static void set_size(json_t *o, const char *key, uint64_t len)
{
	json_object_set_new(o, key, json_integer((json_int_t)len));
}

static void add_files(struct service *s, const struct vm_record *v, json_t *o)
{
	autofree char *console = datadir_console(&s->home, v->name);
	autofree char *disk = datadir_disk(&s->home, v->name);
	autofree char *key = NULL;
	struct stat st;

	if (stat(disk, &st) == 0)
		set_size(o, "disk_used_bytes", (uint64_t)st.st_blocks * 512);
	if (access(console, F_OK) == 0)
		set_text(o, "console", console);
	if (hostkey_read(&s->home, v->name, &key, NULL) == 0)
		set_text(o, "host_key", key);
}

/* As it will be booted, when it does not run. */
static const char *idle_text(struct service *s)
{
	bool wanted;

	if (isolation_wanted(&s->home, &wanted, NULL))
		return "unknown";
	return isolation_text(wanted ? ISOLATION_ON : ISOLATION_OFF);
}

static void add_network(struct service *s, const struct vm_record *v,
			json_t *o)
{
	struct isolation_chains chains;
	struct isolation_look look = {.is = ISOLATION_IDLE};
	struct err why = {0};

	set_text(o, "network", net_mode_name(v->network));
	if (*v->stopped) {
		set_text(o, "isolation", "stopped");
		set_text(o, "isolation_why", v->stopped);
		return;
	}
	isolation_read(&chains);
	if (isolation_look(s, v, &chains, &look, &why)) {
		set_text(o, "isolation", "unknown");
		set_text(o, "isolation_why", err_msg(&why));
	} else {
		set_text(o, "isolation",
			 look.is == ISOLATION_IDLE ? idle_text(s)
						   : isolation_text(look.is));
		if (look.why.code)
			set_text(o, "isolation_why", err_msg(&look.why));
	}
	isolation_chains_finish(&chains);
}

json_t *describe_vm(struct service *s, const struct vm_record *v,
		    enum machine_state state)
{
	json_t *o = json_object();
	char created[32];
	struct tm tm;

	gmtime_r(&(time_t){v->created_s}, &tm);
	(void)!strftime(created, sizeof(created), "%Y-%m-%dT%H:%M:%SZ", &tm);
	set_text(o, "name", v->name);
	set_text(o, "state", describe_state(v->phase, state));
	set_text(o, "address", v->address);
	set_text(o, "owner", v->owner);
	set_text(o, "created", created);
	set_text(o, "shape", v->shape);
	set_size(o, "cpus", v->cpus);
	set_size(o, "memory_bytes", v->memory_len);
	set_size(o, "disk_bytes", v->disk_len);
	json_object_set_new(o, "desktop", json_boolean(v->desktop));
	set_text(o, "image", v->image);
	json_object_set_new(o, "layers",
			    json_parse(v->layers, strlen(v->layers), NULL));
	set_text(o, "mac", v->mac);
	set_text(o, "uuid", v->uuid);
	add_network(s, v, o);
	add_files(s, v, o);
	return o;
}

