/* pin: the host key of a running machine, put on record by a person. */
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "vmctl/backend.h"
#include "vmctl/handlers.h"
#include "vmctl/machines.h"
#include "vmctl/pin.h"
#include "vmctl/registry.h"
#include "vmctl/service.h"

#include <string.h>

/* Another may answer at the address of a machine that is off. */
static int check(struct service *s, const struct vm_record *v, struct err *e)
{
	enum machine_state state;

	if (v->phase != VM_READY)
		return err_set(e, ERR_STATE, "%s is %s: boxery rm %s", v->name,
			       vm_phase_name(v->phase), v->name);
	if (s->backend->ops->state(s->backend, v->name, &state, e))
		return -1;
	if (state == MACHINE_RUNNING)
		return 0;
	return err_set(e, ERR_STATE, "%s is %s: boxery start %s", v->name,
		       machine_state_name(state), v->name);
}

static int through_agent(struct call *c, struct machine *m,
			 struct pin_change *ret, struct err *e)
{
	const char *name = machine_name(m);
	struct deadline d = deadline_in_ms(LIMIT_AGENT_MS);
	struct err why = {0};

	call_progress(c, 0, 0, "asking the guest agent");
	if (pin_through_agent(call_service(c), m, d, ret, &why) == 0)
		return 0;
	return err_set(e, why.code,
		       "%s; nothing was pinned. boxery pin %s --from-guest "
		       "takes the key that answers at its address instead",
		       err_msg(&why), name);
}

static int pin(struct call *c, struct machine *m, bool from_guest,
	       struct pin_change *ret, struct err *e)
{
	struct service *s = call_service(c);
	struct vm_record v;
	int rc;

	if (registry_get(s->registry, machine_name(m), &v, e))
		return -1;
	rc = check(s, &v, e);
	if (rc == 0 && from_guest)
		rc = pin_from_guest(s, m, &v, call_cancel_fd(c), ret, e);
	else if (rc == 0)
		rc = through_agent(c, m, ret, e);
	vm_record_finish(&v);
	return rc;
}

static json_t *describe(const char *name, const struct pin_change *p,
			bool from_guest)
{
	bool changed = strcmp(p->now, p->before) != 0;
	autofree char *text = NULL;
	json_t *o;

	if (!changed)
		text = alloc_str("as before");
	else if (p->before[0])
		text = alloc_printf("in place of %s", p->before);
	else
		text = alloc_str("there was no pin");
	o = json_pack("{s:s, s:s, s:s, s:b, s:s}", "name", name, "fingerprint",
		      p->now, "source",
		      from_guest ? "its address" : "guest agent", "changed",
		      changed, "change", text);
	if (p->before[0])
		json_object_set_new(o, "before", json_string(p->before));
	return o;
}

int op_vm_pin(struct call *c, const json_t *args, json_t **ret_result,
	      struct err *e)
{
	struct pin_change change;
	bool from_guest = false;
	struct machine *m;
	const char *name;
	int rc;

	if (json_get_str(args, "vm", &name, e) ||
	    json_opt_bool(args, "from_guest", &from_guest, e) ||
	    machines_get(call_service(c)->machines, c, name, &m, e) ||
	    machine_lock(m, c, "its host key being pinned", e))
		return -1;
	rc = pin(c, m, from_guest, &change, e);
	machine_unlock(m);
	if (rc == 0)
		*ret_result = describe(name, &change, from_guest);
	return rc;
}
