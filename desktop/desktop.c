#include "desktop/desktop.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "base/log.h"
#include "desktop/keysym.h"
#include "desktop/screenshot.h"
#include "desktop/settle.h"
#include "desktop/typing.h"
#include "desktop/x11.h"

#include <string.h>

enum {
	/* after the turn's deadline, to let go of what is pressed */
	GRACE_MS = 3000,
};

struct desktop_memory {
	struct mirror *mirror;
	struct picture_shelf *shelf;
};
struct desktop {
	struct x11 *x;
	struct typing typing;
	struct desktop_memory *memory; /* borrowed */
	struct settle settle;
	bool observed;
	unsigned held; /* by desktop_press(): bit n for button n */
};

struct desktop_memory *desktop_memory_new(void)
{
	struct desktop_memory *m = ALLOC_NEW(struct desktop_memory);

	m->mirror = mirror_new();
	m->shelf = picture_shelf_new();
	return m;
}

void desktop_memory_free(struct desktop_memory *m)
{
	if (!m)
		return;
	mirror_free(m->mirror);
	picture_shelf_free(m->shelf);
	free(m);
}

int desktop_open(const struct desktop_config *config, struct deadline d,
		 struct desktop **ret, struct err *e)
{
	const struct x11_config c = {.fd = config->fd,
				     .xauth = config->xauth,
				     .xauth_len = config->xauth_len,
				     .display = config->display};
	struct x11 *x;

	if (x11_open(&c, d, &x, e) != 0)
		return -1;
	*ret = ALLOC_NEW(struct desktop);
	(*ret)->x = x;
	(*ret)->memory = config->memory;
	typing_init(&(*ret)->typing);
	return 0;
}

void desktop_free(struct desktop *d)
{
	if (!d)
		return;
	mirror_detach(d->memory->mirror);
	settle_finish(&d->settle);
	x11_free(d->x);
	free(d);
}

bool desktop_broken(const struct desktop *d)
{
	return x11_broken(d->x);
}

static void begin_look(struct desktop *d, const struct turn *t)
{
	x11_begin(d->x, t->deadline);
}

static void begin_input(struct desktop *d, const struct turn *t)
{
	struct deadline grace = t->deadline;

	grace.at_ms += GRACE_MS;
	x11_begin(d->x, grace);
}

static int end(struct desktop *d, int rc)
{
	x11_end(d->x);
	return rc;
}

int desktop_check(struct desktop *d, const struct turn *t, struct err *e)
{
	struct coords_size size;

	begin_look(d, t);
	return end(d, x11_size(d->x, &size, e));
}

bool desktop_is_told(const struct desktop *d)
{
	return x11_damage_works(d->x);
}

void desktop_rest(struct desktop *d, const struct turn *t)
{
	begin_look(d, t);
	mirror_rest(d->memory->mirror, d->x);
	if (x11_sync(d->x, NULL) != 0)
		log_debug("a desktop does not stop telling of changes");
	x11_end(d->x);
}

/* ---- seeing ---- */

static int capture(struct desktop *d, const struct turn *t,
		   const struct desktop_want *want, struct desktop_shot **ret,
		   struct err *e)
{
	const struct screenshot_source from = {d->memory->mirror,
					       d->memory->shelf};

	if (mirror_update(from.mirror, d->x, e) != 0)
		return -1;
	return screenshot_take(&from, t, want, ret, e);
}

int desktop_capture(struct desktop *d, const struct turn *t,
		    const struct desktop_want *want, struct desktop_shot **ret,
		    struct err *e)
{
	begin_look(d, t);
	return end(d, capture(d, t, want, ret, e));
}

static int glance(struct desktop *d, const struct turn *t,
		  const struct coords_region *region, uint64_t since,
		  struct desktop_glance *ret, struct err *e)
{
	struct mirror *m = d->memory->mirror;
	struct coords_view view;
	struct coords_rect rect;

	if (mirror_update(m, d->x, e) != 0)
		return -1;
	view = coords_view(mirror_size(m), t->tier);
	rect = (struct coords_rect){0, 0, view.desktop.width_px,
				    view.desktop.height_px};
	if (region && coords_region_to_desktop(&view, region, &rect, e) != 0)
		return -1;
	ret->generation = mirror_generation(m);
	ret->changed = since != DESKTOP_SINCE_LAST &&
		       (!mirror_knows(m, since) ||
			tiles_touched(mirror_changed(m), &rect, since));
	return 0;
}

int desktop_glance(struct desktop *d, const struct turn *t,
		   const struct coords_region *region, uint64_t since,
		   struct desktop_glance *ret, struct err *e)
{
	begin_look(d, t);
	return end(d, glance(d, t, region, since, ret, e));
}

int desktop_has_window(struct desktop *d, const struct turn *t,
		       const char *part, bool *ret, struct err *e)
{
	begin_look(d, t);
	return end(d, x11_find_title(d->x, part, ret, e));
}

static struct desktop_window window_of(const struct x11_window *w,
				       const struct coords_view *view)
{
	const struct coords_region frame = {
		w->frame.x, w->frame.y, w->frame.width_px, w->frame.height_px};

	return (struct desktop_window){
		.id = w->id,
		.title = alloc_str(w->title),
		.program = alloc_str(w->program),
		.pid = w->pid,
		.workspace = w->workspace,
		.focused = w->focused,
		.minimized = w->minimized,
		.frame = coords_frame_from_desktop(view, &frame),
	};
}

static int windows(struct desktop *d, const struct turn *t,
		   struct desktop_windows *ret, struct err *e)
{
	struct x11_windows l;
	struct coords_size size;
	struct coords_view view;

	if (x11_size(d->x, &size, e) != 0 || x11_windows(d->x, &l, e) != 0)
		return -1;
	view = coords_view(size, t->tier);
	*ret = (struct desktop_windows){
		.at = alloc_array(l.count + 1, sizeof(*ret->at)),
		.count = l.count,
		.cut = l.cut};
	for (unsigned i = 0; i < l.count; i++)
		ret->at[i] = window_of(&l.at[i], &view);
	x11_windows_finish(&l);
	return 0;
}

int desktop_windows(struct desktop *d, const struct turn *t,
		    struct desktop_windows *ret, struct err *e)
{
	begin_look(d, t);
	return end(d, windows(d, t, ret, e));
}

void desktop_windows_finish(struct desktop_windows *l)
{
	for (unsigned i = 0; i < l->count; i++) {
		free(l->at[i].title);
		free(l->at[i].program);
	}
	free(l->at);
	*l = (struct desktop_windows){0};
}

static void begin_settle(struct desktop *d, const struct turn *t,
			 const struct desktop_rule *rule)
{
	settle_finish(&d->settle);
	d->observed = false;
	d->settle = (struct settle){
		.mirror = d->memory->mirror,
		.x = d->x,
		.turn = t,
		.rule = *rule,
		.generation = mirror_generation(d->memory->mirror)};
}

int desktop_observe(struct desktop *d, const struct turn *t,
		    const struct desktop_rule *rule, struct err *e)
{
	begin_settle(d, t, rule);
	begin_look(d, t);
	if (settle_before(&d->settle, e) != 0)
		return end(d, -1);
	d->observed = true;
	return end(d, 0);
}

int desktop_settle(struct desktop *d, const struct turn *t,
		   const struct desktop_rule *rule, struct desktop_outcome *ret,
		   struct err *e)
{
	if (!d->observed)
		begin_settle(d, t, rule);
	d->settle.turn = t;
	d->observed = false;
	begin_look(d, t);
	return end(d, settle_after(&d->settle, ret, e));
}

/* ---- places ---- */

/* The desktop's size, which must be the one that the client last saw. */
static int size_as_seen(struct desktop *d, const struct turn *t,
			struct coords_size *ret, struct err *e)
{
	struct coords_size now;

	if (x11_size(d->x, &now, e) != 0)
		return -1;
	if (t->seen.width_px && (t->seen.width_px != now.width_px ||
				 t->seen.height_px != now.height_px))
		return err_set(e, ERR_STATE,
			       "the desktop was resized to %ux%u: take a "
			       "screenshot first",
			       now.width_px, now.height_px);
	*ret = now;
	return 0;
}

static int to_points(struct desktop *d, const struct turn *t,
		     const struct desktop_place *places, size_t count,
		     struct coords_point *ret, struct err *e)
{
	struct coords_view view;
	struct coords_size size;

	if (size_as_seen(d, t, &size, e) != 0)
		return -1;
	view = coords_view(size, t->tier);
	for (size_t i = 0; i < count; i++) {
		if (coords_to_desktop(&view, places[i].x, places[i].y, &ret[i],
				      e) != 0)
			return -1;
	}
	return 0;
}

/* Keycodes for "ctrl+shift"; none for NULL. */
static int to_hold(struct desktop *d, const char *modifiers,
		   uint8_t keycodes[KEYSYM_MODS_COUNT], struct input_hold *ret,
		   struct err *e)
{
	struct keysym_chord chord;

	*ret = (struct input_hold){0};
	if (!modifiers)
		return 0;
	if (keysym_parse_modifiers(modifiers, &chord, e) != 0 ||
	    typing_modifiers(&d->typing, d->x, &chord, keycodes, e) != 0)
		return -1;
	*ret = (struct input_hold){keycodes, chord.mods_count};
	return 0;
}

/* ---- doing ---- */

static int click(struct desktop *d, const struct turn *t,
		 const struct desktop_click *c, struct err *e)
{
	uint8_t keycodes[KEYSYM_MODS_COUNT];
	struct coords_point at = {0};
	struct input_hold mods;

	if ((c->at && to_points(d, t, c->at, 1, &at, e) != 0) ||
	    to_hold(d, c->modifiers, keycodes, &mods, e) != 0)
		return -1;
	if (input_click(d->x, c->at ? &at : NULL, c->button, c->count, &mods,
			e) != 0)
		return -1;
	d->held &= ~(1U << c->button);
	return 0;
}

int desktop_click(struct desktop *d, const struct turn *t,
		  const struct desktop_click *c, struct err *e)
{
	begin_input(d, t);
	return end(d, click(d, t, c, e));
}

int desktop_move(struct desktop *d, const struct turn *t,
		 const struct desktop_place *to, struct err *e)
{
	struct coords_point p = {0};
	int rc;

	begin_input(d, t);
	rc = to_points(d, t, to, 1, &p, e);
	if (rc == 0)
		rc = input_move(d->x, p, e);
	return end(d, rc);
}

static int drag(struct desktop *d, const struct turn *t,
		const struct desktop_drag *g, struct err *e)
{
	uint8_t keycodes[KEYSYM_MODS_COUNT];
	autofree struct coords_point *points =
		alloc_array(g->count, sizeof(*points));
	struct input_path path = {points, g->count, g->button};
	struct input_hold mods;

	if (to_points(d, t, g->points, g->count, points, e) != 0 ||
	    to_hold(d, g->modifiers, keycodes, &mods, e) != 0)
		return -1;
	return input_drag(d->x, &path, &mods, t, e);
}

int desktop_drag(struct desktop *d, const struct turn *t,
		 const struct desktop_drag *g, struct err *e)
{
	if (g->count < 2 || g->count > DESKTOP_DRAG_COUNT)
		return err_set(e, ERR_INVALID, "a drag has 2 to %d points",
			       DESKTOP_DRAG_COUNT);
	begin_input(d, t);
	return end(d, drag(d, t, g, e));
}

int desktop_type(struct desktop *d, const struct turn *t, const char *text,
		 size_t len, struct err *e)
{
	autofree uint32_t *keysyms = NULL;
	size_t count;

	if (len > LIMIT_TYPE_LEN)
		return err_set(e, ERR_LIMIT,
			       "text: at most %d bytes in one call",
			       LIMIT_TYPE_LEN);
	keysyms = alloc_array(len + 1, sizeof(*keysyms));
	if (keysym_from_text(text, len, keysyms, &count, e) != 0)
		return -1;
	begin_input(d, t);
	return end(d, typing_text(&d->typing, d->x, keysyms, count, t, e));
}

int desktop_key(struct desktop *d, const struct turn *t, const char *keys,
		unsigned repeat, struct err *e)
{
	struct keysym_chord chords[KEYSYM_CHORDS_COUNT];
	struct typing_chords c = {.chords = chords, .repeat = repeat};

	if (keysym_parse_chords(keys, chords, &c.count, e) != 0)
		return -1;
	begin_input(d, t);
	return end(d, typing_chords(&d->typing, d->x, &c, t, e));
}

int desktop_hold(struct desktop *d, const struct turn *t, const char *keys,
		 int64_t ms, struct err *e)
{
	struct keysym_chord chords[KEYSYM_CHORDS_COUNT];
	struct typing_chords c = {
		.chords = chords, .repeat = 1, .hold_ms = ms};

	if (keysym_parse_chords(keys, chords, &c.count, e) != 0)
		return -1;
	if (c.count != 1)
		return err_set(e, ERR_INVALID,
			       "keys: one chord can be held, such as ctrl or "
			       "shift+Right");
	begin_input(d, t);
	return end(d, typing_chords(&d->typing, d->x, &c, t, e));
}

static int press(struct desktop *d, const struct turn *t,
		 const struct desktop_press *p, struct err *e)
{
	struct coords_point at = {0};

	if (p->at && to_points(d, t, p->at, 1, &at, e) != 0)
		return -1;
	/* down, as far as anybody knows, from when it is asked for until its
	 * release has arrived */
	if (p->press)
		d->held |= 1U << p->button;
	if (input_press(d->x, p->at ? &at : NULL, p->button, p->press, e) != 0)
		return -1;
	if (!p->press)
		d->held &= ~(1U << p->button);
	return 0;
}

int desktop_press(struct desktop *d, const struct turn *t,
		  const struct desktop_press *p, struct err *e)
{
	begin_input(d, t);
	return end(d, press(d, t, p, e));
}

bool desktop_holds(const struct desktop *d)
{
	return d->held != 0;
}

static int window(struct desktop *d, const struct turn *t,
		  const struct desktop_window_request *r, struct err *e)
{
	static const enum x11_window_verb verbs[] = {
		[DESKTOP_WINDOW_FOCUS] = X11_WINDOW_FOCUS,
		[DESKTOP_WINDOW_RAISE] = X11_WINDOW_RAISE,
		[DESKTOP_WINDOW_MOVE] = X11_WINDOW_MOVE,
		[DESKTOP_WINDOW_CLOSE] = X11_WINDOW_CLOSE,
	};
	struct x11_window_request q = {.id = r->id,
				       .verb = verbs[r->verb],
				       .moves = r->to != NULL,
				       .resizes = r->resizes};
	struct coords_point to = {0};
	struct coords_region size = {0, 0, r->width_px, r->height_px};
	struct coords_size seen;
	struct coords_view view;

	if (r->verb == DESKTOP_WINDOW_MOVE) {
		if (size_as_seen(d, t, &seen, e) != 0 ||
		    (r->to && to_points(d, t, r->to, 1, &to, e) != 0))
			return -1;
		view = coords_view(seen, t->tier);
		size = coords_frame_to_desktop(&view, &size);
		q.frame =
			(struct x11_frame){to.x, to.y, (unsigned)size.width_px,
					   (unsigned)size.height_px};
	}
	return x11_window_ask(d->x, &q, e);
}

int desktop_window(struct desktop *d, const struct turn *t,
		   const struct desktop_window_request *r, struct err *e)
{
	begin_input(d, t);
	return end(d, window(d, t, r, e));
}

int desktop_release(struct desktop *d, const struct turn *t, struct err *e)
{
	int rc;

	begin_input(d, t);
	rc = typing_release(d->x, e);
	if (rc == 0)
		rc = input_release(d->x, e);
	if (rc == 0)
		d->held = 0;
	return end(d, rc);
}
