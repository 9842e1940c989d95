/*
 * An X server that lies.
 *
 *   xhostile SOCKET MAP LIE N
 *
 * Serves one connection truthfully up to the N-th reply (0: the setup), tells
 * the LIE in its place, once or for ever, and the truth after; or scrambles
 * some of them from there on, another way for each N. MAP is a keyboard map to
 * send. Prints nothing; ends when its client does.
 */
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "desktop/wire.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define SIDE_PX 256
#define SETUP_FILE "tests/fuzz/corpus/xsetup/xvnc"

enum { XTEST = 130, XFIXES, XKB, DAMAGE, DAMAGE_EVENT = 91 };

struct server {
	int fd;
	uint16_t requests;
	unsigned answered, truthful;
	bool is_text[256]; /* the kind of a property, by its atom */
	uint32_t seed;
	const char *lie;
	char *map;
	size_t map_len;
};

static void quit(void)
{
	exit(0); /* the client has had enough */
}

static void put(struct server *s, const void *p, size_t len)
{
	struct err e = {0};

	if (fd_write_all(s->fd, p, len, deadline_in_ms(30000), &e) != 0)
		quit();
}

static void take(struct server *s, void *p, size_t len)
{
	struct err e = {0};

	if (fd_read_all(s->fd, p, len, deadline_in_ms(30000), &e) != 0)
		quit();
}

static void stall(struct server *s)
{
	char junk[4096];

	/* reads, so that only the answer is missing */
	while (read(s->fd, junk, sizeof(junk)) > 0)
		;
	quit();
}

static void put_head(struct server *s, uint8_t kind, uint8_t data,
		     uint16_t request, uint32_t units)
{
	uint8_t head[32] = {kind, data};

	memcpy(head + 2, &request, sizeof(request));
	memcpy(head + 4, &units, sizeof(units));
	put(s, head, sizeof(head));
}

static void flood(struct server *s, uint8_t kind, uint32_t units)
{
	static uint8_t junk[65536];

	for (;;) {
		put_head(s, kind, 0, s->requests, units);
		for (uint32_t i = 0; i < units * 4; i += sizeof(junk))
			put(s, junk,
			    units * 4 - i < sizeof(junk) ? units * 4 - i
							 : sizeof(junk));
	}
}

static void drip(struct server *s)
{
	for (;;) {
		put(s, "\1", 1);
		deadline_sleep_ms(20);
	}
}

/* Instead of an answer. What follows a lie that came through is true again. */
static void tell_lie(struct server *s)
{
	static uint8_t junk[65536];
	const char *l = s->lie;

	if (strcmp(l, "stall") == 0)
		stall(s);
	else if (strcmp(l, "half") == 0) {
		put(s, "\1\0\1", 3);
		stall(s);
	} else if (strcmp(l, "drip") == 0)
		drip(s);
	else if (strcmp(l, "huge") == 0)
		put_head(s, 1, 24, s->requests, UINT32_MAX);
	else if (strcmp(l, "wrap") == 0)
		put_head(s, 1, 24, s->requests, 0x40000000);
	else if (strcmp(l, "more") == 0) {
		put_head(s, 1, 24, s->requests, sizeof(junk) / 4);
		put(s, junk, sizeof(junk));
	} else if (strcmp(l, "less") == 0)
		put_head(s, 1, 24, s->requests, 0);
	else if (strcmp(l, "error") == 0)
		put_head(s, 0, 8, s->requests, 0);
	else if (strcmp(l, "ahead") == 0)
		put_head(s, 1, 0, (uint16_t)(s->requests + 9), 0);
	else if (strcmp(l, "behind") == 0)
		put_head(s, 1, 0, (uint16_t)(s->requests - 1), 0);
	else if (strcmp(l, "twice") == 0) {
		put_head(s, 1, 24, s->requests, 0);
		put_head(s, 1, 24, s->requests, 0);
	} else if (strcmp(l, "events") == 0)
		flood(s, 34, 0);
	else if (strcmp(l, "messages") == 0)
		flood(s, 33, 0);
	else if (strcmp(l, "damage") == 0)
		flood(s, DAMAGE_EVENT, 0);
	else if (strcmp(l, "generic") == 0)
		flood(s, 35, 1000000);
	else if (strcmp(l, "errors") == 0)
		flood(s, 0, 0);
	else if (strcmp(l, "junk") == 0) {
		memset(junk, 0xff, sizeof(junk));
		put(s, junk, sizeof(junk));
	} else /* "close" */
		quit();
	s->truthful = UINT32_MAX;
}

static uint32_t roll(struct server *s)
{
	s->seed = s->seed * 1664525 + 1013904223;
	return s->seed >> 8;
}

static bool is_scrambler(const struct server *s)
{
	return strcmp(s->lie, "scramble") == 0;
}

/* A reply as far as its head goes; the rest is anything: bytes turned over, or
 * all of them, of its own length or another. */
static void scramble(struct server *s, const uint8_t fields[31],
		     const void *more, size_t len)
{
	static uint8_t body[SIDE_PX * SIDE_PX * 4 + 65536];
	uint8_t head[32] = {1};
	uint32_t units, flips = 1 + roll(s) % 4;

	memcpy(head + 1, fields, 31);
	if (len > 0 && len <= sizeof(body))
		memcpy(body, more, len);
	if (roll(s) % 4 == 0)
		len = roll(s) % 4 * 4 + (roll(s) % 2 ? 0 : len);
	for (uint32_t i = 0; i < flips; i++) {
		size_t at = roll(s) % (24 + (len < 64 ? len : 64));

		if (at < 24)
			head[8 + at] = (uint8_t)roll(s);
		else
			body[at - 24] = (uint8_t)roll(s);
	}
	units = (uint32_t)(len / 4);
	memcpy(head + 2, &s->requests, 2);
	memcpy(head + 4, &units, 4);
	put(s, head, sizeof(head));
	put(s, body, units * 4);
}

/* ---- the truth ---- */

static void reply(struct server *s, const uint8_t fields[31], const void *more,
		  size_t len)
{
	uint8_t head[32] = {1};
	uint32_t units = (uint32_t)(len / 4);

	if (++s->answered >= s->truthful && is_scrambler(s)) {
		if (roll(s) % 3 == 0) {
			scramble(s, fields, more, len);
			return;
		}
	} else if (s->answered >= s->truthful) {
		tell_lie(s);
		return;
	}
	memcpy(head + 1, fields, 31);
	memcpy(head + 2, &s->requests, 2);
	memcpy(head + 4, &units, 4);
	put(s, head, sizeof(head));
	put(s, more, len);
}

static void answer_image(struct server *s, const uint8_t *q)
{
	static uint8_t pixels[SIDE_PX * SIDE_PX * 4];
	uint8_t f[31] = {24};
	size_t len = (size_t)wire_u16(q + 12) * wire_u16(q + 14) * 4;

	reply(s, f, pixels, len < sizeof(pixels) ? len : sizeof(pixels));
}

static void answer_map(struct server *s)
{
	uint8_t f[31];

	memcpy(f, s->map + 1, sizeof(f));
	reply(s, f, s->map + 32, s->map_len - 32);
}

static uint8_t extension_code(const uint8_t *q, size_t len)
{
	static const struct {
		const char *start;
		uint8_t code;
	} codes[] = {{"XT", XTEST}, {"XF", XFIXES}, {"XK", XKB}};

	for (size_t i = 0; len > 10 && i < ARRAY_COUNT(codes); i++) {
		if (memcmp(q + 8, codes[i].start, 2) == 0)
			return codes[i].code;
	}
	return DAMAGE;
}

/* Windows that are all there is, titled by what is no text; nothing of what
 * else is asked about. */
static void answer_property(struct server *s, const uint8_t *q)
{
	static const char title[16] = "a\xff\0b\xc3\xa9\x1b[31m\xe2\x80";
	uint32_t windows[16];
	uint8_t f[31] = {0};
	uint32_t atom = wire_u32(q + 8), wanted = wire_u32(q + 20);
	bool is_text = atom < 256 || s->is_text[atom & 255];

	for (size_t i = 0; i < ARRAY_COUNT(windows); i++)
		windows[i] = 0x10;
	if (wire_u32(q + 12) != 0) { /* of one type: the keyboard's */
		reply(s, f, NULL, 0);
		return;
	}
	f[0] = is_text ? 8 : 32;
	if (wanted > 16)
		wanted = 16;
	if (is_text && wanted > 4)
		wanted = 4;
	f[15] = (uint8_t)(is_text ? wanted * 4 : wanted);
	reply(s, f, is_text ? (const void *)title : windows, wanted * 4);
}

static void answer_core(struct server *s, const uint8_t *q, size_t len)
{
	static uint8_t zeros[248 * 4];
	uint8_t f[31] = {0};

	switch (q[0]) {
	case 14: /* GetGeometry */
		f[0] = 24;
		f[15] = f[17] = SIDE_PX & 0xff;
		f[16] = f[18] = SIDE_PX >> 8;
		reply(s, f, NULL, 0);
		break;
	case 16: /* InternAtom */
		f[7] = (uint8_t)s->requests;
		f[8] = 1; /* above the ones that every server has */
		s->is_text[f[7]] =
			len > 12 && memmem(q + 8, len - 8, "_NAME", 5);
		reply(s, f, NULL, 0);
		break;
	case 20: /* GetProperty */
		answer_property(s, q);
		break;
	case 44: /* QueryKeymap */
		reply(s, f, zeros, 8);
		break;
	case 73: /* GetImage */
		answer_image(s, q);
		break;
	case 98: /* QueryExtension */
		f[7] = 1;
		f[8] = extension_code(q, len);
		f[9] = DAMAGE_EVENT;
		reply(s, f, NULL, 0);
		break;
	case 101: /* GetKeyboardMapping */
		f[0] = 1;
		reply(s, f, zeros, (size_t)q[5] * 4);
		break;
	case 15: /* QueryTree */
	case 40: /* TranslateCoordinates */
	case 38: /* QueryPointer */
	case 43: /* GetInputFocus */
		reply(s, f, NULL, 0);
		break;
	default: /* no reply is due */
		break;
	}
}

/* FakeInput; Create, Destroy, Subtract; CreateRegion, DestroyRegion;
 * LatchLockState, SetMap */
static bool has_no_reply(const uint8_t *q)
{
	return q[0] == XTEST || (q[0] == DAMAGE && q[1] != 0) ||
	       (q[0] == XFIXES && (q[1] == 5 || q[1] == 10)) ||
	       (q[0] == XKB && (q[1] == 5 || q[1] == 9));
}

static void answer_extension(struct server *s, const uint8_t *q)
{
	static const uint8_t pixel[4] = {1, 2, 3, 255};
	/* one that may be, and some that a real server would not send */
	static const int16_t region[] = {
		8,  8,	100, 100, -5, -5, 32767,  -1,	  32767, 32767,
		-1, -1, 0,   0,	  0,  0,  -32768, -32768, -1,	 -1,
	};
	uint8_t f[31] = {1};

	if (q[0] == XFIXES && q[1] == 19) { /* FetchRegion */
		reply(s, f, region, sizeof(region));
	} else if (q[0] == XFIXES && q[1] == 4) { /* GetCursorImage, 1x1 */
		f[11] = f[13] = 1;
		reply(s, f, pixel, sizeof(pixel));
	} else if (q[0] == XKB && q[1] == 8) {
		answer_map(s);
	} else if (q[0] == XKB && q[1] == 24) { /* GetDeviceInfo */
		reply(s, f, "\0\0\0", 4);
	} else if (!has_no_reply(q)) {
		f[0] = q[0] == XKB && q[1] == 0;
		reply(s, f, NULL, 0);
	}
}

static void serve(struct server *s)
{
	for (;;) {
		uint8_t q[65536];
		size_t len;

		take(s, q, 4);
		len = (size_t)wire_u16(q + 2) * 4;
		if (len < 4)
			quit();
		take(s, q + 4, len - 4);
		s->requests++;
		if (q[0] < 128)
			answer_core(s, q, len);
		else
			answer_extension(s, q);
	}
}

static void greet(struct server *s)
{
	autofree char *setup = NULL;
	struct err e = {0};
	uint8_t hello[64];
	size_t len;

	take(s, hello, 12 + 20 + 16);
	if (path_read_file(SETUP_FILE, 65536, &setup, &len, &e) != 0) {
		fprintf(stderr, "xhostile: %s\n", err_msg(&e));
		exit(1);
	}
	if (s->truthful == 0 && !is_scrambler(s))
		tell_lie(s);
	put(s, setup, len);
}

int main(int argc, char *argv[])
{
	struct server s = {0};
	struct err e = {0};
	int fd;

	if (argc != 5) {
		fprintf(stderr, "usage: xhostile SOCKET MAP LIE N\n");
		return 2;
	}
	s.lie = argv[3];
	s.truthful = (unsigned)strtoul(argv[4], NULL, 10);
	s.seed = s.truthful * 2654435761U;
	if (path_read_file(argv[2], 65536, &s.map, &s.map_len, &e) != 0 ||
	    (fd = fd_unix_listen(argv[1], &e)) < 0) {
		fprintf(stderr, "xhostile: %s\n", err_msg(&e));
		return 1;
	}
	s.fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	if (s.fd < 0)
		return 1;
	greet(&s);
	serve(&s);
	return 0;
}
