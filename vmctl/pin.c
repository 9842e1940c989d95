#include "vmctl/pin.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/log.h"
#include "vmctl/backend.h"
#include "vmctl/guest_probe.h"
#include "vmctl/registry.h"
#include "vmctl/service.h"
#include "vmctl/sshconfig.h"

#include <string.h>

#define SSH_PORT 22

bool pin_is_missing(struct service *s, const char *name)
{
	autofree char *line = NULL;
	struct err why = {0};

	return hostkey_read(&s->home, name, &line, &why) &&
	       why.code == ERR_NOT_FOUND;
}

/* The key becomes the pin; who was connected by another is not any more. */
static int take(struct service *s, struct machine *m, const char *line,
		struct pin_change *ret, struct err *e)
{
	const char *name = machine_name(m);
	autofree char *before = NULL;
	struct pin_change change = {.before = ""};

	if (hostkey_fingerprint(line, change.now, e))
		return -1;
	if (hostkey_read(&s->home, name, &before, NULL) == 0 &&
	    hostkey_fingerprint(before, change.before, e))
		return -1;
	if (strcmp(change.now, change.before) != 0) {
		if (hostkey_pin(&s->home, name, line, e))
			return -1;
		machine_forget(m);
	}
	if (sshconfig_update(&s->home, s->registry, e))
		return -1;
	*ret = change;
	return 0;
}

int pin_through_agent(struct service *s, struct machine *m, struct deadline d,
		      struct pin_change *ret, struct err *e)
{
	const char *name = machine_name(m);
	autofree char *line = NULL;

	if (s->backend->ops->read_host_key(s->backend, name, d, &line, e) ||
	    take(s, m, line, ret, e))
		return -1;
	log_info("%s: pinned %s, read through its guest agent", name,
		 ret->now);
	return 0;
}

int pin_from_guest(struct service *s, struct machine *m,
		   const struct vm_record *v, int cancel_fd,
		   struct pin_change *ret, struct err *e)
{
	const struct guest_probe p = {
		.name = v->name,
		.address = v->address,
		.port = SSH_PORT,
		.cancel_fd = cancel_fd,
	};
	autofree char *line = NULL;

	if (guest_probe_key(&p, deadline_in_ms(LIMIT_SSH_CONNECT_MS), &line,
			    e) ||
	    take(s, m, line, ret, e))
		return -1;
	log_warn("%s: pinned %s, which is what answered at %s", v->name,
		 ret->now, v->address);
	return 0;
}
