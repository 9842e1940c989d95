/*
 * Mouse and keyboard: arguments out of JSON, the work under the desktop's lock,
 * and what comes of it. An action is one of the rows, or a step of vm_actions
 * with the same arguments.
 */
#include "base/alloc.h"
#include "base/json.h"
#include "vmctl/deskconn.h"
#include "vmctl/handlers.h"
#include "vmctl/ops_desktop.h"

#include <string.h>

/* One action on the desktop. */
typedef int action_fn(struct deskconn_visit *v, const json_t *args,
		      struct err *e);

static const char *text_of(const json_t *args, const char *key)
{
	return json_string_value(json_object_get(args, key));
}

static unsigned number_of(const json_t *args, const char *key)
{
	return (unsigned)json_integer_value(json_object_get(args, key));
}

/* ---- the actions ---- */

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

struct named {
	const char *name;
	enum input_button button;
};

static enum input_button get_button(const json_t *args, const char *key,
				    const struct named *names, size_t count)
{
	const char *name = text_of(args, key);

	for (size_t i = 0; name && i < count; i++) {
		if (strcmp(names[i].name, name) == 0)
			return names[i].button;
	}
	return INPUT_LEFT;
}

static const struct named buttons[] = {
	{"left", INPUT_LEFT},	    {"middle", INPUT_MIDDLE},
	{"right", INPUT_RIGHT},	    {"back", INPUT_BACK},
	{"forward", INPUT_FORWARD},
};
static const struct named directions[] = {
	{"up", INPUT_WHEEL_UP},
	{"down", INPUT_WHEEL_DOWN},
	{"left", INPUT_WHEEL_LEFT},
	{"right", INPUT_WHEEL_RIGHT},
};

static int click(struct deskconn_visit *v, const json_t *args,
		 struct desktop_click c, struct err *e)
{
	struct desktop_place at;
	bool given;

	if (get_place(args, &at, &given, e) != 0)
		return -1;
	c.at = given ? &at : NULL;
	c.modifiers = text_of(args, "modifiers");
	return desktop_click(v->desktop, &v->turn, &c, e);
}

static int act_click(struct deskconn_visit *v, const json_t *args,
		     struct err *e)
{
	struct desktop_click c = {.button = get_button(args, "button", buttons,
						       ARRAY_COUNT(buttons)),
				  .count = number_of(args, "count")};

	return click(v, args, c, e);
}

static int act_scroll(struct deskconn_visit *v, const json_t *args,
		      struct err *e)
{
	struct desktop_click c = {.button = get_button(args, "direction",
						       directions,
						       ARRAY_COUNT(directions)),
				  .count = number_of(args, "notches")};

	return click(v, args, c, e);
}

static int act_move(struct deskconn_visit *v, const json_t *args, struct err *e)
{
	struct desktop_place to;
	bool given;

	if (get_place(args, &to, &given, e) != 0)
		return -1;
	return desktop_move(v->desktop, &v->turn, &to, e);
}

static int act_drag(struct deskconn_visit *v, const json_t *args, struct err *e)
{
	json_t *array = json_object_get(args, "points");
	size_t count = json_array_size(array);
	autofree struct desktop_place *points =
		alloc_array(count + 1, sizeof(*points));
	struct desktop_drag drag = {.points = points,
				    .count = count,
				    .button =
					    get_button(args, "button", buttons,
						       ARRAY_COUNT(buttons)),
				    .modifiers = text_of(args, "modifiers")};

	for (size_t i = 0; i < count; i++) {
		json_t *p = json_array_get(array, i);

		points[i].x = json_integer_value(json_array_get(p, 0));
		points[i].y = json_integer_value(json_array_get(p, 1));
	}
	return desktop_drag(v->desktop, &v->turn, &drag, e);
}

static int act_type(struct deskconn_visit *v, const json_t *args, struct err *e)
{
	json_t *text = json_object_get(args, "text");

	return desktop_type(v->desktop, &v->turn, json_string_value(text),
			    json_string_length(text), e);
}

static int act_key(struct deskconn_visit *v, const json_t *args, struct err *e)
{
	return desktop_key(v->desktop, &v->turn, text_of(args, "keys"),
			   number_of(args, "repeat"), e);
}

static int act_hold(struct deskconn_visit *v, const json_t *args, struct err *e)
{
	double seconds = json_number_value(json_object_get(args, "seconds"));

	return desktop_hold(v->desktop, &v->turn, text_of(args, "keys"),
			    (int64_t)(seconds * 1000), e);
}

static int press(struct deskconn_visit *v, const json_t *args, bool press,
		 struct err *e)
{
	struct desktop_press p = {
		.button = get_button(args, "button", buttons,
				     ARRAY_COUNT(buttons)),
		.press = press};
	struct desktop_place at;
	bool given;

	if (get_place(args, &at, &given, e) != 0)
		return -1;
	p.at = given ? &at : NULL;
	return desktop_press(v->desktop, &v->turn, &p, e);
}

static int act_mouse_down(struct deskconn_visit *v, const json_t *args,
			  struct err *e)
{
	return press(v, args, true, e);
}

static int act_mouse_up(struct deskconn_visit *v, const json_t *args,
			struct err *e)
{
	return press(v, args, false, e);
}

static int act_window(struct deskconn_visit *v, const json_t *args,
		      struct err *e)
{
	static const struct {
		const char *name;
		enum desktop_window_verb verb;
	} verbs[] = {{"focus", DESKTOP_WINDOW_FOCUS},
		     {"raise", DESKTOP_WINDOW_RAISE},
		     {"move", DESKTOP_WINDOW_MOVE},
		     {"close", DESKTOP_WINDOW_CLOSE}};
	const char *verb = text_of(args, "verb");
	json_t *width = json_object_get(args, "width");
	json_t *height = json_object_get(args, "height");
	struct desktop_window_request r = {.id = number_of(args, "window")};
	struct desktop_place to;
	bool given;

	for (size_t i = 0; i < ARRAY_COUNT(verbs); i++) {
		if (strcmp(verbs[i].name, verb) == 0)
			r.verb = verbs[i].verb;
	}
	if (get_place(args, &to, &given, e) != 0)
		return -1;
	r.to = given ? &to : NULL;
	r.resizes = json_is_integer(width);
	r.width_px = json_integer_value(width);
	r.height_px = json_integer_value(height);
	if (r.resizes != json_is_integer(height))
		return err_set(e, ERR_INVALID, "width and height go together");
	if ((r.verb == DESKTOP_WINDOW_MOVE) != (given || r.resizes))
		return err_set(e, ERR_INVALID,
			       "x and y, width and height, or all four go with "
			       "move, and move with them");
	return desktop_window(v->desktop, &v->turn, &r, e);
}

static int act_wait(struct deskconn_visit *v, const json_t *args, struct err *e)
{
	double seconds = json_number_value(json_object_get(args, "seconds"));

	return turn_pause(&v->turn, (int64_t)(seconds * 1000), "waiting", e);
}

/* ---- what comes of one ---- */

static struct desktop_rule rule_of(const json_t *args)
{
	return (struct desktop_rule){.quiet_ms = number_of(args, "settle_ms"),
				     .cap_ms =
					     number_of(args, "settle_cap_ms")};
}

/* "done" in result: whatever failed after that, the action itself did not. */
static int act_and_settle(struct deskconn_visit *v, const json_t *args,
			  action_fn *act, const struct desktop_rule *rule,
			  json_t *result, struct err *e)
{
	const bool settles = rule->quiet_ms > 0;
	struct desktop_outcome o;

	if ((settles && desktop_observe(v->desktop, &v->turn, rule, e) != 0) ||
	    act(v, args, e) != 0)
		return -1;
	json_object_set_new(result, "done", json_true());
	if (!settles)
		return 0;
	if (desktop_settle(v->desktop, &v->turn, rule, &o, e) != 0) {
		err_wrap(e, "done, but looking at it failed");
		return -1;
	}
	json_object_set_new(result, "stable", json_boolean(o.settled));
	json_object_set_new(result, "changed", ops_desktop_boxes(&o.changed));
	if (o.moving.count > 0)
		json_object_set_new(result, "moving",
				    ops_desktop_boxes(&o.moving));
	return 0;
}

static int look(struct deskconn_visit *v, struct desktop_shot **ret,
		struct err *e)
{
	const struct desktop_want all = {0};

	if (ops_desktop_capture(v, &all, ret, e) == 0)
		return 0;
	err_wrap(e, "done, but the screenshot failed");
	return -1;
}

/* Lock, act, settle, look if asked, unlock, send. */
static int run_input(struct call *c, const json_t *args, action_fn *act,
		     json_t **ret_result, struct err *e)
{
	const bool wants_shot =
		json_is_true(json_object_get(args, "screenshot"));
	const struct desktop_rule rule = rule_of(args);
	auto_desktop_shot struct desktop_shot *shot = NULL;
	auto_json json_t *result = json_object();
	struct deskconn_visit v;
	int rc;

	if (deskconn_enter(c, text_of(args, "vm"), &v, e) != 0)
		return -1;
	rc = act_and_settle(&v, args, act, &rule, result, e);
	if (rc == 0 && wants_shot)
		rc = look(&v, &shot, e);
	if (deskconn_leave(&v, rc, true) != 0 ||
	    (shot && ops_desktop_send(c, shot, result, e) != 0))
		return -1;
	*ret_result = TAKE_PTR(result);
	return 0;
}

#define INPUT(name)                                                   \
	int op_vm_##name(struct call *c, const json_t *args,          \
			 json_t **ret_result, struct err *e)          \
	{                                                             \
		return run_input(c, args, act_##name, ret_result, e); \
	}
INPUT(click)
INPUT(scroll)
INPUT(move)
INPUT(drag)
INPUT(type)
INPUT(key)
INPUT(window)
INPUT(hold)
INPUT(mouse_down)
INPUT(mouse_up)

/* ---- several in a row ---- */

static action_fn *find_action(const char *name)
{
	static const struct {
		const char *name;
		action_fn *act;
	} rows[] = {
		{"click", act_click},	    {"scroll", act_scroll},
		{"move", act_move},	    {"drag", act_drag},
		{"type", act_type},	    {"key", act_key},
		{"hold", act_hold},	    {"mouse_down", act_mouse_down},
		{"mouse_up", act_mouse_up}, {"wait", act_wait},
	};

	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		if (strcmp(rows[i].name, name) == 0)
			return rows[i].act;
	}
	return NULL;
}

/* One step of a batch, described in results; whether the next may follow. */
static bool run_step(struct deskconn_visit *v, const json_t *step,
		     const struct desktop_rule *rule, json_t *results)
{
	const char *name = text_of(step, "action");
	action_fn *act = find_action(name);
	json_t *result = json_object();
	struct err why = {0};
	int rc = turn_check(&v->turn, "working through the actions", &why);

	json_object_set_new(result, "action", json_string(name));
	if (rc == 0)
		rc = act ? act_and_settle(v, step, act, rule, result, &why)
			 : err_set(&why, ERR_INTERNAL, "no such action");
	if (rc != 0)
		json_object_set_new(
			result, "error",
			json_lossy(err_msg(&why), strlen(err_msg(&why))));
	json_array_append_new(results, result);
	return rc == 0;
}

/* In order, to the first that fails; returns how many did not. */
static size_t run_steps(struct deskconn_visit *v, const json_t *args,
			json_t *results)
{
	const json_t *steps = json_object_get(args, "actions");
	const struct desktop_rule rule = rule_of(args);
	size_t done = 0;

	while (done < json_array_size(steps) &&
	       run_step(v, json_array_get(steps, done), &rule, results))
		done++;
	for (size_t i = done + 1; i < json_array_size(steps); i++)
		json_array_append_new(
			results,
			json_pack("{s:O, s:s}", "action",
				  json_object_get(json_array_get(steps, i),
						  "action"),
				  "error", "not run"));
	return done;
}

int op_vm_actions(struct call *c, const json_t *args, json_t **ret_result,
		  struct err *e)
{
	const bool wants_shot =
		json_is_true(json_object_get(args, "screenshot"));
	auto_desktop_shot struct desktop_shot *shot = NULL;
	auto_json json_t *result = json_object();
	json_t *results = json_array();
	struct deskconn_visit v;
	size_t done;
	int rc = 0;

	json_object_set_new(result, "results", results);
	if (deskconn_enter(c, text_of(args, "vm"), &v, e) != 0)
		return -1;
	done = run_steps(&v, args, results);
	if (done < json_array_size(results))
		deskconn_let_go(&v);
	/* a cancelled call wants nothing more, and a lost desktop shows none */
	rc = call_check(c, e);
	if (rc == 0 && wants_shot && !desktop_broken(v.desktop))
		rc = look(&v, &shot, e);
	json_object_set_new(result, "done", json_integer((json_int_t)done));
	if (deskconn_leave(&v, rc, true) != 0 ||
	    (shot && ops_desktop_send(c, shot, result, e) != 0))
		return -1;
	*ret_result = TAKE_PTR(result);
	return 0;
}
