/*
 * The desktop's operations: arguments out of JSON, the work under the desktop's
 * lock, the picture encoded and sent after it.
 */
#include "vmctl/ops_desktop.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/limits.h"
#include "vmctl/deskconn.h"
#include "vmctl/handlers.h"

#include <string.h>

/* ---- pictures out ---- */

static json_t *pair(const char *a_name, int64_t a, const char *b_name,
		    int64_t b)
{
	return json_pack("{s:I, s:I}", a_name, (json_int_t)a, b_name,
			 (json_int_t)b);
}

static json_t *box_json(const struct coords_rect *r)
{
	return json_pack("[i, i, i, i]", (int)r->x, (int)r->y, (int)r->width_px,
			 (int)r->height_px);
}

/* "none", or where. */
static json_t *boxes_json(const struct desktop_boxes *b)
{
	json_t *array;

	if (b->count == 0)
		return json_string("none");
	array = json_array();
	for (unsigned i = 0; i < b->count; i++)
		json_array_append_new(array, box_json(&b->at[i]));
	return array;
}

/* In result, what the images show. */
static void describe(const struct desktop_shot *shot,
		     const struct desktop_image *images, unsigned count,
		     json_t *result)
{
	struct desktop_shot_info i = desktop_shot_info(shot);
	json_t *parts = json_array();

	for (unsigned k = 0; i.partly && k < count; k++)
		json_array_append_new(parts,
				      json_pack("{s:s, s:o, s:I}", "mime",
						images[k].mime, "box",
						box_json(&images[k].box), "len",
						(json_int_t)images[k].len));
	if (i.partly)
		json_object_set(result, "images", parts);
	else
		json_object_set_new(result, "mime",
				    json_string(images[0].mime));
	json_decref(parts);
	json_object_set_new(result, "width", json_integer(i.image.width_px));
	json_object_set_new(result, "height", json_integer(i.image.height_px));
	json_object_set_new(result, "desktop_width",
			    json_integer(i.desktop.width_px));
	json_object_set_new(result, "desktop_height",
			    json_integer(i.desktop.height_px));
	json_object_set_new(result, "scale", json_real(i.scale));
	json_object_set_new(result, "cursor",
			    pair("x", i.pointer.x, "y", i.pointer.y));
	json_object_set_new(result, "number",
			    json_integer((json_int_t)i.generation));
	if (i.compared)
		json_object_set_new(result, "since_last",
				    boxes_json(&i.changed));
}

/* Encode, send, and describe in result. Not under the desktop's lock. */
static int send_shot(struct call *c, struct desktop_shot *shot, json_t *result,
		     struct err *e)
{
	struct desktop_image images[DESKTOP_BOXES_COUNT];
	unsigned count;

	if (desktop_shot_encode(shot, e) != 0)
		return -1;
	count = desktop_shot_images(shot, images);
	for (unsigned i = 0; i < count; i++) {
		if (call_write(c, RPC_IMAGE, images[i].bytes, images[i].len,
			       e) != 0)
			return -1;
	}
	if (call_write(c, RPC_IMAGE, NULL, 0, e) != 0)
		return -1;
	describe(shot, images, count, result);
	return 0;
}

static int capture(struct deskconn_visit *v, const struct desktop_want *want,
		   struct desktop_shot **ret, struct err *e)
{
	struct desktop_shot_info i;

	if (desktop_capture(v->desktop, &v->turn, want, ret, e) != 0)
		return -1;
	i = desktop_shot_info(*ret);
	deskconn_saw(v, i.desktop, want->region ? 0 : i.generation);
	return 0;
}

/* Looking changes nothing, so when the connection turns out to be gone it is
 * made anew, once, and the look repeated. */
static int look(struct call *c, const char *vm, const struct desktop_want *want,
		struct desktop_shot **ret, struct err *e)
{
	for (int i = 0;; i++) {
		struct deskconn_visit v;
		bool lost;
		int rc;

		if (deskconn_enter(c, vm, &v, e) != 0)
			return -1;
		rc = capture(&v, want, ret, e);
		lost = rc != 0 && desktop_broken(v.desktop) && e &&
		       e->code == ERR_UNAVAILABLE;
		deskconn_leave(&v, rc, false);
		if (!lost || i > 0)
			return rc;
	}
}

int ops_desktop_screenshot(struct call *c, const char *vm, json_t *result,
			   struct err *e)
{
	auto_desktop_shot struct desktop_shot *shot = NULL;

	if (look(c, vm, &(struct desktop_want){0}, &shot, e) != 0)
		return -1;
	return send_shot(c, shot, result, e);
}

static const char *vm_of(const json_t *args)
{
	return json_string_value(json_object_get(args, "vm"));
}

static int64_t number_at(const json_t *array, size_t i)
{
	return json_integer_value(json_array_get(array, i));
}

int op_vm_screenshot(struct call *c, const json_t *args, json_t **ret_result,
		     struct err *e)
{
	auto_desktop_shot struct desktop_shot *shot = NULL;
	auto_json json_t *result = json_object();
	json_t *r = json_object_get(args, "region");
	json_t *since = json_object_get(args, "since");
	struct coords_region region = {number_at(r, 0), number_at(r, 1),
				       number_at(r, 2), number_at(r, 3)};
	struct desktop_want want = {
		.region = json_is_array(r) ? &region : NULL,
		.partly = json_is_integer(since),
		.since = (uint64_t)json_integer_value(since),
	};

	if (want.region && want.partly)
		return err_set(e, ERR_INVALID,
			       "region and since do not go together");
	if (look(c, vm_of(args), &want, &shot, e) != 0 ||
	    send_shot(c, shot, result, e) != 0)
		return -1;
	if (want.region)
		json_object_set(result, "region", r);
	*ret_result = TAKE_PTR(result);
	return 0;
}

/* ---- input ---- */

/* One action on the desktop; what it needs is in args and ctx. */
typedef int action_fn(struct deskconn_visit *v, const json_t *args, void *ctx,
		      struct err *e);

struct after {
	struct desktop_rule rule;
	struct desktop_outcome outcome;
	bool wants_shot;
	struct desktop_shot *shot;
};

static unsigned number_of(const json_t *args, const char *key)
{
	return (unsigned)json_integer_value(json_object_get(args, key));
}

/* The action, and what comes of it. */
static int act_and_look(struct deskconn_visit *v, const json_t *args,
			action_fn *act, void *ctx, struct after *after,
			struct err *e)
{
	bool settles = after->rule.quiet_ms > 0;

	if ((settles &&
	     desktop_observe(v->desktop, &v->turn, &after->rule, e) != 0) ||
	    act(v, args, ctx, e) != 0)
		return -1;
	if ((!settles || desktop_settle(v->desktop, &v->turn, &after->rule,
					&after->outcome, e) == 0) &&
	    (!after->wants_shot ||
	     capture(v, &(struct desktop_want){0}, &after->shot, e) == 0))
		return 0;
	err_wrap(e, "done, but looking at it failed");
	return -1;
}

static void describe_outcome(const struct after *after, json_t *result)
{
	const struct desktop_outcome *o = &after->outcome;

	json_object_set_new(result, "done", json_true());
	if (after->rule.quiet_ms == 0)
		return;
	json_object_set_new(result, "stable", json_boolean(o->settled));
	json_object_set_new(result, "changed", boxes_json(&o->changed));
	if (o->moving.count > 0)
		json_object_set_new(result, "moving", boxes_json(&o->moving));
}

/* Lock, act, settle, look if asked, unlock, send. */
static int run_input(struct call *c, const json_t *args, action_fn *act,
		     void *ctx, json_t **ret_result, struct err *e)
{
	struct after after = {
		.rule = {.quiet_ms = number_of(args, "settle_ms"),
			 .cap_ms = number_of(args, "settle_cap_ms")},
		.wants_shot =
			json_is_true(json_object_get(args, "screenshot"))};
	auto_desktop_shot struct desktop_shot *shot = NULL;
	auto_json json_t *result = json_object();
	struct deskconn_visit v;
	int rc;

	if (deskconn_enter(c, vm_of(args), &v, e) != 0)
		return -1;
	rc = act_and_look(&v, args, act, ctx, &after, e);
	shot = after.shot;
	if (deskconn_leave(&v, rc, true) != 0)
		return -1;
	describe_outcome(&after, result);
	if (shot && send_shot(c, shot, result, e) != 0)
		return -1;
	*ret_result = TAKE_PTR(result);
	return 0;
}

/* x and y, together or not at all: *ret_given. */
static int get_place(const json_t *args, struct desktop_place *ret,
		     bool *ret_given, struct err *e)
{
	json_t *x = json_object_get(args, "x"), *y = json_object_get(args, "y");

	if (json_is_integer(x) != json_is_integer(y))
		return err_set(e, ERR_INVALID, "x and y go together");
	*ret_given = json_is_integer(x);
	ret->x = json_integer_value(x);
	ret->y = json_integer_value(y);
	return 0;
}

static enum input_button get_button(const json_t *args)
{
	static const struct {
		const char *name;
		enum input_button button;
	} buttons[] = {
		{"left", INPUT_LEFT},	    {"middle", INPUT_MIDDLE},
		{"right", INPUT_RIGHT},	    {"back", INPUT_BACK},
		{"forward", INPUT_FORWARD},
	};
	const char *name = json_string_value(json_object_get(args, "button"));

	for (size_t i = 0; name && i < ARRAY_COUNT(buttons); i++) {
		if (strcmp(buttons[i].name, name) == 0)
			return buttons[i].button;
	}
	return INPUT_LEFT;
}

static const char *get_modifiers(const json_t *args)
{
	return json_string_value(json_object_get(args, "modifiers"));
}

static int act_click(struct deskconn_visit *v, const json_t *args, void *ctx,
		     struct err *e)
{
	(void)args;
	return desktop_click(v->desktop, &v->turn, ctx, e);
}

int op_vm_click(struct call *c, const json_t *args, json_t **ret_result,
		struct err *e)
{
	struct desktop_place at;
	struct desktop_click click = {.button = get_button(args),
				      .count = (unsigned)json_integer_value(
					      json_object_get(args, "count")),
				      .modifiers = get_modifiers(args)};
	bool given;

	if (get_place(args, &at, &given, e) != 0)
		return -1;
	click.at = given ? &at : NULL;
	return run_input(c, args, act_click, &click, ret_result, e);
}

int op_vm_scroll(struct call *c, const json_t *args, json_t **ret_result,
		 struct err *e)
{
	static const struct {
		const char *name;
		enum input_button button;
	} directions[] = {
		{"up", INPUT_WHEEL_UP},
		{"down", INPUT_WHEEL_DOWN},
		{"left", INPUT_WHEEL_LEFT},
		{"right", INPUT_WHEEL_RIGHT},
	};
	const char *name =
		json_string_value(json_object_get(args, "direction"));
	struct desktop_place at;
	struct desktop_click click = {.count = (unsigned)json_integer_value(
					      json_object_get(args, "notches")),
				      .modifiers = get_modifiers(args)};
	bool given;

	if (get_place(args, &at, &given, e) != 0)
		return -1;
	click.at = given ? &at : NULL;
	for (size_t i = 0; name && i < ARRAY_COUNT(directions); i++) {
		if (strcmp(directions[i].name, name) == 0)
			click.button = directions[i].button;
	}
	return run_input(c, args, act_click, &click, ret_result, e);
}

static int act_move(struct deskconn_visit *v, const json_t *args, void *ctx,
		    struct err *e)
{
	(void)args;
	return desktop_move(v->desktop, &v->turn, ctx, e);
}

int op_vm_move(struct call *c, const json_t *args, json_t **ret_result,
	       struct err *e)
{
	struct desktop_place to;
	bool given;

	if (get_place(args, &to, &given, e) != 0)
		return -1;
	return run_input(c, args, act_move, &to, ret_result, e);
}

static int act_drag(struct deskconn_visit *v, const json_t *args, void *ctx,
		    struct err *e)
{
	(void)args;
	return desktop_drag(v->desktop, &v->turn, ctx, e);
}

int op_vm_drag(struct call *c, const json_t *args, json_t **ret_result,
	       struct err *e)
{
	json_t *array = json_object_get(args, "points");
	size_t count = json_array_size(array);
	autofree struct desktop_place *points =
		alloc_array(count + 1, sizeof(*points));
	struct desktop_drag drag = {.points = points,
				    .count = count,
				    .button = get_button(args),
				    .modifiers = get_modifiers(args)};

	for (size_t i = 0; i < count; i++) {
		json_t *p = json_array_get(array, i);

		points[i] = (struct desktop_place){number_at(p, 0),
						   number_at(p, 1)};
	}
	return run_input(c, args, act_drag, &drag, ret_result, e);
}

static int act_type(struct deskconn_visit *v, const json_t *args, void *ctx,
		    struct err *e)
{
	json_t *text = json_object_get(args, "text");

	(void)ctx;
	return desktop_type(v->desktop, &v->turn, json_string_value(text),
			    json_string_length(text), e);
}

int op_vm_type(struct call *c, const json_t *args, json_t **ret_result,
	       struct err *e)
{
	return run_input(c, args, act_type, NULL, ret_result, e);
}

static int act_key(struct deskconn_visit *v, const json_t *args, void *ctx,
		   struct err *e)
{
	(void)ctx;
	return desktop_key(
		v->desktop, &v->turn,
		json_string_value(json_object_get(args, "keys")),
		(unsigned)json_integer_value(json_object_get(args, "repeat")),
		e);
}

int op_vm_key(struct call *c, const json_t *args, json_t **ret_result,
	      struct err *e)
{
	return run_input(c, args, act_key, NULL, ret_result, e);
}
