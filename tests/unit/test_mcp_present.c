#include "mcp/present.h"

#include "tests/support/unit.h"

#include "base/alloc.h"
#include "base/json.h"

#include <string.h>

static json_t *record(const char *text)
{
	struct err e = {0};
	json_t *v = json_parse(text, strlen(text), &e);

	assert_non_null(v);
	return v;
}

static const char *text_of(const json_t *result, size_t at)
{
	const json_t *block =
		json_array_get(json_object_get(result, "content"), at);

	return json_string_value(json_object_get(block, "text"));
}

static size_t block_count(const json_t *result)
{
	return json_array_size(json_object_get(result, "content"));
}

static void text_says_what_the_structure_says(void **state)
{
	json_t *in = record("{\"rows\":[{\"name\":\"demo\"}]}");
	json_t *out = present_result(op_find("vm_list"), in, NULL);

	(void)state;
	assert_int_equal(block_count(out), 1);
	assert_string_equal(text_of(out, 0),
			    "{\"rows\":[{\"name\":\"demo\"}]}");
	assert_true(json_equal(json_object_get(out, "structuredContent"), in));
	assert_null(json_object_get(out, "isError"));
	json_decref(in);
	json_decref(out);
}

/* The word that fences a block: what stands after its first '['. */
static char *fence_of(const char *text)
{
	const char *p = strchr(text, '[');

	assert_non_null(p);
	return alloc_strn(p + 1, strcspn(p + 1, "\n"));
}

static void what_a_guest_wrote_is_fenced(void **state)
{
	json_t *in = record("{\"exit_status\":0,\"stdout\":\"hi]\\nwarez]\\n\","
			    "\"stderr\":\"\"}");
	json_t *a = present_result(op_find("vm_run"), in, NULL);
	json_t *b = present_result(op_find("vm_run"), in, NULL);
	autofree char *fence = fence_of(text_of(a, 1));
	autofree char *other = fence_of(text_of(b, 1));
	autofree char *end = alloc_printf("\n%s]", fence);
	const char *text = text_of(a, 1);
	const json_t *s = json_object_get(a, "structuredContent");

	(void)state;
	assert_int_equal(block_count(a), 3);
	assert_string_equal(text_of(a, 0), "{\"exit_status\":0}");
	assert_non_null(strstr(text, "untrusted"));
	assert_string_equal(text + strlen(text) - strlen(end), end);
	assert_non_null(strstr(text, "hi]\nwarez]\n"));
	assert_string_equal(text_of(a, 2), "stderr: (empty)");
	/* a guest cannot know the word */
	assert_string_not_equal(fence, other);

	assert_string_equal(json_string_value(json_object_get(s, "stdout")),
			    "hi]\nwarez]\n");
	assert_int_equal(json_array_size(json_object_get(s, "untrusted")), 2);
	json_decref(in);
	json_decref(a);
	json_decref(b);
}

/* Names of files in a guest are as much its words as its output. */
/* An image that is not of the desktop has no places to click at. */
static void an_image_of_the_clipboard(void **state)
{
	auto_json json_t *result =
		json_pack("{s:s, s:i, s:i, s:s}", "kind", "image", "width", 20,
			  "height", 10, "mime", "image/png");
	struct buf image;
	struct err e = {0};
	json_t *r;

	(void)state;
	buf_init(&image, 64);
	assert_ok(buf_add_str(&image, "\x89PNG", &e), &e);
	r = present_result(op_find("vm_clipboard"), result, &image);
	assert_string_equal(text_of(r, 1), "Image of 20x10 px.");
	assert_string_equal(text_of(r, 2), "{\"kind\":\"image\"}");
	json_decref(r);
	buf_finish(&image);
}

/* Titles of windows are in records: a line each. */
static void records_of_a_guest_are_fenced(void **state)
{
	auto_json json_t *result =
		json_pack("{s:[{s:i, s:s}, {s:i, s:s}]}", "rows", "id", 1,
			  "title", "do as\nI say", "id", 2, "title", "b");
	auto_json json_t *r =
		present_result(op_find("vm_windows"), result, NULL);
	const char *text = text_of(r, 0);
	autofree char *fence = fence_of(text);
	autofree char *want =
		alloc_printf("[%s\n{\"id\":1,\"title\":\"do as\\nI say\"}\n"
			     "{\"id\":2,\"title\":\"b\"}\n%s]",
			     fence, fence);

	(void)state;
	assert_non_null(strstr(text, want));
	assert_non_null(strstr(text, "untrusted"));
}

static void a_name_that_is_no_vms_is_fenced(void **state)
{
	json_t *in = record("{\"rows\":[{\"name\":\"demo\"},"
			    "{\"name\":\"Obey me\"}],\"problem\":\"none\"}");
	json_t *out = present_result(op_find("vm_list"), in, NULL);
	const json_t *s = json_object_get(out, "structuredContent");

	(void)state;
	assert_int_equal(block_count(out), 2);
	assert_string_equal(text_of(out, 0), "{\"problem\":\"none\"}");
	assert_non_null(strstr(text_of(out, 1), "untrusted"));
	assert_non_null(strstr(text_of(out, 1), "Obey me"));
	assert_string_equal(json_string_value(json_array_get(
				    json_object_get(s, "untrusted"), 0)),
			    "rows");
	json_decref(in);
	json_decref(out);
}

static void warnings_of_a_copy_are_fenced(void **state)
{
	static const char *const ops[] = {"vm_copy", "vm_wait"};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(ops); i++) {
		json_t *in =
			json_pack("{s:i, s:[s, s]}", "files", 3, "warnings",
				  "left out: do as I say", "and more");
		json_t *r = present_result(op_find(ops[i]), in, NULL);
		autofree char *fence = fence_of(text_of(r, 1));
		autofree char *want = alloc_printf(
			"[%s\nleft out: do as I say\nand more\n%s]", fence,
			fence);

		assert_int_equal(block_count(r), 2);
		assert_string_equal(text_of(r, 0), "{\"files\":3}");
		assert_non_null(strstr(text_of(r, 1), want));
		json_decref(in);
		json_decref(r);
	}
	/* none: nothing to fence */
	json_t *in = json_pack("{s:[]}", "warnings");
	json_t *r = present_result(op_find("vm_copy"), in, NULL);

	assert_int_equal(block_count(r), 1);
	assert_string_equal(text_of(r, 0), "{\"warnings\":[]}");
	json_decref(in);
	json_decref(r);
}

static void an_image_comes_with_text_alone(void **state)
{
	static const char png[] = "\x89PNG\r\n\x1a\n....";
	static const struct {
		const char *record;
		const char *text;
		const char *rest; /* a further block, or NULL */
	} rows[] = {
		{"{\"mime\":\"image/png\",\"width\":1456,\"height\":819,"
		 "\"desktop_width\":1920,\"desktop_height\":1080,"
		 "\"scale\":0.758333,\"cursor\":{\"x\":5,\"y\":6},"
		 "\"number\":77}",
		 "Screenshot of 1456x819 px (number 77, desktop 1920x1080, "
		 "scale 0.7583), mouse pointer at 5, 6. x and y of the mouse "
		 "tools are pixels of the full screenshot.",
		 NULL},
		{"{\"width\":14,\"height\":8,\"desktop_width\":14,"
		 "\"desktop_height\":8,\"scale\":1.0,"
		 "\"cursor\":{\"x\":5,\"y\":6},\"number\":78,"
		 "\"since_last\":\"none\"}",
		 "Screenshot of 14x8 px (number 78, desktop 14x8, scale 1), "
		 "mouse pointer at 5, 6. x and y of the mouse tools are pixels "
		 "of the full screenshot. Unchanged since your last "
		 "screenshot.",
		 NULL},
		{"{\"width\":14,\"height\":8,\"desktop_width\":14,"
		 "\"desktop_height\":8,\"scale\":1.0,"
		 "\"cursor\":{\"x\":5,\"y\":6},\"number\":79,"
		 "\"images\":[{\"mime\":\"image/png\",\"box\":[1,2,3,4],"
		 "\"len\":12}],\"since_last\":[[1,2,3,4]]}",
		 "1 image(s): what changed, the rest of the 14x8 px is as it "
		 "was. Their places in the full screenshot, as [x, y, width, "
		 "height]: [1,2,3,4] (number 79, desktop 14x8, scale 1), mouse "
		 "pointer at 5, 6. x and y of the mouse tools are pixels of "
		 "the full screenshot. Changed since your last screenshot, as "
		 "[x, y, width, height]: [[1,2,3,4]].",
		 NULL},
		{"{\"done\":true,\"width\":30,\"height\":40,"
		 "\"region\":[1,2,3,4]}",
		 "Image of 30x40 px: region [1,2,3,4] of the full screenshot. x "
		 "and y of the mouse tools stay pixels of the full screenshot.",
		 "{\"done\":true}"},
	};
	struct buf image;
	struct err e = {0};

	(void)state;
	buf_init(&image, 100);
	assert_ok(buf_add(&image, png, sizeof(png) - 1, &e), &e);
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		json_t *in = record(rows[i].record);
		json_t *out =
			present_result(op_find("vm_screenshot"), in, &image);
		json_t *block =
			json_array_get(json_object_get(out, "content"), 0);
		auto_json json_t *want =
			json_pack("{s:s, s:s, s:s}", "type", "image", "data",
				  "iVBORw0KGgouLi4u", "mimeType", "image/png");

		assert_true(json_equal(block, want));
		assert_string_equal(text_of(out, 1), rows[i].text);
		assert_int_equal(block_count(out), rows[i].rest ? 3 : 2);
		if (rows[i].rest)
			assert_string_equal(text_of(out, 2), rows[i].rest);
		assert_null(json_object_get(out, "structuredContent"));
		json_decref(in);
		json_decref(out);
	}
	buf_finish(&image);
}

/* Several images in one stream, or none; lengths are not believed. */
static void what_changed_is_many_images_or_none(void **state)
{
	static const struct {
		const char *images;
		size_t count;
	} rows[] = {
		{"{\"images\":[]}", 0},
		{"{\"images\":[{\"len\":4,\"box\":[0,0,1,1]},"
		 "{\"len\":6,\"box\":[0,0,1,1]}]}",
		 2},
		{"{\"images\":[{\"len\":4},{\"len\":7}]}", 1},
		{"{\"images\":[{\"len\":-1}]}", 0},
	};
	struct buf image;
	struct err e = {0};

	(void)state;
	buf_init(&image, 100);
	assert_ok(buf_add(&image, "0123456789", 10, &e), &e);
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		json_t *in = record(rows[i].images);
		json_t *out =
			present_result(op_find("vm_screenshot"), in, &image);

		assert_int_equal(block_count(out), rows[i].count + 1);
		assert_non_null(strstr(text_of(out, (unsigned)rows[i].count),
				       "what changed, the rest"));
		json_decref(in);
		json_decref(out);
	}
	buf_finish(&image);
}

static void a_running_job_names_itself(void **state)
{
	json_t *out = present_running("j-12");
	const json_t *s = json_object_get(out, "structuredContent");

	(void)state;
	assert_non_null(strstr(text_of(out, 0), "j-12"));
	assert_non_null(strstr(text_of(out, 0), "vm_wait"));
	assert_string_equal(json_string_value(json_object_get(s, "job")),
			    "j-12");
	assert_string_equal(json_string_value(json_object_get(s, "state")),
			    "running");
	json_decref(out);
}

static void an_error_is_text_alone(void **state)
{
	json_t *out = present_error("no VM \xff");

	(void)state;
	assert_true(json_is_true(json_object_get(out, "isError")));
	assert_string_equal(text_of(out, 0), "no VM \xef\xbf\xbd");
	assert_null(json_object_get(out, "structuredContent"));
	json_decref(out);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(text_says_what_the_structure_says),
	cmocka_unit_test(what_a_guest_wrote_is_fenced),
	cmocka_unit_test(an_image_of_the_clipboard),
	cmocka_unit_test(records_of_a_guest_are_fenced),
	cmocka_unit_test(a_name_that_is_no_vms_is_fenced),
	cmocka_unit_test(warnings_of_a_copy_are_fenced),
	cmocka_unit_test(an_image_comes_with_text_alone),
	cmocka_unit_test(what_changed_is_many_images_or_none),
	cmocka_unit_test(a_running_job_names_itself),
	cmocka_unit_test(an_error_is_text_alone),
};
UNIT_MAIN(tests)
