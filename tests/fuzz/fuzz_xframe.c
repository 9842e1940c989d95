/* Both directions of a connection: u16 length of the client's bytes, those,
 * then the server's, which come in small pieces. Nothing passes but what was
 * announced. */
#include "desktop/xframe.h"

#include <stdlib.h>
#include <string.h>

#define REPLY_MAX_LEN 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void feed(struct xframe *f, const uint8_t *p, size_t len)
{
	size_t passed = 0, at = 0, have = 0;

	while (at < len) {
		struct xframe_piece piece;
		struct err e = {0};

		have = have + 37 < len - at ? have + 37 : len - at;
		if (xframe_down(f, p + at, have, &piece, &e) != 0) {
			if (e.code == ERR_NONE)
				abort();
			return;
		}
		if (piece.len > have)
			abort();
		if (piece.len == 0 && have == len - at)
			return;
		passed += piece.passes ? piece.len : 0;
		at += piece.len;
		have -= piece.len;
	}
	/* a setup, three replies, their errors, some events */
	if (passed > XSETUP_MAX_LEN + 3 * REPLY_MAX_LEN +
			     (f->sent + XFRAME_EVENTS_COUNT) * XFRAME_HEAD_LEN)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct xframe f;
	uint16_t up_len;

	if (len < sizeof(up_len))
		return 0;
	memcpy(&up_len, data, sizeof(up_len));
	data += sizeof(up_len);
	len -= sizeof(up_len);
	if (up_len > len)
		return 0;
	xframe_init(&f);
	for (uint64_t request = 1; request <= 3; request++) {
		if (xframe_expect(&f, request, REPLY_MAX_LEN, NULL) != 0)
			abort();
	}
	xframe_allow_event(&f, 33);
	xframe_up(&f, data, up_len);
	feed(&f, data + up_len, len - up_len);
	return 0;
}
