/*
 * Keeps mirrors of one display and compares them with what is there.
 *
 *   mirror_drive SOCKET XAUTHORITY DISPLAY COMMAND…
 *
 *   random SEED COUNT   draw COUNT times, of all kinds, in windows that come
 *                       and go; look at the mirror now and then, resize and
 *                       reconnect; compare after each look
 *   many COUNT          COUNT mirrors at once: how much memory they take
 *
 * Ends with status 1 when a mirror differed.
 */
#include "base/alloc.h"
#include "base/fd.h"
#include "base/path.h"
#include "desktop/mirror.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <xcb/xcb.h>

enum { WINDOWS_COUNT = 8, TIMEOUT_MS = 20000 };

struct drive {
	const char *socket, *xauthority;
	unsigned display;
	uint32_t seed;
	/* the one who draws */
	xcb_connection_t *c;
	xcb_screen_t *screen;
	xcb_gcontext_t gc;
	xcb_window_t windows[WINDOWS_COUNT];
	/* the one who looks */
	struct x11 *x;
	struct mirror *m;
	unsigned looks, resizes, reconnects, differ;
};

static void die(const char *what, const struct err *e)
{
	fprintf(stderr, "mirror_drive: %s: %s\n", what, err_msg(e));
	exit(1);
}

static uint32_t roll(struct drive *v, uint32_t below)
{
	v->seed = v->seed * 1664525 + 1013904223;
	return (v->seed >> 8) % below;
}

/* ---- looking ---- */

static void connect_x11(struct drive *v)
{
	struct x11_config c = {.display = v->display};
	autofree char *auth = NULL;
	struct err e = {0};

	if (path_read_file(v->xauthority, 65536, &auth, &c.xauth_len, &e) != 0)
		die(v->xauthority, &e);
	c.xauth = auth;
	c.fd = fd_unix_connect(v->socket, &e);
	if (c.fd < 0 || x11_open(&c, deadline_in_ms(TIMEOUT_MS), &v->x, &e))
		die("connecting", &e);
}

static void update(struct drive *v)
{
	struct err e = {0};

	x11_begin(v->x, deadline_in_ms(TIMEOUT_MS));
	if (mirror_update(v->m, v->x, &e) != 0)
		die("looking", &e);
	x11_end(v->x);
	v->looks++;
}

/* The mirror beside the screen itself, which stands still. */
static void compare(struct drive *v)
{
	struct coords_size size = mirror_size(v->m);
	const uint8_t *ours = mirror_pixels(v->m);
	size_t count = (size_t)size.width_px * size.height_px, differ = 0;
	xcb_get_image_reply_t *r = xcb_get_image_reply(
		v->c,
		xcb_get_image(v->c, XCB_IMAGE_FORMAT_Z_PIXMAP, v->screen->root,
			      0, 0, (uint16_t)size.width_px,
			      (uint16_t)size.height_px, UINT32_MAX),
		NULL);

	if (!r || (size_t)xcb_get_image_data_length(r) != count * 4) {
		printf("the mirror is %ux%u, the screen is not\n",
		       size.width_px, size.height_px);
		v->differ++;
		free(r);
		return;
	}
	for (size_t i = 0; i < count; i++)
		differ += memcmp(ours + i * 4, xcb_get_image_data(r) + i * 4,
				 3) != 0;
	if (differ)
		printf("look %u: %zu pixels differ\n", v->looks, differ);
	v->differ += differ > 0;
	free(r);
}

/* ---- drawing ---- */

static void sync_drawing(struct drive *v)
{
	free(xcb_get_input_focus_reply(v->c, xcb_get_input_focus(v->c), NULL));
}

static xcb_window_t some_window(struct drive *v)
{
	xcb_window_t w = v->windows[roll(v, WINDOWS_COUNT)];

	return w && roll(v, 3) ? w : v->screen->root;
}

static void draw_shape(struct drive *v, xcb_window_t w)
{
	const int16_t x = (int16_t)roll(v, 1400), y = (int16_t)roll(v, 900);
	const uint16_t width = (uint16_t)(1 + roll(v, 300)),
		       height = (uint16_t)(1 + roll(v, 200));
	const xcb_rectangle_t r = {x, y, width, height};
	const xcb_arc_t arc = {x, y, width, height, 0, 360 * 64};
	const xcb_point_t line[2] = {
		{x, y}, {(int16_t)(x + width), (int16_t)(y - height)}};
	const uint32_t colour = roll(v, 0xffffff);

	xcb_change_gc(v->c, v->gc, XCB_GC_FOREGROUND, &colour);
	switch (roll(v, 5)) {
	case 0:
		xcb_poly_fill_rectangle(v->c, w, v->gc, 1, &r);
		break;
	case 1:
		xcb_poly_line(v->c, XCB_COORD_MODE_ORIGIN, w, v->gc, 2, line);
		break;
	case 2:
		xcb_poly_fill_arc(v->c, w, v->gc, 1, &arc);
		break;
	case 3:
		xcb_copy_area(v->c, w, w, v->gc, x, y, (int16_t)(x + 13),
			      (int16_t)(y + 7), width, height);
		break;
	default:
		xcb_image_text_8(v->c, 12, w, v->gc, x, y, "Hello, boxery");
		break;
	}
}

/* A window comes, goes, or is moved. */
static void change_window(struct drive *v)
{
	xcb_window_t *w = &v->windows[roll(v, WINDOWS_COUNT)];
	const uint32_t values[] = {roll(v, 0xffffff), 1};
	const uint32_t place[] = {roll(v, 1000), roll(v, 700), 1 + roll(v, 500),
				  1 + roll(v, 400)};

	if (!*w) {
		*w = xcb_generate_id(v->c);
		xcb_create_window(
			v->c, XCB_COPY_FROM_PARENT, *w, v->screen->root,
			(int16_t)place[0], (int16_t)place[1],
			(uint16_t)place[2], (uint16_t)place[3], 1,
			XCB_WINDOW_CLASS_INPUT_OUTPUT, v->screen->root_visual,
			XCB_CW_BACK_PIXEL | XCB_CW_OVERRIDE_REDIRECT, values);
		xcb_map_window(v->c, *w);
	} else if (roll(v, 3) == 0) {
		xcb_destroy_window(v->c, *w);
		*w = 0;
	} else {
		xcb_configure_window(v->c, *w,
				     XCB_CONFIG_WINDOW_X | XCB_CONFIG_WINDOW_Y |
					     XCB_CONFIG_WINDOW_WIDTH |
					     XCB_CONFIG_WINDOW_HEIGHT,
				     place);
	}
}

static void start_drawing(struct drive *v)
{
	const uint32_t values[] = {XCB_SUBWINDOW_MODE_INCLUDE_INFERIORS, 0};

	v->c = xcb_connect(NULL, NULL);
	if (xcb_connection_has_error(v->c)) {
		fprintf(stderr, "mirror_drive: no display\n");
		exit(1);
	}
	v->screen = xcb_setup_roots_iterator(xcb_get_setup(v->c)).data;
	v->gc = xcb_generate_id(v->c);
	xcb_create_gc(v->c, v->gc, v->screen->root,
		      XCB_GC_SUBWINDOW_MODE | XCB_GC_GRAPHICS_EXPOSURES,
		      values);
}

/* There and back at once, too: the size is then what it was. */
static void resize(struct drive *v)
{
	static const char *const sizes[] = {"1024x768", "1280x720", "1680x1050",
					    "800x600"};
	unsigned times = 1 + roll(v, 2);

	sync_drawing(v);
	for (unsigned i = 0; i < times; i++) {
		const char *size = sizes[roll(v, ARRAY_COUNT(sizes))];
		pid_t child = fork();

		if (child == 0) {
			execlp("xrandr", "xrandr", "-s", size, (char *)NULL);
			_exit(127);
		}
		waitpid(child, NULL, 0);
	}
	v->resizes++;
}

static void reconnect(struct drive *v)
{
	mirror_detach(v->m);
	x11_free(v->x);
	connect_x11(v);
	v->reconnects++;
}

static int run_random(struct drive *v, unsigned count)
{
	start_drawing(v);
	for (unsigned i = 0; i < count; i++) {
		if (roll(v, 12) == 0)
			change_window(v);
		else
			draw_shape(v, some_window(v));
		if (roll(v, 1000) == 0)
			resize(v);
		if (roll(v, 1000) == 0)
			reconnect(v);
		if (roll(v, 1500) == 0) {
			x11_begin(v->x, deadline_in_ms(TIMEOUT_MS));
			mirror_rest(v->m, v->x);
			x11_end(v->x);
		}
		/* looks while it is being drawn, and when it stands still */
		if (roll(v, 10) == 0) {
			xcb_flush(v->c);
			update(v);
		}
		if (roll(v, 40) == 0) {
			sync_drawing(v);
			update(v);
			compare(v);
		}
	}
	sync_drawing(v);
	update(v);
	compare(v);
	printf("%u drawn, %u looks, %u resizes, %u reconnects, fetched "
	       "%" PRIu64 " kB, %u differ\n",
	       count, v->looks, v->resizes, v->reconnects,
	       mirror_fetched_len(v->m) / 1000, v->differ);
	return v->differ ? 1 : 0;
}

static long resident_kib(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[128];
	long kib = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "VmRSS:", 6) == 0)
			kib = strtol(line + 6, NULL, 10);
	}
	if (f)
		fclose(f);
	return kib;
}

/* The mirrors stay; only the last is looked at again. */
static int run_many(struct drive *v, unsigned count)
{
	long before = resident_kib(), after;

	for (unsigned i = 0; i < count; i++) {
		connect_x11(v);
		v->m = mirror_new();
		update(v);
	}
	after = resident_kib();
	printf("%u mirrors of %ux%u: %ld KiB, %.2f frames each\n", count,
	       mirror_size(v->m).width_px, mirror_size(v->m).height_px,
	       after - before,
	       (double)(after - before) * 1024 / count /
		       (4.0 * mirror_size(v->m).width_px *
			mirror_size(v->m).height_px));
	return 0;
}

int main(int argc, char *argv[])
{
	struct drive v = {0};
	int rc;

	if (argc < 6) {
		fprintf(stderr, "usage: mirror_drive SOCKET XAUTHORITY DISPLAY "
				"random SEED COUNT | many COUNT\n");
		return 2;
	}
	v.socket = argv[1];
	v.xauthority = argv[2];
	v.display = (unsigned)strtoul(argv[3], NULL, 10);
	if (strcmp(argv[4], "many") == 0)
		return run_many(&v, (unsigned)strtoul(argv[5], NULL, 10));
	v.seed = (uint32_t)strtoul(argv[5], NULL, 10);
	v.m = mirror_new();
	connect_x11(&v);
	rc = run_random(&v, argc > 6 ? (unsigned)strtoul(argv[6], NULL, 10)
				     : 1000);
	mirror_free(v.m);
	x11_free(v.x);
	xcb_disconnect(v.c);
	return rc;
}
