/* Doing: XTEST events. */
#include "desktop/x11_conn.h"

#include <xcb/xtest.h>

static void fake(struct x11 *x, uint8_t type, uint8_t detail, unsigned delay_ms,
		 int to_x, int to_y)
{
	x11_sent(x, xcb_test_fake_input(x->c, type, detail, delay_ms,
					x->setup.root, (int16_t)to_x,
					(int16_t)to_y, 0)
			    .sequence);
}

void x11_fake_key(struct x11 *x, uint8_t keycode, bool press, unsigned delay_ms)
{
	fake(x, press ? XCB_KEY_PRESS : XCB_KEY_RELEASE, keycode, delay_ms, 0,
	     0);
}

void x11_fake_button(struct x11 *x, uint8_t button, bool press,
		     unsigned delay_ms)
{
	fake(x, press ? XCB_BUTTON_PRESS : XCB_BUTTON_RELEASE, button, delay_ms,
	     0, 0);
}

void x11_fake_motion(struct x11 *x, int to_x, int to_y, unsigned delay_ms)
{
	fake(x, XCB_MOTION_NOTIFY, 0 /* absolute */, delay_ms, to_x, to_y);
}
