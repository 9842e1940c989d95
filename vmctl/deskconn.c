/*
 * Theory of operation. The machine's desktop slot holds a struct deskconn from
 * the first call on; its struct desktop comes and goes with the connection. A
 * connection that was idle may have died unnoticed (the guest rebooted, X was
 * restarted), so before input it is tried with a round trip: input itself is
 * never repeated, because nobody can know how much of it arrived.
 */
#include "vmctl/deskconn.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "base/log.h"
#include "vmctl/guest.h"
#include "vmctl/registry.h"
#include "vmctl/service.h"

#include <string.h>

enum {
	XAUTHORITY_LEN = 64 * 1024,
	/* clients whose last screenshot is remembered, per machine */
	SEEN_COUNT = 64,
	/* a connection used within this time is taken to be alive */
	FRESH_MS = 1000,
	/* … and else must answer within this, also in an emulated guest */
	TRY_MS = 5000,
	/* nobody has used it for so long: its pixels are let go of */
	REST_AFTER_MS = 5 * 60 * 1000,
	/* … for which it has this long, beside whoever waits for other rests */
	REST_MS = 2000,
	/* a button that is held, by a client that does nothing any more, is let
	 * go of after this */
	HELD_MS = 30 * 1000,
	/* … for which the desktop has this long */
	LET_GO_MS = 3000,
	/* the answer must reach an MCP client in time */
	TURN_MS = LIMIT_ANSWER_MS - 5000,
};

struct seen {
	char *client;
	struct coords_size size;
	uint64_t generation; /* of the last full screenshot */
	uint64_t at;	     /* counted, to find the oldest */
};

struct deskconn {
	struct desktop *desktop; /* NULL: not connected */
	struct desktop_memory *memory;
	bool dirty; /* an earlier connection may have held keys or buttons */
	int64_t used_at_ms;
	struct seen seen[SEEN_COUNT];
	uint64_t clock;
};

static void drop(void *state)
{
	struct deskconn *k = state;

	if (!k)
		return;
	desktop_free(k->desktop);
	desktop_memory_free(k->memory);
	for (unsigned i = 0; i < SEEN_COUNT; i++)
		free(k->seen[i].client);
	free(k);
}

/* No X server answers: will one? A VM that was made without a desktop may have
 * got one since, so this is asked only now. */
static int not_up(const struct deskconn_visit *v, struct err *e)
{
	const char *name = machine_name(v->machine);
	struct vm_record r = {.desktop = true};

	if (registry_get(call_service(v->call)->registry, name, &r, NULL) == 0)
		vm_record_finish(&r);
	if (!r.desktop)
		return err_set(e, ERR_STATE,
			       "%s has no desktop: it was made headless or "
			       "from another image; commands and copies work",
			       name);
	return err_set(e, ERR_STATE,
		       "the desktop of %s is not up yet: try again in some "
		       "seconds",
		       name);
}

static int open_desktop(struct deskconn_visit *v, struct err *e)
{
	const struct machine_display at = machine_display(v->machine);
	struct desktop_config config = {.display = at.number,
					.memory = v->conn->memory};
	struct guest *g;
	struct buf xauth;
	int rc = -1;

	if (machine_guest(v->machine, &g, e) != 0)
		return -1;
	buf_init(&xauth, XAUTHORITY_LEN);
	if (guest_read_file(g, at.xauthority, v->turn.deadline, &xauth, e) !=
	    0) {
		if (e->code == ERR_NOT_FOUND)
			not_up(v, e);
		goto out;
	}
	if (guest_open_unix(g, at.socket, v->turn.deadline, &config.fd, e) !=
	    0) {
		if (e->code == ERR_STATE || e->code == ERR_NOT_FOUND)
			not_up(v, e);
		goto out;
	}
	config.xauth = xauth.data;
	config.xauth_len = xauth.len;
	rc = desktop_open(&config, v->turn.deadline, &v->conn->desktop, e);
	if (rc != 0 && e->code == ERR_NOT_FOUND)
		not_up(v, e);
out:
	buf_finish(&xauth);
	return rc;
}

static void close_desktop(struct deskconn *k)
{
	k->dirty |= desktop_holds(k->desktop);
	desktop_free(k->desktop);
	k->desktop = NULL;
}

/* When it fails, the connection that held it is gone with the next call, which
 * releases what it held. */
static void let_go(struct deskconn *k)
{
	const struct turn turn = {.deadline = deadline_in_ms(LET_GO_MS),
				  .cancel_fd = -1};
	struct err e = {0};

	if (desktop_holds(k->desktop) && !desktop_broken(k->desktop) &&
	    desktop_release(k->desktop, &turn, &e) != 0)
		log_debug("a desktop holds what it held: %s", err_msg(&e));
}

void deskconn_let_go(struct deskconn_visit *v)
{
	let_go(v->conn);
}

/* What comes of it does not matter: a connection that broke is found out by the
 * next call. */
static void rest(void *state)
{
	const struct turn turn = {.deadline = deadline_in_ms(REST_MS),
				  .cancel_fd = -1};
	struct deskconn *k = state;

	if (!k->desktop)
		return;
	let_go(k);
	desktop_rest(k->desktop, &turn);
	if (desktop_broken(k->desktop))
		close_desktop(k);
}

/* A connection that does not answer is closed, to be made anew. */
static void try_idle(struct deskconn_visit *v)
{
	struct deskconn *k = v->conn;
	struct turn turn = v->turn;
	struct err e = {0};

	if (!k->desktop || deadline_now_ms() - k->used_at_ms < FRESH_MS)
		return;
	turn.deadline = deadline_min(turn.deadline, deadline_in_ms(TRY_MS));
	if (desktop_check(k->desktop, &turn, &e) == 0)
		return;
	log_debug("%s: desktop: %s", machine_name(v->machine), err_msg(&e));
	close_desktop(k);
}

static int connect_desktop(struct deskconn_visit *v, struct err *e)
{
	struct deskconn *k = v->conn;

	try_idle(v);
	if (k->desktop)
		return 0;
	if (open_desktop(v, e) != 0)
		return -1;
	if (k->dirty && desktop_release(k->desktop, &v->turn, e) != 0) {
		close_desktop(k);
		return -1;
	}
	k->dirty = false;
	return 0;
}

static struct seen *find_seen(struct deskconn *k, const char *client)
{
	for (unsigned i = 0; i < SEEN_COUNT; i++) {
		if (k->seen[i].client && strcmp(k->seen[i].client, client) == 0)
			return &k->seen[i];
	}
	return NULL;
}

int deskconn_enter(struct call *c, const char *vm, struct deskconn_visit *ret,
		   struct err *e)
{
	struct deskconn_visit v = {
		.call = c,
		.turn = {.deadline = deadline_min(call_deadline(c),
						  deadline_in_ms(TURN_MS)),
			 .cancel_fd = call_cancel_fd(c),
			 .tier = call_high_tier(c) ? COORDS_HIGH
						   : COORDS_STANDARD}};
	struct machine_desktop *slot;
	const struct seen *s;
	struct err local = {0};

	if (!e)
		e = &local; /* its code is looked at */
	if (machines_get(call_service(c)->machines, c, vm, &v.machine, e) != 0)
		return -1;
	slot = machine_desktop_lock(v.machine, v.turn.deadline, e);
	if (!slot)
		return -1;
	if (!slot->state) {
		struct deskconn *k = ALLOC_NEW(struct deskconn);

		k->memory = desktop_memory_new();
		/* of a service that ended before this one */
		k->dirty = true;
		slot->state = k;
		slot->drop = drop;
		slot->rest = rest;
	}
	v.conn = slot->state;
	if (call_check(c, e) != 0 || connect_desktop(&v, e) != 0) {
		machine_desktop_unlock(v.machine);
		return -1;
	}
	v.desktop = v.conn->desktop;
	s = find_seen(v.conn, call_client(c));
	if (s) {
		v.turn.seen = s->size;
		v.turn.seen_generation = s->generation;
	}
	*ret = v;
	return 0;
}

int deskconn_leave(struct deskconn_visit *v, int rc, bool was_input)
{
	struct deskconn *k = v->conn;
	bool holds;
	const char *how =
		desktop_is_told(k->desktop)
			? "kept by DAMAGE: only what changes is fetched"
			: "no DAMAGE: fetched whole for each look";

	if (rc != 0 && was_input)
		let_go(k);
	holds = desktop_holds(k->desktop);
	k->used_at_ms = deadline_now_ms();
	if (desktop_broken(k->desktop)) {
		k->dirty |= was_input;
		close_desktop(k);
		how = NULL;
	}
	machine_desktop_note(v->machine, how, holds ? HELD_MS : REST_AFTER_MS);
	machine_desktop_unlock(v->machine);
	*v = (struct deskconn_visit){0};
	return rc;
}

void deskconn_saw(struct deskconn_visit *v, struct coords_size size,
		  uint64_t generation)
{
	struct deskconn *k = v->conn;
	struct seen *s = find_seen(k, call_client(v->call));

	for (unsigned i = 0; !s && i < SEEN_COUNT; i++) {
		if (!k->seen[i].client)
			s = &k->seen[i];
	}
	if (!s) {
		s = &k->seen[0];
		for (unsigned i = 1; i < SEEN_COUNT; i++) {
			if (k->seen[i].at < s->at)
				s = &k->seen[i];
		}
	}
	if (!s->client || strcmp(s->client, call_client(v->call)) != 0) {
		free(s->client);
		*s = (struct seen){.client = alloc_str(call_client(v->call))};
	}
	s->size = size;
	if (generation)
		s->generation = generation;
	s->at = ++k->clock;
}
