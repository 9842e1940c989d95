/*
 * Screenshots: taken under the desktop's lock, encoded and sent after it.
 */
#include "vmctl/ops_desktop.h"

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

json_t *ops_desktop_boxes(const struct desktop_boxes *b)
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
				    ops_desktop_boxes(&i.changed));
}

int ops_desktop_send(struct call *c, struct desktop_shot *shot, json_t *result,
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

int ops_desktop_capture(struct deskconn_visit *v,
			const struct desktop_want *want,
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
 * made anew, once, and the look repeated. is_seen: the client is to be told
 * later what has changed since. */
static int look(struct call *c, const char *vm, const struct desktop_want *want,
		bool is_seen, struct desktop_shot **ret, struct err *e)
{
	for (int i = 0;; i++) {
		struct deskconn_visit v;
		bool lost;
		int rc;

		if (deskconn_enter(c, vm, &v, e) != 0)
			return -1;
		rc = is_seen ? ops_desktop_capture(&v, want, ret, e)
			     : desktop_capture(v.desktop, &v.turn, want, ret,
					       e);
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

	if (look(c, vm, &(struct desktop_want){0}, true, &shot, e) != 0)
		return -1;
	return ops_desktop_send(c, shot, result, e);
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
	if (look(c, vm_of(args), &want, true, &shot, e) != 0 ||
	    ops_desktop_send(c, shot, result, e) != 0)
		return -1;
	if (want.region)
		json_object_set(result, "region", r);
	*ret_result = TAKE_PTR(result);
	return 0;
}

/* Whoever watches is not who works there: what the agent has seen stays what it
 * was. */
int op_vm_view(struct call *c, const json_t *args, json_t **ret_result,
	       struct err *e)
{
	auto_desktop_shot struct desktop_shot *shot = NULL;
	auto_json json_t *result = json_object();
	json_t *since = json_object_get(args, "since");
	struct desktop_want want = {
		.partly = json_is_integer(since),
		.since = (uint64_t)json_integer_value(since),
	};

	if (look(c, vm_of(args), &want, false, &shot, e) != 0 ||
	    ops_desktop_send(c, shot, result, e) != 0)
		return -1;
	json_object_del(result, "since_last");
	*ret_result = TAKE_PTR(result);
	return 0;
}
