/*
 * Machines of libvirt's system daemon. Each is a persistent domain named
 * boxery-INSTANCE-NAME; the definition is written anew before each boot, so
 * it is a projection of our records and never the truth about anything but
 * "does it run". Nothing here is kept in memory between calls.
 */
#include "base/alloc.h"
#include "base/log.h"
#include "vmctl/backend_libvirt_impl.h"
#include "vmctl/datadir.h"
#include "vmctl/domain.h"

#include <libvirt/virterror.h>
#include <stdio.h>
#include <string.h>

#define XML_CAP ((size_t)256 * 1024)
#define POLL_MS 300
/* 1 GiB of it is the most that its emulator keeps translated */
#define QEMU_OWN_KIB (1536ULL * 1024)
/* a guest that is still booting does not hear the power button */
#define ACPI_AGAIN_MS 10000

struct backend_libvirt *bl_of(struct backend *b)
{
	return (struct backend_libvirt *)b; /* its first member */
}

/* -- errors ------------------------------------------------------------------ */

static void silent(void *ctx, virErrorPtr error)
{
	(void)ctx;
	log_debug("libvirt: %s", error->message ? error->message : "?");
}

static enum err_code code_of(int code, const char *text)
{
	if (strstr(text, "No space left on device"))
		return ERR_NOSPACE;
	if (code == VIR_ERR_NO_DOMAIN || code == VIR_ERR_NO_NETWORK)
		return ERR_NOT_FOUND;
	if (code == VIR_ERR_ACCESS_DENIED || code == VIR_ERR_OPERATION_DENIED)
		return ERR_DENIED;
	if (code == VIR_ERR_DOM_EXIST || code == VIR_ERR_NETWORK_EXIST)
		return ERR_EXISTS;
	if (code == VIR_ERR_OPERATION_INVALID)
		return ERR_STATE;
	if (code == VIR_ERR_NO_CONNECT || code == VIR_ERR_SYSTEM_ERROR ||
	    code == VIR_ERR_RPC)
		return ERR_UNAVAILABLE;
	return ERR_SYSTEM;
}

int bl_fail(struct err *e, const char *what, const char *name)
{
	const virError *last = virGetLastError();
	autofree char *text = alloc_str(
		last && last->message ? last->message : "no reason");

	/* QEMU's last words may be several lines */
	for (char *at = text; (at = strchr(at, '\n'));)
		*at = ' ';
	return err_set(e, code_of(last ? last->code : 0, text),
		       "%s%s%s: libvirt: %s", what, *name ? " " : "", name,
		       text);
}

/* -- finding -----------------------------------------------------------------
 */

/* The domain, or NULL: with *ret_absent when libvirt does not know it. */
static virDomainPtr look_up(struct backend_libvirt *l, virConnectPtr c,
			    const char *name, bool *ret_absent, struct err *e)
{
	char full[DOMAIN_NAME_SIZE];
	virDomainPtr d;

	domain_name(full, l->home->instance, name);
	d = virDomainLookupByName(c, full);
	*ret_absent = !d && virGetLastErrorCode() == VIR_ERR_NO_DOMAIN;
	if (!d && !*ret_absent)
		(void)!bl_fail(e, "looking for", name);
	return d;
}

virDomainPtr bl_find(struct backend_libvirt *l, virConnectPtr c,
		     const char *name, struct err *e)
{
	bool absent;
	virDomainPtr d = look_up(l, c, name, &absent, e);

	if (absent)
		err_set(e, ERR_NOT_FOUND,
			"libvirt has no machine for %s (boxery rm %s removes "
			"what is left of it)",
			name, name);
	return d;
}

/* -- state ------------------------------------------------------------------- */

static enum machine_state paused_state(virDomainPtr d)
{
	virDomainDiskError errors[8];
	int count = virDomainGetDiskErrors(d, errors, ARRAY_COUNT(errors), 0);
	enum machine_state state = MACHINE_PAUSED;

	for (int i = 0; i < count; i++) {
		if (errors[i].error == VIR_DOMAIN_DISK_ERROR_NO_SPACE)
			state = MACHINE_NOSPACE;
		free(errors[i].disk);
	}
	return state;
}

static int get_state(virDomainPtr d, enum machine_state *ret, struct err *e)
{
	int state, reason;

	if (virDomainGetState(d, &state, &reason, 0) < 0)
		return bl_fail(e, "asking for the state of",
			       virDomainGetName(d));
	switch ((virDomainState)state) {
	case VIR_DOMAIN_RUNNING:
	case VIR_DOMAIN_BLOCKED:
	case VIR_DOMAIN_SHUTDOWN: /* on its way */
		*ret = MACHINE_RUNNING;
		break;
	case VIR_DOMAIN_PAUSED:
	case VIR_DOMAIN_PMSUSPENDED:
		*ret = reason == VIR_DOMAIN_PAUSED_CRASHED ? MACHINE_CRASHED
							   : paused_state(d);
		break;
	case VIR_DOMAIN_SHUTOFF:
		*ret = reason == VIR_DOMAIN_SHUTOFF_CRASHED ? MACHINE_CRASHED
							    : MACHINE_OFF;
		break;
	case VIR_DOMAIN_CRASHED:
		*ret = MACHINE_CRASHED;
		break;
	case VIR_DOMAIN_NOSTATE:
	default:
		*ret = MACHINE_OFF;
		break;
	}
	return 0;
}

static int bl_state(struct backend *b, const char *name,
		    enum machine_state *ret, struct err *e)
{
	struct backend_libvirt *l = bl_of(b);
	auto_conn c = bl_connect(l, e);
	auto_domain d = NULL;
	bool absent;

	if (!c)
		return -1;
	d = look_up(l, c, name, &absent, e);
	if (absent)
		*ret = MACHINE_ABSENT;
	if (!d)
		return absent ? 0 : -1;
	return get_state(d, ret, e);
}

static int bl_list(struct backend *b,
		   void (*each)(void *ctx, const char *name,
				enum machine_state s),
		   void *ctx, struct err *e)
{
	struct backend_libvirt *l = bl_of(b);
	auto_conn c = bl_connect(l, e);
	virDomainPtr *all = NULL;
	int count;

	if (!c)
		return -1;
	count = virConnectListAllDomains(c, &all, 0);
	if (count < 0)
		return bl_fail(e, "listing machines", "");
	for (int i = 0; i < count; i++) {
		const char *name = domain_name_parse(virDomainGetName(all[i]),
						     l->home->instance);
		enum machine_state state = MACHINE_OFF;

		/* one that vanished meanwhile is not there */
		if (name && get_state(all[i], &state, NULL) == 0)
			each(ctx, name, state);
		virDomainFree(all[i]);
	}
	free(all);
	return 0;
}

/* -- definition -------------------------------------------------------------- */

static int define_xml(virConnectPtr c, const struct machine_spec *s,
		      const struct domain_host *host, struct err *e)
{
	auto_domain d = NULL;
	struct buf xml;
	int rc;

	buf_init(&xml, XML_CAP);
	rc = domain_xml(s, host, &xml, e);
	if (rc == 0) {
		d = virDomainDefineXML(c, xml.data);
		if (!d)
			rc = bl_fail(e, "defining", s->name);
	}
	buf_finish(&xml);
	return rc;
}

static int bl_define(struct backend *b, const struct machine_spec *s,
		     struct err *e)
{
	struct backend_libvirt *l = bl_of(b);
	struct domain_host host = {.instance = l->home->instance,
				   .network = BL_NETWORK,
				   .loader = bl_firmware()};
	auto_conn c = bl_connect(l, e);
	struct bl_network network;

	if (!c || bl_accelerated(b, &host.kvm, e) ||
	    bl_network_ensure(l, c, &network, e) ||
	    (s->isolated && (bl_filters_fit(e) || bl_filters_ensure(l, c, e))))
		return -1;
	if (s->uefi && !host.loader)
		return err_set(e, ERR_NOT_FOUND,
			       "no UEFI firmware for guests on this host: sudo "
			       "apt-get install ovmf");
	host.gateway = network.gateway;
	return define_xml(c, s, &host, e);
}

/* The address first: while the domain is there we know its MAC. */
static int release_addresses(struct backend_libvirt *l, virDomainPtr d,
			     struct err *e)
{
	autofree char *xml = virDomainGetXMLDesc(d, VIR_DOMAIN_XML_INACTIVE);
	char mac[SUBNET_MAC_SIZE];

	if (!xml)
		return bl_fail(e, "reading the definition of",
			       virDomainGetName(d));
	if (!domain_find_attr(xml, "<mac ", "address", mac, sizeof(mac)))
		return 0;
	return bl_release(l, virDomainGetConnect(d), mac, e);
}

static int bl_undefine(struct backend *b, const char *name, const char *mac,
		       struct err *e)
{
	struct backend_libvirt *l = bl_of(b);
	auto_conn c = bl_connect(l, e);
	auto_domain d = NULL;
	bool absent;

	if (!c || (*mac && bl_release(l, c, mac, e)))
		return -1;
	d = look_up(l, c, name, &absent, e);
	if (!d)
		return absent ? 0 : -1;
	if (release_addresses(l, d, e))
		return -1;
	if (virDomainUndefineFlags(
		    d, VIR_DOMAIN_UNDEFINE_MANAGED_SAVE |
			       VIR_DOMAIN_UNDEFINE_SNAPSHOTS_METADATA |
			       VIR_DOMAIN_UNDEFINE_CHECKPOINTS_METADATA |
			       VIR_DOMAIN_UNDEFINE_NVRAM) < 0 &&
	    virGetLastErrorCode() != VIR_ERR_NO_DOMAIN)
		return bl_fail(e, "forgetting", name);
	return 0;
}

/* -- power ------------------------------------------------------------------- */

/* A crashed machine may still be there, stopped for good. */
static int clear_crashed(virDomainPtr d, const char *name, struct err *e)
{
	if (virDomainIsActive(d) == 1 && virDomainDestroy(d) < 0 &&
	    virDomainIsActive(d) == 1)
		return bl_fail(e, "ending the crashed", name);
	return 0;
}

/*
 * What its QEMU may take of the host's memory: the guest's, an eighth more, and
 * what QEMU needs for itself, translated code included where it emulates. One
 * that a guest took over, or that leaks, ends at that and not the host. Set now,
 * for a definition with a limit does not start on a host without cgroups.
 */
static void limit_memory(virDomainPtr d, const char *name)
{
	char field[VIR_TYPED_PARAM_FIELD_LENGTH] = VIR_DOMAIN_MEMORY_HARD_LIMIT;
	unsigned long long guest_kib = virDomainGetMaxMemory(d);
	virTypedParameter limit = {.type = VIR_TYPED_PARAM_ULLONG};

	memcpy(limit.field, field, sizeof(field));
	limit.value.ul = guest_kib + guest_kib / 8 + QEMU_OWN_KIB;
	if (guest_kib == 0 ||
	    virDomainSetMemoryParameters(d, &limit, 1,
					 VIR_DOMAIN_AFFECT_LIVE) < 0)
		log_info("%s runs without a limit of its memory on this host",
			 name);
}

/* Created paused: its port is looked at before its first instruction. */
static int bl_boot(struct backend *b, const char *name, struct err *e)
{
	struct backend_libvirt *l = bl_of(b);
	auto_conn c = bl_connect(l, e);
	auto_domain d = c ? bl_find(l, c, name, e) : NULL;
	enum machine_state state = MACHINE_OFF;

	if (!d || get_state(d, &state, e))
		return -1;
	if (state == MACHINE_RUNNING || state == MACHINE_PAUSED ||
	    state == MACHINE_NOSPACE)
		return 0;
	if (state == MACHINE_CRASHED && clear_crashed(d, name, e))
		return -1;
	if (virDomainCreateWithFlags(d, VIR_DOMAIN_START_PAUSED) < 0)
		return bl_fail(e, "starting", name);
	limit_memory(d, name);
	return 0;
}

static int bl_pause(struct backend *b, const char *name, struct err *e)
{
	struct backend_libvirt *l = bl_of(b);
	auto_conn c = bl_connect(l, e);
	auto_domain d = c ? bl_find(l, c, name, e) : NULL;
	enum machine_state state = MACHINE_OFF;

	if (!d || get_state(d, &state, e))
		return -1;
	if (state == MACHINE_RUNNING && virDomainSuspend(d) < 0)
		return bl_fail(e, "pausing", name);
	return 0;
}

static int bl_resume(struct backend *b, const char *name, struct err *e)
{
	struct backend_libvirt *l = bl_of(b);
	auto_conn c = bl_connect(l, e);
	auto_domain d = c ? bl_find(l, c, name, e) : NULL;
	enum machine_state state = MACHINE_OFF;

	if (!d || get_state(d, &state, e))
		return -1;
	if (state != MACHINE_RUNNING && virDomainResume(d) < 0)
		return bl_fail(e, "going on with", name);
	return 0;
}

static int power_off(virDomainPtr d, const char *name, struct err *e)
{
	if (virDomainDestroy(d) < 0 && virDomainIsActive(d) == 1)
		return bl_fail(e, "cutting the power of", name);
	return 0;
}

static bool is_cancelled(int cancel_fd, int64_t wait_ms)
{
	struct pollfd p = {.fd = cancel_fd, .events = POLLIN};

	return deadline_poll(&p, 1, deadline_in_ms(wait_ms), "", NULL) > 0;
}

/* Until it is off or deaf, the time is over or the wait is cancelled. */
static void press_power_button(virDomainPtr d, struct deadline deadline,
			       int cancel_fd)
{
	struct deadline again = deadline_in_ms(0);

	while (!deadline_passed(deadline)) {
		enum machine_state state = MACHINE_OFF;

		/* one that does not run hears nothing */
		if (virDomainIsActive(d) == 0 || get_state(d, &state, NULL) ||
		    state != MACHINE_RUNNING)
			return;
		if (deadline_passed(again)) {
			virDomainShutdownFlags(
				d, VIR_DOMAIN_SHUTDOWN_ACPI_POWER_BTN);
			again = deadline_in_ms(ACPI_AGAIN_MS);
		}
		if (is_cancelled(cancel_fd, POLL_MS))
			return;
	}
}

static int bl_stop(struct backend *b, const char *name, bool force,
		   struct deadline deadline, int cancel_fd, struct err *e)
{
	struct backend_libvirt *l = bl_of(b);
	auto_conn c = bl_connect(l, e);
	auto_domain d = NULL;
	bool absent;

	if (!c)
		return -1;
	d = look_up(l, c, name, &absent, e);
	if (!d)
		return absent ? 0 : -1;
	if (!force)
		press_power_button(d, deadline, cancel_fd);
	if (virDomainIsActive(d) == 0)
		return 0;
	if (!force && is_cancelled(cancel_fd, 0))
		return err_set(e, ERR_CANCELLED,
			       "cancelled: %s was asked to shut down and keeps "
			       "its power",
			       name);
	return power_off(d, name, e);
}

/* Whoever starts a machine makes its port meanwhile. */
static bool is_starting(virDomainPtr d)
{
	int state, reason;

	return virDomainGetState(d, &state, &reason, 0) < 0 ||
	       (state == VIR_DOMAIN_PAUSED &&
		reason == VIR_DOMAIN_PAUSED_STARTING_UP);
}

static int bl_port(struct backend *b, const char *name,
		   struct machine_port *ret, struct err *e)
{
	struct backend_libvirt *l = bl_of(b);
	struct machine_port port = {.id = 0};
	auto_conn c = bl_connect(l, e);
	auto_domain d = NULL;
	autofree char *xml = NULL;
	unsigned id;
	bool absent;

	if (!c)
		return -1;
	d = look_up(l, c, name, &absent, e);
	if (!d && !absent)
		return -1;
	id = d ? virDomainGetID(d) : 0;
	if (d && id != (unsigned)-1 && !is_starting(d)) {
		xml = virDomainGetXMLDesc(d, 0);
		if (!xml)
			return bl_fail(e, "reading the definition of", name);
		if (bl_port_read(c, xml, &port, e))
			return -1;
		port.id = (int)id;
	}
	*ret = port;
	return 0;
}

static int bl_cut(struct backend *b, const char *name, int id, struct err *e)
{
	struct backend_libvirt *l = bl_of(b);
	auto_conn c = bl_connect(l, e);
	auto_domain d = NULL;
	bool absent;

	if (!c)
		return -1;
	d = look_up(l, c, name, &absent, e);
	if (!d)
		return absent ? 1 : -1;
	return (int)virDomainGetID(d) == id ? power_off(d, name, e) : 1;
}

/* -- set-up ------------------------------------------------------------------ */

static int bl_init(struct backend *b, struct err *e)
{
	struct backend_libvirt *l = bl_of(b);
	auto_conn c = bl_connect(l, e);

	if (!c || bl_network_init(l, c, e))
		return -1;
	return bl_filters_ensure(l, c, e);
}

static void bl_free(struct backend *b)
{
	struct backend_libvirt *l = bl_of(b);

	if (bl_disconnect(l))
		return; /* its opener still works with it */
	pthread_mutex_destroy(&l->network_lock);
	free(l);
}

static const struct backend_ops libvirt_ops = {
	.name = "libvirt",
	.init = bl_init,
	.retire = bl_retire,
	.doctor = bl_doctor,
	.qemu_user = bl_qemu_user,
	.accelerated = bl_accelerated,
	.define = bl_define,
	.boot = bl_boot,
	.pause = bl_pause,
	.resume = bl_resume,
	.stop = bl_stop,
	.cut = bl_cut,
	.undefine = bl_undefine,
	.state = bl_state,
	.list = bl_list,
	.reserve = bl_reserve,
	.port = bl_port,
	.read_host_key = bl_read_host_key,
	.on_lost = bl_on_lost,
	.free = bl_free,
};

struct backend *backend_libvirt_new(const struct home *h)
{
	struct backend_libvirt *l = ALLOC_NEW(struct backend_libvirt);

	virInitialize();
	virSetErrorFunc(NULL, silent);
	l->b.ops = &libvirt_ops;
	l->home = h;
	bl_connection_init(l);
	pthread_mutex_init(&l->network_lock, NULL);
	return &l->b;
}
