/*
 * Theory of operation. Server to client: a setup, then messages of 32 bytes;
 * replies (1) and generic events (35) carry a length of more, in units of 4.
 * Client to server: a setup request, then requests with their length in
 * units of 4 at byte 2 (0: a 32-bit length follows, BIG-REQUESTS). A message
 * from the server has the low 16 bits of the number of the last request that
 * was processed; because replies and errors come in order, and none before
 * its request was sent, the whole number follows from how many were sent.
 */
#include "desktop/xframe.h"
#include "desktop/wire.h"

#include <string.h>

enum {
	KIND_ERROR = 0,
	KIND_REPLY = 1,
	KIND_KEYMAP = 11, /* the one event without a request number */
	KIND_GENERIC = 35,
	KIND_MASK = 0x7f, /* the top bit marks events sent by clients */
};

void xframe_init(struct xframe *f)
{
	*f = (struct xframe){.events_left = XFRAME_EVENTS_COUNT};
}

int xframe_expect(struct xframe *f, uint64_t request, uint64_t max_len,
		  struct err *e)
{
	if (f->expected_count == XFRAME_EXPECTED_COUNT)
		return err_set(e, ERR_INTERNAL, "too many replies under way");
	f->expected[f->expected_count].request = request;
	f->expected[f->expected_count].max_len = max_len;
	f->expected_count++;
	f->events_left = XFRAME_EVENTS_COUNT;
	return 0;
}

void xframe_allow_event(struct xframe *f, uint8_t kind)
{
	f->event_kind = kind;
}

/* ---- client to server ---- */

/* The length of the message whose head is at hand, or 0 when more of the head
 * is needed. */
static uint64_t up_len(const struct xframe *f)
{
	if (!f->asked) {
		if (f->head_len < 12)
			return 0;
		return 12 + ((wire_u16(f->head + 6) + 3U) & ~3U) +
		       ((wire_u16(f->head + 8) + 3U) & ~3U);
	}
	if (f->head_len < 4)
		return 0;
	if (wire_u16(f->head + 2) != 0)
		return wire_u16(f->head + 2) * 4ULL;
	if (f->head_len < 8)
		return 0;
	return wire_u32(f->head + 4) < 2 ? 8 : wire_u32(f->head + 4) * 4ULL;
}

void xframe_up(struct xframe *f, const uint8_t *p, size_t len)
{
	while (len > 0) {
		uint64_t n = f->skip_len < len ? f->skip_len : len;

		p += n;
		len -= n;
		f->skip_len -= n;
		if (len == 0)
			return;
		f->head[f->head_len++] = *p++;
		len--;
		n = up_len(f);
		if (n == 0)
			continue;
		f->skip_len = n > f->head_len ? n - f->head_len : 0;
		f->head_len = 0;
		if (f->asked)
			f->sent++;
		f->asked = true;
	}
}

/* ---- server to client ---- */

static int down_setup(struct xframe *f, const uint8_t *p, size_t len,
		      struct xframe_piece *ret, struct err *e)
{
	size_t whole;

	if (len < XSETUP_HEAD_LEN)
		return 0;
	if (xsetup_len(p, &whole, e) != 0)
		return -1;
	if (len < whole)
		return 0;
	if (xsetup_parse(p, whole, &f->setup, e) != 0)
		return -1;
	f->set_up = true;
	ret->len = whole;
	ret->passes = true;
	return 0;
}

/* The whole number of the newest request that ends in these 16 bits and was
 * sent; 0 when there is none. */
static uint64_t widen(const struct xframe *f, uint16_t low)
{
	uint64_t full = (f->sent & ~0xffffULL) | low;

	if (full > f->sent)
		full = full > 0xffff ? full - 0x10000 : 0;
	return full;
}

static int down_answer(struct xframe *f, const uint8_t *p, struct err *e)
{
	uint64_t request = widen(f, wire_u16(p + 2));
	uint64_t max_len = 0;
	unsigned n = 0;

	if (request <= f->answered)
		return err_set(e, ERR_PROTOCOL,
			       "the guest's X server answers a request that "
			       "was not made");
	f->answered = request;
	while (n < f->expected_count && f->expected[n].request <= request) {
		if (f->expected[n].request == request)
			max_len = f->expected[n].max_len;
		n++;
	}
	f->expected_count -= n;
	memmove(f->expected, f->expected + n,
		f->expected_count * sizeof(f->expected[0]));
	if (p[0] == KIND_ERROR)
		return 0;
	if (max_len == 0)
		return err_set(e, ERR_PROTOCOL,
			       "the guest's X server replies to a request that "
			       "has no reply");
	f->body_len = wire_u32(p + 4) * 4ULL;
	if (f->body_len + XFRAME_HEAD_LEN > max_len)
		return err_set(e, ERR_LIMIT,
			       "the guest's X server announces a reply of %llu "
			       "bytes where at most %llu can be",
			       (unsigned long long)f->body_len +
				       XFRAME_HEAD_LEN,
			       (unsigned long long)max_len);
	return 0;
}

static bool event_passes(struct xframe *f, const uint8_t *p)
{
	uint8_t kind = p[0] & KIND_MASK;

	if (kind == KIND_GENERIC)
		f->body_len = wire_u32(p + 4) * 4ULL;
	/* libxcb takes an event as proof that all before it is answered */
	if (kind != f->event_kind || kind == 0 || kind == KIND_KEYMAP ||
	    kind == KIND_GENERIC || f->events_left == 0 ||
	    widen(f, wire_u16(p + 2)) < f->answered)
		return false;
	f->events_left--;
	return true;
}

int xframe_down(struct xframe *f, const uint8_t *p, size_t len,
		struct xframe_piece *ret, struct err *e)
{
	*ret = (struct xframe_piece){0};
	if (!f->set_up)
		return down_setup(f, p, len, ret, e);
	if (f->body_len > 0) {
		ret->len = f->body_len < len ? f->body_len : len;
		ret->passes = f->body_passes;
		f->body_len -= ret->len;
		return 0;
	}
	if (len < XFRAME_HEAD_LEN)
		return 0;
	if (p[0] == KIND_ERROR || p[0] == KIND_REPLY) {
		if (down_answer(f, p, e) != 0)
			return -1;
		f->body_passes = true;
	} else {
		f->body_passes = event_passes(f, p);
	}
	ret->len = XFRAME_HEAD_LEN;
	ret->passes = f->body_passes;
	return 0;
}
