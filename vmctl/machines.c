/*
 * One struct machine per name that a call works with or that holds something
 * alive; one that neither uses is freed, or names that were only ever asked for
 * would add up. What it holds comes and goes:
 *
 *   guest     made at first need from the record and the keys. A guest of a
 *             removed VM has the wrong key for a new VM of that name, so it is
 *             set aside (`dead`) and freed once no call uses the machine.
 *   desktop   the slot of ops_desktop.c.
 *   busy      what the changing operation at work is called.
 *
 * Lock order: machines->lock, machine->lock, then conn->lock, to end the call
 * that is at work; the desktop's lock is taken with none held. The registry
 * and the backend are called with no lock held.
 */
#include "vmctl/machines.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "vmctl/backend.h"
#include "vmctl/call.h"
#include "vmctl/guest.h"
#include "vmctl/hostkey.h"
#include "vmctl/isolation.h"
#include "vmctl/machines_impl.h"
#include "vmctl/registry.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* "It runs" is believed for so long: a call should not cost a question to
 * libvirt, and a guest that stopped answers no call anyway. */
#define RUNNING_BELIEVED_MS 2000
#define DROP_DESKTOP_MS 30000
#define GUEST_USER "agent"
/* Where the guest image starts its X server (guest/layers/desktop). */
#define XAUTHORITY "/home/agent/.Xauthority"
#define X_SOCKET "/tmp/.X11-unix/X1"
#define X_DISPLAY 1
#define GUEST_PORT 22

static void init_cond(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

struct machines *machines_new(struct service *s)
{
	struct machines *m = ALLOC_NEW(struct machines);

	m->service = s;
	pthread_mutex_init(&m->lock, NULL);
	init_cond(&m->changed);
	return m;
}

static void free_machine(struct machine *m)
{
	if (m->desktop.state && m->desktop.drop)
		m->desktop.drop(m->desktop.state);
	guest_free(m->guest);
	for (size_t i = 0; i < m->dead_count; i++)
		guest_free(m->dead[i]);
	free(m->dead);
	pthread_mutex_destroy(&m->lock);
	pthread_cond_destroy(&m->desktop_free);
	pthread_cond_destroy(&m->freed);
	free(m);
}

void machines_free(struct machines *m)
{
	struct machine *at;
	struct use *use;

	if (!m)
		return;
	machines_unwatch(m);
	while ((at = m->list)) {
		m->list = at->next;
		free_machine(at);
	}
	while ((use = m->uses)) {
		m->uses = use->next;
		free(use);
	}
	pthread_mutex_destroy(&m->lock);
	pthread_cond_destroy(&m->changed);
	free(m);
}

/* -- borrowing ---------------------------------------------------------------
 */

static struct machine *new_machine(struct machines *all, const char *name)
{
	struct machine *m = ALLOC_NEW(struct machine);

	m->all = all;
	snprintf(m->name, sizeof(m->name), "%s", name);
	pthread_mutex_init(&m->lock, NULL);
	init_cond(&m->desktop_free);
	init_cond(&m->freed);
	return m;
}

static struct machine *find_or_add(struct machines *m, const char *name)
{
	struct machine *at = m->list;

	while (at && strcmp(at->name, name) != 0)
		at = at->next;
	if (at)
		return at;
	at = new_machine(m, name);
	at->next = m->list;
	m->list = at;
	return at;
}

static void note_use(struct machines *m, const void *who, struct machine *at)
{
	struct use *use = m->uses;

	while (use && (use->who != who || use->machine != at))
		use = use->next;
	if (use)
		return;
	if (!m->uses)
		pthread_cond_signal(&m->changed);
	use = ALLOC_NEW(struct use);
	*use = (struct use){who, at, m->uses};
	m->uses = use;
	at->users++;
}

static void lend(struct machines *m, const void *who, const char *name,
		 struct machine **ret)
{
	pthread_mutex_lock(&m->lock);
	*ret = find_or_add(m, name);
	note_use(m, who, *ret);
	pthread_mutex_unlock(&m->lock);
}

int machines_claim(struct machines *m, const struct call *c, const char *name,
		   struct machine **ret, struct err *e)
{
	if (c && !call_may_use_vm(c, name))
		return err_set(e, ERR_DENIED,
			       "VM %s is not one of those this client was "
			       "started for",
			       name);
	lend(m, c, name, ret);
	return 0;
}

int machines_get(struct machines *m, const struct call *c, const char *name,
		 struct machine **ret, struct err *e)
{
	struct vm_record v;

	if (registry_get(m->service->registry, name, &v, e))
		return -1;
	vm_record_finish(&v);
	return machines_claim(m, c, name, ret, e);
}

int machines_borrow(struct machines *m, const void *who, const char *name,
		    struct machine **ret, struct err *e)
{
	struct vm_record v;

	if (registry_get(m->service->registry, name, &v, e))
		return -1;
	vm_record_finish(&v);
	lend(m, who, name, ret);
	return 0;
}

static bool is_empty(struct machine *m)
{
	bool empty;

	pthread_mutex_lock(&m->lock);
	empty = !m->guest && !m->desktop.state;
	pthread_mutex_unlock(&m->lock);
	return empty;
}

/* With machines->lock held and m used by nobody: what must not outlast its
 * users goes to `unused`, an empty machine whole, else the dead guests. */
static void take_unused(struct machine *m, struct machine **unused)
{
	struct machine **at = &m->all->list;
	struct machine *rest = m;

	if (is_empty(m)) {
		while (*at != m)
			at = &(*at)->next;
		*at = m->next;
	} else if (m->dead_count > 0) {
		rest = new_machine(m->all, m->name);
		pthread_mutex_lock(&m->lock);
		rest->dead = TAKE_PTR(m->dead);
		rest->dead_count = m->dead_count;
		m->dead_count = 0;
		pthread_mutex_unlock(&m->lock);
	} else {
		return;
	}
	rest->next = *unused;
	*unused = rest;
}

void machines_return(struct machines *m, const void *who)
{
	struct machine *unused = NULL, *next;
	struct use **at = &m->uses;

	if (!who)
		return;
	pthread_mutex_lock(&m->lock);
	while (*at) {
		struct use *use = *at;

		if (use->who != who) {
			at = &use->next;
			continue;
		}
		*at = use->next;
		if (--use->machine->users == 0)
			take_unused(use->machine, &unused);
		free(use);
	}
	pthread_mutex_unlock(&m->lock);
	/* joins threads: with no lock held */
	for (; unused; unused = next) {
		next = unused->next;
		free_machine(unused);
	}
}

void machines_release(struct machines *m, const struct call *c)
{
	machines_return(m, c);
}

const char *machine_name(const struct machine *m)
{
	return m->name;
}

/* -- one changing operation at a time ----------------------------------------
 */

static int say_busy(const struct machine *m, struct err *e)
{
	return err_set(e, ERR_BUSY,
		       "%s is busy with %s: try again when that is done",
		       m->name, m->busy);
}

static void set_busy(struct machine *m, struct call *holder, const char *what)
{
	snprintf(m->busy, sizeof(m->busy), "%s", what);
	m->holder = holder;
}

int machine_lock(struct machine *m, struct call *holder, const char *what,
		 struct err *e)
{
	int rc = 0;

	pthread_mutex_lock(&m->lock);
	if (m->busy[0])
		rc = say_busy(m, e);
	else
		set_busy(m, holder, what);
	pthread_mutex_unlock(&m->lock);
	return rc;
}

int machine_take(struct machine *m, const char *what, const char *why,
		 struct deadline d, bool *ret_ended, struct err *e)
{
	struct timespec until = deadline_timespec(d);
	bool ended = false;
	int rc = 0;

	pthread_mutex_lock(&m->lock);
	while (m->busy[0] && !deadline_passed(d)) {
		if (m->holder) {
			call_end(m->holder, why);
			m->holder = NULL;
			ended = true;
			/* a guest that does not answer holds it no longer */
			if (m->guest)
				guest_drop(m->guest);
		}
		pthread_cond_timedwait(&m->freed, &m->lock, &until);
	}
	if (m->busy[0])
		rc = say_busy(m, e);
	else
		set_busy(m, NULL, what);
	pthread_mutex_unlock(&m->lock);
	if (rc == 0)
		*ret_ended = ended;
	return rc;
}

void machine_unlock(struct machine *m)
{
	pthread_mutex_lock(&m->lock);
	set_busy(m, NULL, "");
	pthread_cond_broadcast(&m->freed);
	pthread_mutex_unlock(&m->lock);
}

/* -- the guest ---------------------------------------------------------------
 */

static int make_guest(struct machine *m, const struct vm_record *v,
		      struct guest **ret, struct err *e)
{
	const struct home *h = &m->all->service->home;
	autofree char *key = hostkey_client_path(h, v->name);
	autofree char *pin = NULL;
	struct guest_config config = {
		.name = v->name,
		.user = GUEST_USER,
		.address = v->address,
		.port = GUEST_PORT,
		.key_path = key,
	};
	struct err why = {0};
	bool none;

	if (hostkey_read(h, v->name, &pin, &why)) {
		none = why.code == ERR_NOT_FOUND;
		return err_set(e, ERR_DENIED,
			       "Host key verification failed: %s%s: boxery pin "
			       "%s reads it through the guest agent; without "
			       "one, boxery pin %s --from-guest trusts what "
			       "answers",
			       none ? "no key is pinned for " : "",
			       none ? v->name : err_msg(&why), v->name,
			       v->name);
	}
	config.host_key = pin;
	return guest_new(&config, ret, e);
}

static int get_guest(struct machine *m, const struct vm_record *v,
		     struct guest **ret, struct err *e)
{
	int rc = 0;

	pthread_mutex_lock(&m->lock);
	if (m->guest)
		guest_set_address(m->guest, v->address, GUEST_PORT);
	else
		rc = make_guest(m, v, &m->guest, e);
	if (rc == 0)
		*ret = m->guest;
	pthread_mutex_unlock(&m->lock);
	return rc;
}

static int explain_phase(const struct vm_record *v, struct err *e)
{
	switch (v->phase) {
	case VM_READY:
		return 0;
	case VM_CREATING:
		return err_set(e, ERR_STATE, "%s is still being created",
			       v->name);
	case VM_REMOVING:
		return err_set(e, ERR_STATE,
			       "%s is being removed (boxery rm %s finishes it)",
			       v->name, v->name);
	case VM_BROKEN:
	default:
		return err_set(e, ERR_STATE,
			       "%s was not completely made: boxery rm %s",
			       v->name, v->name);
	}
}

static int explain_off(const struct machine *m, struct err *e)
{
	struct vm_record v;
	int rc = 0;

	if (registry_get(m->all->service->registry, m->name, &v, NULL) == 0) {
		rc = isolation_check_stopped(&v, e);
		vm_record_finish(&v);
	}
	return rc ? -1
		  : err_set(e, ERR_STATE, "%s is off: boxery start %s", m->name,
			    m->name);
}

static int explain_state(const struct machine *m, enum machine_state state,
			 struct err *e)
{
	switch (state) {
	case MACHINE_RUNNING:
		return 0;
	case MACHINE_PAUSED:
		return err_set(e, ERR_STATE, "%s is paused: boxery start %s",
			       m->name, m->name);
	case MACHINE_NOSPACE:
		return err_set(e, ERR_STATE,
			       "%s is stopped because the host's disk is full: "
			       "make room in %s, then boxery start %s",
			       m->name, m->all->service->home.data, m->name);
	case MACHINE_CRASHED:
		return err_set(e, ERR_STATE, "%s has crashed: boxery start %s",
			       m->name, m->name);
	case MACHINE_ABSENT:
		return err_set(e, ERR_STATE,
			       "libvirt does not know %s any more: boxery "
			       "start %s, or boxery rm %s",
			       m->name, m->name, m->name);
	case MACHINE_OFF:
	default:
		return explain_off(m, e);
	}
}

static int check_running(struct machine *m, struct err *e)
{
	struct backend *b = m->all->service->backend;
	enum machine_state state;
	bool believed;

	pthread_mutex_lock(&m->lock);
	believed = deadline_now_ms() < m->running_until_ms;
	pthread_mutex_unlock(&m->lock);
	if (believed)
		return 0;
	if (b->ops->state(b, m->name, &state, e) || explain_state(m, state, e))
		return -1;
	pthread_mutex_lock(&m->lock);
	m->running_until_ms = deadline_now_ms() + RUNNING_BELIEVED_MS;
	pthread_mutex_unlock(&m->lock);
	return 0;
}

int machine_check_runs(struct machine *m, struct err *e)
{
	struct backend *b = m->all->service->backend;
	enum machine_state state;
	bool busy;

	pthread_mutex_lock(&m->lock);
	busy = m->busy[0];
	pthread_mutex_unlock(&m->lock);
	if (busy)
		return 0;
	if (b->ops->state(b, m->name, &state, e))
		return -1;
	return explain_state(m, state, e);
}

void machines_explain(struct machines *m, const struct call *c, struct err *e)
{
	struct machine *used[2]; /* a copy has two */
	unsigned count = 0;

	const struct op *op = call_op(c);
	const char *verb = op->verb && !call_from_agent(c) ? op->verb
							   : op->name;

	if (e->code != ERR_UNAVAILABLE && e->code != ERR_TIMEOUT)
		return;
	/* what makes, boots or ends a machine knows better why it failed */
	if ((op->flags & OP_LOCKS_VM) || strcmp(op->name, "vm_new") == 0)
		return;
	pthread_mutex_lock(&m->lock);
	for (const struct use *u = m->uses; u; u = u->next) {
		if (u->who == c && count < ARRAY_COUNT(used))
			used[count++] = u->machine;
	}
	pthread_mutex_unlock(&m->lock);
	for (unsigned i = 0; i < count; i++) {
		struct err why = {0};

		if (machine_check_runs(used[i], &why) == 0 ||
		    why.code != ERR_STATE)
			continue;
		/* what it said on the way may hold where its output is kept */
		err_set(e, ERR_STATE, "%s (%s ended early: %s)", err_msg(&why),
			verb, err_msg(e));
		return;
	}
}

int machine_guest(struct machine *m, struct guest **ret, struct err *e)
{
	struct vm_record v;
	int rc;

	if (registry_get(m->all->service->registry, m->name, &v, e))
		return -1;
	rc = explain_phase(&v, e);
	if (rc == 0)
		rc = check_running(m, e);
	if (rc == 0)
		rc = get_guest(m, &v, ret, e);
	vm_record_finish(&v);
	return rc;
}

int machine_guest_booting(struct machine *m, struct guest **ret, struct err *e)
{
	struct vm_record v;
	int rc;

	if (registry_get(m->all->service->registry, m->name, &v, e))
		return -1;
	rc = get_guest(m, &v, ret, e);
	vm_record_finish(&v);
	return rc;
}

/* -- letting go --------------------------------------------------------------
 */

static void drop_desktop(struct machine *m)
{
	struct machine_desktop *d;
	struct err e = {0};

	/* its connection is gone by now, so whoever holds it is soon done */
	d = machine_desktop_lock(m, deadline_in_ms(DROP_DESKTOP_MS), &e);
	if (!d) {
		log_warn("%s: its desktop is not let go: %s", m->name,
			 err_msg(&e));
		return;
	}
	if (d->state && d->drop)
		d->drop(d->state);
	*d = (struct machine_desktop){NULL, NULL, NULL};
	pthread_mutex_lock(&m->lock);
	m->desktop_how = NULL;
	m->desktop_rest_at_ms = 0;
	pthread_mutex_unlock(&m->lock);
	machine_desktop_unlock(m);
}

void machine_drop(struct machine *m)
{
	pthread_mutex_lock(&m->lock);
	m->running_until_ms = 0;
	if (m->guest)
		guest_drop(m->guest);
	pthread_mutex_unlock(&m->lock);
	drop_desktop(m);
}

void machine_forget(struct machine *m)
{
	machine_drop(m);
	pthread_mutex_lock(&m->lock);
	if (m->guest) {
		m->dead = alloc_resize(m->dead, m->dead_count + 1,
				       sizeof(struct guest *));
		m->dead[m->dead_count++] = TAKE_PTR(m->guest);
	}
	pthread_mutex_unlock(&m->lock);
}

/* -- the desktop's slot ------------------------------------------------------
 */

struct machine_desktop *machine_desktop_lock(struct machine *m,
					     struct deadline d, struct err *e)
{
	struct timespec until = deadline_timespec(d);
	bool mine;

	pthread_mutex_lock(&m->lock);
	while (m->desktop_taken && !deadline_passed(d))
		pthread_cond_timedwait(&m->desktop_free, &m->lock, &until);
	mine = !m->desktop_taken;
	m->desktop_taken = true;
	pthread_mutex_unlock(&m->lock);
	if (mine)
		return &m->desktop;
	err_set(e, ERR_TIMEOUT, "the desktop of %s is busy with another call",
		m->name);
	return NULL;
}

void machine_desktop_unlock(struct machine *m)
{
	pthread_mutex_lock(&m->lock);
	m->desktop_taken = false;
	pthread_cond_signal(&m->desktop_free);
	pthread_mutex_unlock(&m->lock);
}

void machine_desktop_note(struct machine *m, const char *how, int64_t rest_ms)
{
	bool first;

	pthread_mutex_lock(&m->lock);
	first = m->desktop_rest_at_ms == 0;
	m->desktop_how = how;
	m->desktop_rest_at_ms = deadline_now_ms() + rest_ms;
	pthread_mutex_unlock(&m->lock);
	/* a time that is put off is found out when the old one comes */
	if (first) {
		pthread_mutex_lock(&m->all->lock);
		pthread_cond_signal(&m->all->changed);
		pthread_mutex_unlock(&m->all->lock);
	}
}

const char *machine_desktop_how(struct machine *m)
{
	const char *how;

	pthread_mutex_lock(&m->lock);
	how = m->desktop_how;
	pthread_mutex_unlock(&m->lock);
	return how;
}

struct machine_display machine_display(const struct machine *m)
{
	(void)m; /* all guests are made of one kind of image */
	return (struct machine_display){XAUTHORITY, X_SOCKET, X_DISPLAY};
}
