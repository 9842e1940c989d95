/*
 * Drives one desktop by lines on stdin, for tests and by hand:
 *
 *   desktop_drive SOCKET XAUTHORITY DISPLAY [TIMEOUT_MS]
 *
 * SOCKET may be ssh:PATH: then it and XAUTHORITY are those of the guest that
 * the environment names (guest_tool.h).
 *
 *   shot FILE [X Y WIDTH HEIGHT]      settled FILE (once nothing changes)
 *   since FILE GENERATION             what changed: FILE.0, FILE.1, …
 *   click X Y BUTTON COUNT MODS       (X - : where the pointer is; MODS - :
 *                                     none)
 *   move X Y                          drag BUTTON MODS X Y X Y …
 *   type FILE                         key REPEAT CHORDS…
 *   hold MS CHORD                     down|up X Y BUTTON
 *   windows                           id title program focused minimized x y
 *                                     width height, a line each
 *   window ID focus|raise|close       window ID move X|- Y [WIDTH HEIGHT]
 *   release                           rest
 *   seen                              what follows is of one who saw the last
 *                                     shot
 *   after QUIET_MS CAP_MS COMMAND…    the command, and what comes of it
 *
 * Each is answered by one line: "ok …" or "error CODE: MESSAGE", and the
 * milliseconds it took. The last line is the most memory it had.
 */
#include "base/alloc.h"
#include "base/fd.h"
#include "base/path.h"
#include "desktop/desktop.h"
#include "tests/tools/guest_tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define WORDS_COUNT 2100

struct drive {
	struct desktop *d;
	struct desktop_memory *memory;
	struct coords_size last, seen;
	uint64_t last_generation, seen_generation;
	int64_t timeout_ms;
};

static struct turn turn_of(const struct drive *v)
{
	return (struct turn){.deadline = deadline_in_ms(v->timeout_ms),
			     .cancel_fd = -1,
			     .seen = v->seen,
			     .seen_generation = v->seen_generation};
}

static int64_t number(const char *s)
{
	return strtoll(s, NULL, 10);
}

static void print_boxes(const char *what, const struct desktop_boxes *b)
{
	printf("%s", what);
	if (b->count == 0)
		printf(" none");
	for (unsigned i = 0; i < b->count; i++)
		printf(" %u,%u,%u,%u", b->at[i].x, b->at[i].y,
		       b->at[i].width_px, b->at[i].height_px);
	printf(" ");
}

static void print_info(struct drive *v, const struct desktop_shot_info *i)
{
	printf("image %ux%u desktop %ux%u pointer %d,%d scale %.4f "
	       "number %" PRIu64 " ",
	       i->image.width_px, i->image.height_px, i->desktop.width_px,
	       i->desktop.height_px, i->pointer.x, i->pointer.y, i->scale,
	       i->generation);
	if (i->compared)
		print_boxes("changed", &i->changed);
	v->last = i->desktop;
	v->last_generation = i->generation;
}

static int write_images(struct drive *v, struct desktop_shot *s,
			const char *file, struct err *e)
{
	struct desktop_shot_info i = desktop_shot_info(s);
	struct desktop_image images[DESKTOP_BOXES_COUNT];
	int64_t at_ms = deadline_now_ms();
	unsigned count;
	int rc = 0;

	if (desktop_shot_encode(s, e) != 0)
		return -1;
	print_info(v, &i);
	printf("encode %" PRId64 " ms ", deadline_now_ms() - at_ms);
	count = desktop_shot_images(s, images);
	for (unsigned k = 0; k < count && rc == 0; k++) {
		autofree char *name =
			i.partly ? alloc_printf("%s.%u", file, k) : NULL;

		printf("%s %zu bytes ", images[k].mime, images[k].len);
		if (i.partly)
			printf("at %u,%u ", images[k].box.x, images[k].box.y);
		rc = path_write_file(name ? name : file, images[k].bytes,
				     images[k].len, 0644, e);
	}
	return rc;
}

static int do_shot(struct drive *v, int argc, char *argv[], struct err *e)
{
	auto_desktop_shot struct desktop_shot *s = NULL;
	struct desktop_want want = {0};
	struct turn t = turn_of(v);
	struct coords_region r;

	if (argc == 6) {
		r = (struct coords_region){number(argv[2]), number(argv[3]),
					   number(argv[4]), number(argv[5])};
		want.region = &r;
	}
	if (strcmp(argv[0], "since") == 0 && argc == 3) {
		want.partly = true;
		want.since = (uint64_t)number(argv[2]);
	}
	if (desktop_capture(v->d, &t, &want, &s, e) != 0)
		return -1;
	return write_images(v, s, argv[1], e);
}

static int do_settled(struct drive *v, int argc, char *argv[], struct err *e)
{
	const struct desktop_rule rule = {150, 3000};
	struct desktop_outcome o;
	struct turn t = turn_of(v);

	if (desktop_settle(v->d, &t, &rule, &o, e) != 0)
		return -1;
	printf("%s ", o.settled ? "settled" : "unsettled");
	return do_shot(v, argc, argv, e);
}

static int do_rest(struct drive *v, int argc, char *argv[], struct err *e)
{
	struct turn t = turn_of(v);

	(void)argc;
	(void)argv;
	(void)e;
	desktop_rest(v->d, &t);
	return 0;
}

static const char *mods(const char *word)
{
	return strcmp(word, "-") == 0 ? NULL : word;
}

static int do_click(struct drive *v, int argc, char *argv[], struct err *e)
{
	struct desktop_place at = {number(argv[1]), number(argv[2])};
	struct desktop_click c = {.at = strcmp(argv[1], "-") == 0 ? NULL : &at,
				  .button = (enum input_button)number(argv[3]),
				  .count = (unsigned)number(argv[4]),
				  .modifiers = mods(argv[5])};
	struct turn t = turn_of(v);

	(void)argc;
	return desktop_click(v->d, &t, &c, e);
}

static int do_move(struct drive *v, int argc, char *argv[], struct err *e)
{
	struct desktop_place to = {number(argv[1]), number(argv[2])};
	struct turn t = turn_of(v);

	(void)argc;
	return desktop_move(v->d, &t, &to, e);
}

static int do_drag(struct drive *v, int argc, char *argv[], struct err *e)
{
	struct desktop_place points[WORDS_COUNT / 2];
	struct desktop_drag g = {.points = points,
				 .button = (enum input_button)number(argv[1]),
				 .modifiers = mods(argv[2])};
	struct turn t = turn_of(v);

	for (int i = 3; i + 1 < argc; i += 2)
		points[g.count++] = (struct desktop_place){number(argv[i]),
							   number(argv[i + 1])};
	return desktop_drag(v->d, &t, &g, e);
}

static int do_type(struct drive *v, int argc, char *argv[], struct err *e)
{
	autofree char *text = NULL;
	struct turn t = turn_of(v);
	size_t len;

	(void)argc;
	if (path_read_file(argv[1], 1024 * 1024, &text, &len, e) != 0)
		return -1;
	return desktop_type(v->d, &t, text, len, e);
}

static int do_key(struct drive *v, int argc, char *argv[], struct err *e)
{
	struct turn t = turn_of(v);
	struct buf keys;
	int rc = 0;

	buf_init(&keys, 4096);
	for (int i = 2; i < argc && rc == 0; i++)
		rc = buf_printf(&keys, e, "%s ", argv[i]);
	if (rc == 0)
		rc = desktop_key(v->d, &t, keys.data, (unsigned)number(argv[1]),
				 e);
	buf_finish(&keys);
	return rc;
}

static int do_hold(struct drive *v, int argc, char *argv[], struct err *e)
{
	struct turn t = turn_of(v);

	(void)argc;
	return desktop_hold(v->d, &t, argv[2], number(argv[1]), e);
}

static int do_press(struct drive *v, int argc, char *argv[], struct err *e)
{
	struct desktop_place at = {number(argv[1]), number(argv[2])};
	struct desktop_press p = {.at = strcmp(argv[1], "-") == 0 ? NULL : &at,
				  .button = (enum input_button)number(argv[3]),
				  .press = strcmp(argv[0], "down") == 0};
	struct turn t = turn_of(v);

	(void)argc;
	return desktop_press(v->d, &t, &p, e);
}

static int do_windows(struct drive *v, int argc, char *argv[], struct err *e)
{
	auto_desktop_windows struct desktop_windows l = {0};
	struct turn t = turn_of(v);

	(void)argc;
	(void)argv;
	if (desktop_windows(v->d, &t, &l, e) != 0)
		return -1;
	for (unsigned i = 0; i < l.count; i++) {
		const struct desktop_window *w = &l.at[i];

		printf("%" PRIu32 " '%s' '%s' %d %d %" PRId64 " %" PRId64
		       " %" PRId64 " %" PRId64 "; ",
		       w->id, w->title, w->program, w->focused, w->minimized,
		       w->frame.x, w->frame.y, w->frame.width_px,
		       w->frame.height_px);
	}
	return 0;
}

static int do_window(struct drive *v, int argc, char *argv[], struct err *e)
{
	struct desktop_window_request r = {.id = (uint32_t)number(argv[1])};
	struct desktop_place to;
	struct turn t = turn_of(v);

	if (strcmp(argv[2], "raise") == 0)
		r.verb = DESKTOP_WINDOW_RAISE;
	else if (strcmp(argv[2], "close") == 0)
		r.verb = DESKTOP_WINDOW_CLOSE;
	else if (strcmp(argv[2], "move") == 0)
		r.verb = DESKTOP_WINDOW_MOVE;
	if (argc > 4 && strcmp(argv[3], "-") != 0) {
		to = (struct desktop_place){number(argv[3]), number(argv[4])};
		r.to = &to;
	}
	if (argc > 6) {
		r.resizes = true;
		r.width_px = number(argv[5]);
		r.height_px = number(argv[6]);
	}
	return desktop_window(v->d, &t, &r, e);
}

static int do_release(struct drive *v, int argc, char *argv[], struct err *e)
{
	struct turn t = turn_of(v);

	(void)argc;
	(void)argv;
	return desktop_release(v->d, &t, e);
}

static int do_seen(struct drive *v, int argc, char *argv[], struct err *e)
{
	(void)argc;
	(void)argv;
	(void)e;
	v->seen = v->last;
	v->seen_generation = v->last_generation;
	return 0;
}

static int do_after(struct drive *v, int argc, char *argv[], struct err *e);

static const struct command {
	const char *name;
	int min_argc;
	int (*run)(struct drive *v, int argc, char *argv[], struct err *e);
} commands[] = {
	{"shot", 2, do_shot},	  {"settled", 2, do_settled},
	{"since", 3, do_shot},	  {"click", 6, do_click},
	{"move", 3, do_move},	  {"drag", 7, do_drag},
	{"type", 2, do_type},	  {"key", 3, do_key},
	{"rest", 1, do_rest},	  {"release", 1, do_release},
	{"seen", 1, do_seen},	  {"after", 4, do_after},
	{"hold", 3, do_hold},	  {"down", 4, do_press},
	{"up", 4, do_press},	  {"windows", 1, do_windows},
	{"window", 3, do_window},
};

static int run_command(struct drive *v, int argc, char *argv[], struct err *e)
{
	for (size_t i = 0; argc > 0 && i < ARRAY_COUNT(commands); i++) {
		if (strcmp(argv[0], commands[i].name) == 0 &&
		    argc >= commands[i].min_argc)
			return commands[i].run(v, argc, argv, e);
	}
	return err_set(e, ERR_INVALID, "no such command");
}

static int do_after(struct drive *v, int argc, char *argv[], struct err *e)
{
	const struct desktop_rule rule = {(unsigned)number(argv[1]),
					  (unsigned)number(argv[2])};
	struct desktop_outcome o;
	struct turn t = turn_of(v);

	if (desktop_observe(v->d, &t, &rule, e) != 0 ||
	    run_command(v, argc - 3, argv + 3, e) != 0 ||
	    desktop_settle(v->d, &t, &rule, &o, e) != 0)
		return -1;
	printf("%s ", o.settled ? "settled" : "unsettled");
	print_boxes("changed", &o.changed);
	print_boxes("moving", &o.moving);
	return 0;
}

static void run_line(struct drive *v, char *line)
{
	char *argv[WORDS_COUNT] = {NULL};
	struct err e = {0};
	int64_t at_ms = deadline_now_ms();
	int argc = 0, rc;

	while (argc < WORDS_COUNT - 1) {
		char *word = strsep(&line, " \n");

		if (!word)
			break;
		if (*word)
			argv[argc++] = word;
	}
	rc = run_command(v, argc, argv, &e);
	if (rc == 0 && e.code == ERR_NONE)
		printf("ok %" PRId64 " ms\n", deadline_now_ms() - at_ms);
	else
		printf("error %s: %s (%" PRId64 " ms)\n", err_code_name(e.code),
		       err_msg(&e), deadline_now_ms() - at_ms);
	fflush(stdout);
}

static void print_memory(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_SELF, &u) == 0)
		printf("memory %ld KiB\n", u.ru_maxrss);
}

/* The cookie's file and the socket, here or in a guest. */
static int reach(const char *socket, const char *xauthority, struct guest **g,
		 struct buf *xauth, int *ret_fd, struct err *e)
{
	struct deadline d = deadline_in_ms(30000);
	autofree char *file = NULL;
	size_t len;

	if (strncmp(socket, "ssh:", 4) == 0) {
		*g = tool_guest();
		if (guest_read_file(*g, xauthority, d, xauth, e) != 0)
			return -1;
		return guest_open_unix(*g, socket + 4, d, ret_fd, e);
	}
	if (path_read_file(xauthority, xauth->cap, &file, &len, e) != 0 ||
	    buf_add(xauth, file, len, e) != 0)
		return -1;
	*ret_fd = fd_unix_connect(socket, e);
	return *ret_fd < 0 ? -1 : 0;
}

int main(int argc, char *argv[])
{
	struct drive v = {.timeout_ms = 20000};
	struct desktop_config c = {0};
	struct guest *g = NULL;
	struct buf xauth;
	struct err e = {0};
	char *line = NULL;
	size_t size = 0;
	int rc;

	if (argc < 4) {
		fprintf(stderr, "usage: desktop_drive SOCKET XAUTHORITY "
				"DISPLAY [TIMEOUT_MS]\n");
		return 2;
	}
	v.memory = desktop_memory_new();
	c.memory = v.memory;
	if (argc > 4)
		v.timeout_ms = number(argv[4]);
	buf_init(&xauth, 64 * 1024);
	rc = reach(argv[1], argv[2], &g, &xauth, &c.fd, &e);
	if (rc == 0) {
		c.xauth = xauth.data;
		c.xauth_len = xauth.len;
		c.display = (unsigned)number(argv[3]);
		rc = desktop_open(&c, deadline_in_ms(v.timeout_ms), &v.d, &e);
	}
	if (rc != 0)
		printf("error %s: %s\n", err_code_name(e.code), err_msg(&e));
	while (rc == 0 && getline(&line, &size, stdin) > 0)
		run_line(&v, line);
	free(line);
	desktop_free(v.d);
	desktop_memory_free(v.memory);
	if (g)
		guest_free(g);
	buf_finish(&xauth);
	print_memory();
	return rc == 0 ? 0 : 1;
}
