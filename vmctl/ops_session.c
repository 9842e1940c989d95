/*
 * What is done within the desktop's session, by programs of the guest: they are
 * run with the display that the mirror shows. The clipboard is xclip's: what
 * was put on it stays there without us, and whatever its other owners are up to
 * is between them and a process of the guest, of which only so many bytes are
 * taken within so long.
 */
#include "base/alloc.h"
#include "base/json.h"
#include "base/limits.h"
#include "vmctl/clipformat.h"
#include "vmctl/deskconn.h"
#include "vmctl/guest.h"
#include "vmctl/handlers.h"
#include "vmctl/ops_desktop.h"
#include "vmctl/service.h"

#include <string.h>

enum {
	/* for one program of the guest, and to hear of its end */
	STEP_MS = 12 * 1000,
	TARGETS_LEN = 16 * 1024,
	LOOK_MS = 100,
	TAKEN_MS = 3000,
	TAKEN_LOOK_MS = 20,
	ENDED_LATE = 124, /* timeout(1) */
	NOT_FOUND = 127,
	NO_COMMAND = 126,
	FIXED_ARGS_COUNT = 16,
};

/* … which ends by itself after this; seconds, for timeout(1) */
#define STEP_TIME "8"

struct session {
	struct call *call;
	const char *vm;
	struct guest *guest;
	char *display, *xauthority; /* as variables */
};

static void session_finish(struct session *s)
{
	free(s->display);
	free(s->xauthority);
}
#define auto_session __attribute__((cleanup(session_finish)))

/* There is a desktop, which deskconn finds out, and says what if not. */
static int session_init(struct session *s, struct call *c, const char *vm,
			struct err *e)
{
	struct deskconn_visit v;
	struct machine_display at;
	struct machine *m;

	if (deskconn_enter(c, vm, &v, e) != 0)
		return -1;
	m = v.machine;
	deskconn_leave(&v, 0, false);
	if (machine_guest(m, &s->guest, e) != 0)
		return -1;
	at = machine_display(m);
	s->call = c;
	s->vm = vm;
	s->display = alloc_printf("DISPLAY=:%u", at.number);
	s->xauthority = alloc_printf("XAUTHORITY=%s", at.xauthority);
	return 0;
}

struct step {
	const char *const *argv; /* NULL-terminated */
	size_t argc;
	const char *in;
	size_t in_len;
	struct buf *out; /* NULL: dropped */
};

/* How it ended: its status, ENDED_LATE when it did not by itself. */
static int run_step(const struct session *s, const struct step *step,
		    int *ret_status, struct err *e)
{
	const char *const prefix[] = {"timeout", "-k1",	     STEP_TIME,
				      "env",	 s->display, s->xauthority};
	autofree const char **argv = alloc_array(
		ARRAY_COUNT(prefix) + step->argc + 1, sizeof(*argv));
	const struct guest_run run = {.argv = argv,
				      .in = step->in,
				      .in_len = step->in_len,
				      .out = step->out,
				      .cancel_fd = call_cancel_fd(s->call)};
	struct deadline d =
		deadline_min(call_deadline(s->call), deadline_in_ms(STEP_MS));
	struct guest_exit how;

	memcpy(argv, prefix, sizeof(prefix));
	memcpy(argv + ARRAY_COUNT(prefix), step->argv,
	       step->argc * sizeof(*argv));
	if (guest_run(s->guest, &run, d, &how, e) != 0)
		return -1;
	*ret_status = how.status;
	return 0;
}

/* ---- the clipboard ---- */

static int read_target(const struct session *s, const char *selection,
		       const char *target, struct buf *out, struct err *e)
{
	const char *const argv[] = {"xclip",   "-o", "-selection",
				    selection, "-t", target};
	const struct step step = {
		.argv = argv, .argc = ARRAY_COUNT(argv), .out = out};
	int status;

	if (run_step(s, &step, &status, e) != 0) {
		if (e && e->code == ERR_LIMIT)
			err_set(e, ERR_LIMIT,
				"the %s holds more than the %zu KiB that this "
				"hands on: read it in %s, with xclip -o",
				selection, out->cap / 1024, s->vm);
		return -1;
	}
	if (status == ENDED_LATE)
		return err_set(e, ERR_TIMEOUT,
			       "the program that owns the %s does not answer",
			       selection);
	if (status == NOT_FOUND)
		return err_set(e, ERR_STATE,
			       "%s has no xclip, which its clipboard is read "
			       "and written with",
			       s->vm);
	/* nobody owns it, or not as this */
	if (status != 0)
		buf_reset(out);
	return 0;
}

static int give_image(struct call *c, const struct buf *png, json_t *result,
		      struct err *e)
{
	uint32_t width, height;

	if (clipformat_png(png->data, png->len, &width, &height, e) != 0)
		return -1;
	json_object_set_new(result, "width", json_integer(width));
	json_object_set_new(result, "height", json_integer(height));
	json_object_set_new(result, "mime", json_string("image/png"));
	/* a person's terminal shows none */
	if (!call_from_agent(c))
		return 0;
	if (call_write(c, RPC_IMAGE, png->data, png->len, e) != 0)
		return -1;
	return call_write(c, RPC_IMAGE, NULL, 0, e);
}

static int get_as(const struct session *s, const char *selection,
		  const struct clipformat *f, json_t *result, struct err *e)
{
	struct buf out;
	int rc;

	buf_init(&out, f->max_len);
	rc = read_target(s, selection, f->target, &out, e);
	json_object_set_new(result, "kind",
			    json_string(f->is_image ? "image" : "text"));
	if (rc == 0 && f->is_image)
		rc = give_image(s->call, &out, result, e);
	else if (rc == 0)
		json_object_set_new(result, "text",
				    clipformat_text(f, out.data, out.len));
	buf_finish(&out);
	return rc;
}

static int get_clipboard(const struct session *s, const char *selection,
			 json_t *result, struct err *e)
{
	const struct clipformat *f = NULL;
	struct buf targets;
	int rc;

	buf_init(&targets, TARGETS_LEN);
	rc = read_target(s, selection, "TARGETS", &targets, e);
	if (rc == 0)
		f = clipformat_pick(targets.data, targets.len);
	buf_finish(&targets);
	if (rc != 0)
		return -1;
	if (f)
		return get_as(s, selection, f, result, e);
	json_object_set_new(result, "kind", json_string("none"));
	return 0;
}

/* Is this what programs get now? */
static int holds_text(const struct session *s, const char *selection,
		      const json_t *text, bool *ret, struct err *e)
{
	struct buf out;
	int rc;

	buf_init(&out, LIMIT_CLIPBOARD_LEN);
	rc = read_target(s, selection, "UTF8_STRING", &out, e);
	*ret = rc == 0 && out.len == json_string_length(text) &&
	       memcmp(out.data, json_string_value(text), out.len) == 0;
	buf_finish(&out);
	return rc;
}

/* xclip goes to the background before the server has heard of it. */
static int await_text(const struct session *s, const char *selection,
		      const json_t *text, struct err *e)
{
	const struct turn turn = {.deadline = call_deadline(s->call),
				  .cancel_fd = call_cancel_fd(s->call)};
	struct deadline d = deadline_in_ms(TAKEN_MS);
	bool done = false;

	for (;;) {
		if (holds_text(s, selection, text, &done, e) != 0)
			return -1;
		if (done)
			return 0;
		if (deadline_passed(d))
			return err_set(e, ERR_STATE,
				       "another program took the %s at once",
				       selection);
		if (turn_pause(&turn, TAKEN_LOOK_MS, "setting the clipboard",
			       e) != 0)
			return -1;
	}
}

/* xclip stays, to answer whoever pastes: it must not keep our streams. */
static int set_clipboard(const struct session *s, const char *selection,
			 const json_t *text, struct err *e)
{
	static const char script[] =
		"exec xclip -i -selection \"$1\" -t UTF8_STRING >/dev/null 2>&1";
	const char *const argv[] = {"sh", "-c", script, "sh", selection};
	const struct step step = {.argv = argv,
				  .argc = ARRAY_COUNT(argv),
				  .in = json_string_value(text),
				  .in_len = json_string_length(text)};
	int status;

	if (run_step(s, &step, &status, e) != 0)
		return -1;
	if (status != 0)
		return err_set(e, ERR_STATE,
			       "xclip in %s did not take the text (status %d)",
			       s->vm, status);
	return await_text(s, selection, text, e);
}

int op_vm_clipboard(struct call *c, const json_t *args, json_t **ret_result,
		    struct err *e)
{
	const char *vm = json_string_value(json_object_get(args, "vm"));
	const char *selection =
		json_string_value(json_object_get(args, "selection"));
	const json_t *text = json_object_get(args, "text");
	auto_session struct session s = {0};
	auto_json json_t *result = json_object();
	int rc;

	if (session_init(&s, c, vm, e) != 0)
		return -1;
	if (json_is_string(text)) {
		rc = set_clipboard(&s, selection, text, e);
		json_object_set_new(result, "done", json_true());
	} else {
		rc = get_clipboard(&s, selection, result, e);
	}
	if (rc == 0)
		*ret_result = TAKE_PTR(result);
	return rc;
}

/* ---- programs ---- */

/* Of a desktop entry, or of words; with the fields of a command line of an
 * entry left out, as the desktop's own menu does. */
static const char start_script[] =
	"name=$1; shift\n"
	"if [ -n \"$name\" ]; then\n"
	"	for d in \"$HOME/.local/share\" /usr/local/share /usr/share; do\n"
	"		f=$d/applications/${name%.desktop}.desktop\n"
	"		[ -f \"$f\" ] && break\n"
	"		f=\n"
	"	done\n"
	"	[ -n \"$f\" ] || exit 127\n"
	"	run=$(sed -n '/^\\[Desktop Entry\\]/,/^\\[Desktop A/s/^Exec=//p' "
	"\"$f\" | head -n 1 | sed 's/ *%[a-zA-Z]//g')\n"
	"	[ -n \"$run\" ] || exit 126\n"
	"	set -- sh -c \"exec $run\"\n"
	"	if grep -q '^Terminal=true' \"$f\"; then\n"
	"		set -- x-terminal-emulator -e \"$@\"\n"
	"	fi\n"
	"else\n"
	"	command -v -- \"$1\" >/dev/null || exit 127\n"
	"fi\n"
	"cd && exec setsid -f -- \"$@\" </dev/null >/dev/null 2>&1\n";

static int start_program(const struct session *s, const json_t *args,
			 struct err *e)
{
	const char *app = json_string_value(json_object_get(args, "app"));
	const json_t *words = json_object_get(args, "argv");
	size_t count = json_array_size(words);
	autofree const char **argv =
		alloc_array(FIXED_ARGS_COUNT + count, sizeof(*argv));
	struct step step = {.argv = argv};
	int status;

	if ((app != NULL) == (count > 0))
		return err_set(e, ERR_INVALID,
			       "app, the name of a desktop entry, or argv, a "
			       "program and its arguments");
	if (count > LIMIT_ARGS_COUNT || (app && strchr(app, '/')))
		return err_set(e, ERR_INVALID,
			       app ? "app is a name, such as mousepad"
				   : "too many arguments");
	argv[step.argc++] = "sh";
	argv[step.argc++] = "-c";
	argv[step.argc++] = start_script;
	argv[step.argc++] = "sh";
	argv[step.argc++] = app ? app : "";
	for (size_t i = 0; i < count; i++)
		argv[step.argc++] = json_string_value(json_array_get(words, i));
	if (run_step(s, &step, &status, e) != 0)
		return -1;
	if (status == NOT_FOUND || status == NO_COMMAND)
		return err_set(e, ERR_NOT_FOUND,
			       app ? "%s has no desktop entry %s that starts "
				     "something"
				   : "%s has no program %s",
			       s->vm, app ? app : argv[5]);
	if (status != 0)
		return err_set(e, ERR_STATE, "starting it ended with status %d",
			       status);
	return 0;
}

static int list_windows(const struct session *s, struct desktop_windows *ret,
			struct err *e)
{
	struct deskconn_visit v;

	if (deskconn_enter(s->call, s->vm, &v, e) != 0)
		return -1;
	return deskconn_leave(&v, desktop_windows(v.desktop, &v.turn, ret, e),
			      false);
}

/* The topmost that was not there before; NULL: none. */
static const struct desktop_window *find_new(const struct desktop_windows *now,
					     const struct desktop_windows *old)
{
	for (unsigned i = 0; i < now->count; i++) {
		bool known = false;

		for (unsigned k = 0; k < old->count; k++)
			known |= old->at[k].id == now->at[i].id;
		if (!known)
			return &now->at[i];
	}
	return NULL;
}

/* Into list, the first that comes. */
static int await_window(const struct session *s,
			const struct desktop_windows *old, struct deadline d,
			json_t *list, struct err *e)
{
	const struct turn turn = {.deadline = call_deadline(s->call),
				  .cancel_fd = call_cancel_fd(s->call)};

	for (;;) {
		auto_desktop_windows struct desktop_windows now = {0};
		const struct desktop_window *w;

		if (list_windows(s, &now, e) != 0)
			return -1;
		w = find_new(&now, old);
		if (w)
			json_array_append_new(list, ops_desktop_window(w));
		if (w || deadline_passed(d))
			return 0;
		if (turn_pause(&turn, LOOK_MS, "waiting for its window", e) !=
		    0)
			return -1;
	}
}

int op_vm_launch(struct call *c, const json_t *args, json_t **ret_result,
		 struct err *e)
{
	const char *vm = json_string_value(json_object_get(args, "vm"));
	double seconds = json_number_value(json_object_get(args, "seconds"));
	auto_desktop_windows struct desktop_windows old = {0};
	auto_session struct session s = {0};
	auto_json json_t *list = json_array();
	struct err why = {0};
	bool managed;

	if (session_init(&s, c, vm, e) != 0)
		return -1;
	managed = list_windows(&s, &old, &why) == 0;
	/* without a window manager programs start all the same */
	if (!managed && why.code != ERR_STATE) {
		if (e)
			*e = why;
		return -1;
	}
	if (start_program(&s, args, e) != 0)
		return -1;
	if (managed &&
	    await_window(&s, &old, deadline_in_ms((int64_t)(seconds * 1000)),
			 list, e) != 0)
		return -1;
	*ret_result = json_pack("{s:b, s:O}", "started", 1, "windows", list);
	return 0;
}
