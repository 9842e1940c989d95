/*
 * vm_wait: for a job, for a machine, for what its desktop shows, or for a time.
 *
 * A wait looks again and again, each time in a turn of its own, so that others
 * go on working on that desktop meanwhile. A look at a desktop on which nothing
 * was drawn is one round trip.
 */
#include "base/alloc.h"
#include "base/json.h"
#include "vmctl/deskconn.h"
#include "vmctl/guest.h"
#include "vmctl/handlers.h"
#include "vmctl/job.h"
#include "vmctl/machines.h"
#include "vmctl/ops_desktop.h"
#include "vmctl/ready.h"
#include "vmctl/service.h"

#include <ctype.h>
#include <string.h>

enum {
	LOOK_MS = 50,	  /* between looks at a desktop */
	PROCESS_MS = 250, /* … at the processes of a guest */
	PGREP_MS = 10000, /* for one of those */
	COMM_LEN = 15,	  /* what Linux keeps of a program's name */
};

/* Until the time is over or the call is cancelled. */
static int wait_time(struct call *c, struct deadline d, struct err *e)
{
	struct pollfd p = {.fd = call_cancel_fd(c), .events = POLLIN};
	struct err why = {0};

	if (deadline_poll(&p, 1, d, "waiting", &why) < 0 &&
	    why.code != ERR_TIMEOUT) {
		*e = why;
		return -1;
	}
	return call_check(c, e);
}

/* The result or the state of a job. */
static int wait_job(struct call *c, const char *id, struct deadline d,
		    json_t **ret_result, struct err *e)
{
	struct jobs_asker asker = {
		.client = call_client(c),
		.agent = call_from_agent(c),
		.vms = call_scope(c),
		.cancel_fd = call_cancel_fd(c),
	};

	return jobs_wait(call_service(c)->jobs, &asker, id, d, ret_result, e);
}

/* Until it answers; that it does not yet is an answer too. */
static int wait_ready(struct call *c, const char *vm, struct deadline d,
		      json_t **ret_result, struct err *e)
{
	struct service *s = call_service(c);
	struct vm_record v;
	struct machine *m;
	struct err why = {0};
	bool ready;

	if (machines_get(s->machines, c, vm, &m, e) != 0 ||
	    registry_get(s->registry, vm, &v, e) != 0)
		return -1;
	ready = (v.phase != VM_READY || machine_check_runs(m, &why) == 0) &&
		ready_wait(c, m, &v, d, &why) == 0;
	vm_record_finish(&v);
	if (!ready && why.code != ERR_TIMEOUT) {
		*e = why;
		return -1;
	}
	*ret_result = json_pack("{s:s, s:b}", "vm", vm, "ready", (int)ready);
	return 0;
}

/* ---- what a machine does ---- */

struct wait {
	struct call *call;
	const char *vm;
	const char *match;
	const struct coords_region *region; /* NULL: all of the desktop */
	int64_t settle_ms;
	uint64_t generation; /* of the last look; 0: there was none */
	int64_t still_ms;    /* since when nothing has changed */
};
/* Is it so now? */
typedef int look_fn(struct wait *w, bool *ret, struct err *e);

/* What changed since the last look; the first only starts. */
static int glance(struct wait *w, bool *ret_changed, struct err *e)
{
	struct desktop_glance g = {0};
	struct deskconn_visit v;
	int rc;

	if (deskconn_enter(w->call, w->vm, &v, e) != 0)
		return -1;
	rc = desktop_glance(v.desktop, &v.turn, w->region, w->generation, &g,
			    e);
	if (deskconn_leave(&v, rc, false) != 0)
		return -1;
	w->generation = g.generation;
	*ret_changed = g.changed;
	return 0;
}

static int look_stable(struct wait *w, bool *ret, struct err *e)
{
	bool first = w->generation == 0, changed;

	if (glance(w, &changed, e) != 0)
		return -1;
	if (first || changed)
		w->still_ms = deadline_now_ms();
	*ret = deadline_now_ms() - w->still_ms >= w->settle_ms;
	return 0;
}

static int look_change(struct wait *w, bool *ret, struct err *e)
{
	return glance(w, ret, e);
}

static int look_window(struct wait *w, bool *ret, struct err *e)
{
	struct deskconn_visit v;
	int rc;

	if (deskconn_enter(w->call, w->vm, &v, e) != 0)
		return -1;
	rc = desktop_has_window(v.desktop, &v.turn, w->match, ret, e);
	return deskconn_leave(&v, rc, false);
}

/* pgrep(1) takes a pattern: the name with all but letters and digits quoted. */
static void to_pattern(const char *name, char ret[2 * COMM_LEN + 1])
{
	for (unsigned i = 0; i < COMM_LEN && name[i]; i++) {
		if (!isalnum((unsigned char)name[i]))
			*ret++ = '\\';
		*ret++ = name[i];
	}
	*ret = '\0';
}

static int look_process(struct wait *w, bool *ret, struct err *e)
{
	char pattern[2 * COMM_LEN + 1];
	const char *const argv[] = {"pgrep", "-x", "--", pattern, NULL};
	const struct guest_run run = {.argv = argv,
				      .cancel_fd = call_cancel_fd(w->call)};
	struct deadline d =
		deadline_min(call_deadline(w->call), deadline_in_ms(PGREP_MS));
	struct guest_exit how;
	struct machine *m;
	struct guest *g;

	to_pattern(w->match, pattern);
	if (machines_get(call_service(w->call)->machines, w->call, w->vm, &m,
			 e) != 0 ||
	    machine_guest(m, &g, e) != 0 || guest_run(g, &run, d, &how, e) != 0)
		return -1;
	/* 1: none; beyond, it did not work */
	if (how.status != 0 && how.status != 1)
		return err_set(e, ERR_STATE, "pgrep in %s ended with status %d",
			       w->vm, how.status);
	*ret = how.status == 0;
	return 0;
}

static const struct until {
	const char *name;
	look_fn *look;
	int64_t pause_ms;
	bool needs_match;
} untils[] = {
	{"stable", look_stable, LOOK_MS, false},
	{"change", look_change, LOOK_MS, false},
	{"window", look_window, LOOK_MS, true},
	{"process", look_process, PROCESS_MS, true},
};

static const struct until *find_until(const char *name)
{
	for (size_t i = 0; i < ARRAY_COUNT(untils); i++) {
		if (strcmp(untils[i].name, name) == 0)
			return &untils[i];
	}
	return NULL;
}

/* *ret_met: it came to be so before d. */
static int wait_until(struct wait *w, const struct until *u, struct deadline d,
		      bool *ret_met, struct err *e)
{
	for (;;) {
		if (u->look(w, ret_met, e) != 0)
			return -1;
		if (*ret_met || deadline_passed(d))
			return 0;
		if (wait_time(w->call,
			      deadline_min(deadline_in_ms(u->pause_ms), d),
			      e) != 0)
			return -1;
	}
}

static int64_t number_at(const json_t *array, size_t i)
{
	return json_integer_value(json_array_get(array, i));
}

static int wait_for(struct call *c, const json_t *args, struct deadline d,
		    json_t *result, struct err *e)
{
	const json_t *r = json_object_get(args, "region");
	const struct coords_region region = {number_at(r, 0), number_at(r, 1),
					     number_at(r, 2), number_at(r, 3)};
	const char *name = json_string_value(json_object_get(args, "until"));
	const struct until *u = find_until(name);
	struct wait w = {
		.call = c,
		.vm = json_string_value(json_object_get(args, "vm")),
		.match = json_string_value(json_object_get(args, "match")),
		.region = json_is_array(r) ? &region : NULL,
		.settle_ms =
			json_integer_value(json_object_get(args, "settle_ms")),
	};
	bool met;

	if (!w.vm)
		return err_set(e, ERR_INVALID, "until %s: on which vm?", name);
	if (u->needs_match && !w.match)
		return err_set(e, ERR_INVALID, "until %s needs match", name);
	if (wait_until(&w, u, d, &met, e) != 0)
		return -1;
	json_object_set_new(result, "met", json_boolean(met));
	return 0;
}

int op_vm_wait(struct call *c, const json_t *args, json_t **ret_result,
	       struct err *e)
{
	double seconds = json_number_value(json_object_get(args, "seconds"));
	bool shot = json_is_true(json_object_get(args, "screenshot"));
	struct deadline d = deadline_in_ms((int64_t)(seconds * 1000));
	const int64_t start_ms = deadline_now_ms();
	auto_json json_t *result = json_object();
	const char *job = NULL, *vm = NULL, *until = NULL;

	d = deadline_min(d, call_deadline(c));
	if (json_opt_str(args, "job", &job, e) != 0 ||
	    json_opt_str(args, "until", &until, e) != 0 ||
	    json_opt_str(args, "vm", &vm, e) != 0)
		return -1;
	if (job)
		return wait_job(c, job, d, ret_result, e);
	if (shot && !vm)
		return err_set(e, ERR_INVALID,
			       "vm_wait: a screenshot of which "
			       "vm?");
	if (vm && !shot && !until)
		return wait_ready(c, vm, d, ret_result, e);
	if ((until ? wait_for(c, args, d, result, e) : wait_time(c, d, e)) !=
		    0 ||
	    (shot && ops_desktop_screenshot(c, vm, result, e) != 0))
		return -1;
	json_object_set_new(
		result, "waited_s",
		json_real((double)(deadline_now_ms() - start_ms) / 1000));
	*ret_result = TAKE_PTR(result);
	return 0;
}
