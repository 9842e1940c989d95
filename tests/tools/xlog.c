/*
 * A program on a desktop under test: a window over the whole screen that has
 * the focus, and a line on stdout for everything that happens to it.
 *
 *   xlog [--text FILE] [--slow MS] [--ping]
 *
 *   key  press|release KEYCODE STATE KEYSYM
 *   button press|release N X Y STATE
 *   motion X Y STATE
 *
 * Keys are looked up as old toolkits do it: in a copy of the core map that is
 * fetched anew after a MappingNotify, when the event is handled. What they type
 * is added to FILE. --slow: so long for each key press. --ping: answers
 * _NET_WM_PING. Ends when the window is closed or on a signal.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xcb/xcb.h>
#include <xkbcommon/xkbcommon.h>

struct xlog {
	xcb_connection_t *c;
	xcb_screen_t *screen;
	xcb_window_t window;
	xcb_get_keyboard_mapping_reply_t *map; /* NULL: to be fetched */
	uint8_t first_keycode;
	uint32_t wm_protocols, net_wm_ping;
	FILE *text;
	unsigned slow_ms;
	bool pings;
};

static uint32_t intern(xcb_connection_t *c, const char *name)
{
	xcb_intern_atom_reply_t *r = xcb_intern_atom_reply(
		c, xcb_intern_atom(c, 0, (uint16_t)strlen(name), name), NULL);
	uint32_t atom = r ? r->atom : 0;

	free(r);
	return atom;
}

static bool open_window(struct xlog *l)
{
	const uint32_t values[] = {0x336699, 1,
				   XCB_EVENT_MASK_KEY_PRESS |
					   XCB_EVENT_MASK_KEY_RELEASE |
					   XCB_EVENT_MASK_BUTTON_PRESS |
					   XCB_EVENT_MASK_BUTTON_RELEASE |
					   XCB_EVENT_MASK_POINTER_MOTION |
					   XCB_EVENT_MASK_EXPOSURE};
	const xcb_setup_t *setup;

	l->c = xcb_connect(NULL, NULL);
	if (xcb_connection_has_error(l->c))
		return false;
	setup = xcb_get_setup(l->c);
	l->first_keycode = setup->min_keycode;
	l->screen = xcb_setup_roots_iterator(setup).data;
	l->window = xcb_generate_id(l->c);
	/* larger than the screen, so that a resize does not uncover it */
	xcb_create_window(l->c, XCB_COPY_FROM_PARENT, l->window,
			  l->screen->root, 0, 0, 8192, 8192, 0,
			  XCB_WINDOW_CLASS_INPUT_OUTPUT, l->screen->root_visual,
			  XCB_CW_BACK_PIXEL | XCB_CW_OVERRIDE_REDIRECT |
				  XCB_CW_EVENT_MASK,
			  values);
	l->wm_protocols = intern(l->c, "WM_PROTOCOLS");
	l->net_wm_ping = intern(l->c, "_NET_WM_PING");
	if (l->pings)
		xcb_change_property(l->c, XCB_PROP_MODE_REPLACE, l->window,
				    l->wm_protocols, XCB_ATOM_ATOM, 32, 1,
				    &l->net_wm_ping);
	xcb_map_window(l->c, l->window);
	return xcb_flush(l->c) > 0;
}

static uint32_t look_up(struct xlog *l, uint8_t keycode, uint16_t state)
{
	const xcb_setup_t *setup = xcb_get_setup(l->c);
	const xcb_keysym_t *syms;
	unsigned per, group = state >> 13 & 1;
	bool shift = state & XCB_MOD_MASK_SHIFT;
	uint32_t low, high;

	if (!l->map)
		l->map = xcb_get_keyboard_mapping_reply(
			l->c,
			xcb_get_keyboard_mapping(l->c, l->first_keycode,
						 (uint8_t)(setup->max_keycode -
							   l->first_keycode +
							   1)),
			NULL);
	if (!l->map)
		return 0;
	per = l->map->keysyms_per_keycode;
	syms = xcb_get_keyboard_mapping_keysyms(l->map) +
	       (unsigned)(keycode - l->first_keycode) * per;
	if (group && per >= 4 && (syms[2] || syms[3]))
		syms += 2;
	low = syms[0];
	high = per > 1 && syms[1] ? syms[1] : xkb_keysym_to_upper(low);
	if (state & XCB_MOD_MASK_LOCK && xkb_keysym_to_upper(low) != low)
		shift = !shift;
	return shift ? high : low;
}

static void type(struct xlog *l, uint32_t keysym)
{
	char utf8[8] = "";

	if (!l->text)
		return;
	if (keysym == 0xff0d)
		snprintf(utf8, sizeof(utf8), "\n");
	else if (keysym == 0xff09)
		snprintf(utf8, sizeof(utf8), "\t");
	else if (keysym < 0xff00 || keysym > 0xffff)
		xkb_keysym_to_utf8(keysym, utf8, sizeof(utf8));
	fputs(utf8, l->text);
	fflush(l->text);
}

static void on_key(struct xlog *l, const xcb_key_press_event_t *ev, bool press)
{
	const struct timespec slow = {0, (long)l->slow_ms * 1000000};
	uint32_t keysym;

	if (press && l->slow_ms)
		nanosleep(&slow, NULL);
	keysym = look_up(l, ev->detail, ev->state);
	printf("key %s %u 0x%x 0x%x\n", press ? "press" : "release", ev->detail,
	       ev->state, keysym);
	if (press)
		type(l, keysym);
}

static void on_button(const xcb_button_press_event_t *ev, bool press)
{
	printf("button %s %u %d %d 0x%x\n", press ? "press" : "release",
	       ev->detail, ev->root_x, ev->root_y, ev->state);
}

static void on_message(struct xlog *l, const xcb_client_message_event_t *ev)
{
	xcb_client_message_event_t pong = *ev;

	if (!l->pings || ev->type != l->wm_protocols ||
	    ev->data.data32[0] != l->net_wm_ping)
		return;
	pong.window = l->screen->root;
	xcb_send_event(l->c, 0, l->screen->root,
		       XCB_EVENT_MASK_SUBSTRUCTURE_NOTIFY |
			       XCB_EVENT_MASK_SUBSTRUCTURE_REDIRECT,
		       (const char *)&pong);
	xcb_flush(l->c);
}

static void on_event(struct xlog *l, const xcb_generic_event_t *ev)
{
	const xcb_motion_notify_event_t *m;

	switch (ev->response_type & 0x7f) {
	case XCB_EXPOSE:
		xcb_set_input_focus(l->c, XCB_INPUT_FOCUS_POINTER_ROOT,
				    l->window, XCB_CURRENT_TIME);
		xcb_flush(l->c);
		printf("ready\n");
		break;
	case XCB_KEY_PRESS:
	case XCB_KEY_RELEASE:
		on_key(l, (const xcb_key_press_event_t *)ev,
		       (ev->response_type & 0x7f) == XCB_KEY_PRESS);
		break;
	case XCB_BUTTON_PRESS:
	case XCB_BUTTON_RELEASE:
		on_button((const xcb_button_press_event_t *)ev,
			  (ev->response_type & 0x7f) == XCB_BUTTON_PRESS);
		break;
	case XCB_MOTION_NOTIFY:
		m = (const xcb_motion_notify_event_t *)ev;
		printf("motion %d %d 0x%x\n", m->root_x, m->root_y, m->state);
		break;
	case XCB_MAPPING_NOTIFY:
		free(l->map);
		l->map = NULL;
		break;
	case XCB_CLIENT_MESSAGE:
		on_message(l, (const xcb_client_message_event_t *)ev);
		break;
	default:
		break;
	}
	fflush(stdout);
}

int main(int argc, char *argv[])
{
	struct xlog l = {0};
	xcb_generic_event_t *ev;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--ping") == 0)
			l.pings = true;
		else if (strcmp(argv[i], "--slow") == 0 && i + 1 < argc)
			l.slow_ms = (unsigned)strtoul(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--text") == 0 && i + 1 < argc)
			l.text = fopen(argv[++i], "we");
	}
	if (!open_window(&l)) {
		fprintf(stderr, "xlog: no display\n");
		return 1;
	}
	while ((ev = xcb_wait_for_event(l.c)) != NULL) {
		on_event(&l, ev);
		free(ev);
	}
	xcb_disconnect(l.c);
	free(l.map);
	return 0;
}
