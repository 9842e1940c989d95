/*
 * Theory of operation. A program looks a key up in the map when it gets to the
 * event, perhaps long after we sent it. So
 *
 * - all keysyms the layout lacks are bound before the first key, as many as
 *   there are keycodes for, in one change (each costs every client);
 * - a binding stays until its keycode is needed for another keysym, and
 *   before that the focused program is asked (a window manager's ping, which
 *   queues behind the keys) whether it has caught up; one that does not
 *   answer pings is given time until the screen comes to rest;
 * - nothing is unbound after typing: the server remembers for us which
 *   keycodes are ours (x11_bound_set).
 *
 * What a modifier or lock does, in contrast, is fixed in the event when it is
 * made, so those are put aside before and given back right after.
 *
 * Keys are paced by the server (XTEST's time field), not by us, so the network
 * adds nothing.
 */
#include "desktop/typing.h"
#include "base/cleanup.h"
#include "base/log.h"

#include <string.h>
#include <xkbcommon/xkbcommon-keysyms.h>

enum {
	KEY_MS = 1,	     /* between keys */
	CHORD_MS = 5,	     /* between chords: programs act on them */
	CHUNK_COUNT = 64,    /* keys between two looks at the turn */
	PONG_MS = 1000,	     /* for one ping */
	PONG_ALL_MS = 20000, /* for all of them */
	/* a program that knows no ping is given this time after its last keys,
	 * and then until it has drawn what they did */
	NO_PING_MS = 100,
	NO_PING_KEY_MS = 10,
	STILL_MS = 250,
	STILL_ALL_MS = 5000,
	/* for a person to let go of a modifier */
	HELD_MS = 1000,
	LOOK_MS = 20,
	/* longest text at full length; beyond, not every key is paced */
	PACED_COUNT = 20000,
};

void typing_init(struct typing *t)
{
	*t = (struct typing){.pressed = 1, .pressed_at_ms = deadline_now_ms()};
}

static int load(struct typing *t, struct x11 *x, struct err *e)
{
	bool unused[X11_KEYCODES], bound[X11_KEYCODES];

	if (x11_keyboard_map(x, &t->keyboard, e) != 0 ||
	    x11_keyboard_unused(x, unused, e) != 0 ||
	    x11_bound_get(x, bound, e) != 0)
		return -1;
	keymap_load(&t->map, &t->keyboard, unused, bound);
	return 0;
}

/* ---- locks and held modifiers, put aside ---- */

struct aside {
	bool relock;
	uint8_t locked_mods, locked_group;
	uint8_t lifted[X11_KEYCODES]; /* keycodes of modifiers we let go */
	unsigned lifted_count;
};

static void lift(struct typing *t, struct x11 *x, const struct x11_key_state *s,
		 struct aside *a)
{
	for (unsigned i = 0; i < X11_KEYCODES; i++) {
		if (!s->down[i] || !t->keyboard.keys[i].mods)
			continue;
		x11_fake_key(x, (uint8_t)i, false, 0);
		a->lifted[a->lifted_count++] = (uint8_t)i;
	}
}

/* A key held on another device (a viewer's) does not go up by our release:
 * wait for its owner, and do not press it again in their stead. */
static int await_lifted(struct x11 *x, struct aside *a, const struct turn *turn,
			struct err *e)
{
	struct deadline d =
		deadline_min(deadline_in_ms(HELD_MS), turn->deadline);
	struct x11_key_state s;
	unsigned kept = 0;

	for (bool first = true;; first = false) {
		if (x11_key_state(x, &s, e) != 0)
			return -1;
		for (unsigned i = 0; first && i < a->lifted_count; i++) {
			if (!s.down[a->lifted[i]])
				a->lifted[kept++] = a->lifted[i];
		}
		if (first)
			a->lifted_count = kept;
		if (s.base_mods == 0)
			return 0;
		if (deadline_passed(d))
			return err_set(e, ERR_BUSY,
				       "somebody holds a modifier key down on "
				       "this desktop: try again");
		deadline_sleep_ms(LOOK_MS);
	}
}

/* On the way out, after a failure too: e keeps the first reason. */
static int give_back(struct x11 *x, const struct aside *a, int rc,
		     struct err *e)
{
	for (unsigned i = 0; i < a->lifted_count; i++)
		x11_fake_key(x, a->lifted[i], true, 0);
	if (a->relock)
		x11_lock_state(x, a->locked_mods, a->locked_group);
	if (rc == 0)
		return x11_sync(x, e);
	if (x11_sync(x, NULL) != 0)
		log_debug("keys were cut off and locks not given back");
	return -1;
}

static int put_aside(struct typing *t, struct x11 *x, const struct turn *turn,
		     struct aside *ret, struct err *e)
{
	struct aside a = {0};
	struct x11_key_state s;

	if (x11_key_state(x, &s, e) != 0)
		return -1;
	a.locked_mods = s.locked_mods;
	a.locked_group = s.locked_group;
	a.relock = s.locked_mods || s.locked_group;
	lift(t, x, &s, &a);
	if (a.relock || s.latched_mods)
		x11_lock_state(x, 0, 0);
	if (s.base_mods && await_lifted(x, &a, turn, e) != 0)
		return give_back(x, &a, -1, e);
	*ret = a;
	return 0;
}

/* ---- changing the map ---- */

static int await_quiet(struct typing *t, struct x11 *x, const struct turn *turn,
		       struct err *e)
{
	struct deadline all = deadline_in_ms(PONG_ALL_MS);
	enum x11_pong pong;
	int64_t wait_ms;

	for (;;) {
		if (turn_check(turn, "typing", e) != 0 ||
		    x11_ping(x, PONG_MS, &pong, e) != 0)
			return -1;
		if (pong != X11_NO_PONG)
			break;
		if (deadline_passed(all))
			return err_set(e, ERR_STATE,
				       "the program that has the focus does "
				       "not react");
	}
	wait_ms = t->pressed_at_ms + NO_PING_MS +
		  NO_PING_KEY_MS * (int64_t)t->pressed - deadline_now_ms();
	if (pong == X11_PONG_NEVER && wait_ms > 0) {
		deadline_sleep_ms(wait_ms);
		if (x11_await_still(x, STILL_MS, STILL_ALL_MS, e) != 0)
			return -1;
	}
	t->pressed = 0;
	return 0;
}

static int bind_plan(struct typing *t, struct x11 *x,
		     const struct keymap_plan *plan, const struct turn *turn,
		     struct err *e)
{
	uint32_t keysyms[X11_KEYCODES];
	bool bound[X11_KEYCODES];

	if (!plan->binds)
		return 0;
	if (plan->recycles && t->pressed && await_quiet(t, x, turn, e) != 0)
		return -1;
	/* remembered first: a keycode that we lose track of is lost */
	keymap_bound(&t->map, bound);
	x11_bound_set(x, bound);
	keymap_fresh(&t->map, keysyms);
	return x11_bind(x, keysyms, e);
}

/* Capped: a program that is farther behind cannot be waited for blindly. */
static void note_pressed(struct typing *t, size_t count)
{
	t->pressed += (unsigned)count;
	if (t->pressed > CHUNK_COUNT)
		t->pressed = CHUNK_COUNT;
	t->pressed_at_ms = deadline_now_ms();
}

/* ---- text ---- */

struct text {
	const uint32_t *keysyms;
	size_t count, done;
	uint8_t shift_keycode;
	unsigned pace_every; /* one in so many keys is paced */
};

/* Press up to CHUNK_COUNT keys of the plan; Shift is held over neighbours that
 * need it. */
static int press_chunk(struct typing *t, struct x11 *x, struct text *text,
		       size_t count, struct err *e)
{
	bool shift = false;

	for (size_t i = 0; i < count; i++) {
		size_t at = text->done + i;
		struct keymap_stroke stroke = {0};

		if (!keymap_find(&t->map, text->keysyms[at], &stroke))
			return err_set(e, ERR_INTERNAL, "a key is not bound");
		if (stroke.shift != shift)
			x11_fake_key(x, text->shift_keycode, stroke.shift, 0);
		shift = stroke.shift;
		x11_fake_key(x, stroke.keycode, true,
			     at % text->pace_every == 0 ? KEY_MS : 0);
		x11_fake_key(x, stroke.keycode, false, 0);
	}
	if (shift)
		x11_fake_key(x, text->shift_keycode, false, 0);
	note_pressed(t, count);
	if (x11_sync(x, e) != 0)
		return -1;
	text->done += count;
	return 0;
}

static int press_text(struct typing *t, struct x11 *x, struct text *text,
		      const struct turn *turn, struct err *e)
{
	while (text->done < text->count) {
		struct keymap_plan plan;
		size_t upto;

		if (keymap_plan(&t->map, text->keysyms + text->done,
				text->count - text->done, &plan, e) != 0 ||
		    bind_plan(t, x, &plan, turn, e) != 0)
			return -1;
		upto = text->done + plan.count;
		while (text->done < upto) {
			size_t n = upto - text->done;

			if (n > CHUNK_COUNT)
				n = CHUNK_COUNT;
			if (turn_check(turn, "typing", e) != 0 ||
			    press_chunk(t, x, text, n, e) != 0)
				return -1;
		}
	}
	return 0;
}

int typing_text(struct typing *t, struct x11 *x, const uint32_t *keysyms,
		size_t count, const struct turn *turn, struct err *e)
{
	struct text text = {.keysyms = keysyms,
			    .count = count,
			    .pace_every = 1 + (unsigned)(count / PACED_COUNT)};
	struct keymap_stroke shift;
	struct aside aside = {0};
	int rc;

	if (load(t, x, e) != 0)
		return -1;
	if (!keymap_find(&t->map, XKB_KEY_Shift_L, &shift) || shift.shift)
		return err_set(e, ERR_STATE,
			       "the guest's keyboard has no Shift key");
	text.shift_keycode = shift.keycode;
	if (put_aside(t, x, turn, &aside, e) != 0)
		return -1;
	rc = press_text(t, x, &text, turn, e);
	if (rc != 0)
		err_wrap(e, "typed %zu of %zu characters", text.done, count);
	return give_back(x, &aside, rc, e);
}

/* ---- chords ---- */

static int find_modifier(const struct typing *t, uint32_t keysym,
			 uint8_t *ret_keycode, struct err *e)
{
	const uint32_t either[] = {keysym, keysym_twin(keysym)};
	struct keymap_stroke stroke;

	for (size_t i = 0; i < ARRAY_COUNT(either); i++) {
		if (!keymap_find(&t->map, either[i], &stroke) || stroke.shift)
			continue;
		*ret_keycode = stroke.keycode;
		return 0;
	}
	return err_set(e, ERR_STATE,
		       "the guest's keyboard layout lacks one of these "
		       "modifier keys");
}

static int find_modifiers(const struct typing *t,
			  const struct keysym_chord *chord,
			  uint8_t ret[KEYSYM_MODS_COUNT], struct err *e)
{
	for (unsigned i = 0; i < chord->mods_count; i++) {
		if (find_modifier(t, chord->mods[i], &ret[i], e) != 0)
			return -1;
	}
	return 0;
}

struct press {
	uint8_t keycodes[KEYSYM_MODS_COUNT + 2]; /* in order of pressing */
	unsigned count;
};

/* The keycodes of a chord; Shift is added when the key is above another. */
static int find_press(const struct typing *t, const struct keysym_chord *chord,
		      struct press *ret, struct err *e)
{
	struct keymap_stroke stroke = {0};
	struct press p = {.count = chord->mods_count};
	uint8_t shift;
	bool has_shift = false;

	if (find_modifiers(t, chord, p.keycodes, e) != 0)
		return -1;
	if (chord->key) {
		if (!keymap_find(&t->map, chord->key, &stroke))
			return err_set(e, ERR_INTERNAL, "a key is not bound");
		for (unsigned i = 0; i < chord->mods_count; i++)
			has_shift |= chord->mods[i] == XKB_KEY_Shift_L ||
				     chord->mods[i] == XKB_KEY_Shift_R;
		if (stroke.shift && !has_shift) {
			if (find_modifier(t, KEYSYM_SHIFT_L, &shift, e) != 0)
				return -1;
			p.keycodes[p.count++] = shift;
		}
		p.keycodes[p.count++] = stroke.keycode;
	}
	*ret = p;
	return 0;
}

/* Down, for so long, and up, also when that was cut short. */
static int hold_press(struct x11 *x, const struct press *p, int64_t ms,
		      const struct turn *turn, struct err *e)
{
	int rc;

	for (unsigned k = 0; k < p->count; k++)
		x11_fake_key(x, p->keycodes[k], true, 0);
	rc = x11_sync(x, e);
	if (rc == 0)
		rc = turn_pause(turn, ms, "holding keys", e);
	for (unsigned k = p->count; k-- > 0;)
		x11_fake_key(x, p->keycodes[k], false, 0);
	return rc;
}

static void tap_press(struct x11 *x, const struct press *p, bool first)
{
	for (unsigned k = 0; k < p->count; k++)
		x11_fake_key(x, p->keycodes[k], true,
			     k == 0 && !first ? CHORD_MS : 0);
	for (unsigned k = p->count; k-- > 0;)
		x11_fake_key(x, p->keycodes[k], false,
			     k + 1 == p->count ? KEY_MS : 0);
}

static int press_chords(struct typing *t, struct x11 *x,
			const struct typing_chords *c, const struct turn *turn,
			struct err *e)
{
	struct press presses[KEYSYM_CHORDS_COUNT];

	for (unsigned i = 0; i < c->count; i++) {
		if (find_press(t, &c->chords[i], &presses[i], e) != 0)
			return -1;
	}
	for (unsigned r = 0; r < c->repeat; r++) {
		if (turn_check(turn, "pressing keys", e) != 0)
			return -1;
		for (unsigned i = 0; i < c->count; i++) {
			if (!c->hold_ms)
				tap_press(x, &presses[i], r == 0 && i == 0);
			else if (hold_press(x, &presses[i], c->hold_ms, turn,
					    e) != 0)
				return -1;
		}
		note_pressed(t, c->count);
		if (x11_sync(x, e) != 0)
			return -1;
	}
	return 0;
}

/* Keys that no layout has are bound like characters, all before the first. */
static int bind_chords(struct typing *t, struct x11 *x,
		       const struct typing_chords *c, const struct turn *turn,
		       struct err *e)
{
	uint32_t keysyms[KEYSYM_CHORDS_COUNT];
	struct keymap_plan plan;
	size_t count = 0;

	for (unsigned i = 0; i < c->count; i++) {
		if (c->chords[i].key)
			keysyms[count++] = c->chords[i].key;
	}
	if (keymap_plan(&t->map, keysyms, count, &plan, e) != 0)
		return -1;
	if (plan.count < count)
		return err_set(e, ERR_LIMIT,
			       "too many keys that the guest's layout lacks: "
			       "press them in several calls");
	return bind_plan(t, x, &plan, turn, e);
}

/* Keys may have toggled locks, starting from none: apply that to what there
 * was before. */
static int merge_locks(struct x11 *x, struct aside *a, struct err *e)
{
	struct x11_key_state s;

	if (!a->relock)
		return 0;
	if (x11_key_state(x, &s, e) != 0)
		return -1;
	a->locked_mods ^= s.locked_mods;
	a->locked_group = (uint8_t)(a->locked_group + s.locked_group);
	return 0;
}

int typing_chords(struct typing *t, struct x11 *x,
		  const struct typing_chords *chords, const struct turn *turn,
		  struct err *e)
{
	struct aside aside = {0};
	int rc;

	if (load(t, x, e) != 0 || put_aside(t, x, turn, &aside, e) != 0)
		return -1;
	rc = bind_chords(t, x, chords, turn, e);
	if (rc == 0)
		rc = press_chords(t, x, chords, turn, e);
	if (rc == 0)
		rc = merge_locks(x, &aside, e);
	return give_back(x, &aside, rc, e);
}

/* ---- for the mouse ---- */

int typing_modifiers(struct typing *t, struct x11 *x,
		     const struct keysym_chord *chord,
		     uint8_t ret_keycodes[KEYSYM_MODS_COUNT], struct err *e)
{
	if (load(t, x, e) != 0)
		return -1;
	return find_modifiers(t, chord, ret_keycodes, e);
}

int typing_release(struct x11 *x, struct err *e)
{
	struct x11_key_state s;

	if (x11_key_state(x, &s, e) != 0)
		return -1;
	for (unsigned i = 0; i < X11_KEYCODES; i++) {
		if (s.down[i])
			x11_fake_key(x, (uint8_t)i, false, 0);
	}
	return x11_sync(x, e);
}
